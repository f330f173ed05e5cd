//===- Worker.h - runs blocks of threads on one host thread -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "test/emulator/core/Block.h"
#include "test/emulator/core/Launch.h"
#include "test/emulator/core/TensorMap.h"
#include <deque>

namespace dlc::emu {

/// A bulk copy that the block has issued and the "hardware" has not done yet.
struct TmaCopy {
  Block *block;
  void *destination;
  /// A copy: the kernel's parameter lies on the stack of a thread that may have ended by then.
  TensorMap map;
  unsigned long long *mbarrier;
  int column, row;
};

/// The scheduler of one host thread. It runs the threads of a cluster, most often of a single block
/// (or, in a cooperative launch, of all blocks) as fibers, in the order that the policy asks for,
/// until all have ended or one fails.
class Worker {
public:
  Worker() = default;
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;
  ~Worker();

  /// Runs blocks of the launch until there are none left or it has failed.
  void run(Launch &launch);

  Launch &launch() { return *current; }
  const Settings &settings() const { return current->settings; }
  uint32_t clusterSize() const { return current->request.cluster; }
  bool isCooperative() const { return current->request.cooperative; }

  /// Lets `thread` run again.
  void makeReady(Thread &thread);
  /// Runs others until the calling thread, which has set its state, is ready again.
  void suspend();
  /// Gives others a turn where the policy likes disorder.
  void maybeYield();
  /// Leaves the calling thread for good, after a failure.
  [[noreturn]] void abandon();
  /// A number from the launch's generator.
  uint64_t random();

  void issue(const TmaCopy &copy) { copies.push_back(copy); }
  void waitAtMbarrier(Thread &thread) { mbarrierWaiters.push_back(&thread); }
  /// Wakes those who wait for the end of the phase that has just ended.
  void mbarrierFlipped(Block &block, const unsigned long long *mbarrier, unsigned newPhase);
  /// Joins the grid barrier of a cooperative launch.
  void joinGridBarrier();
  /// Joins the barrier of the cluster, which is all of the open blocks.
  void joinClusterBarrier(bool orders);
  /// The open block whose shared memory holds `p`; null where none does.
  Block *blockOf(const void *p);
  Block &blockOfCluster(uint32_t rank) { return *open[rank]; }

private:
  friend void threadMain();
  void carryThreads();
  void finish(Thread &thread);
  Thread *pick();
  void prepare(Thread &thread);
  Block &openBlock(uint32_t number);
  void closeBlocks();
  void runOpenBlocks();
  void reportDeadlock();
  void releaseClusterBarrier();

  Launch *current = nullptr;
  uint64_t randomState = 1;
  Context scheduler;
  ContextPool contexts;
  std::deque<Thread *> ready;
  std::vector<Thread *> mbarrierWaiters;
  std::vector<TmaCopy> copies;
  std::vector<std::unique_ptr<Block>> idle, open;
  uint32_t live = 0;
  uint32_t atGridBarrier = 0, atClusterBarrier = 0;
  bool clusterBarrierOrders = false;
};

/// Does a bulk copy: the box, then the bytes that its mbarrier waits for.
void performTmaCopy(Worker &worker, const TmaCopy &copy);

/// Fails the launch where a warpgroup of the block, which has ended, did not ask for registers as a
/// whole, or all together asked for more than there are.
void checkRegisters(const Block &block);

/// ", which waits for phase 1 of the mbarrier at ...": for reports.
Text describeMbarrierWait(const Thread &thread);

/// Releases the block's barrier; all its live threads have arrived.
void releaseBarrier(Block &block);

/// Ends the warp's collective; all its live lanes have arrived.
void completeWarp(Block &block, Warp &warp);

} // namespace dlc::emu
