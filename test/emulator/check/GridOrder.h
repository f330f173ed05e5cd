//===- GridOrder.h - what happens before what between blocks ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of a launch order each other at the barrier of their cluster, and by words of device
// memory: a thread fences, then updates a word atomically; a thread that updates the word later,
// and fences after that, has behind it all that the first one had at its fence. A barrier of its
// block passes this on. An update without a fence before gives nothing away, one without a fence
// behind it takes nothing.
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace dlc::emu {

class GridOrder {
public:
  void beginLaunch();
  /// Thread `thread` of block `block`, which is in the interval `stamp`, calls fence.
  void fence(uint32_t block, uint32_t thread, uint32_t stamp);
  /// It updates the word at `word` atomically.
  void update(const void *word, uint32_t block, uint32_t thread);
  /// A barrier of the block: what one thread has behind it, all have.
  void barrier(uint32_t block);
  /// The same of the cluster's blocks, each in its interval: all that they did lies behind all of
  /// them.
  void meet(const std::map<uint32_t, uint32_t> &stamps);

  /// What thread `who` of block `other` did in interval `stamp` lies behind the thread.
  bool knows(uint32_t block, uint32_t thread, uint32_t other, uint32_t stamp, uint32_t who) const;
  /// Where a fence alone is missing: "before the other block's" or "behind this block's" update of
  /// a word at which the two have met; null where they have not, or the fences stand.
  const char *missingFence(uint32_t block, uint32_t other) const;

private:
  /// Of a block: all intervals below `end`, and of `end` itself what these threads did.
  struct Bound {
    uint32_t end = 0;
    std::set<uint32_t> threads;
  };
  using Known = std::map<uint32_t, Bound>; // by block
  struct View {
    Known known;    // behind the thread
    Known seen;     // the same once it fences
    Known released; // what its updates give away: known at its last fence
    bool hasFenced = false;
  };
  struct Word {
    Known released;
    std::set<uint32_t> updaters, unfenced; // blocks; those that gave nothing away
  };

  static void join(Known &into, const Known &other);
  static bool covers(const Known &known, uint32_t other, uint32_t stamp, uint32_t who);

  std::map<std::pair<uint32_t, uint32_t>, View> views; // by block and thread
  std::map<uint32_t, Known> blocks;
  std::map<const void *, Word> words;
};

} // namespace dlc::emu
