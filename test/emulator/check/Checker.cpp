//===- Checker.cpp - finds races and stray accesses -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/DeviceMemory.h"
#include "test/emulator/core/Worker.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace dlc::emu {

namespace {

constexpr uint32_t kEpochMask = (1u << 17) - 1;

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

uint32_t epochOf(const Block &block, Agent thread) {
  return block.warps[thread / 32].epoch & kEpochMask;
}

} // namespace

/// One access under examination.
struct Checker::Access {
  Thread &thread;
  Block &block;
  const char *what;
  uint32_t bytes;
  bool shared, store = false, atomic = false;
  /// By the tensor cores or a copy engine: as whom, until when, and the mbarrier that a copy counts
  /// at.
  bool async = false, inFlight = false;
  Agent agent = 0;
  uint32_t time = 0;
  const MbarrierRecord *bar = nullptr;
  /// The block whose shared memory is accessed, where it is another one of the cluster.
  Block *owner = nullptr;

  /// Records with an earlier stamp are of another block in this arena, or before all that could
  /// race.
  uint32_t era(const Checker &checker) const {
    return shared ? block.firstStamp : checker.firstStamp;
  }
  Text place(const void *p) const {
    if (owner)
      return formatText("block %u's %s", owner->number, owner->describeShared(p).c_str());
    return shared ? block.describeShared(p) : DeviceMemory::get().describe(p);
  }
};

Checker &Checker::get() {
  static Checker checker;
  return checker;
}

void Checker::beginLaunch(Launch &started) {
  launch = &started;
  owner.clear();
  further.assign(1, {});
  freeEntry = 0;
  waitingReport.clear();
  blocks.beginLaunch();
  launchStamp = firstStamp = nextStamp;
  streams.beginStamps(launchStamp);
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
  block.stamp = newStamp(block);
  // Blocks of a cluster begin together, and touch each other's memory.
  Block &first = block.worker->blockOfCluster(0);
  bool isLater = block.worker->clusterSize() > 1 && &first != &block;
  block.firstStamp = isLater ? first.firstStamp : block.stamp;
  block.order.begin(static_cast<uint32_t>(block.threads.size()));
}

void Checker::beginInterval(Block &block) {
  block.stamp = newStamp(block);
  block.order.joinAll();
  blocks.barrier(block.number);
}

void Checker::meet(const std::vector<Block *> &cluster) {
  std::map<uint32_t, uint32_t> stamps;
  for (Block *block : cluster)
    stamps[block->number] = block->stamp;
  blocks.meet(stamps);
  for (Block *block : cluster)
    beginInterval(*block);
}

void Checker::requireNoRemoteReads(const Block &block) {
  for (auto [reader, thread] : block.remoteReads)
    failThread(Fault::LaunchFailed,
               "missing cluster barrier: the block ends while thread %u of block %u may still read "
               "its shared memory",
               thread, reader);
}

void Checker::freeSharedShadow(Cell *shadow) {
  if (shadow)
    munmap(shadow, kSharedArena * sizeof(Cell));
}

//===-- Order -------------------------------------------------------------===//

bool Checker::isOrdered(const Access &now, uint32_t stamp, Agent agent, uint32_t time,
                        uint32_t warpEpoch) const {
  if (stamp < now.era(*this))
    return true;
  auto mine = static_cast<Agent>(now.thread.linear);
  if (uint32_t other = owner[stamp - launchStamp]; other != now.block.number)
    return blocks.knows(now.block.number, mine, other, stamp, agent);
  const BlockOrder &order = now.block.order;
  if (order.isThread(agent)) {
    if (stamp != now.block.stamp || agent == mine)
      return true;
    if (agent / 32 == mine / 32 && warpEpoch != epochOf(now.block, mine))
      return true;
  }
  return order.knows(mine, agent, time);
}

bool Checker::isOrdered(const Access &now, const Reader &reader, Agent &who) const {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if (!(reader.lanes >> lane & 1))
      continue;
    who = reader.isWarp ? reader.group * 32 + lane : reader.group;
    if (!isOrdered(now, reader.stamp, who, reader.time, reader.warpEpoch))
      return false;
    if (reader.stamp != now.block.stamp)
      return true; // the lanes of an earlier interval share their fate
  }
  return true;
}

void Checker::reportRace(const Access &now, uint32_t stamp, Agent agent, const char *before,
                         const void *p) {
  uint32_t number = owner[stamp - launchStamp];
  const BlockOrder &order = now.block.order;
  Text other = number != now.block.number ? formatText("thread %u of block %u", agent, number)
               : order.isThread(agent)
                   ? formatText("thread %u of the same block, with no barrier between", agent)
               : order.isTensor(agent)
                   ? formatText("wgmma of warpgroup %u, with no wgmma_wait between",
                                agent - order.tensorAgent(0))
                   : formatText("a TMA copy, with no mbar_wait between");
  if (now.shared)
    waitingReport.clear();
  if (number != now.block.number)
    if (const char *side = blocks.missingFence(now.block.number, number))
      failThread(Fault::LaunchFailed,
                 "missing fence: %s at %s after a %s by %s; both blocks have updated one word "
                 "atomically, but with no fence %s update",
                 now.what, now.place(p).c_str(), before, other.c_str(), side);
  // A wait that passed before there was anything to wait for orders nothing.
  if (const MbarrierRecord *bar = order.vainWait(now.thread.linear, agent);
      bar && number == now.block.number)
    failThread(
        Fault::LaunchFailed,
        "wrong phase: race: %s at %s after a %s by %s; a wait for a phase that had not begun, of "
        "the mbarrier at %s, orders nothing",
        now.what, now.place(p).c_str(), before, other.c_str(),
        now.block.describeShared(bar->word).c_str());
  failThread(Fault::LaunchFailed, "race: %s at %s after a %s by %s", now.what, now.place(p).c_str(),
             before, other.c_str());
}

void Checker::reportMissingWait(const Access &now, const Touch &before, const void *p) {
  waitingReport.clear();
  if (!before.async)
    failThread(Fault::LaunchFailed,
               "missing wait: %s of %u B at %s, into which a cp_async of thread %u is in flight",
               now.what, now.bytes, now.place(p).c_str(), before.agent);
  const MbarrierRecord &bar = now.block.order.mbarrierOf(before.agent);
  int waited = bar.waits[now.thread.linear];
  failThread(Fault::LaunchFailed,
             "%s: %s of %u B at %s, into which a TMA copy %s; this thread %s the mbarrier at %s",
             waited == 1 ? "wrong phase" : "missing wait", now.what, now.bytes,
             now.place(p).c_str(), before.inFlight ? "is in flight" : "wrote",
             waited == 0   ? "has not waited for"
             : waited == 1 ? "waited for a phase that had not begun, of"
                           : "has waited only for earlier phases of",
             now.block.describeShared(bar.word).c_str());
}

void Checker::requireWriteOrdered(const Access &now, const Touch &before, const void *p) {
  if (before.stamp < now.era(*this))
    return;
  if (now.owner && (before.inFlight ||
                    (before.async && !isOrdered(now, before.stamp, before.agent, before.time, 0))))
    reportRace(now, before.stamp, before.agent, "copy", p);
  // The engine's own bytes: a second copy over one that is in flight is as wrong as any other
  // access.
  if (before.inFlight)
    reportMissingWait(now, before, p);
  if (!(now.atomic && before.atomic) &&
      !isOrdered(now, before.stamp, before.agent, before.time, before.warpEpoch)) {
    if (before.async)
      reportMissingWait(now, before, p);
    reportRace(now, before.stamp, before.agent, before.atomic ? "atomic update" : "store", p);
  }
  if (now.async && !before.async &&
      !now.block.order.isFenced(now.thread.linear, before.agent, before.time)) {
    waitingReport.clear();
    failThread(Fault::LaunchFailed,
               "missing fence: %s at %s, which thread %u has written, with no fence_async between",
               now.what, now.place(p).c_str(), before.agent);
  }
}

void Checker::requireReadsOrdered(const Access &now, Cell &cell, const void *p) {
  auto require = [&](const Reader &reader) {
    Agent who;
    if (reader.stamp < now.era(*this) || isOrdered(now, reader, who))
      return;
    const BlockOrder &order = now.block.order;
    if (!now.bar || owner[reader.stamp - launchStamp] != now.block.number)
      reportRace(now, reader.stamp, who, "load", p);
    // A copy over what is being read. Either the reader did not wait for this copy, or this one not
    // for the reader.
    bool isTensor = order.isTensor(who);
    uint32_t group = who - order.tensorAgent(0);
    int waited = now.bar->waits[isTensor ? group * 128 : who];
    Text name =
        isTensor ? formatText("wgmma of warpgroup %u", group) : formatText("thread %u", who);
    waitingReport.clear();
    failThread(Fault::LaunchFailed, "%s: %s to %s, which %s has read %s the mbarrier at %s",
               waited == 1 ? "wrong phase" : "missing wait", now.what, now.place(p).c_str(),
               name.c_str(),
               waited == 0   ? "without a wait for"
               : waited == 1 ? "after a wait for a phase that had not begun, of"
                             : "and not given free since it waited for",
               now.block.describeShared(now.bar->word).c_str());
  };
  require(cell.read);
  if (cell.read.stamp >= now.era(*this))
    for (uint32_t at = cell.more & ~kManyBlocks; at; at = further[at].next)
      require(further[at].reader);
}

void Checker::requireStreamOrder(const Access &now, const Cell &cell, const void *p) {
  const char *before = "store";
  const WorkClock *other = streams.conflict(cell.write.stamp);
  if (!other && now.store) {
    before = "load";
    other = streams.conflict(cell.read.stamp);
  }
  if (!other) {
    before = "copy";
    other = streams.conflictingCopy(p, 1, now.store);
  }
  if (other)
    failThread(Fault::LaunchFailed,
               "missing event wait: %s at %s after a %s by %s, and neither an event nor the host "
               "orders the two",
               now.what, now.place(p).c_str(), before, other->describe().c_str());
}

void Checker::requireBegun(const Access &now, const Cell &cell, const void *p) {
  const char *before = "written";
  const WorkClock *other = streams.overlapped(cell.write.stamp);
  if (!other && now.store) {
    before = "read";
    other = streams.overlapped(cell.read.stamp);
  }
  if (other)
    failThread(Fault::LaunchFailed,
               "missing grid dependency wait: %s at %s, which %s has %s and which may still run: "
               "an early launch begins with begin_grid",
               now.what, now.place(p).c_str(), other->describe().c_str(), before);
}

const WorkClock *Checker::conflictOfCopy(const void *p, size_t bytes, bool store) {
  if (streams.isAfterAll())
    return nullptr;
  const WorkClock *other = streams.conflictingCopy(p, bytes, store);
  const DeviceMemory &memory = DeviceMemory::get();
  if (!deviceShadow || !memory.covers(p))
    return other;
  const Cell *cell = deviceShadow + memory.offsetOf(p);
  for (size_t i = 0; i < bytes && !other; ++i) {
    other = streams.conflict(cell[i].write.stamp);
    if (!other && store)
      other = streams.conflict(cell[i].read.stamp);
  }
  return other;
}

//===-- Accesses ----------------------------------------------------------===//

void Checker::freeFurther(Cell &cell) {
  // Entries of earlier launches are gone already.
  if (cell.read.stamp >= launchStamp)
    for (uint32_t at = cell.more & ~kManyBlocks; at;) {
      uint32_t next = further[at].next;
      further[at].next = freeEntry;
      freeEntry = at;
      at = next;
    }
  cell.more = 0;
}

void Checker::addReader(const Access &now, Cell &cell) {
  bool isThread = !now.async;
  Reader mine{now.block.stamp,
              now.time,
              isThread ? 1u << now.thread.lane : 1u,
              isThread ? uint32_t(now.thread.warp) : now.agent,
              isThread ? epochOf(now.block, now.agent) : 0,
              isThread};
  auto replace = [&] {
    freeFurther(cell);
    cell.read = mine;
  };
  if (cell.read.stamp < now.era(*this))
    return replace();
  if (cell.read.isLike(mine)) {
    cell.read.lanes |= mine.lanes;
    return;
  }
  if (cell.more & kManyBlocks)
    return;
  Agent who;
  bool allOrdered = isOrdered(now, cell.read, who);
  for (uint32_t at = cell.more; at; at = further[at].next) {
    Reader &other = further[at].reader;
    if (other.isLike(mine)) {
      other.lanes |= mine.lanes;
      return;
    }
    allOrdered &= isOrdered(now, other, who);
  }
  if (allOrdered)
    return replace();
  uint32_t entry = freeEntry;
  if (entry) {
    freeEntry = further[entry].next;
  } else {
    entry = static_cast<uint32_t>(further.size());
    further.emplace_back();
  }
  bool ofTwoBlocks = owner[cell.read.stamp - launchStamp] != now.block.number;
  further[entry] = {mine, cell.more};
  cell.more = entry | (ofTwoBlocks ? kManyBlocks : 0);
}

/// Kept, not reported: whoever writes the byte yet was to be waited for, and that is the better
/// report.
void Checker::noteUnwritten(const Access &now, const void *p) {
  if (!waitingReport.empty())
    return;
  Text place = now.place(p);
  const BlockOrder &order = now.block.order;
  auto thread = static_cast<uint32_t>(now.thread.linear);
  Text what = formatText("uninitialised: %s of %u B at %s, which the block has not written",
                         now.what, now.bytes, place.c_str());
  // Operands of tensor cores come by copies.
  if (const MbarrierRecord *bar = order.vainWait(thread); bar && now.async)
    what = formatText(
        "wrong phase: %s of %u B at %s, which nothing has written; this thread waited for "
        "a phase that had not begun, of the mbarrier at %s",
        now.what, now.bytes, place.c_str(), now.block.describeShared(bar->word).c_str());
  else if (now.async && !order.hasWaited(thread))
    what = formatText(
        "missing wait: %s of %u B at %s, which nothing has written; this thread has waited "
        "for no mbarrier",
        now.what, now.bytes, place.c_str());
  waitingReport = describeThread(now.thread, what).c_str();
}

void Checker::touchByte(const Access &now, Cell &cell, const void *p) {
  if (!now.shared && !streams.isAfterAll() && cell.write.stamp < launchStamp &&
      (now.store || cell.read.stamp < launchStamp))
    requireStreamOrder(now, cell, p);
  if (!now.shared && !now.thread.hasBegun && streams.mayOverlap())
    requireBegun(now, cell, p);
  requireWriteOrdered(now, cell.write, p);
  if (!now.store) {
    if (now.shared && cell.write.stamp < now.era(*this))
      noteUnwritten(now, p);
    addReader(now, cell);
    return;
  }
  requireReadsOrdered(now, cell, p);
  freeFurther(cell);
  cell.read = {};
  cell.write.stamp = now.block.stamp;
  cell.write.time = now.time;
  cell.write.agent = now.agent;
  cell.write.warpEpoch = now.async ? 0 : epochOf(now.block, now.agent);
  cell.write.atomic = now.atomic;
  cell.write.inFlight = now.inFlight;
  cell.write.async = now.async;
}

void Checker::touch(const Access &now, Cell *cell, const void *p, uint32_t bytes) {
  const char *byte = static_cast<const char *>(p);
  Cell before = *cell;
  touchByte(now, *cell, byte);
  Cell after = *cell;
  for (uint32_t i = 1; i < bytes; ++i) {
    // Bytes with one history have one future, but for lists, which they do not share. A difference
    // of padding only costs this short way. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    if (!before.more && !after.more && !std::memcmp(&cell[i], &before, sizeof before)) {
      cell[i] = after;
      continue;
    }
    before = cell[i];
    touchByte(now, cell[i], byte + i);
    after = cell[i];
  }
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
         isIn(thread.block, sizeof(Block)) || isIn(&dlcEmuSelf, sizeof(DlcEmuThread *));
}

void Checker::fence() {
  Thread &thread = self();
  blocks.fence(thread.home().number, static_cast<uint32_t>(thread.linear), thread.home().stamp);
}

void Checker::access(const void *p, uint32_t bytes, unsigned flags) {
  Thread &thread = self();
  Block &block = thread.home();
  DeviceMemory &memory = DeviceMemory::get();
  bool shared = block.isShared(p);
  if (!shared && !memory.covers(p) && isOwnHostMemory(thread, p, flags & DlcEmuStore))
    return;
  const char *what = verb(flags);
  Block *other = shared || memory.covers(p) ? nullptr : block.worker->blockOf(p);
  if (other && flags & (DlcEmuStore | DlcEmuAtomic))
    failThread(Fault::IllegalAddress,
               "%s at block %u's %s: blocks of a cluster only read each other's memory", what,
               other->number, other->describeShared(p).c_str());
  shared |= other != nullptr;
  Block &home = other ? *other : block;
  requireInBounds(home, p, bytes, what);
  uint32_t align = bytes < 16 ? bytes : 16;
  if (flags & DlcEmuVector && reinterpret_cast<uintptr_t>(p) % align)
    failThread(Fault::Misaligned, "misaligned: %s of %u B at %s", what, bytes,
               shared ? home.describeShared(p).c_str() : memory.describe(p).c_str());
  Access now{thread, block, what, bytes, shared};
  now.owner = other;
  now.store = flags & DlcEmuStore;
  now.atomic = flags & DlcEmuAtomic;
  now.agent = static_cast<Agent>(thread.linear);
  now.time = block.order.now(now.agent);
  if (other) {
    if (!other->live)
      failThread(Fault::IllegalAddress, "%s at %s, and that block has ended", what,
                 now.place(p).c_str());
    other->remoteReads[block.number] = now.agent;
  }
  touch(now, shared ? home.shadow + home.sharedOffset(p) : deviceShadow + memory.offsetOf(p), p,
        bytes);
  if (now.atomic && !shared)
    blocks.update(p, block.number, now.agent);
}

void Checker::beginCopy(const void *shared, uint32_t bytes, const MbarrierRecord *bar) {
  Thread &thread = self();
  Block &block = thread.home();
  Access now{thread, block, bar ? "tma_load_2d" : "cp_async", bytes, true};
  now.store = now.inFlight = true;
  now.async = bar != nullptr;
  now.bar = bar;
  now.agent = bar ? bar->agent : static_cast<Agent>(thread.linear);
  now.time = block.order.now(now.agent);
  touch(now, block.shadow + block.sharedOffset(shared), shared, bytes);
}

void Checker::beginTmaRead(const void *global, uint32_t bytes) {
  Thread &thread = self();
  if (thread.hasBegun || !streams.mayOverlap())
    return;
  Access now{thread, thread.home(), "tma_load_2d", bytes, false};
  const char *byte = static_cast<const char *>(global);
  const Cell *cell = deviceShadow + DeviceMemory::get().offsetOf(global);
  for (uint32_t i = 0; i < bytes; ++i)
    requireBegun(now, cell[i], byte + i);
}

void Checker::completeCopy(Block &block, const void *shared, uint32_t bytes) {
  Cell *cell = block.shadow + block.sharedOffset(shared);
  for (uint32_t i = 0; i < bytes; ++i) {
    Touch &write = cell[i].write;
    write.inFlight = 0;
    if (write.async)
      continue;
    // The thread that waits for its own cp.async writes now.
    write.stamp = block.stamp;
    write.time = block.order.now(write.agent);
    write.warpEpoch = epochOf(block, write.agent);
  }
}

void Checker::readByTensorCores(const void *shared, uint32_t bytes, uint32_t time) {
  Thread &thread = self();
  Block &block = thread.home();
  requireInBounds(block, shared, bytes, "wgmma");
  Access now{thread, block, "wgmma", bytes, true};
  now.async = true;
  now.agent = block.order.tensorAgent(thread.linear / 128);
  now.time = time;
  touch(now, block.shadow + block.sharedOffset(shared), shared, bytes);
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

void dlcEmuFence() {
  if (Checker *checker = self().home().worker->launch().checker)
    checker->fence();
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
