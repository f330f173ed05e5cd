//===- Driver.cpp - the state of the fake CUDA driver -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/driver/Driver.h"
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/DeviceMemory.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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
  streams.back()->number = nextStream++;
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
    stream->capture->newest = node.get();
    stream->capture->graph->nodes.push_back(std::move(node));
    return Result::Success;
  }
  work.sequence = nextSequence++;
  setClock(stream, work);
  stream->queue.push_back(std::move(work));
  return Result::Success;
}

void Driver::setClock(CUstream_st *stream, Work &work) {
  // The default stream comes after all blocking streams, and they after it.
  CUstream_st *defaultStream = streams.front().get();
  if (stream == defaultStream) {
    for (auto &other : streams)
      if (other->blocking)
        emu::join(stream->known, other->known);
  } else if (stream->blocking) {
    emu::join(stream->known, defaultStream->known);
  }
  emu::join(stream->known, host);
  if (!work.run)
    return;
  auto clock = std::make_shared<emu::WorkClock>();
  clock->stream = stream->number;
  clock->number = ++stream->known[stream->number];
  clock->known = stream->known;
  clock->name = work.kernel                   ? "kernel " + work.kernel->function->name
                : work.kind == WorkKind::Fill ? "a fill"
                                              : "a copy";
  if (work.kernel) {
    if (work.kernel->early)
      clock->overlapsFrom = stream->runningFrom;
    stream->runningFrom = clock->overlapsFrom ? clock->overlapsFrom : clock->number;
  } else if (work.kind != WorkKind::Marker) {
    stream->runningFrom = 0;
  }
  work.clock = std::move(clock);
  if (!emu::readSettings().check || work.kind != WorkKind::Copy)
    return;
  work.sourceHash = hashPinned(work.reads);
  // Whoever reads it too early shall see it.
  if (isPinned(work.writes.begin, work.writes.bytes))
    std::memset(const_cast<void *>(work.writes.begin), 0xFF, work.writes.bytes);
}

uint64_t Driver::hashPinned(const ByteRange &range) {
  if (!range.bytes || !isPinned(range.begin, range.bytes))
    return 0;
  uint64_t hash = 14695981039346656037ull;
  for (size_t i = 0; i < range.bytes; ++i)
    hash = (hash ^ static_cast<const unsigned char *>(range.begin)[i]) * 1099511628211ull;
  return hash | 1;
}

Result Driver::run(const Work &work) {
  if (!emu::readSettings().check)
    return work.run();
  emu::LaunchOrder &order = emu::Checker::get().streams;
  order.begin(work.clock);
  Result result = checkCopy(work);
  if (result == Result::Success)
    result = work.run();
  order.end();
  // Pending copies from there take what is there now.
  for (auto &stream : streams)
    for (Work &other : stream->queue)
      if (work.writes.bytes && other.reads.overlaps(work.writes))
        other.sourceHash = 0;
  return result;
}

Result Driver::checkCopy(const Work &work) {
  auto report = [&](const std::string &text) {
    return fault({emu::Fault::LaunchFailed, work.clock->describe() + ": " + text, 0});
  };
  if (work.sourceHash && work.sourceHash != hashPinned(work.reads))
    return report("missing synchronize: the host has changed pinned memory before the copy from "
                  "there was done");
  for (const ByteRange *range : {&work.reads, &work.writes}) {
    if (!range->bytes)
      continue;
    bool store = range == &work.writes;
    if (const emu::WorkClock *other =
            emu::Checker::get().conflictOfCopy(range->begin, range->bytes, store))
      return report(std::string("missing event wait: it ") + (store ? "writes" : "reads") +
                    " memory at " + emu::DeviceMemory::get().describe(range->begin).c_str() +
                    " that " + other->describe() +
                    " has used, and neither an event nor the host orders the two");
    emu::Checker::get().streams.addCopy(range->begin, range->bytes, store);
  }
  return Result::Success;
}

void Driver::hostKnows(const CUstream_st *stream) {
  for (auto &other : streams)
    if (!stream || other.get() == stream || (stream == streams.front().get() && other->blocking)) {
      emu::join(host, other->known);
      other->runningFrom = 0;
    }
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
    sticky = run(work);
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
  emu::Checker::get().streams.clear();
  host.clear();
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
