//===- RunArguments.h - A run's inputs and outputs, in host or GPU memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays in GPU memory are used where they lie. Those in host memory have a place in the arena, and
// are copied there and back: small ones through pinned memory once a shape has a graph, so that a
// copy is a command like any other and the run waits once.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_GRAPHS_RUNARGUMENTS_H
#define DLC_RUNTIME_CUDA_GRAPHS_RUNARGUMENTS_H

#include "runtime/core/api/Executor.h"
#include "runtime/core/package/Module.h"
#include "runtime/core/package/Plan.h"
#include "runtime/cuda/driver/Device.h"

#include <map>
#include <vector>

namespace dlc::cuda {

/// Of one context; the device's context is current.
class RunArguments {
public:
  RunArguments(GpuDevice &device, const rt::Module &module) : device(device), module(module) {}

  /// Decides where each input and output lies during this run and writes that into `addresses`,
  /// which has the other buffers and lets `arena` hold what is not used in place. `moved`: some
  /// address is another than before. DLC_USAGE for a pointer that is not to this GPU's memory.
  rt::Status place(const rt::Plan &plan, DevicePtr arena, const std::vector<rt::Argument> &inputs,
                   const std::vector<rt::Argument> &outputs, std::vector<DevicePtr> &addresses,
                   bool &moved);

  /// Whether nobody need wait for the copies of this run's arrays: those in host memory are pinned.
  /// DLC_USAGE for another.
  rt::Status checkPinned();

  /// Enqueues the copies of what is not used in place; `replayed`: as often as may be, and soon
  /// again.
  rt::Status copyIn(const std::vector<DevicePtr> &addresses, Stream stream, bool replayed);
  rt::Status copyOut(const std::vector<DevicePtr> &addresses, Stream stream);
  /// After the stream has run: what still lies in pinned memory goes to the caller.
  void deliver();

  /// Gives the pinned memory back.
  void release();

private:
  struct Place {
    uint32_t buffer;
    bool isOutput;
    rt::Argument argument;
    int64_t bytes;
    bool inPlace;
    int64_t staged = -1; ///< where in the pinned memory; negative: not there
  };
  rt::Status check(const Place &place);
  rt::Status refuse(const Place &place, const std::string &why) const;
  bool isUsable(const Place &place) const;
  rt::Status stage();

  GpuDevice &device;
  const rt::Module &module;
  std::vector<Place> places; ///< of the current run
  std::map<uint32_t, std::pair<DevicePtr, int64_t>>
      checked;                               ///< the last pointer and size, by buffer
  std::map<uint32_t, DevicePtr> knownPinned; ///< the last pointer to pinned memory, by buffer
  const rt::Plan *plan = nullptr;
  char *pinned = nullptr;
  int64_t pinnedBytes = 0;
  bool isUnpinnable = false; ///< the driver had no pinned memory
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_GRAPHS_RUNARGUMENTS_H
