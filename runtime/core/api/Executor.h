//===- Executor.h - What a device does for a context ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_API_EXECUTOR_H
#define DLC_RUNTIME_CORE_API_EXECUTOR_H

#include "runtime/core/Status.h"
#include "runtime/core/api/EnqueuedRun.h"
#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/cpu/HostBlock.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dlc::rt {

struct ExecutorOptions {
  int threads = 0;
  bool checked = false;
  bool profile = false;
  // CUDA only:
  bool noJit = false, noGraph = false, noOverlap = false, timeDevice = false;
  dlc_cublas cublas = DLC_CUBLAS_AUTO;
  int timeoutMs = 0;                 ///< 0: none
  void *stream = nullptr;            ///< null: one of the context's own
  const char *cacheFolder = nullptr; ///< null: the environment's choice; empty: none
  std::function<void(size_t done, size_t total)> progress; ///< of kernels that are compiled
};

/// The data of an input or output, which is large enough.
struct Argument {
  void *data;
  bool onDevice; ///< in GPU memory
};

/// One context's side of a device: its arena, its stream. Used by one thread at a time.
class Executor {
public:
  virtual ~Executor() = default;

  /// Plans and allocates for these shapes. After a failure nothing is bound.
  virtual Status bind(const Binding &binding) = 0;
  /// Runs the main program on dense row-major arrays of the bound shapes, in the module's order.
  /// Inputs are only read.
  virtual Status run(const std::vector<Argument> &inputs, const std::vector<Argument> &outputs) = 0;
  /// The states are zero again when the next run begins, as before the first. Until then bind may
  /// not change their sizes.
  virtual void resetStates() = 0;
  /// The memory of state `index` of the module under the bound shapes, dense and row-major: what
  /// the last run has left there, or zeros. The next run reads it. DLC_USAGE where no shapes are
  /// bound.
  virtual Expected<Argument> stateMemory(size_t index) = 0;
  virtual bool takesDeviceMemory() const { return false; }

  /// Makes the bound shapes ready for enqueue().
  virtual Status prepare() { return {}; }
  /// Returns true if the device queues runs itself. Only such devices implement enqueue() and
  /// synchronize(); others compute one run at a time on the thread that calls run().
  virtual bool keepsLine() const { return false; }
  /// Binds prepared shapes and puts a run in line after those before it, in `stream` (null: the
  /// context's). `wanted`: the handle is not null. DLC_NOT_PREPARED and DLC_USAGE before anything
  /// has been enqueued; after another failure nothing is in flight.
  virtual Expected<std::shared_ptr<EnqueuedRun>> enqueue(const Binding & /*binding*/,
                                                         const std::vector<Argument> & /*inputs*/,
                                                         const std::vector<Argument> & /*outputs*/,
                                                         void * /*stream*/, bool /*wanted*/) {
    return std::shared_ptr<EnqueuedRun>();
  }
  /// Waits for the runs in line.
  virtual Status synchronize() { return {}; }

  virtual const std::string &device() const = 0;
  virtual dlc_memory_info memory() const = 0;
  /// Memory of the device for tensors between the runs of several executors, aligned for kernels.
  /// `bytes` is not 0.
  virtual Expected<void *> allocate(size_t bytes);
  virtual void release(void *block);
  /// Copies after all runs of the executor's stream. The source may change when it returns, and a
  /// target in host memory has the bytes.
  virtual Status copy(Argument target, Argument source, size_t bytes);
  /// Like run() on arrays in the device's memory, but may return before the run has ended: a later
  /// copy() to host memory or synchronize() waits.
  virtual Status launch(const std::vector<Argument> &inputs, const std::vector<Argument> &outputs) {
    return run(inputs, outputs);
  }
  /// The stream that the executor works in; null on the CPU.
  virtual void *streamHandle() const { return nullptr; }

  /// What came to pass otherwise than one may expect, a sentence a line; no failure. Empty for
  /// most.
  virtual std::string remarks() const { return {}; }

  /// What the device needed for the commands of the last run; negative where it is not measured.
  virtual double deviceMicroseconds() const { return -1; }

  /// The commands of the last run, where profiling was asked for.
  const std::vector<dlc_profile_entry> &profile() const { return profileEntries; }

protected:
  std::vector<dlc_profile_entry> profileEntries;

private:
  std::map<void *, cpu::HostBlock> blocks; ///< large ones of allocate()
};

/// Returns the error of stateMemory() where no shapes are bound.
Status noBoundStates();

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_API_EXECUTOR_H
