//===- Checker.h - finds races and stray accesses ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each byte of shared and device memory that a checked kernel touches, the checker remembers
// who wrote it last and all who read it since. Two accesses by different threads, one of them a
// write, race unless something orders them: a barrier of the block, of their warp, of the grid, an
// mbarrier, a wait for copies or products, atomic updates between fences, or an earlier launch.
// Asynchronous units count as readers and writers of their own.
//
// Time is counted in *stamps*: each block gets a new one at its start and at each of its barriers,
// never used again in the process. So a record needs no clearing, and equal stamps mean "the same
// block, no barrier between". What orders threads between two barriers is in Order.h.
//===----------------------------------------------------------------------===//
#pragma once
#include "test/emulator/check/GridOrder.h"
#include "test/emulator/check/LaunchOrder.h"
#include "test/emulator/core/Block.h"
#include <string>
#include <vector>

namespace dlc::emu {

class Launch;

/// Who wrote a byte: stamp (0: nobody), agent of the block, its time, barrier count of its warp.
struct Touch {
  uint32_t stamp = 0, time = 0;
  uint32_t agent : 11 = 0;
  uint32_t warpEpoch : 17 = 0;
  uint32_t atomic : 1 = 0;
  /// A copy that has been issued and not been done.
  uint32_t inFlight : 1 = 0;
  /// Written by the copy engine, not by a thread's store.
  uint32_t async : 1 = 0;
};

/// Who read a byte: lanes of one warp at one time, or an agent that is no thread.
struct Reader {
  uint32_t stamp = 0, time = 0, lanes = 0;
  uint32_t group : 11 = 0;
  uint32_t warpEpoch : 17 = 0;
  uint32_t isWarp : 1 = 0;

  bool isLike(const Reader &other) const {
    return stamp == other.stamp && time == other.time && group == other.group &&
           warpEpoch == other.warpEpoch && isWarp == other.isWarp;
  }
};

/// The record of one byte: `more` numbers the first of the further readers; kManyBlocks: those of
/// two blocks are known, one of which any writer is not of.
struct Cell {
  Touch write;
  Reader read;
  uint32_t more = 0;
};
static_assert(sizeof(Cell) == 32, "the shadow of device memory is 32 times its size");
constexpr uint32_t kManyBlocks = 1u << 31;

class Checker {
public:
  static Checker &get();

  /// Everything before is ordered before everything after, but for what other streams do.
  void beginLaunch(Launch &launch);
  void beginGridInterval();
  void beginBlock(Block &block);
  /// A barrier of the block.
  void beginInterval(Block &block);
  /// A barrier of the cluster that the blocks are.
  void meet(const std::vector<Block *> &cluster);
  /// The block has ended: no other one of its cluster may still read its shared memory.
  void requireNoRemoteReads(const Block &block);

  /// An access by the running thread. Fails it if the access is out of bounds, misaligned (with
  /// DlcEmuVector), racing, or reads shared memory that its block has not written.
  void access(const void *p, uint32_t bytes, unsigned flags);

  /// The running thread calls fence.
  void fence();

  /// The running thread has let a copy engine begin to write: cp.async, or TMA that counts at
  /// `bar`. Until completeCopy(), touching the bytes is an error.
  void beginCopy(const void *shared, uint32_t bytes, const MbarrierRecord *bar);
  void completeCopy(Block &block, const void *shared, uint32_t bytes);
  /// The running thread lets TMA read `bytes` of device memory: where it has not waited for the
  /// grids before its own, these must not have written them.
  void beginTmaRead(const void *global, uint32_t bytes);
  /// The running thread's warpgroup has let its tensor cores read the bytes until time `time`.
  void readByTensorCores(const void *shared, uint32_t bytes, uint32_t time);

  /// Work that touched one of the bytes of device memory, in no order with the copy that runs now.
  const WorkClock *conflictOfCopy(const void *p, size_t bytes, bool store);

  /// A read of shared memory that nobody has written is reported at the block's end: until then it
  /// may turn out to be a missing barrier.
  const std::string &unwritten() const { return waitingReport; }

  static void freeSharedShadow(Cell *shadow);

  /// What the launches of other streams did, and what copies did to device memory.
  LaunchOrder streams;

private:
  struct Access;
  struct Further {
    Reader reader;
    uint32_t next;
  };

  uint32_t newStamp(Block &block);
  /// The thread's own stack; to read, its parameters and constants too.
  bool isOwnHostMemory(const Thread &thread, const void *p, bool store) const;
  void requireInBounds(Block &block, const void *p, uint32_t bytes, const char *what);
  void touch(const Access &now, Cell *cell, const void *p, uint32_t bytes);
  void touchByte(const Access &now, Cell &cell, const void *p);
  void addReader(const Access &now, Cell &cell);
  bool isOrdered(const Access &now, uint32_t stamp, Agent agent, uint32_t time,
                 uint32_t warpEpoch) const;
  bool isOrdered(const Access &now, const Reader &reader, Agent &who) const;
  void requireWriteOrdered(const Access &now, const Touch &before, const void *p);
  void requireReadsOrdered(const Access &now, Cell &cell, const void *p);
  /// The thread of an early launch has waited for whoever touched the byte before.
  void requireBegun(const Access &now, const Cell &cell, const void *p);
  void requireStreamOrder(const Access &now, const Cell &cell, const void *p);
  [[noreturn]] void reportRace(const Access &now, uint32_t stamp, Agent agent, const char *verb,
                               const void *p);
  [[noreturn]] void reportMissingWait(const Access &now, const Touch &before, const void *p);
  void noteUnwritten(const Access &now, const void *p);
  void freeFurther(Cell &cell);

  Launch *launch = nullptr;
  uint32_t nextStamp = 1;
  /// Stamps from here on belong to this launch and have not been ordered by a grid barrier.
  uint32_t firstStamp = 1;
  /// The block of each stamp of this launch, from `launchStamp` on.
  uint32_t launchStamp = 1;
  std::vector<uint32_t> owner;
  /// Records of device memory, by offset in its range.
  Cell *deviceShadow = nullptr;
  /// Readers beyond the first of a byte, the first entry unused; those of this launch alone.
  std::vector<Further> further;
  uint32_t freeEntry = 0;
  /// What orders blocks within the launch.
  GridOrder blocks;
  std::string waitingReport;
};

} // namespace dlc::emu
