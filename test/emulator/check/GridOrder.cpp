//===- GridOrder.cpp - what happens before what between blocks --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/check/GridOrder.h"

namespace dlc::emu {

void GridOrder::join(Known &into, const Known &other) {
  for (const auto &[block, bound] : other) {
    Bound &mine = into[block];
    if (bound.end > mine.end)
      mine = bound;
    else if (bound.end == mine.end)
      mine.threads.insert(bound.threads.begin(), bound.threads.end());
  }
}

bool GridOrder::covers(const Known &known, uint32_t other, uint32_t stamp, uint32_t who) {
  auto found = known.find(other);
  return found != known.end() && (stamp < found->second.end ||
                                  (stamp == found->second.end && found->second.threads.count(who)));
}

void GridOrder::beginLaunch() {
  views.clear();
  blocks.clear();
  words.clear();
}

void GridOrder::fence(uint32_t block, uint32_t thread, uint32_t stamp) {
  View &view = views[{block, thread}];
  join(view.known, view.seen);
  view.seen.clear();
  view.released = blocks[block];
  join(view.released, view.known);
  join(view.released, {{block, {stamp, {thread}}}});
  view.hasFenced = true;
}

void GridOrder::update(const void *word, uint32_t block, uint32_t thread) {
  View &view = views[{block, thread}];
  Word &met = words[word];
  join(view.seen, met.released);
  met.updaters.insert(block);
  if (view.hasFenced)
    join(met.released, view.released);
  else
    met.unfenced.insert(block);
}

void GridOrder::barrier(uint32_t block) {
  for (auto at = views.lower_bound({block, 0}); at != views.end() && at->first.first == block; ++at)
    join(blocks[block], at->second.known);
}

void GridOrder::meet(const std::map<uint32_t, uint32_t> &stamps) {
  Known all;
  for (auto [block, stamp] : stamps) {
    barrier(block);
    join(all, blocks[block]);
    join(all, {{block, {stamp + 1, {}}}});
  }
  for (auto [block, stamp] : stamps)
    blocks[block] = all;
}

bool GridOrder::knows(uint32_t block, uint32_t thread, uint32_t other, uint32_t stamp,
                      uint32_t who) const {
  if (words.empty() && blocks.empty())
    return false;
  if (auto mine = blocks.find(block);
      mine != blocks.end() && covers(mine->second, other, stamp, who))
    return true;
  auto view = views.find({block, thread});
  return view != views.end() && covers(view->second.known, other, stamp, who);
}

const char *GridOrder::missingFence(uint32_t block, uint32_t other) const {
  for (const auto &[word, met] : words)
    if (met.updaters.count(block) && met.unfenced.count(other))
      return "before the other block's";
  for (auto at = views.lower_bound({block, 0}); at != views.end() && at->first.first == block; ++at)
    if (at->second.seen.count(other) && !at->second.known.count(other))
      return "behind this block's";
  return nullptr;
}

} // namespace dlc::emu
