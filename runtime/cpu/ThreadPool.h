//===- ThreadPool.h - Persistent workers that share the tiles of a launch -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_THREADPOOL_H
#define DLC_RUNTIME_CPU_THREADPOOL_H

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace dlc::cpu {

/// Threads that this process may use: its affinity and its cgroup's quota, at most 256.
int availableThreads();

/// `threads - 1` workers and the caller. Workers start with the first job that wants them, spin for
/// some tens of microseconds after each job, then sleep. Contexts share the pool of their size; a
/// job that finds the pool busy with another context's runs on its caller alone, so callers never
/// wait for each other.
class ThreadPool {
public:
  /// The process's pool of this size.
  static std::shared_ptr<ThreadPool> shared(int threads);

  explicit ThreadPool(int threads) : threads(threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int size() const { return threads; }

  /// Computes some of the tiles; `slot` < size() differs among threads that run at the same time.
  using Body = void (*)(void *state, int64_t begin, int64_t end, int slot);

  /// Runs `body` over [0, count) in disjoint pieces; returns when all are done. A thread begins
  /// with its own part of the range, which is the same in each job, and then helps others. So what
  /// a thread writes in one job is in its cache in the next one. A job that is not `wide` stays on
  /// the caller: waking others would cost more than it gains.
  void run(int64_t count, bool wide, Body body, void *state) { run(count, 1, wide, body, state); }
  /// The same for each of `phases` ranges of `count`, which follow each other: no piece of one
  /// begins before all of the one before are done.
  void run(int64_t count, int64_t phases, bool wide, Body body, void *state);

private:
  void start();
  void work(int number);
  void runJob();
  void takePieces(int slot, int number);
  bool joinJob();

  // One word tells the state of the job: its number, whether it takes helpers, how many it has.
  static constexpr uint64_t kHelper = 1, kHelperMask = 0xffff, kOpen = 0x10000, kNextJob = 0x20000;

  const int threads;
  std::mutex busy; ///< held by the caller whose job it is
  std::vector<std::thread> workers;
  pid_t process = 0; ///< that started them: a child that was forked from it has none

  alignas(64) std::atomic<uint64_t> job{0};
  alignas(64) std::atomic<int64_t> next{0};
  std::atomic<int64_t> count{0}; ///< of tiles, in each phase
  std::atomic<int> slots{0};
  alignas(64) std::atomic<uint32_t> wakeups{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
  // Written while the job is closed and has no helpers.
  Body body = nullptr;
  void *state = nullptr;
  int64_t pieces = 1, first = 0;                    ///< of a phase; its first tile
  std::array<std::atomic<uint64_t>, 16> taken = {}; ///< pieces of the phase, a bit each
};

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_THREADPOOL_H
