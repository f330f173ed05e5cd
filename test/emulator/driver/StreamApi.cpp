//===- StreamApi.cpp - streams and events -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/driver/Driver.h"
#include "test/emulator/driver/Exports.h"

namespace dlc::cuda {
extern "C" {

//===-- Streams -----------------------------------------------------------===//

Result cuStreamCreate(Stream *stream, unsigned flags) {
  DLC_EMU_ENTER();
  *stream = driver.makeStream(!(flags & kStreamNonBlocking));
  return Result::Success;
}

Result cuStreamDestroy_v2(Stream stream) {
  DLC_EMU_ENTER_CLEANUP();
  CUstream_st *found = driver.find(stream);
  if (!found || found == driver.find(nullptr))
    return Result::InvalidHandle;
  Result result = found->capture ? Result::Success : driver.drain(stream);
  driver.destroyStream(found);
  return result;
}

Result cuStreamSynchronize(Stream stream) {
  DLC_EMU_ENTER();
  Result result = driver.drain(stream);
  if (const CUstream_st *found = driver.find(stream))
    driver.hostKnows(found);
  return result;
}

Result cuStreamQuery(Stream stream) {
  DLC_EMU_ENTER();
  CUstream_st *found = driver.find(stream);
  if (!found)
    return Result::InvalidHandle;
  // Nothing runs by itself, so one who polls must make progress.
  bool pending = !found->queue.empty();
  Result result = driver.drain(stream);
  if (!pending)
    driver.hostKnows(found);
  return result == Result::Success && pending ? Result::NotReady : result;
}

Result cuStreamGetCtx(Stream stream, Context *context) {
  DLC_EMU_ENTER();
  if (!driver.find(stream))
    return Result::InvalidHandle;
  *context = &driver.context;
  return Result::Success;
}

Result cuStreamIsCapturing(Stream stream, StreamCaptureStatus *status) {
  DLC_EMU_ENTER();
  CUstream_st *found = driver.find(stream);
  if (!found)
    return Result::InvalidHandle;
  *status = !found->capture             ? StreamCaptureStatus::None
            : found->capture->isInvalid ? StreamCaptureStatus::Invalidated
                                        : StreamCaptureStatus::Active;
  return Result::Success;
}

Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  DLC_EMU_ENTER();
  CUstream_st *found = driver.find(stream);
  if (!found)
    return Result::InvalidHandle;
  Work work;
  work.waitFor = event;
  work.waitRecord = event->recorded;
  emu::join(found->known, event->known);
  // A graph of one stream is in order already.
  return found->capture ? Result::Success : driver.submit(stream, std::move(work));
}

//===-- Events ------------------------------------------------------------===//

Result cuEventCreate(Event *event, unsigned) {
  DLC_EMU_ENTER();
  *event = new CUevent_st;
  ++driver.made.events;
  return Result::Success;
}

Result cuEventDestroy_v2(Event event) {
  DLC_EMU_ENTER_CLEANUP();
  Result result = driver.drainAll(); // queued work may point to it
  delete event;
  --driver.made.events;
  return result;
}

Result cuEventRecord(Event event, Stream stream) {
  DLC_EMU_ENTER();
  uint64_t number = ++event->recorded;
  Work work;
  work.run = [=] {
    event->reached = number;
    event->time = std::chrono::steady_clock::now();
    return Result::Success;
  };
  Result result = driver.submit(stream, std::move(work));
  if (const CUstream_st *found = driver.find(stream))
    event->known = found->known;
  return result;
}

Result cuEventSynchronize(Event event) {
  DLC_EMU_ENTER();
  driver.hostKnows(event->known);
  return driver.drainEvent(event);
}

Result cuEventQuery(Event event) {
  DLC_EMU_ENTER();
  bool pending = event->reached < event->recorded;
  Result result = driver.drainEvent(event);
  if (!pending)
    driver.hostKnows(event->known);
  return result == Result::Success && pending ? Result::NotReady : result;
}

Result cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  DLC_EMU_ENTER();
  if (!start->recorded || !end->recorded)
    return Result::InvalidHandle;
  if (start->reached < start->recorded || end->reached < end->recorded)
    return Result::NotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return Result::Success;
}

} // extern "C"
} // namespace dlc::cuda
