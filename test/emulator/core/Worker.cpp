//===- Worker.cpp - runs blocks of threads on one host thread ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/core/Worker.h"
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/Async.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>

// Initial-exec: a register-relative load in each kernel; the one pointer fits the space that the
// loader keeps for libraries opened late.
extern "C" {
__thread DlcEmuThread *dlcEmuSelf __attribute__((tls_model("initial-exec")));
}

namespace dlc::emu {

namespace {
/// What NaN-poisons shared memory: all ones is a NaN in each float format, and -1.
constexpr int kPoison = 0xFF;
} // namespace

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

uint64_t Worker::random() {
  // xorshift64: any sequence will do, as long as a seed fixes it.
  randomState ^= randomState << 13;
  randomState ^= randomState >> 7;
  randomState ^= randomState << 17;
  return randomState;
}

void Worker::makeReady(Thread &thread) {
  thread.state = ThreadState::Ready;
  ready.push_back(&thread);
}

Thread *Worker::pick() {
  if (current->failed.load(std::memory_order_relaxed))
    return nullptr;
  bool disorder = settings().policy == Policy::Random;
  // Copies finish as late as they can, or at a random moment.
  while (!copies.empty() && (ready.empty() || (disorder && random() % 64 == 0))) {
    size_t chosen = disorder ? random() % copies.size() : 0;
    TmaCopy copy = copies[chosen];
    copies.erase(copies.begin() + chosen);
    performTmaCopy(*this, copy);
  }
  if (ready.empty())
    return nullptr;
  if (disorder)
    std::swap(ready[random() % ready.size()], ready.back());
  Thread *thread;
  if (settings().policy == Policy::Order) {
    thread = ready.front();
    ready.pop_front();
  } else {
    thread = ready.back();
    ready.pop_back();
  }
  return thread;
}

void threadMain() {
  enteredContext();
  self().home().worker->carryThreads();
}

void Worker::prepare(Thread &thread) {
  dlcEmuSelf = &thread;
  if (!thread.context)
    thread.context = contexts.acquire(threadMain);
}

void Worker::suspend() {
  Thread &thread = self();
  Thread *next = pick();
  if (next == &thread)
    return;
  if (!next) {
    switchContext(*thread.context, scheduler);
    return;
  }
  prepare(*next);
  if (!next->context) {
    dlcEmuSelf = &thread;
    failThread(Fault::LaunchFailed, "the host has no memory for another thread's stack");
  }
  switchContext(*thread.context, *next->context);
}

void Worker::maybeYield() {
  if (settings().policy != Policy::Random)
    return;
  makeReady(self());
  suspend();
}

void Worker::abandon() { leaveContext(*self().context, scheduler); }

void Worker::carryThreads() {
  for (;;) {
    Thread &thread = self();
    current->request.call(current->request.params);
    finish(thread);
    Thread *next = pick();
    Context *context = thread.context;
    thread.context = nullptr;
    if (next && !next->context) {
      // The usual case of a kernel without barriers: no switch at all.
      next->context = context;
      dlcEmuSelf = next;
      continue;
    }
    contexts.release(context);
    if (next)
      dlcEmuSelf = next;
    leaveContext(*context, next ? *next->context : scheduler);
  }
}

void Worker::finish(Thread &thread) {
  Block &block = thread.home();
  if (thread.async && thread.async->hasProducts())
    failThread(Fault::LaunchFailed,
               "the thread ends with wgmma in flight: wgmma_wait<0> is missing");
  if (block.atBarrier && settings().check)
    failThread(Fault::LaunchFailed,
               "divergent barrier: this thread ends while %u others of its block wait at %s:%d",
               block.atBarrier, block.barrierFile, block.barrierLine);
  if (current->checker && current->request.early && !thread.hasBegun)
    failThread(Fault::LaunchFailed,
               "missing grid dependency wait: this thread of an early launch ends without it; the "
               "next kernel would wait for this one and not for those before");
  if (block.live == 1)
    checkRegisters(block);
  if (thread.async)
    thread.async->clear();
  thread.state = ThreadState::Done;
  --live;
  --block.live;
  if (Checker *checker = current->checker; checker && !block.live && !checker->unwritten().empty())
    current->fail(Fault::LaunchFailed, formatText("%s", checker->unwritten().c_str()));
  Warp &warp = block.warps[thread.warp];
  warp.live &= ~(1u << thread.lane);
  if (Checker *checker = current->checker; checker && !block.live)
    checker->requireNoRemoteReads(block);
  // Those who wait need not wait for this thread any longer.
  if (block.live && block.atBarrier == block.live)
    releaseBarrier(block);
  if (warp.live && warp.arrived == warp.live)
    completeWarp(block, warp);
  if (live && atClusterBarrier == live)
    releaseClusterBarrier();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Worker::~Worker() {
  for (auto &block : idle) {
    munmap(block->shared, kSharedArena);
    Checker::freeSharedShadow(block->shadow);
  }
}

static unsigned char *mapSharedArena() {
  // Twice the size, to cut out an aligned part.
  void *memory = mmap(nullptr, 2 * kSharedArena, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  auto begin = reinterpret_cast<uintptr_t>(memory);
  uintptr_t aligned = (begin + kSharedArena - 1) & ~static_cast<uintptr_t>(kSharedArena - 1);
  if (aligned > begin)
    munmap(memory, aligned - begin);
  uintptr_t end = aligned + kSharedArena;
  if (end < begin + 2 * kSharedArena)
    munmap(reinterpret_cast<void *>(end), begin + 2 * kSharedArena - end);
  auto *arena = reinterpret_cast<unsigned char *>(aligned);
  std::memset(arena, kPoison, kStaticSharedLimit);
  return arena;
}

Block &Worker::openBlock(uint32_t number) {
  const LaunchRequest &request = current->request;
  if (idle.empty()) {
    idle.push_back(std::make_unique<Block>());
    idle.back()->shared = mapSharedArena();
  }
  open.push_back(std::move(idle.back()));
  idle.pop_back();
  Block &block = *open.back();
  const DlcEmuDim &grid = request.grid, &dim = request.block;
  block.worker = this;
  block.number = number;
  block.index = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
  block.grid = grid;
  block.dynamicBytes = request.dynamicShared;
  block.dynamicOffset = (kSharedArena - request.dynamicShared) & ~1023u;
  block.atBarrier = 0;
  if (block.shared) {
    std::memset(block.shared, kPoison, block.staticBytes);
    std::memset(block.shared + block.dynamicOffset, kPoison, block.dynamicBytes);
  }
  block.staticBytes = 0;
  block.variables.clear();
  block.remoteReads.clear();

  uint32_t count = dim.x * dim.y * dim.z;
  bool sameShape = block.threads.size() == count && !std::memcmp(&block.dim, &dim, sizeof dim);
  block.dim = dim;
  block.live = count;
  block.warps.resize((count + 31) / 32);
  block.atWgmma.assign((count + 127) / 128, 0);
  for (uint32_t w = 0; w < block.warps.size(); ++w) {
    Warp &warp = block.warps[w];
    uint32_t lanes = std::min(32u, count - w * 32);
    warp.live = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
    warp.arrived = warp.epoch = 0;
    warp.firstThread = static_cast<int>(w) * 32;
  }
  if (!sameShape) {
    block.threads = std::vector<Thread>(count);
    for (uint32_t i = 0; i < count; ++i) {
      Thread &thread = block.threads[i];
      thread.index = {i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y};
      thread.linear = static_cast<int>(i);
      thread.lane = thread.linear & 31;
      thread.warp = thread.linear >> 5;
    }
  }
  for (Thread &thread : block.threads) {
    thread.block = &block;
    thread.hasBegun = false;
    thread.registers = 0;
    makeReady(thread);
  }
  live += count;
  if (current->checker)
    current->checker->beginBlock(block);
  return block;
}

void Worker::closeBlocks() {
  for (auto &block : open) {
    uint32_t used = current->staticShared.load();
    while (used < block->staticBytes &&
           !current->staticShared.compare_exchange_weak(used, block->staticBytes)) {
    }
    for (Thread &thread : block->threads) {
      if (thread.context)
        contexts.release(thread.context); // only after a failure
      thread.context = nullptr;
      if (thread.async)
        thread.async->clear();
    }
    idle.push_back(std::move(block));
  }
  open.clear();
  ready.clear();
  mbarrierWaiters.clear();
  copies.clear();
  live = atGridBarrier = atClusterBarrier = 0;
}

void Worker::runOpenBlocks() {
  while (Thread *next = pick()) {
    prepare(*next);
    if (!next->context)
      break;
    switchContext(scheduler, *next->context);
    dlcEmuSelf = nullptr;
  }
  dlcEmuSelf = nullptr;
  if (!current->failed && live)
    reportDeadlock();
}

void Worker::run(Launch &launch) {
  current = &launch;
  randomState = launch.settings.seed * 0x9E3779B97F4A7C15ull + 1;
  uint32_t number;
  if (launch.request.cooperative) {
    while (launch.nextCluster(number))
      openBlock(number);
    runOpenBlocks();
    closeBlocks();
    return;
  }
  while (!launch.failed && launch.nextCluster(number)) {
    // Drawn afresh for each cluster, so that the number of workers changes nothing.
    randomState = (launch.settings.seed + number) * 0x9E3779B97F4A7C15ull + 1;
    bool hasMemory = true;
    for (uint32_t rank = 0; rank < launch.request.cluster; ++rank)
      hasMemory &= openBlock(number + rank).shared != nullptr;
    if (hasMemory)
      runOpenBlocks();
    else
      launch.fail(Fault::LaunchFailed, formatText("the host has no memory for a block"));
    closeBlocks();
  }
}

void Worker::reportDeadlock() {
  if (Checker *checker = current->checker; checker && !checker->unwritten().empty())
    return current->fail(Fault::LaunchFailed, formatText("%s", checker->unwritten().c_str()));
  static const char *const kWhere[] = {"ready",
                                       "at a block barrier",
                                       "at a warp collective",
                                       "at an mbarrier",
                                       "at the grid barrier",
                                       "at the cluster's barrier",
                                       "at wgmma_wait",
                                       "done"};
  uint32_t counts[8] = {};
  const Thread *example = nullptr;
  for (auto &block : open)
    for (Thread &thread : block->threads) {
      ++counts[static_cast<int>(thread.state)];
      if (!example && thread.state != ThreadState::Done)
        example = &thread;
    }
  std::string where;
  for (int i = 1; i < 7; ++i)
    if (counts[i])
      where += std::to_string(counts[i]) + " " + kWhere[i] + ", ";
  const DlcEmuDim &thread = example->index, &block = example->block->index;
  Text barrier = example->state == ThreadState::AtMbarrier ? describeMbarrierWait(*example)
                                                           : formatText("%s", "");
  current->fail(Fault::LaunchFailed,
                formatText("deadlock: %u threads wait for ever (%s%u ended); the first is thread "
                           "(%u,%u,%u) of block (%u,%u,%u)%s",
                           live, where.c_str(), counts[7], thread.x, thread.y, thread.z, block.x,
                           block.y, block.z, barrier.c_str()));
}

} // namespace dlc::emu
