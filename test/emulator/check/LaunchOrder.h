//===- LaunchOrder.h - what happens before what among streams ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work of one stream runs in order; work of two is ordered by events, by the default stream, or
// because the host waited for the one before it asked for the other. The driver knows that when
// work is submitted; this keeps it, with what each copy touched, so that the checker can tell a
// missing event wait from two pieces of work that are in order.
//===----------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dlc::emu {

/// Of each stream, by number, how much of its work lies behind.
using StreamClock = std::map<uint32_t, uint64_t>;
void join(StreamClock &clock, const StreamClock &other);

/// One piece of work: the `number`th of `stream`, and what it comes after.
struct WorkClock {
  uint32_t stream = 0;
  uint64_t number = 0;
  StreamClock known;
  /// "kernel add_one", "copy".
  std::string name;
  /// Of an early launch, the first piece of work of its stream that may still run when it begins;
  /// 0: none.
  uint64_t overlapsFrom = 0;

  bool isAfter(const WorkClock &other) const;
  std::string describe() const;
};

class LaunchOrder {
public:
  /// `work` begins to run, and has ended.
  void begin(std::shared_ptr<const WorkClock> work);
  void end() { current = nullptr; }
  /// The running work's launch has stamps from here on.
  void beginStamps(uint32_t firstStamp);
  /// With the context all of it ends.
  void clear();

  /// True where nothing that has run can be in conflict with the work that runs now.
  bool isAfterAll() const { return afterAll; }
  /// The work whose launch has this stamp, if it and the running work are in no order.
  const WorkClock *conflict(uint32_t stamp) const;
  /// The work whose launch has this stamp, if it may still run when the running one begins.
  const WorkClock *overlapped(uint32_t stamp) const;
  /// True where there may be such work.
  bool mayOverlap() const { return current && current->overlapsFrom; }
  /// A copy that touched one of the bytes, in no order with the running work; with `store` also one
  /// that read it.
  const WorkClock *conflictingCopy(const void *p, size_t bytes, bool store) const;
  /// The running work, which is a copy, touches these bytes.
  void addCopy(const void *p, size_t bytes, bool store);

private:
  const WorkClock *launchOf(uint32_t stamp) const;

  struct Stamps {
    uint32_t first;
    std::shared_ptr<const WorkClock> work;
  };
  struct Copied {
    uintptr_t begin, end;
    bool store;
    std::shared_ptr<const WorkClock> work;
  };

  std::shared_ptr<const WorkClock> current;
  bool afterAll = true;
  /// How much of each stream has run.
  StreamClock ran;
  std::vector<Stamps> launches;
  std::vector<Copied> copies;
};

} // namespace dlc::emu
