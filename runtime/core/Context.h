//===- Context.h - A module on a device, for one thread at a time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_CONTEXT_H
#define DLC_RUNTIME_CORE_CONTEXT_H

#include "runtime/core/Executor.h"
#include "runtime/core/Module.h"
#include "runtime/core/ShapeBinder.h"

#include <memory>
#include <string>
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

class Context {
public:
  /// `device`: "cpu", "cuda", "cuda:1" or "auto".
  static Expected<std::unique_ptr<Context>>
  create(std::shared_ptr<Module> module, const std::string &device, const ExecutorOptions &options);

  /// Data pointers are not looked at.
  Status bind(const std::vector<CallerArray> &inputs);
  Status run(const std::vector<CallerArray> &inputs, const std::vector<CallerArray> &outputs);

  /// All states are zero again, also after a run that failed; they may then have other dims.
  void resetStates();

  /// Null before the first successful bind.
  const Binding *binding() const { return isBound ? &bound : nullptr; }
  /// Dims of an output that callers see: after a bind the largest, after a run those that the run counted.
  const Dims &outputDims(size_t index) const {
    return counted.empty() ? bound.outputs[index] : counted[index];
  }
  const Module &module() const { return *owner; }
  const Executor &executor() const { return *device; }
  bool isProfiled() const { return profiled; }
  /// Sentences, a line each, about how the context came to be and what it met. Valid until the next call.
  const std::string &remarks() const;

private:
  Context(std::shared_ptr<Module> module, std::unique_ptr<Executor> executor, bool profiled,
          std::string notes)
      : owner(std::move(module)), device(std::move(executor)), profiled(profiled),
        notes(std::move(notes)) {}
  Status checkStates(const Binding &binding) const;
  Status checkArray(const schema::Value &value, const char *kind, const CallerArray &array) const;
  Status checkInputs(const std::vector<CallerArray> &inputs) const;
  Status checkOutputs(const std::vector<CallerArray> &outputs) const;
  Status cutOutputs(const std::vector<int64_t> &counts, const std::vector<CallerArray> &outputs);

  std::shared_ptr<Module> owner; // outlives the executor, which refers to it
  std::unique_ptr<Executor> device;
  bool profiled;
  std::string notes;            // of the choice of the device
  mutable std::string remarked; // what remarks() returned
  bool isBound = false;
  std::vector<Dims> boundInputs;
  Binding bound;
  std::vector<Dims> heldStates; ///< dims of what the states hold; empty where that is zero alone
  bool isHalfWritten = false;   ///< a run failed that may have written some of the states
  std::vector<Dims> counted;    ///< of the outputs in the last run; empty where nothing was counted
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_CONTEXT_H
