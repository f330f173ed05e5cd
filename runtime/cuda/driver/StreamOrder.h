//===- StreamOrder.h - The runs of a context, one after another in any streams ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runs of a context share its buffers, so each waits on the GPU for the one before it. In one
// stream that is so; where the next one goes into another stream, that waits for an event.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_DRIVER_STREAMORDER_H
#define DLC_RUNTIME_CUDA_DRIVER_STREAMORDER_H

#include "runtime/core/api/EnqueuedRun.h"
#include "runtime/cuda/driver/Device.h"

#include <memory>
#include <mutex>
#include <optional>

namespace dlc::cuda {

/// Each context has one. Its methods need the device's context to be current.
class StreamOrder {
public:
  explicit StreamOrder(GpuDevice &device) : device(device) {}

  /// The context's own stream, which is there as long as the context: one that was used before need
  /// not be.
  void setHome(Stream stream) { home = stream; }
  /// DLC_USAGE for a stream of another context than the one that the kernels are loaded into, and
  /// for one that captures.
  rt::Status check(Stream stream) const;
  /// What is enqueued into `stream` from now on comes after the runs before.
  rt::Status begin(Stream stream);
  /// A run has been enqueued into `stream`, or a part of one.
  rt::Status end(Stream stream);
  /// Waits for all runs.
  rt::Status finish();
  /// Gives the event back.
  void release();

private:
  rt::Status record(Stream stream);

  GpuDevice &device;
  Stream home = nullptr, last = nullptr;
  bool isPending = false; ///< runs may be in flight, the newest in `last`
  Event event = nullptr;  ///< after the newest run in a stream other than `home`
};

/// A run that ends with an event.
class EventRun : public rt::EnqueuedRun {
public:
  /// An event that is still to be recorded. The device's context is current.
  static rt::Expected<std::shared_ptr<EventRun>> create(std::shared_ptr<GpuDevice> device,
                                                        std::vector<rt::Dims> outputs);
  EventRun(std::shared_ptr<GpuDevice> device, Event event, std::vector<rt::Dims> outputs)
      : EnqueuedRun(std::move(outputs)), device(std::move(device)), event(event) {}
  ~EventRun() override;

  rt::Status record(Stream stream);
  rt::Status wait(Limit limit) override;

private:
  rt::Status await(Limit limit);

  std::shared_ptr<GpuDevice> device;
  Event event;
  std::mutex lock; ///< of `ended`
  std::optional<rt::Status> ended;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_DRIVER_STREAMORDER_H
