//===- Order.h - what happens before what within a block --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks for the checker. Those who act in a block are its threads, the tensor cores of each
// warpgroup (wgmma reads when it likes until it is waited for), and the copies that count at each
// mbarrier. Each has a clock; each thread knows up to which time of each other one everything lies
// behind it. Barriers, mbarriers and waits pass that knowledge on.
//
// Beside what is known stands what is *fenced*: known, with a fence of the async proxy on the way.
// Only that may the asynchronous units touch.
//===----------------------------------------------------------------------===//
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace dlc::emu {

/// A thread's number in the block; then warpgroups; then mbarriers in the order of their first
/// init.
using Agent = uint32_t;
constexpr Agent kMaxAgents = 2048;

/// Times by agent; what is missing is 0.
class Clock {
public:
  uint32_t operator[](Agent agent) const { return agent < times.size() ? times[agent] : 0; }
  void raise(Agent agent, uint32_t time) {
    if (agent >= times.size())
      times.resize(agent + 1);
    times[agent] = std::max(times[agent], time);
  }
  void join(const Clock &other) {
    if (times.size() < other.times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }
  bool isEmpty() const { return times.empty(); }
  void clear() { times.clear(); }
  size_t size() const { return times.size(); }

private:
  std::vector<uint32_t> times;
};

struct Knowledge {
  Clock known, fenced;

  void join(const Knowledge &other) {
    known.join(other.known);
    fenced.join(other.fenced);
  }
  void clear() {
    known.clear();
    fenced.clear();
  }
};

/// What the checker remembers of an mbarrier beside the word in shared memory.
struct MbarrierRecord {
  const unsigned long long *word;
  /// The copies that count here.
  Agent agent;
  /// Of those who have arrived in this phase and before; of those whose phases have ended.
  Knowledge pending, released;
  /// Who made it, and when; and whether a fence has shown that to the copies.
  Agent maker;
  uint32_t madeAt;
  bool isFenced = false;
  /// Phases that have ended.
  uint32_t flips = 0;
  /// By thread: 0 if it has not waited here, 1 if its last wait passed before any phase had ended,
  /// 2 otherwise.
  std::vector<uint8_t> waits;
  std::vector<bool> hasArrived;
};

class BlockOrder {
public:
  void begin(uint32_t threads);

  uint32_t now(Agent agent) const { return times[agent]; }
  Agent tensorAgent(uint32_t warpgroup) const { return threads + warpgroup; }
  bool isThread(Agent agent) const { return agent < threads; }
  bool isTensor(Agent agent) const { return agent >= threads && agent < threads + groups; }

  /// All that `agent` did up to `time` lies behind the thread.
  bool knows(uint32_t thread, Agent agent, uint32_t time) const {
    return agent == thread || time <= base.known[agent] || time <= views[thread].known[agent];
  }
  /// The same, and a fence of the async proxy lies between.
  bool isFenced(uint32_t thread, Agent agent, uint32_t time) const {
    return time <= base.fenced[agent] || time <= views[thread].fenced[agent];
  }

  /// A barrier of the block: all know what each of them did and knew.
  void joinAll();
  /// The same for the lanes `mask` of the warp that begins at thread `first`.
  void joinWarp(uint32_t first, uint32_t mask);
  /// fence_async.
  void fence(uint32_t thread);
  /// The products of the warpgroup up to `time` are done.
  void finishProducts(uint32_t thread, uint32_t warpgroup, uint32_t time) {
    views[thread].known.raise(tensorAgent(warpgroup), time);
  }

  /// Null for a word that is no mbarrier.
  MbarrierRecord *find(const unsigned long long *word);
  /// Null where there are too many.
  MbarrierRecord *make(uint32_t thread, const unsigned long long *word);
  void fenceMbarriers(uint32_t thread);
  void arrive(uint32_t thread, MbarrierRecord &bar);
  void flip(MbarrierRecord &bar);
  void wait(uint32_t thread, MbarrierRecord &bar);
  /// An mbarrier at which one of the two waited for a phase that had not begun, and one of them has
  /// arrived; null if there is none.
  const MbarrierRecord *vainWait(uint32_t thread, Agent other) const;
  /// Any at which the thread waited for a phase that had not begun.
  const MbarrierRecord *vainWait(uint32_t thread) const;
  bool hasWaited(uint32_t thread) const;
  const MbarrierRecord &mbarrierOf(Agent agent) const { return bars[agent - threads - groups]; }

private:
  uint32_t threads = 0, groups = 0;
  /// Without mbarriers and fences the barriers alone order, and this stays cheap.
  bool isActive = false;
  std::vector<uint32_t> times;
  /// What all know; what single threads know beyond it.
  Knowledge base;
  std::vector<Knowledge> views;
  std::vector<MbarrierRecord> bars;
};

} // namespace dlc::emu
