//===- Driver.cpp - the state of the fake CUDA driver -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/driver/Driver.h"
#include "test/emulator/core/DeviceMemory.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace dlc::cuda {

Driver &Driver::get() {
  // Never destroyed: another library's destructor may still call the driver.
  static Driver *driver = new Driver;
  return *driver;
}

Driver::Driver() { makeStream(true); }

Result Driver::enterCleanup() {
  if (!initialised)
    return Result::NotInitialized;
  if (!currentContext())
    return Result::InvalidContext;
  return sticky;
}

Result Driver::enter(const char *function) {
  if (Result entered = enterCleanup(); entered != Result::Success)
    return entered;
  return countCall(function);
}

Result Driver::countCall(const char *function) {
  std::lock_guard lock(mutex);
  bool isCapturing = std::any_of(streams.begin(), streams.end(),
                                 [](const auto &stream) { return stream->capture != nullptr; });
  Result planted =
      faults.count(isCapturing ? std::string(function) + " while capturing" : function);
  if (isSticky(planted) && contextUsers)
    sticky = planted;
  return planted;
}

Live Driver::live() {
  Live now = made;
  now.allocations = long(emu::DeviceMemory::get().countBuffers());
  now.pinned = long(pinned.size());
  now.streams = long(streams.size()) - 1;
  return now;
}

std::string Live::describe() const {
  std::string text;
  auto add = [&text](long count, const char *what) {
    if (count)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(allocations, "allocations");
  add(pinned, "pinned");
  add(streams, "streams");
  add(events, "events");
  add(modules, "modules");
  add(graphs, "graphs");
  add(graphExecs, "executable graphs");
  return text;
}

Result Driver::notWhileCapturing() {
  Result result = Result::Success;
  for (auto &stream : streams)
    if (Capture *capture = stream->capture.get())
      if (capture->mode == StreamCaptureMode::Global ||
          (capture->mode == StreamCaptureMode::ThreadLocal &&
           capture->thread == std::this_thread::get_id())) {
        capture->isInvalid = true;
        result = Result::StreamCaptureUnsupported;
      }
  return result;
}

CUstream_st *Driver::makeStream(bool blocking) {
  streams.push_back(std::make_unique<CUstream_st>());
  streams.back()->blocking = blocking;
  return streams.back().get();
}

CUstream_st *Driver::find(Stream stream) {
  // 1 and 2 are CUDA's names for the default stream.
  if (reinterpret_cast<uintptr_t>(stream) <= 2)
    return streams.front().get();
  for (auto &other : streams)
    if (other.get() == stream)
      return other.get();
  return nullptr;
}

void Driver::destroyStream(CUstream_st *stream) {
  std::erase_if(streams, [&](const auto &other) { return other.get() == stream; });
}

Result Driver::submit(Stream handle, Work work) {
  CUstream_st *stream = find(handle);
  if (!stream)
    return Result::InvalidHandle;
  if (stream->capture && stream->capture->isInvalid)
    return Result::StreamCaptureInvalidated;
  if (stream->capture) {
    auto node = std::make_unique<CUgraphNode_st>();
    if (work.kernel)
      node->params = work.kernel->params;
    node->work = std::move(work);
    stream->capture->graph->nodes.push_back(std::move(node));
    return Result::Success;
  }
  work.sequence = nextSequence++;
  stream->queue.push_back(std::move(work));
  return Result::Success;
}

bool Driver::mayRun(const CUstream_st *stream) {
  if (stream->queue.empty())
    return false;
  const Work &work = stream->queue.front();
  if (work.waitFor && work.waitFor->reached < work.waitRecord)
    return false;
  // The default stream waits for all earlier work in blocking streams, and they for its.
  auto isEarlier = [&](const CUstream_st &other) {
    return !other.queue.empty() && other.queue.front().sequence < work.sequence;
  };
  const CUstream_st *defaultStream = streams.front().get();
  if (stream == defaultStream)
    return std::none_of(streams.begin() + 1, streams.end(),
                        [&](const auto &other) { return other->blocking && isEarlier(*other); });
  return !stream->blocking || !isEarlier(*defaultStream);
}

bool Driver::step(CUstream_st *preferred) {
  std::vector<CUstream_st *> able;
  for (auto &stream : streams)
    if (mayRun(stream.get()))
      able.push_back(stream.get());
  if (able.empty())
    return false;
  CUstream_st *chosen = able.front();
  if (emu::readSettings().policy == emu::Policy::Random) {
    randomState = randomState * 6364136223846793005ull + 1442695040888963407ull;
    chosen = able[(randomState >> 33) % able.size()];
  } else if (std::find(able.begin(), able.end(), preferred) != able.end()) {
    chosen = preferred;
  }
  Work work = std::move(chosen->queue.front());
  chosen->queue.pop_front();
  if (work.run && sticky == Result::Success)
    sticky = work.run();
  return true;
}

Result Driver::drain(Stream handle) {
  CUstream_st *stream = find(handle);
  if (!stream)
    return Result::InvalidHandle;
  if (stream->capture) {
    stream->capture->isInvalid = true;
    return Result::StreamCaptureUnsupported;
  }
  while (!stream->queue.empty())
    if (!step(stream))
      return Result::LaunchTimeout; // waits for an event that nobody will record
  // The default stream ends when all blocking streams do.
  for (size_t i = 1; stream == streams.front().get() && i < streams.size(); ++i)
    while (streams[i]->blocking && !streams[i]->queue.empty())
      if (!step(streams[i].get()))
        return Result::LaunchTimeout;
  return sticky;
}

Result Driver::drainAll() {
  while (step(nullptr)) {
  }
  for (auto &stream : streams)
    if (!stream->queue.empty())
      return Result::LaunchTimeout;
  return sticky;
}

Result Driver::drainEvent(const CUevent_st *event) {
  while (event->reached < event->recorded)
    if (!step(nullptr))
      return Result::LaunchTimeout;
  return sticky;
}

Result Driver::fault(const emu::LaunchResult &result) {
  lastReport = result.report;
  std::fprintf(stderr, "dlc cuda-emu: %s\n", lastReport.c_str());
  switch (result.fault) {
  case emu::Fault::None:
    return Result::Success;
  case emu::Fault::IllegalAddress:
    return Result::IllegalAddress;
  case emu::Fault::Misaligned:
    return Result::MisalignedAddress;
  case emu::Fault::LaunchFailed:
    return Result::LaunchFailed;
  }
  return Result::Unknown;
}

void Driver::destroyContext() {
  leaks = live().describe();
  made = {};
  streams.clear();
  makeStream(true);
  sticky = Result::Success;
  emu::DeviceMemory::get().releaseAll();
  for (auto &[memory, bytes] : pinned)
    std::free(const_cast<void *>(memory));
  pinned.clear();
}

bool Driver::isPinned(const void *p, size_t bytes) {
  auto after = pinned.upper_bound(p);
  if (after == pinned.begin())
    return false;
  const auto &[begin, size] = *std::prev(after);
  return static_cast<const char *>(p) + bytes <= static_cast<const char *>(begin) + size;
}

} // namespace dlc::cuda
