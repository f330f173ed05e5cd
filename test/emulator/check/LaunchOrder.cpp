//===- LaunchOrder.cpp - what happens before what among streams -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/check/LaunchOrder.h"
#include <algorithm>

namespace dlc::emu {

static uint64_t at(const StreamClock &clock, uint32_t stream) {
  auto found = clock.find(stream);
  return found == clock.end() ? 0 : found->second;
}

void join(StreamClock &clock, const StreamClock &other) {
  for (auto [stream, number] : other)
    clock[stream] = std::max(at(clock, stream), number);
}

bool WorkClock::isAfter(const WorkClock &other) const {
  return (stream == other.stream && number >= other.number) ||
         at(known, other.stream) >= other.number;
}

std::string WorkClock::describe() const { return name + " in stream " + std::to_string(stream); }

void LaunchOrder::begin(std::shared_ptr<const WorkClock> work) {
  current = std::move(work);
  afterAll = std::all_of(ran.begin(), ran.end(), [&](const auto &entry) {
    auto [stream, number] = entry;
    return stream == current->stream || at(current->known, stream) >= number;
  });
  ran[current->stream] = current->number;
}

void LaunchOrder::beginStamps(uint32_t firstStamp) {
  if (current)
    launches.push_back({firstStamp, current});
}

void LaunchOrder::clear() {
  current = nullptr;
  afterAll = true;
  ran.clear();
  launches.clear();
  copies.clear();
}

const WorkClock *LaunchOrder::launchOf(uint32_t stamp) const {
  auto after =
      std::upper_bound(launches.begin(), launches.end(), stamp,
                       [](uint32_t stamp, const Stamps &launch) { return stamp < launch.first; });
  if (!stamp || after == launches.begin())
    return nullptr;
  return std::prev(after)->work.get();
}

const WorkClock *LaunchOrder::conflict(uint32_t stamp) const {
  const WorkClock *work = launchOf(stamp);
  return work && current && !current->isAfter(*work) ? work : nullptr;
}

const WorkClock *LaunchOrder::overlapped(uint32_t stamp) const {
  const WorkClock *work = mayOverlap() ? launchOf(stamp) : nullptr;
  return work && work->stream == current->stream && work->number >= current->overlapsFrom &&
                 work->number < current->number
             ? work
             : nullptr;
}

const WorkClock *LaunchOrder::conflictingCopy(const void *p, size_t bytes, bool store) const {
  auto begin = reinterpret_cast<uintptr_t>(p);
  for (const Copied &copy : copies)
    if (copy.begin < begin + bytes && begin < copy.end && (store || copy.store) && current &&
        !current->isAfter(*copy.work))
      return copy.work.get();
  return nullptr;
}

void LaunchOrder::addCopy(const void *p, size_t bytes, bool store) {
  auto begin = reinterpret_cast<uintptr_t>(p);
  // Whoever is in order with this one is in order with what lies before it, on the same bytes.
  std::erase_if(copies, [&](const Copied &copy) {
    return begin <= copy.begin && copy.end <= begin + bytes && copy.store <= store &&
           current->isAfter(*copy.work);
  });
  copies.push_back({begin, begin + bytes, store, current});
}

} // namespace dlc::emu
