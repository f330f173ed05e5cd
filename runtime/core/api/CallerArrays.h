//===- CallerArrays.h - Inputs and outputs as the caller describes them ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each failure is DLC_USAGE, or what is named, and says which array is meant.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_API_CALLERARRAYS_H
#define DLC_RUNTIME_CORE_API_CALLERARRAYS_H

#include "runtime/core/api/Executor.h"
#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/core/package/Module.h"

#include <functional>
#include <vector>

namespace dlc::rt {

/// An array as the caller describes it.
struct CallerArray {
  dlc_dtype dtype;
  Dims dims;
  void *data;
  size_t bytes;
  bool onDevice; ///< `data` points to GPU memory
};

/// The inputs' element types are the module's; the dims are left to bindShapes().
Status checkTypes(const Module &module, const std::vector<CallerArray> &inputs);
/// Inputs whose dims have been bound have data, enough of it, where the device can read it.
Status checkInputs(const Module &module, const Executor &device,
                   const std::vector<CallerArray> &inputs);
/// Inputs of bools in host memory hold 0 and 1 alone; the only check that reads data.
Status checkBools(const Module &module, const std::vector<CallerArray> &inputs);
/// Whether the caller leaves the memory of an output to the context.
inline bool isLeftToContext(const CallerArray &output) { return !output.data && !output.bytes; }
/// The outputs are those of the binding, as far as it knows their dims; those left to the context
/// have their element types. `mayKeep`: the context can keep outputs. DLC_UNSUPPORTED for one in
/// GPU memory that could not be cut to what the data say.
Status checkOutputs(const Module &module, const Executor &device, const Binding &binding,
                    const std::vector<CallerArray> &outputs, bool mayKeep);

/// Moves the elements of `from` that `to` keeps together: calls `move` with byte offsets to and
/// from, and a number of bytes, in ascending order.
Status moveTogether(size_t width, const Dims &from, const Dims &to,
                    const std::function<Status(size_t, size_t, size_t)> &move);

/// Outputs of which the data say how large they are: sets `dims` to the real ones under the
/// `counts` that a run has found, and moves the real elements together. DLC_INTERNAL for a count
/// that is out of range.
Status cutOutputs(const Module &module, const Binding &binding, const std::vector<int64_t> &counts,
                  const std::vector<CallerArray> &outputs, std::vector<Dims> &dims);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_API_CALLERARRAYS_H
