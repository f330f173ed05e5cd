//===- StreamOrder.cpp - The runs of a context, one after another in any streams --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/StreamOrder.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;

static constexpr std::chrono::microseconds kLongestPause{1000};

Status StreamOrder::check(Stream stream) const {
  const Driver &driver = device.driver();
  Context context = nullptr;
  if (driver.streamGetCtx && stream != home) { // which has been asked when it became that
    DLC_TRY(device.check(driver.streamGetCtx(stream, &context), "use the caller's stream"));
    if (context != device.context())
      return {DLC_USAGE,
              rt::text("the stream belongs to another context than the primary one of GPU ",
                       device.ordinal())};
  }
  StreamCaptureStatus status = StreamCaptureStatus::None;
  if (driver.streamIsCapturing)
    DLC_TRY(device.check(driver.streamIsCapturing(stream, &status), "use the caller's stream"));
  return status == StreamCaptureStatus::None
             ? Status()
             : Status(DLC_USAGE, "the stream captures a graph; a run waits for its results, which "
                                 "a capture cannot");
}

Status StreamOrder::record(Stream stream) {
  return device.check(device.driver().eventRecord(event, stream), "record an event");
}

Status StreamOrder::begin(Stream stream) {
  if (stream != home && !event)
    DLC_TRY(
        device.check(device.driver().eventCreate(&event, kEventDisableTiming), "create an event"));
  if (!isPending || stream == last)
    return {};
  // Another stream than home may be gone by now; its last run has recorded the event.
  if (last == home)
    DLC_TRY(record(home));
  return device.check(device.driver().streamWaitEvent(stream, event, 0), "wait for the run before");
}

Status StreamOrder::end(Stream stream) {
  last = stream;
  isPending = true;
  return stream == home ? Status() : record(stream);
}

Status StreamOrder::finish() {
  if (!isPending)
    return {};
  const Driver &driver = device.driver();
  Status finished =
      device.check(last == home ? driver.streamSynchronize(home) : driver.eventSynchronize(event),
                   "finish the run");
  isPending = finished.failed();
  return finished;
}

void StreamOrder::release() {
  if (event)
    device.driver().eventDestroy(event);
  event = nullptr;
}

rt::Expected<std::shared_ptr<EventRun>> EventRun::create(std::shared_ptr<GpuDevice> device,
                                                         std::vector<rt::Dims> outputs) {
  // The object first: from then on nothing can fail that would lose the event.
  auto run = std::make_shared<EventRun>(std::move(device), nullptr, std::move(outputs));
  DLC_TRY(run->device->check(run->device->driver().eventCreate(&run->event, kEventDisableTiming),
                             "create an event"));
  return run;
}

EventRun::~EventRun() {
  if (!event || device->isHung())
    return;
  ContextScope scope(*device);
  device->driver().eventDestroy(event);
}

Status EventRun::record(Stream stream) {
  return device->check(device->driver().eventRecord(event, stream), "record an event");
}

Status EventRun::wait(Limit limit) {
  {
    std::lock_guard guard(lock);
    if (ended)
      return *ended;
  }
  Status status = await(limit);
  if (status.code() == DLC_PENDING)
    return status;
  std::lock_guard guard(lock);
  if (!ended)
    ended = status;
  return *ended;
}

Status EventRun::await(Limit limit) {
  using Clock = std::chrono::steady_clock;
  DLC_TRY(device->usable());
  ContextScope scope(*device);
  DLC_TRY(scope.status());
  const Driver &driver = device->driver();
  if (!limit)
    return device->check(driver.eventSynchronize(event), "finish the run");
  const Clock::time_point end = Clock::now() + *limit;
  for (std::chrono::microseconds pause(10);; pause = std::min(2 * pause, kLongestPause)) {
    Result result = driver.eventQuery(event);
    if (result != Result::NotReady)
      return device->check(result, "finish the run");
    if (Clock::now() >= end)
      return pending();
    std::this_thread::sleep_for(pause);
  }
}
