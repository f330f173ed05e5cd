//===- Block.h - an emulated block, its warps and its threads ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "test/emulator/check/Order.h"
#include "test/emulator/core/Async.h"
#include "test/emulator/core/Context.h"
#include "test/emulator/core/Fault.h"
#include "test/emulator/device/dlc_emu_abi.h"
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace dlc::emu {

class Worker;
struct Block;
struct Cell;

/// Bytes of address space for one block's shared memory, and its alignment: an address is an
/// offset.
constexpr uint32_t kSharedArena = 256 * 1024;
/// The bytes of static variables that a block may use. Settings has the limit for all of its
/// memory.
constexpr uint32_t kStaticSharedLimit = 48 * 1024;

enum class ThreadState : uint8_t {
  Ready,
  AtBarrier,
  AtWarp,
  AtMbarrier,
  AtGridBarrier,
  AtClusterBarrier,
  AtWgmma,
  Done,
};

struct Thread : DlcEmuThread {
  ThreadState state = ThreadState::Ready;
  /// It has waited for the grids before its own.
  bool hasBegun = false;
  /// Registers that it has asked for by setmaxnreg; 0 where it has those of the launch.
  int registers = 0;
  /// The stack that it runs on; null before its start and after its end.
  Context *context = nullptr;
  /// While AtMbarrier: the barrier, and the phase whose end it waits for.
  unsigned long long *mbarrier = nullptr;
  unsigned phase = 0;
  /// Copies and matrix products in flight; made when first needed.
  std::unique_ptr<AsyncState> async;

  Block &home();
};

/// The meeting point of a warp. Operands are double-buffered: a lane may enter the next collective
/// while others still read the last.
struct Warp {
  uint32_t live = 0;
  uint32_t arrived = 0;
  int op = 0;
  uint32_t generation = 0;
  /// Counts the barriers of the warp, which order its accesses to memory.
  uint32_t epoch = 0;
  /// What the last lane to arrive does for all.
  void (*complete)(Block &block, Warp &warp, int slot) = nullptr;
  unsigned long long value[2][32];
  void *operand[2][32][3];
  /// The lanes that took part.
  uint32_t members[2] = {0, 0};
  int firstThread = 0;
};

/// A static shared variable and where it lies in the arena.
struct SharedVariable {
  const void *key;
  const char *name;
  uint32_t offset, bytes;
};

struct Block : DlcEmuBlock {
  Worker *worker = nullptr;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  uint32_t live = 0;
  /// Linear number in the grid.
  uint32_t number = 0;

  uint32_t atBarrier = 0;
  const char *barrierFile = nullptr;
  int barrierLine = 0;
  /// Threads of each warpgroup that wait for wgmma.
  std::vector<uint32_t> atWgmma;

  std::vector<SharedVariable> variables;
  uint32_t staticBytes = 0;

  // For the checker: the interval between two barriers, unique in the process; the first one of the
  // block; who last touched each byte of the arena; and what else orders the threads.
  uint32_t stamp = 0;
  uint32_t firstStamp = 0;
  Cell *shadow = nullptr;
  BlockOrder order;
  /// By block of the cluster: the thread of it that read this block's shared memory last, since the
  /// cluster's threads met.
  std::map<uint32_t, uint32_t> remoteReads;

  bool isShared(const void *p) const {
    return static_cast<size_t>(static_cast<const unsigned char *>(p) - shared) < kSharedArena;
  }
  uint32_t sharedOffset(const void *p) const {
    return static_cast<uint32_t>(static_cast<const unsigned char *>(p) - shared);
  }
  /// True if [p, p + bytes) lies in one variable or in the dynamic memory.
  bool ownsShared(const void *p, uint32_t bytes) const;
  /// For reports: "red+12 (of 128 B)".
  Text describeShared(const void *p) const;
};

inline Block &Thread::home() { return *static_cast<Block *>(block); }

/// The thread that runs now.
inline Thread &self() { return *static_cast<Thread *>(dlcEmuSelf); }

/// "block (0,0,0), thread (1,0,0): what".
Text describeThread(const Thread &thread, const Text &what);

/// Joins the warp's collective `op` and waits until all its live lanes have; the last one runs
/// `complete`. Returns the operand slot that the collective used.
int joinWarp(int op, void (*complete)(Block &, Warp &, int) = nullptr);
/// Where the calling lane puts its operands before joinWarp().
int warpSlot();

/// Fails the launch unless [p, p+bytes) is shared memory of the block, aligned to `align` bytes.
void requireShared(const void *p, uint32_t bytes, const char *what, uint32_t align = 16);

} // namespace dlc::emu
