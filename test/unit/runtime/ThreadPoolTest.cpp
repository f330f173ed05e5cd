//===- ThreadPoolTest.cpp - Each tile once, whoever comes -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/ThreadPool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define DLC_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DLC_THREAD_SANITIZER
#endif
#endif

using namespace dlc::cpu;

namespace {

/// Counts how often each tile is computed, and that no two threads hold a slot at the same time.
struct Tally {
  explicit Tally(int64_t tiles, int slots) : tiles(tiles), slots(slots) {}
  std::vector<std::atomic<int>> tiles;
  std::vector<std::atomic<int>> slots;
  std::atomic<bool> clash{false};

  static void body(void *state, int64_t begin, int64_t end, int slot) {
    auto &tally = *static_cast<Tally *>(state);
    if (tally.slots[slot].fetch_add(1) != 0)
      tally.clash = true;
    for (int64_t i = begin; i < end; ++i)
      tally.tiles[i].fetch_add(1, std::memory_order_relaxed);
    tally.slots[slot].fetch_sub(1);
  }
  void check() const {
    EXPECT_FALSE(clash);
    for (size_t i = 0; i < tiles.size(); ++i)
      ASSERT_EQ(tiles[i], 1) << "tile " << i << " of " << tiles.size();
  }
};

} // namespace

TEST(ThreadPool, EachTileRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t tiles : {0, 1, 2, 3, 7, 31, 32, 33, 1000}) {
      Tally tally(tiles, threads);
      pool.run(tiles, true, Tally::body, &tally);
      tally.check();
    }
  }
}

/// Each tile is computed of neighbours that other threads computed in the phase before.
struct Waves {
  Waves(int64_t tiles, int64_t phases) : tiles(tiles), values((phases + 1) * tiles, 0) {
    for (int64_t i = 0; i < tiles; ++i)
      values[i] = i;
  }
  int64_t tiles;
  std::vector<int64_t> values;

  static int64_t next(const std::vector<int64_t> &values, int64_t tiles, int64_t tile) {
    int64_t row = tile / tiles * tiles, at = tile % tiles;
    return values[row + at] + 3 * values[row + (at + 1) % tiles] % 1009;
  }
  static void body(void *state, int64_t begin, int64_t end, int /*slot*/) {
    auto &waves = *static_cast<Waves *>(state);
    for (int64_t i = begin; i < end; ++i)
      waves.values[waves.tiles + i] = next(waves.values, waves.tiles, i);
  }
};

TEST(ThreadPool, APhaseBeginsAfterTheOneBeforeIt) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t tiles : {1, 2, 7, 64, 65, 200})
      for (int64_t phases : {1, 2, 50}) {
        Waves waves(tiles, phases), alone(tiles, phases);
        pool.run(tiles, phases, true, Waves::body, &waves);
        Waves::body(&alone, 0, tiles * phases, 0);
        ASSERT_EQ(waves.values, alone.values)
            << threads << " threads, " << phases << " phases of " << tiles;
      }
  }
}

TEST(ThreadPool, PhasesHaveEachTileOnce) {
  ThreadPool pool(3);
  Tally tally(7 * 100, 3);
  pool.run(7, 100, true, Tally::body, &tally);
  tally.check();
}

/// Notes the first tile that each thread takes. A thread waits there until all have come.
struct FirstTiles {
  static constexpr int kThreads = 3;
  std::mutex mutex;
  std::set<int64_t> begins;
  std::set<std::thread::id> seen;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  static void body(void *state, int64_t begin, int64_t /*end*/, int /*slot*/) {
    auto &tiles = *static_cast<FirstTiles *>(state);
    {
      std::lock_guard lock(tiles.mutex);
      if (!tiles.seen.insert(std::this_thread::get_id()).second)
        return; // it has taken one
      tiles.begins.insert(begin);
    }
    while (!tiles.areAll() &&
           std::chrono::steady_clock::now() - tiles.start < std::chrono::seconds(20))
      std::this_thread::yield();
  }
  bool areAll() {
    std::lock_guard lock(mutex);
    return seen.size() == kThreads;
  }
};

TEST(ThreadPool, ThreadsBeginWithTheirOwnPartOfEachJob) {
  ThreadPool pool(FirstTiles::kThreads);
  for (int64_t tiles : {3, 30, 31, 1000}) {
    FirstTiles first;
    pool.run(tiles, true, FirstTiles::body, &first);
    ASSERT_EQ(first.seen.size(), size_t(FirstTiles::kThreads)) << "not all threads came in 20 s";
    // A job has twelve pieces, or as many as there are tiles.
    int64_t pieces = std::min<int64_t>(tiles, 12);
    std::set<int64_t> expected;
    for (int64_t thread = 0; thread < FirstTiles::kThreads; ++thread)
      expected.insert(pieces * thread / FirstTiles::kThreads * tiles / pieces);
    EXPECT_EQ(first.begins, expected) << tiles << " tiles";
  }
}

TEST(ThreadPool, MoreThreadsThanPiecesOfAWord) {
  ThreadPool pool(20);
  for (int64_t tiles : {1, 19, 64, 65, 80, 999}) {
    Tally tally(tiles * 3, 20);
    pool.run(tiles, 3, true, Tally::body, &tally);
    tally.check();
  }
}

TEST(ThreadPool, ManySmallJobs) {
  ThreadPool pool(4);
  for (int job = 0; job < 5000; ++job) {
    Tally tally(1 + job % 17, 4);
    pool.run(1 + job % 17, true, Tally::body, &tally);
    tally.check();
    if (job % 1000 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1)); // let the workers fall asleep
  }
}

TEST(ThreadPool, ManyCallersShareAPool) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int job = 0; job < 500; ++job) {
        Tally tally(20, 3);
        pool.run(20, true, Tally::body, &tally);
        tally.check();
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(ThreadPool, WorkersHelp) {
  if (availableThreads() < 2)
    GTEST_SKIP() << "one core";
  ThreadPool pool(2);
  struct State {
    std::atomic<int> slotsSeen[2] = {};
  } state;
  auto slow = [](void *state, int64_t, int64_t, int slot) {
    static_cast<State *>(state)->slotsSeen[slot].fetch_add(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  for (int job = 0; job < 20 && state.slotsSeen[1] == 0; ++job)
    pool.run(8, true, slow, &state);
  EXPECT_GT(state.slotsSeen[1], 0);
}

TEST(ThreadPool, ANarrowJobStaysOnItsCaller) {
  ThreadPool pool(4);
  auto body = [](void *state, int64_t begin, int64_t end, int slot) {
    EXPECT_EQ(slot, 0);
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
    *static_cast<std::thread::id *>(state) = std::this_thread::get_id();
  };
  std::thread::id ran;
  pool.run(100, false, body, &ran);
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(ThreadPool, IdleWorkersSleep) {
  ThreadPool pool(3);
  Tally tally(100, 3);
  pool.run(100, true, Tally::body, &tally);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  auto processTime = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
  };
  double before = processTime();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(processTime() - before, 50.0); // of 200 ms on two workers
}

TEST(ThreadPool, PoolsOfOneSizeAreShared) {
  std::shared_ptr<ThreadPool> two = ThreadPool::shared(2);
  EXPECT_EQ(two, ThreadPool::shared(2));
  EXPECT_NE(two, ThreadPool::shared(3));
}

TEST(ThreadPool, AForkedChildStillComputes) {
#if defined(DLC_THREAD_SANITIZER)
  GTEST_SKIP() << "ThreadSanitizer follows no fork of a threaded process";
#endif
  auto pool = std::make_unique<ThreadPool>(2);
  Tally first(100, 2);
  pool->run(100, true, Tally::body, &first);
  pid_t child = fork();
  if (child == 0) {
    // The workers are gone: the caller does their share.
    Tally tally(100, 2);
    pool->run(100, true, Tally::body, &tally);
    bool right = true;
    for (auto &count : tally.tiles)
      right &= count == 1;
    pool.reset(); // waits for nobody
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
