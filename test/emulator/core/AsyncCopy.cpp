//===- AsyncCopy.cpp - cp.async, mbarriers and TMA --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies happen as late as the program allows: cp.async at the wait for its group, TMA when nothing
// else can run (or at a random moment). Until then the destination holds NaN, so that a missing
// wait shows in the result, and to the checker it is unwritten.
//===----------------------------------------------------------------------===//
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/Async.h"
#include "test/emulator/core/DeviceMemory.h"
#include "test/emulator/core/TensorMap.h"
#include "test/emulator/core/Worker.h"
#include <cstring>

namespace dlc::emu {

AsyncState &asyncOf(Thread &thread) {
  if (!thread.async)
    thread.async = std::make_unique<AsyncState>();
  return *thread.async;
}

static Checker *checker() { return self().home().worker->launch().checker; }

//===-- mbarriers ---------------------------------------------------------===//
// The barrier's state lives in its 64-bit word in shared memory, as on the GPU, so that overwriting
// it is noticed: bits 0-15 arrivals to come, 16-31 arrivals a phase, 32 phase, 33-35 a mark,
// 36-63 bytes to come, offset by 2^27.

namespace {

constexpr uint64_t kMark = 5;
constexpr int64_t kBytesBias = 1 << 27;

struct Mbarrier {
  uint32_t pending, count, phase;
  int64_t bytes;

  static bool isMarked(uint64_t word) { return (word >> 33 & 7) == kMark; }
  static Mbarrier read(uint64_t word) {
    return {uint32_t(word & 0xffff), uint32_t(word >> 16 & 0xffff), uint32_t(word >> 32 & 1),
            int64_t(word >> 36) - kBytesBias};
  }
  uint64_t word() const {
    return uint64_t(pending) | uint64_t(count) << 16 | uint64_t(phase) << 32 | kMark << 33 |
           uint64_t(bytes + kBytesBias) << 36;
  }
};

Mbarrier requireMbarrier(unsigned long long *bar, const char *what) {
  Block &block = self().home();
  if (!block.isShared(bar) || !block.ownsShared(bar, 8))
    failThread(Fault::IllegalAddress, "%s: the mbarrier is not in shared memory", what);
  if (!Mbarrier::isMarked(*bar))
    failThread(Fault::LaunchFailed, "%s: the mbarrier at %s was not initialised, or overwritten",
               what, block.describeShared(bar).c_str());
  return Mbarrier::read(*bar);
}

[[noreturn]] void failTooManyArrivals(const unsigned long long *bar, const char *what,
                                      const Mbarrier &state) {
  failThread(
      Fault::LaunchFailed,
      "missing wait: %s at the mbarrier at %s, whose phase %u has all of its %u arrivals and lacks "
      "%lld B: whoever arrives again must wait for its end",
      what, self().home().describeShared(bar).c_str(), state.phase, state.count,
      static_cast<long long>(state.bytes));
}

void updateMbarrier(Block &block, unsigned long long *bar, Mbarrier state) {
  Worker &worker = *block.worker;
  bool flipped = state.pending == 0 && state.bytes == 0;
  if (flipped) {
    state.phase ^= 1;
    state.pending = state.count;
  }
  *bar = state.word();
  if (flipped)
    worker.mbarrierFlipped(block, bar, state.phase);
}

/// What the checker keeps of the mbarrier, after the test that the running thread may use it; null
/// in an unchecked launch.
MbarrierRecord *requireMade(const unsigned long long *bar, const char *what) {
  Thread &thread = self();
  BlockOrder &order = thread.home().order;
  MbarrierRecord *record = checker() ? order.find(bar) : nullptr;
  if (record && !order.knows(thread.linear, record->maker, record->madeAt))
    failThread(Fault::LaunchFailed,
               "race: %s at the mbarrier at %s, which thread %u has made, with no barrier between",
               what, thread.home().describeShared(bar).c_str(), record->maker);
  return record;
}

} // namespace

void Worker::mbarrierFlipped(Block &block, const unsigned long long *mbarrier, unsigned newPhase) {
  if (MbarrierRecord *record = current->checker ? block.order.find(mbarrier) : nullptr)
    block.order.flip(*record);
  auto isWoken = [&](Thread *thread) {
    return thread->mbarrier == mbarrier && thread->phase != newPhase;
  };
  for (Thread *thread : mbarrierWaiters)
    if (isWoken(thread))
      makeReady(*thread);
  std::erase_if(mbarrierWaiters, isWoken);
}

Text describeMbarrierWait(const Thread &thread) {
  Mbarrier state = Mbarrier::read(*thread.mbarrier);
  return formatText(
      ", which waits for phase %u of the mbarrier at %s: that is in phase %u and lacks %u of %u "
      "arrivals and %lld B",
      thread.phase,
      static_cast<const Block *>(thread.block)->describeShared(thread.mbarrier).c_str(),
      state.phase, state.pending, state.count, static_cast<long long>(state.bytes));
}

//===-- TMA ---------------------------------------------------------------===//

/// Four floats to the 11 significant bits of tf32: to nearest. How the hardware breaks ties is not
/// documented; here they go away from zero, as cvt.rna has it.
static void roundToTf32(unsigned char *chunk) {
  for (int i = 0; i < 4; ++i) {
    uint32_t bits;
    std::memcpy(&bits, chunk + i * 4, 4);
    if ((bits & 0x7f800000u) != 0x7f800000u)
      bits = (bits + 0x1000u) & 0xffffe000u;
    std::memcpy(chunk + i * 4, &bits, 4);
  }
}

void performTmaCopy(Worker &worker, const TmaCopy &copy) {
  const TensorMap &map = copy.map;
  Block &block = *copy.block;
  uint32_t start = block.sharedOffset(copy.destination);
  uint32_t chunkElements = 16 / map.elementBytes;
  for (uint32_t row = 0; row < map.box[1]; ++row)
    for (uint32_t column = 0; column < map.box[0]; column += chunkElements) {
      // Elements outside the array are zero.
      unsigned char chunk[16] = {};
      int64_t y = int64_t(copy.row) + row;
      for (uint32_t e = 0; e < chunkElements; ++e) {
        int64_t x = int64_t(copy.column) + column + e;
        if (y >= 0 && y < int64_t(map.extent[1]) && x >= 0 && x < int64_t(map.extent[0]))
          std::memcpy(chunk + e * map.elementBytes,
                      map.base + y * map.rowBytes + x * map.elementBytes, map.elementBytes);
      }
      if (map.toTf32)
        roundToTf32(chunk);
      uint32_t offset = start + (row * map.box[0] + column) * map.elementBytes;
      std::memcpy(block.shared + (map.swizzle ? swizzle128(offset) : offset), chunk, 16);
    }
  if (Checker *check = worker.launch().checker)
    check->completeCopy(block, copy.destination, map.boxBytes());
  Mbarrier state = Mbarrier::read(*copy.mbarrier);
  state.bytes -= map.boxBytes();
  updateMbarrier(block, copy.mbarrier, state);
}

} // namespace dlc::emu

using namespace dlc::emu;

extern "C" {

void dlcEmuMbarInit(unsigned long long *bar, unsigned count) {
  Block &block = self().home();
  if (!block.isShared(bar) || !block.ownsShared(bar, 8))
    failThread(Fault::IllegalAddress, "mbar_init: the mbarrier is not in shared memory");
  *bar = Mbarrier{count, count, 0, 0}.word();
  if (checker() && !block.order.make(self().linear, bar))
    failThread(Fault::LaunchFailed, "mbar_init: the checker follows no more mbarriers");
}

void dlcEmuMbarFenceInit() {
  if (checker())
    self().home().order.fenceMbarriers(self().linear);
}

void dlcEmuFenceAsync() {
  if (checker())
    self().home().order.fence(self().linear);
}

void dlcEmuMbarExpect(unsigned long long *bar, unsigned bytes) {
  Mbarrier state = requireMbarrier(bar, "mbar_expect_tx");
  if (!state.pending)
    failTooManyArrivals(bar, "mbar_expect_tx", state);
  if (MbarrierRecord *record = requireMade(bar, "mbar_expect_tx"))
    self().home().order.arrive(self().linear, *record);
  state.bytes += bytes;
  --state.pending;
  updateMbarrier(self().home(), bar, state);
}

void dlcEmuMbarArrive(unsigned long long *bar) {
  Mbarrier state = requireMbarrier(bar, "mbar_arrive");
  if (!state.pending)
    failTooManyArrivals(bar, "mbar_arrive", state);
  if (MbarrierRecord *record = requireMade(bar, "mbar_arrive"))
    self().home().order.arrive(self().linear, *record);
  --state.pending;
  updateMbarrier(self().home(), bar, state);
}

void dlcEmuMbarWait(unsigned long long *bar, unsigned phase) {
  Mbarrier state = requireMbarrier(bar, "mbar_wait");
  MbarrierRecord *record = requireMade(bar, "mbar_wait");
  Thread &thread = self();
  if (state.phase == phase) {
    thread.state = ThreadState::AtMbarrier;
    thread.mbarrier = bar;
    thread.phase = phase;
    Worker &worker = *thread.home().worker;
    worker.waitAtMbarrier(thread);
    worker.suspend();
  }
  if (record)
    thread.home().order.wait(thread.linear, *record);
}

void dlcEmuTmaLoad2d(void *shared, const void *map, unsigned long long *bar, int c0, int c1) {
  const TensorMap &tensor = *static_cast<const TensorMap *>(map);
  Block &block = self().home();
  if (tensor.magic != TensorMap::kMagic)
    failThread(Fault::LaunchFailed, "tma_load_2d: not a tensor map of cuTensorMapEncodeTiled");
  requireShared(shared, tensor.boxBytes(), "tma_load_2d");
  if (block.sharedOffset(shared) % 128)
    failThread(Fault::Misaligned, "tma_load_2d: %s is not aligned to 128 B",
               block.describeShared(shared).c_str());
  if (!DeviceMemory::get().owns(tensor.base, (tensor.extent[1] - 1) * tensor.rowBytes +
                                                 tensor.extent[0] * tensor.elementBytes))
    failThread(Fault::IllegalAddress, "tma_load_2d: the tensor map passes the end of %s",
               DeviceMemory::get().describe(tensor.base).c_str());
  requireMbarrier(bar, "tma_load_2d");
  if (const MbarrierRecord *record = requireMade(bar, "tma_load_2d")) {
    if (!record->isFenced)
      failThread(Fault::LaunchFailed,
                 "missing fence: tma_load_2d counts at the mbarrier at %s, which thread %u has "
                 "made with no "
                 "mbar_fence_init after",
                 block.describeShared(bar).c_str(), record->maker);
    for (uint32_t row = 0; row < tensor.box[1]; ++row) {
      int64_t at = int64_t(c1) + row, end = std::min<int64_t>(tensor.extent[0], c0 + tensor.box[0]);
      if (at >= 0 && at < int64_t(tensor.extent[1]) && c0 >= 0 && c0 < end)
        checker()->beginTmaRead(tensor.base + at * tensor.rowBytes + c0 * tensor.elementBytes,
                                (end - c0) * tensor.elementBytes);
    }
    checker()->beginCopy(shared, tensor.boxBytes(), record);
  }
  std::memset(shared, 0xFF, tensor.boxBytes());
  block.worker->issue({&block, shared, tensor, bar, c0, c1});
}

void dlcEmuCopyAsync(void *shared, const void *global, int bytes, int sourceBytes) {
  requireShared(shared, bytes, "cp_async", bytes);
  if (reinterpret_cast<uintptr_t>(global) % bytes)
    failThread(Fault::Misaligned, "cp_async: %s is not aligned to %d B",
               DeviceMemory::get().describe(global).c_str(), bytes);
  if (sourceBytes && !DeviceMemory::get().owns(global, sourceBytes))
    failThread(Fault::IllegalAddress, "cp_async out of bounds: load of %d B at %s", sourceBytes,
               DeviceMemory::get().describe(global).c_str());
  if (Checker *check = checker()) {
    if (sourceBytes)
      check->access(global, sourceBytes, DlcEmuLoad);
    check->beginCopy(shared, bytes, nullptr);
  }
  std::memset(shared, 0xFF, bytes);
  asyncOf(self()).copies.push_back({shared, global, uint32_t(bytes), uint32_t(sourceBytes)});
}

void dlcEmuCopyCommit() {
  AsyncState &async = asyncOf(self());
  async.groups.push_back(async.copies.size());
}

void dlcEmuCopyWait(int pending) {
  AsyncState &async = asyncOf(self());
  if (async.groups.size() <= size_t(pending))
    return;
  size_t done = async.groups.size() - pending;
  size_t end = async.groups[done - 1];
  for (size_t i = 0; i < end; ++i) {
    const AsyncCopy &copy = async.copies[i];
    if (Checker *check = checker())
      check->completeCopy(self().home(), copy.shared, copy.bytes);
    std::memcpy(copy.shared, copy.global, copy.sourceBytes);
    std::memset(static_cast<char *>(copy.shared) + copy.sourceBytes, 0,
                copy.bytes - copy.sourceBytes);
  }
  async.copies.erase(async.copies.begin(), async.copies.begin() + end);
  async.groups.erase(async.groups.begin(), async.groups.begin() + done);
  for (size_t &group : async.groups)
    group -= end;
}

} // extern "C"
