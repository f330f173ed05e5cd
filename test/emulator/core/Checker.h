//===- Checker.h - finds races and stray accesses ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each byte of shared and device memory that a checked kernel touches, the checker remembers
// who wrote it last and two of those who read it since. Two accesses by different threads, one of
// them a write, race unless something orders them: a barrier of the block between them, a barrier of
// their warp, or an earlier launch.
//
// Time is counted in *stamps*: each block gets a new one at its start and at each of its barriers,
// never used again in the process. So a record needs no clearing, and equal stamps mean "the same
// block, no barrier between".
//===----------------------------------------------------------------------===//
#pragma once
#include "test/emulator/core/Block.h"
#include <vector>

namespace dlc::emu {

class Launch;

/// Who touched a byte: stamp, thread in the block, barrier count of its warp. 0: nobody.
struct Touch {
  uint32_t stamp = 0;
  uint32_t thread : 11;
  uint32_t warpEpoch : 20;
  uint32_t atomic : 1;
};

/// The record of one byte.
struct Cell {
  Touch write, read[2];
};
static_assert(sizeof(Cell) == 24, "the shadow of device memory is 24 times its size");

class Checker {
public:
  static Checker &get();

  /// Everything before is ordered before everything after.
  void beginLaunch(Launch &launch);
  void beginGridInterval();
  void beginBlock(Block &block);
  /// A barrier of the block.
  void beginInterval(Block &block);

  /// An access by the running thread. Fails it if the access is out of bounds, misaligned (with
  /// DlcEmuVector), racing, or reads shared memory that its block has not written.
  void access(const void *p, uint32_t bytes, unsigned flags);

  /// The bytes are about to be overwritten by a copy in flight: until completeCopy(), reading them
  /// is reading what was never written.
  void beginCopy(Block &block, const void *shared, uint32_t bytes);
  void completeCopy(Block &block, const void *shared, uint32_t bytes);

  static void freeSharedShadow(Cell *shadow);

private:
  uint32_t newStamp(Block &block);
  /// The thread's own stack; to read, its parameters and constants too.
  bool isOwnHostMemory(const Thread &thread, const void *p, bool store) const;
  void requireInBounds(Block &block, const void *p, uint32_t bytes, const char *what);
  void requireOrdered(Block &block, const Thread &thread, const Touch &before, bool beforeWrote,
                      const void *p, const char *what);
  /// True if the running thread's access comes after `before`.
  bool isOrdered(Block &block, const Thread &thread, const Touch &before, bool shared) const;

  Launch *launch = nullptr;
  uint32_t nextStamp = 1;
  /// Stamps from here on belong to this launch and have not been ordered by a grid barrier.
  uint32_t firstStamp = 1;
  /// The block of each stamp of this launch, from `launchStamp` on.
  uint32_t launchStamp = 1;
  std::vector<uint32_t> owner;
  /// Records of device memory, by offset in its range.
  Cell *deviceShadow = nullptr;
};

/// Stands for the hardware's copy engine in a Touch.
constexpr uint32_t kCopyEngine = 2047;

} // namespace dlc::emu
