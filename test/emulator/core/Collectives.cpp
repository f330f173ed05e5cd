//===- Collectives.cpp - barriers, shuffles, ballots ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/Worker.h"
#include <cstring>

namespace dlc::emu {

static const char *nameOf(int op) {
  switch (op) {
  case DlcEmuWarpBarrier:
    return "warp_barrier";
  case DlcEmuShuffleIndex:
    return "shfl";
  case DlcEmuShuffleXor:
    return "shfl_xor";
  case DlcEmuShuffleDown:
    return "shfl_down";
  case DlcEmuShuffleUp:
    return "shfl_up";
  case DlcEmuBallotOp:
    return "ballot";
  case DlcEmuLdmatrix:
    return "ldmatrix";
  case DlcEmuLdmatrixTrans:
    return "ldmatrix (transposed)";
  case DlcEmuMma:
    return "mma_tile";
  case DlcEmuMmaBytes:
    return "mma_tile_bytes";
  case DlcEmuMmaSparse:
    return "mma_tile_sparse";
  }
  return "?";
}

//===-- Warps -------------------------------------------------------------===//

int warpSlot() {
  Thread &thread = self();
  return thread.home().warps[thread.warp].generation & 1;
}

void completeWarp(Block &block, Warp &warp) {
  int slot = warp.generation & 1;
  warp.members[slot] = warp.live;
  if (warp.complete)
    warp.complete(block, warp, slot);
  if (warp.op == DlcEmuWarpBarrier) {
    ++warp.epoch;
    if (block.worker->launch().checker)
      block.order.joinWarp(warp.firstThread, warp.live);
  }
  warp.arrived = 0;
  ++warp.generation;
  for (size_t i = warp.firstThread; i < block.threads.size() && i < warp.firstThread + 32u; ++i)
    if (block.threads[i].state == ThreadState::AtWarp)
      block.worker->makeReady(block.threads[i]);
}

int joinWarp(int op, void (*complete)(Block &, Warp &, int)) {
  Thread &thread = self();
  Block &block = thread.home();
  Warp &warp = block.warps[thread.warp];
  if (!warp.arrived) {
    warp.op = op;
    warp.complete = complete;
  } else if (warp.op != op) {
    failThread(Fault::LaunchFailed,
               "divergent warp: this lane calls %s while others of its warp call %s", nameOf(op),
               nameOf(warp.op));
  }
  int slot = warp.generation & 1;
  warp.arrived |= 1u << thread.lane;
  if (warp.arrived == warp.live) {
    completeWarp(block, warp);
    block.worker->maybeYield();
  } else {
    thread.state = ThreadState::AtWarp;
    block.worker->suspend();
  }
  return slot;
}

//===-- Blocks and grids --------------------------------------------------===//

void releaseBarrier(Block &block) {
  block.atBarrier = 0;
  if (Checker *checker = block.worker->launch().checker)
    checker->beginInterval(block);
  for (Thread &thread : block.threads)
    if (thread.state == ThreadState::AtBarrier)
      block.worker->makeReady(thread);
}

void Worker::joinGridBarrier() {
  if (!isCooperative())
    failThread(Fault::LaunchFailed, "grid_barrier in a launch that is not cooperative");
  self().state = ThreadState::AtGridBarrier;
  if (++atGridBarrier == live) {
    atGridBarrier = 0;
    if (current->checker)
      current->checker->beginGridInterval();
    for (auto &block : open) {
      if (current->checker)
        current->checker->beginInterval(*block);
      for (Thread &thread : block->threads)
        if (thread.state == ThreadState::AtGridBarrier)
          makeReady(thread);
    }
  }
  suspend();
}

} // namespace dlc::emu

using namespace dlc::emu;

extern "C" {

void dlcEmuFail(const char *what) { failThread(Fault::LaunchFailed, "%s", what); }

void dlcEmuBarrier(const char *file, int line) {
  Thread &thread = self();
  Block &block = thread.home();
  if (!block.atBarrier) {
    block.barrierFile = file;
    block.barrierLine = line;
  } else if (block.barrierLine != line || std::strcmp(block.barrierFile, file)) {
    failThread(Fault::LaunchFailed,
               "divergent barrier: this thread waits at %s:%d, others of its block at %s:%d", file,
               line, block.barrierFile, block.barrierLine);
  }
  thread.state = ThreadState::AtBarrier;
  if (++block.atBarrier == block.live) {
    if (block.live != block.threads.size() && block.worker->settings().check)
      failThread(Fault::LaunchFailed,
                 "divergent barrier at %s:%d: %zu of the block's %zu threads ended without it",
                 file, line, block.threads.size() - block.live, block.threads.size());
    releaseBarrier(block);
  }
  block.worker->suspend();
}

void dlcEmuBeginGrid() { self().hasBegun = true; }

void dlcEmuGridBarrier() { self().home().worker->joinGridBarrier(); }

void dlcEmuWarpSync(const char *, int) { joinWarp(DlcEmuWarpBarrier); }

unsigned long long dlcEmuShuffle(unsigned long long value, int source, int op) {
  Thread &thread = self();
  Warp &warp = thread.home().warps[thread.warp];
  warp.value[warpSlot()][thread.lane] = value;
  int slot = joinWarp(op);
  if (!(warp.members[slot] >> source & 1))
    failThread(Fault::LaunchFailed, "%s reads lane %d, which does not take part", nameOf(op),
               source);
  return warp.value[slot][source];
}

unsigned dlcEmuBallot(bool predicate) {
  Thread &thread = self();
  Warp &warp = thread.home().warps[thread.warp];
  warp.value[warpSlot()][thread.lane] = predicate;
  int slot = joinWarp(DlcEmuBallotOp);
  unsigned result = 0;
  for (int i = 0; i < 32; ++i)
    if (warp.members[slot] >> i & 1)
      result |= static_cast<unsigned>(warp.value[slot][i]) << i;
  return result;
}

} // extern "C"
