//===- Order.cpp - what happens before what within a block ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/check/Order.h"

namespace dlc::emu {

void BlockOrder::begin(uint32_t count) {
  threads = count;
  groups = (count + 127) / 128;
  isActive = false;
  times.assign(threads + groups, 1);
  base.clear();
  base.known.raise(threads + groups - 1, 0);
  views.resize(threads);
  for (Knowledge &view : views)
    view.clear();
  bars.clear();
}

void BlockOrder::joinAll() {
  if (isActive)
    for (Knowledge &view : views) {
      base.join(view);
      view.clear();
    }
  for (uint32_t thread = 0; thread < threads; ++thread)
    base.known.raise(thread, times[thread]++);
}

void BlockOrder::joinWarp(uint32_t first, uint32_t mask) {
  if (!isActive)
    return;
  Knowledge all;
  auto forEach = [&](auto visit) {
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (mask >> lane & 1)
        visit(first + lane);
  };
  forEach([&](uint32_t thread) {
    all.join(views[thread]);
    all.known.raise(thread, times[thread]++);
  });
  forEach([&](uint32_t thread) { views[thread].join(all); });
}

void BlockOrder::fence(uint32_t thread) {
  isActive = true;
  Knowledge &view = views[thread];
  view.fenced.join(base.known);
  view.fenced.join(view.known);
  view.fenced.raise(thread, times[thread]++);
  fenceMbarriers(thread);
}

MbarrierRecord *BlockOrder::find(const unsigned long long *word) {
  for (MbarrierRecord &bar : bars)
    if (bar.word == word)
      return &bar;
  return nullptr;
}

MbarrierRecord *BlockOrder::make(uint32_t thread, const unsigned long long *word) {
  isActive = true;
  MbarrierRecord *bar = find(word);
  if (!bar) {
    if (times.size() >= kMaxAgents)
      return nullptr;
    bars.push_back({word, Agent(times.size()), {}, {}, thread, 0, false, 0, {}, {}});
    times.push_back(1);
    bar = &bars.back();
  }
  bar->maker = thread;
  bar->madeAt = times[thread];
  bar->isFenced = false;
  bar->flips = 0;
  bar->waits.assign(threads, 0);
  bar->hasArrived.assign(threads, false);
  return bar;
}

void BlockOrder::fenceMbarriers(uint32_t thread) {
  for (MbarrierRecord &bar : bars)
    bar.isFenced |= bar.maker == thread;
}

void BlockOrder::arrive(uint32_t thread, MbarrierRecord &bar) {
  bar.pending.join(views[thread]);
  bar.pending.known.raise(thread, times[thread]++);
  bar.hasArrived[thread] = true;
}

void BlockOrder::flip(MbarrierRecord &bar) {
  bar.pending.known.raise(bar.agent, times[bar.agent]++);
  bar.released = bar.pending;
  ++bar.flips;
}

const MbarrierRecord *BlockOrder::vainWait(uint32_t thread, Agent other) const {
  auto isVain = [](const MbarrierRecord &bar, Agent waiter, Agent comer) {
    return bar.waits[waiter] == 1 && (bar.hasArrived[comer] || bar.hasArrived[waiter]);
  };
  for (const MbarrierRecord &bar : bars)
    if (other < threads && (isVain(bar, thread, other) || isVain(bar, other, thread)))
      return &bar;
  return nullptr;
}

const MbarrierRecord *BlockOrder::vainWait(uint32_t thread) const {
  for (const MbarrierRecord &bar : bars)
    if (bar.waits[thread] == 1)
      return &bar;
  return nullptr;
}

bool BlockOrder::hasWaited(uint32_t thread) const {
  return std::any_of(bars.begin(), bars.end(),
                     [&](const MbarrierRecord &bar) { return bar.waits[thread] != 0; });
}

void BlockOrder::wait(uint32_t thread, MbarrierRecord &bar) {
  bar.waits[thread] = bar.flips ? 2 : 1;
  views[thread].join(bar.released);
}

} // namespace dlc::emu
