//===- KeptOutputs.h - Outputs that a context keeps for its caller --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_API_KEPTOUTPUTS_H
#define DLC_RUNTIME_CORE_API_KEPTOUTPUTS_H

#include "runtime/core/api/CallerArrays.h"
#include "runtime/core/flow/FlowRunner.h"
#include "runtime/cpu/HostBlock.h"

#include <vector>

namespace dlc::rt {

/// The outputs of the last run that the caller left to the context, in host memory.
class KeptOutputs {
public:
  struct Output {
    const void *data = nullptr;
    size_t bytes = 0;
    bool isKept = false;
    cpu::HostBlock block;
  };

  /// Nothing is kept any more; the memory serves again.
  void forget();
  /// Gives memory of these dims to the outputs that are left to the context, before a straight
  /// model runs.
  Status fill(const Module &module, const std::vector<Dims> &dims,
              std::vector<CallerArray> &outputs);
  /// The kept outputs have these dims, which the run has counted.
  void cut(const Module &module, const std::vector<Dims> &dims);
  /// Copies the results of a flow into the caller's arrays, or keeps them. Sets `dims` in any case.
  Status deliver(const Module &module, const Binding &binding, FlowRunner &flow,
                 const std::vector<CallerArray> &outputs, std::vector<Dims> &dims);
  /// DLC_USAGE for an output that is not kept.
  Expected<const Output *> find(size_t index) const;

private:
  std::vector<Output> kept;
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_API_KEPTOUTPUTS_H
