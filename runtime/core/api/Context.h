//===- Context.h - A module on a device, for one thread at a time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_API_CONTEXT_H
#define DLC_RUNTIME_CORE_API_CONTEXT_H

#include "runtime/core/api/CallerArrays.h"
#include "runtime/core/api/Executor.h"
#include "runtime/core/api/KeptOutputs.h"
#include "runtime/core/api/RunQueue.h"
#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/core/package/Module.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace dlc::rt {

class Context {
public:
  /// `device`: "cpu", "cuda", "cuda:1" or "auto".
  static Expected<std::unique_ptr<Context>>
  create(std::shared_ptr<Module> module, const std::string &device, const ExecutorOptions &options);

  /// Data pointers are not looked at.
  Status bind(const std::vector<CallerArray> &inputs);
  /// Outputs without data and bytes are left to the context: keptOutput().
  Status run(const std::vector<CallerArray> &inputs, const std::vector<CallerArray> &outputs);

  /// Binds, and makes the shapes ready for enqueue().
  Status prepare(const std::vector<CallerArray> &inputs);
  /// Puts a run in line after those before it. `wanted`: the handle is not null. After a failure
  /// nothing of the run is in flight.
  Expected<std::shared_ptr<EnqueuedRun>> enqueue(std::vector<CallerArray> inputs,
                                                 std::vector<CallerArray> outputs, void *stream,
                                                 bool wanted);
  /// Waits for the runs in line; the first failure since the last call.
  Status synchronize();

  /// All states are zero again, also after a run that failed; they may then have other dims.
  void resetStates();

  /// The dims of what state `index` holds. Before the first run, and after a reset, those that are
  /// in the module: DLC_USAGE for a state some of whose dims only a run tells.
  Expected<Dims> stateDims(size_t index) const;
  /// Copies what state `index` holds, zeros before the first run, into host memory: dense and
  /// row-major. Waits for the runs in line.
  Status readState(size_t index, void *data, size_t bytes);
  /// Sets the contents of state `index` for the next run from dense row-major host memory. Waits
  /// for queued runs.
  Status writeState(size_t index, const Dims &dims, const void *data, size_t bytes);
  /// Restarts the random numbers at `seed` for the next run.
  Status seed(int64_t seed);

  /// Null before the first successful bind.
  const Binding *binding() const { return bound ? &bound->binding : nullptr; }
  /// Dims of an output that callers see: after a bind the largest, -1 where only the run tells;
  /// after a run the real ones.
  const Dims &outputDims(size_t index) const {
    return counted.empty() ? bound->binding.outputs[index] : counted[index];
  }
  /// An output that the last run left to the context, until the next bind or run.
  Expected<const KeptOutputs::Output *> keptOutput(size_t index) const { return kept.find(index); }
  const Module &module() const { return *owner; }
  /// Positions of the caches that runs have taken since the last reset.
  int64_t cacheLength() const { return taken; }
  const std::string &deviceName() const { return device->device(); }
  /// The executor after all runs: it waits for those in the queue.
  const Executor &executor() {
    queue.drain();
    return *device;
  }
  bool isProfiled() const { return profiled; }
  /// Sentences, a line each, about how the context came to be and what it met. Valid until the next
  /// call.
  const std::string &remarks() const;

private:
  Context(std::shared_ptr<Module> module, std::unique_ptr<Executor> executor, bool profiled,
          std::string notes)
      : owner(std::move(module)), device(std::move(executor)), profiled(profiled),
        notes(std::move(notes)) {
    if (owner->flow())
      flow = static_cast<FlowRunner *>(device.get());
  }
  /// Dims of inputs, and what follows from them.
  struct Shapes {
    std::vector<Dims> inputs;
    Binding binding;
  };
  using ShapesPtr = std::shared_ptr<const Shapes>;
  /// The contents of a state for the next run.
  struct WrittenState {
    Dims dims;
    std::vector<char> data;
  };
  using WrittenStates = std::map<size_t, WrittenState>; ///< by their positions in the module
  Expected<ShapesPtr> shapesOf(const std::vector<CallerArray> &inputs) const;
  Expected<ShapesPtr> lineUp(const std::vector<CallerArray> &inputs,
                             const std::vector<CallerArray> &outputs) const;
  Status perform(const ShapesPtr &shapes, const std::vector<CallerArray> &inputs,
                 const std::vector<CallerArray> &outputs, std::vector<Dims> &outputDims);
  Status performFlow(const Binding &binding, const std::vector<CallerArray> &inputs,
                     const std::vector<CallerArray> &outputs, std::vector<Dims> &outputDims);
  Status performInLine(const ShapesPtr &shapes, const std::vector<CallerArray> &inputs,
                       const std::vector<CallerArray> &outputs, const WrittenStates &states,
                       std::vector<Dims> &outputDims);
  Status checkStates(const Binding &binding) const;
  /// writeState() of any model.
  Status write(size_t index, const Dims &dims, const void *data, size_t bytes);
  /// Writes states under the shapes that the device has bound.
  Status placeWritten(const WrittenStates &states);
  /// Positions of the caches that a run takes; 0 of a model without.
  int64_t cacheStep(const Binding &binding) const;
  Status checkCache(const Binding &binding) const;

  std::shared_ptr<Module> owner; // outlives the executor, which refers to it
  std::unique_ptr<Executor> device;
  FlowRunner *flow = nullptr; ///< `device`, if the module has a flow
  bool profiled;
  std::string notes;            // of the choice of the device
  mutable std::string remarked; // what remarks() returned
  ShapesPtr bound;              ///< of the last bind or run, those in line included
  std::vector<ShapesPtr> prepared;
  WrittenStates written;        ///< since the last run
  std::vector<Dims> heldStates; ///< dims of what the states hold; empty where that is zero alone
  std::vector<Dims> counted;    ///< of the outputs in the last run; empty where nothing was counted
  KeptOutputs kept;
  // The thread of the queue changes these while runs are in line there.
  ShapesPtr placed; ///< what the device has bound
  /// Positions of the caches (schema::Cache), of the runs in line included: one that ends before it
  /// writes gives them back.
  std::atomic<int64_t> taken = 0;
  bool isHalfWritten = false; ///< a run failed that may have written some of the states
  RunQueue queue; ///< of a device that keeps no line itself. Its runs use all of the above
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_API_CONTEXT_H
