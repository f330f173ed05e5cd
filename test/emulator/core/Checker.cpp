//===- Checker.cpp - finds races and stray accesses -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/core/Checker.h"
#include "test/emulator/core/DeviceMemory.h"
#include "test/emulator/core/Worker.h"
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace dlc::emu {

namespace {

constexpr uint32_t kEpochMask = (1u << 20) - 1;

Cell *mapShadow(size_t cells) {
  void *memory = mmap(nullptr, cells * sizeof(Cell), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED)
    return static_cast<Cell *>(memory);
  std::fprintf(stderr, "dlc cuda-emu: no memory for the checker; unset DLC_EMU_CHECK\n");
  std::abort();
}

const char *verb(unsigned flags) {
  return flags & DlcEmuAtomic ? "atomic update" : flags & DlcEmuStore ? "store" : "load";
}

Touch touchOf(const Block &block, const Thread &thread, unsigned flags) {
  Touch touch;
  touch.stamp = block.stamp;
  touch.thread = static_cast<uint32_t>(thread.linear);
  touch.warpEpoch = block.warps[thread.warp].epoch & kEpochMask;
  touch.atomic = (flags & DlcEmuAtomic) != 0;
  return touch;
}

} // namespace

Checker &Checker::get() {
  static Checker checker;
  return checker;
}

void Checker::beginLaunch(Launch &started) {
  launch = &started;
  owner.clear();
  launchStamp = firstStamp = nextStamp;
  if (!deviceShadow)
    deviceShadow = mapShadow(DeviceMemory::kRangeBytes);
}

void Checker::beginGridInterval() { firstStamp = nextStamp; }

uint32_t Checker::newStamp(Block &block) {
  owner.push_back(block.number);
  return nextStamp++;
}

void Checker::beginBlock(Block &block) {
  if (!block.shadow)
    block.shadow = mapShadow(kSharedArena);
  block.stamp = block.firstStamp = newStamp(block);
}

void Checker::beginInterval(Block &block) { block.stamp = newStamp(block); }

void Checker::freeSharedShadow(Cell *shadow) {
  if (shadow)
    munmap(shadow, kSharedArena * sizeof(Cell));
}

bool Checker::isOrdered(Block &block, const Thread &thread, const Touch &before,
                        bool shared) const {
  // An arena serves one block after another; device memory serves all blocks of a launch at once.
  if (before.stamp < (shared ? block.firstStamp : firstStamp) || before.thread == kCopyEngine)
    return true;
  if (before.stamp == block.stamp) {
    uint32_t mine = static_cast<uint32_t>(thread.linear);
    return before.thread == mine ||
           (before.thread / 32 == mine / 32 &&
            before.warpEpoch != (block.warps[thread.warp].epoch & kEpochMask));
  }
  return owner[before.stamp - launchStamp] == block.number;
}

void Checker::requireOrdered(Block &block, const Thread &thread, const Touch &before,
                             bool beforeWrote, const void *p, const char *what) {
  if (isOrdered(block, thread, before, block.isShared(p)))
    return;
  uint32_t number = owner[before.stamp - launchStamp];
  Text place = block.isShared(p) ? block.describeShared(p) : DeviceMemory::get().describe(p);
  Text other =
      number == block.number
          ? formatText("thread %u of the same block, with no barrier between", before.thread)
          : formatText("thread %u of block %u", before.thread, number);
  failThread(Fault::LaunchFailed, "race: %s at %s after a %s by %s", what, place.c_str(),
             before.atomic ? "atomic update"
             : beforeWrote ? "store"
                           : "load",
             other.c_str());
}

void Checker::requireInBounds(Block &block, const void *p, uint32_t bytes, const char *what) {
  if (block.isShared(p)) {
    if (!block.ownsShared(p, bytes))
      failThread(Fault::IllegalAddress, "out of bounds: %s of %u B at %s", what, bytes,
                 block.describeShared(p).c_str());
    return;
  }
  DeviceMemory &memory = DeviceMemory::get();
  if (!memory.owns(p, bytes))
    failThread(Fault::IllegalAddress, "out of bounds: %s of %u B at %s", what, bytes,
               memory.describe(p).c_str());
}

bool Checker::isOwnHostMemory(const Thread &thread, const void *p, bool store) const {
  if (thread.context->contains(p))
    return true;
  if (store)
    return false;
  auto isIn = [p](const void *begin, size_t bytes) {
    return static_cast<size_t>(static_cast<const char *>(p) - static_cast<const char *>(begin)) <
           bytes;
  };
  // Parameters, constants, and what threadIdx and its like stand for.
  const LaunchRequest &request = launch->request;
  return isIn(request.paramBlock, request.paramBlockBytes) ||
         isIn(request.params, request.paramCount * sizeof(void *)) ||
         isIn(request.image, request.imageBytes) || isIn(&thread, sizeof thread) ||
         isIn(thread.block, sizeof(Block)) || isIn(&dlcEmuSelf, sizeof dlcEmuSelf);
}

void Checker::access(const void *p, uint32_t bytes, unsigned flags) {
  Thread &thread = self();
  Block &block = thread.home();
  DeviceMemory &memory = DeviceMemory::get();
  bool shared = block.isShared(p);
  if (!shared && !memory.covers(p) && isOwnHostMemory(thread, p, flags & DlcEmuStore))
    return;
  const char *what = verb(flags);
  requireInBounds(block, p, bytes, what);
  uint32_t align = bytes < 16 ? bytes : 16;
  if (flags & DlcEmuVector && reinterpret_cast<uintptr_t>(p) % align)
    failThread(Fault::Misaligned, "misaligned: %s of %u B at %s", what, bytes,
               shared ? block.describeShared(p).c_str() : memory.describe(p).c_str());

  Cell *cell = shared ? block.shadow + block.sharedOffset(p) : deviceShadow + memory.offsetOf(p);
  const char *byte = static_cast<const char *>(p);
  Touch now = touchOf(block, thread, flags);
  for (uint32_t i = 0; i < bytes; ++i, ++cell, ++byte) {
    bool bothAtomic = now.atomic && cell->write.atomic;
    if (!bothAtomic)
      requireOrdered(block, thread, cell->write, true, byte, what);
    if (flags & DlcEmuStore) {
      for (const Touch &read : cell->read)
        requireOrdered(block, thread, read, false, byte, what);
      cell->write = now;
      continue;
    }
    if (shared && cell->write.stamp < block.firstStamp)
      failThread(Fault::LaunchFailed,
                 "uninitialised: load of %u B at %s, which the block has not "
                 "written",
                 bytes, block.describeShared(byte).c_str());
    // Keep two readers that are not ordered with one another: whoever writes next is not both.
    if (cell->read[0].stamp == now.stamp && cell->read[0].thread == now.thread)
      cell->read[0] = now;
    else if (isOrdered(block, thread, cell->read[0], shared))
      cell->read[0] = now;
    else
      cell->read[1] = now;
  }
}

void Checker::beginCopy(Block &block, const void *shared, uint32_t bytes) {
  Cell *cell = block.shadow + block.sharedOffset(shared);
  for (uint32_t i = 0; i < bytes; ++i)
    cell[i].write = Touch{0, kCopyEngine, 0, 0}; // written by nobody
}

void Checker::completeCopy(Block &block, const void *shared, uint32_t bytes) {
  Cell *cell = block.shadow + block.sharedOffset(shared);
  for (uint32_t i = 0; i < bytes; ++i)
    cell[i].write = Touch{block.stamp, kCopyEngine, 0, 0};
}

} // namespace dlc::emu

using namespace dlc::emu;

extern "C" {

void dlcEmuAccess(const void *p, unsigned bytes, unsigned flags) {
  // Null outside a launch: constructors of a kernel's image are instrumented as well.
  if (!dlcEmuSelf)
    return;
  if (Checker *checker = self().home().worker->launch().checker)
    checker->access(p, bytes, flags);
}

void dlcEmuMisaligned(const void *p, unsigned align, const char *file, unsigned line) {
  if (!dlcEmuSelf || reinterpret_cast<uintptr_t>(p) % align == 0)
    return;
  Block &block = self().home();
  failThread(Fault::Misaligned, "misaligned: %s is not aligned to %u B, as %s:%u requires",
             block.isShared(p) ? block.describeShared(p).c_str()
                               : DeviceMemory::get().describe(p).c_str(),
             align, file, line);
}

} // extern "C"
