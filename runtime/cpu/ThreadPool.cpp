//===- ThreadPool.cpp - Persistent workers that share the tiles of a launch ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A job is published by one store to `job` and taken by any worker that looks while it is open; it
// does not wait for workers that sleep. So a launch costs its caller nothing where no worker comes,
// a process that forked (and lost its workers) still makes progress, and no partition is fixed:
// tiles write disjoint elements, so who computes which changes no bit.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/ThreadPool.h"
#include "runtime/core/Spin.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <sched.h>
#include <system_error>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace dlc::cpu;
using dlc::rt::kSpins, dlc::rt::spinPause;

/// CPUs that the cgroup (version 2) grants, rounded up; 0 where there is no limit.
static int cgroupLimit() {
  std::FILE *file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!file)
    return 0;
  long long quota = 0, period = 0;
  int read = std::fscanf(file, "%lld %lld", &quota, &period);
  std::fclose(file);
  return read == 2 && quota > 0 && period > 0
             ? static_cast<int>(std::min<long long>(256, (quota + period - 1) / period))
             : 0;
}

int dlc::cpu::availableThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  if (int limit = cgroupLimit())
    count = std::min(count, limit);
  return std::clamp(count, 1, 256);
}

std::shared_ptr<ThreadPool> ThreadPool::shared(int threads) {
  // Never destroyed: a context may outlive the statics of this library.
  static auto &lock = *new std::mutex;
  static auto &pools = *new std::map<int, std::weak_ptr<ThreadPool>>;
  std::lock_guard guard(lock);
  std::shared_ptr<ThreadPool> pool = pools[threads].lock();
  if (!pool)
    pools[threads] = pool = std::make_shared<ThreadPool>(threads);
  return pool;
}

ThreadPool::~ThreadPool() {
  if (!workers.empty() && getpid() != process) {
    // They are in the parent alone, and can be neither joined nor destroyed: what stays of them
    // here is left to the process's end. A union destroys no member.
    union Left {
      std::vector<std::thread> workers;
      explicit Left(std::vector<std::thread> &&of) : workers(std::move(of)) {}
      ~Left() {}
    } left(std::move(workers));
    return;
  }
  stopping.store(true);
  wakeups.fetch_add(1);
  wakeups.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::start() {
  process = getpid();
  // A system that gives fewer threads slows the job and does not stop it.
  try {
    while (workers.size() + 1 < static_cast<size_t>(threads))
      workers.emplace_back([this, number = int(workers.size()) + 1] { work(number); });
  } catch (const std::system_error &) {
  }
}

static constexpr int64_t kWordBits = 64;

void ThreadPool::run(int64_t tiles, int64_t phases, bool wide, Body jobBody, void *jobState) {
  if (tiles <= 0)
    return;
  if (!wide || threads == 1 || tiles == 1 || !busy.try_lock())
    return jobBody(jobState, 0, tiles * phases, 0);
  std::lock_guard guard(busy, std::adopt_lock);
  if (workers.empty())
    start();

  body = jobBody;
  state = jobState;
  // Four pieces a thread even out unequal tiles and late workers.
  pieces = std::min({tiles, int64_t(threads) * 4, int64_t(taken.size()) * kWordBits});
  count.store(tiles, std::memory_order_relaxed);
  for (first = 0; first < tiles * phases; first += tiles)
    runJob();
}

void ThreadPool::runJob() {
  next.store(0, std::memory_order_relaxed);
  for (int64_t word = 0; word * kWordBits < pieces; ++word)
    taken[word].store(0, std::memory_order_relaxed);
  slots.store(1, std::memory_order_relaxed);
  uint64_t number =
      (job.load(std::memory_order_relaxed) | kHelperMask | kOpen) + 1; // the next kNextJob
  job.store(number | kOpen);
  wakeups.fetch_add(1);
  if (sleepers.load() > 0)
    wakeups.notify_all();

  takePieces(0, 0);

  uint64_t now = job.fetch_and(~kOpen) & ~kOpen;
  for (int spin = 0; (now & kHelperMask) != 0; now = job.load(std::memory_order_acquire))
    if (++spin < kSpins)
      spinPause();
    else
      sched_yield(); // a helper still computes its last piece
}

/// Each thread begins with the pieces that are its own in all jobs, in their order, and then takes
/// those of others, from their last ones on.
void ThreadPool::takePieces(int slot, int number) {
  int64_t tiles = count.load(std::memory_order_relaxed);
  auto take = [&](int64_t at) {
    std::atomic<uint64_t> &word = taken[at / kWordBits];
    uint64_t bit = uint64_t(1) << at % kWordBits;
    if (word.load(std::memory_order_relaxed) & bit ||
        word.fetch_or(bit, std::memory_order_relaxed) & bit)
      return;
    int64_t begin = at * tiles / pieces, end = (at + 1) * tiles / pieces;
    next.fetch_add(end - begin, std::memory_order_relaxed);
    body(state, first + begin, first + end, slot);
  };
  int64_t begin = pieces * number / threads, end = pieces * (number + 1) / threads;
  for (int64_t at = begin; at < end; ++at)
    take(at);
  for (int64_t at = pieces - 1; at >= 0; --at)
    take(at);
}

bool ThreadPool::joinJob() {
  uint64_t seen = job.load(std::memory_order_acquire);
  while (seen & kOpen)
    if (job.compare_exchange_weak(seen, seen + kHelper, std::memory_order_acquire))
      return true;
  return false;
}

void ThreadPool::work(int number) {
#if defined(__x86_64__)
  _mm_setcsr(0x1f80); // IEEE arithmetic, whatever the thread that started us had set
#endif
  int spin = 0;
  while (!stopping.load(std::memory_order_relaxed)) {
    uint64_t seen = job.load(std::memory_order_acquire);
    // A job whose tiles are all taken is not worth joining.
    if ((seen & kOpen) &&
        next.load(std::memory_order_relaxed) < count.load(std::memory_order_relaxed) && joinJob()) {
      takePieces(slots.fetch_add(1, std::memory_order_relaxed), number);
      job.fetch_sub(kHelper, std::memory_order_release);
      spin = 0;
      continue;
    }
    if (++spin < kSpins) {
      spinPause();
      continue;
    }
    sleepers.fetch_add(1);
    uint32_t ticket = wakeups.load();
    // Between the two loads a job may have come; its caller then changed `wakeups` after we read
    // it, or we see the job here.
    if (!(job.load() & kOpen) && !stopping.load())
      wakeups.wait(ticket);
    sleepers.fetch_sub(1);
    spin = 0;
  }
}
