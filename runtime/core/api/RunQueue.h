//===- RunQueue.h - Runs in line for a thread of their own ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_API_RUNQUEUE_H
#define DLC_RUNTIME_CORE_API_RUNQUEUE_H

#include "runtime/core/api/EnqueuedRun.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <unistd.h>

namespace dlc::rt {

/// A run in a RunQueue.
class QueuedRun : public EnqueuedRun {
public:
  /// Computes the run; `outputs` are the largest dims, which it replaces by the real ones.
  using Body = std::function<Status(std::vector<Dims> &outputs)>;

  QueuedRun(std::vector<Dims> outputs, Body body)
      : EnqueuedRun(std::move(outputs)), body(std::move(body)) {}
  Status wait(Limit limit) override;

private:
  friend class RunQueue;
  /// Runs the body and wakes those that wait. Whether it went well.
  bool compute();

  Body body;
  std::mutex lock; ///< of what follows
  std::condition_variable ended;
  bool hasEnded = false;
  Status status;
};

/// Computes runs one after another in the order in which they come. Its thread starts with the
/// first of them; where there are none it looks for some tens of microseconds, then sleeps. push()
/// and the rest are called by one thread at a time.
class RunQueue {
public:
  RunQueue();
  /// All runs have ended then.
  ~RunQueue();
  RunQueue(const RunQueue &) = delete;
  RunQueue &operator=(const RunQueue &) = delete;

  /// Puts the run in line, or fails and has done nothing. DLC_USAGE in a process that was forked
  /// from the one that started the thread, DLC_DEVICE where the system gives no thread.
  Status push(std::shared_ptr<QueuedRun> run);
  /// Waits until all runs have ended.
  void drain();
  /// The status of the first run that failed since the last call; all have ended.
  Status takeFailure();

private:
  struct Line;
  static void work(Line &line);
  bool isOfParent() const { return line && getpid() != process; }

  std::unique_ptr<Line> line; ///< null before the first run
  pid_t process = 0;          ///< that started the thread
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_API_RUNQUEUE_H
