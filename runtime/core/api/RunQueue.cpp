//===- RunQueue.cpp - Runs in line for a thread of their own ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/api/RunQueue.h"
#include "runtime/core/Spin.h"
#include "runtime/core/Text.h"

#include <atomic>
#include <deque>
#include <new>
#include <system_error>
#include <thread>

using namespace dlc;
using namespace dlc::rt;

Status QueuedRun::wait(Limit limit) {
  std::unique_lock guard(lock);
  auto isOver = [&] { return hasEnded; };
  if (!limit)
    ended.wait(guard, isOver);
  else if (!ended.wait_for(guard, *limit, isOver))
    return pending();
  return status;
}

bool QueuedRun::compute() {
  Status result;
  try {
    result = body(outputs);
  } catch (const std::bad_alloc &) {
    result = {DLC_DEVICE, "out of memory"}; // short enough to need no allocation
  }
  body = nullptr;
  bool isWell = !result.failed();
  std::lock_guard guard(lock);
  status = std::move(result);
  hasEnded = true;
  ended.notify_all();
  return isWell;
}

/// The state that the queue's thread shares with its callers.
struct RunQueue::Line {
  std::mutex lock; ///< of what follows
  std::condition_variable arrived, idle;
  std::deque<std::shared_ptr<QueuedRun>> runs; ///< the first is the one that is computed
  bool isClosed = false;                       ///< no run comes any more
  std::shared_ptr<QueuedRun> failed;           ///< the first since takeFailure()
  std::atomic<bool> isWanted{false}; ///< a run or the close has come; read without the lock
  std::thread thread;
};

RunQueue::RunQueue() = default;

RunQueue::~RunQueue() {
  if (!line)
    return;
  if (isOfParent()) {
    // The thread is in the parent alone. The child must neither wait for it nor destroy what it
    // waits on.
    [[maybe_unused]] Line *left = line.release();
    return;
  }
  {
    std::lock_guard guard(line->lock);
    line->isClosed = true;
    line->isWanted.store(true, std::memory_order_release);
  }
  line->arrived.notify_one();
  line->thread.join();
}

Status RunQueue::push(std::shared_ptr<QueuedRun> run) {
  if (isOfParent())
    return {DLC_USAGE, "the context has enqueued runs before this process was forked, and the "
                       "thread that computes them is in the "
                       "parent: make a context of its own for the child"};
  if (!line) {
    auto made = std::make_unique<Line>();
    try {
      made->thread = std::thread([line = made.get()] { work(*line); });
    } catch (const std::system_error &error) {
      return {DLC_DEVICE, text("cannot start the thread of the enqueued runs: ", error.what())};
    }
    line = std::move(made);
    process = getpid();
  }
  {
    std::lock_guard guard(line->lock);
    line->runs.push_back(std::move(run));
    line->isWanted.store(true, std::memory_order_release);
  }
  line->arrived.notify_one();
  return {};
}

void RunQueue::drain() {
  if (!line || isOfParent())
    return;
  std::unique_lock guard(line->lock);
  line->idle.wait(guard, [&] { return line->runs.empty(); });
}

Status RunQueue::takeFailure() {
  drain();
  if (!line || isOfParent())
    return {};
  std::lock_guard guard(line->lock);
  std::shared_ptr<QueuedRun> failed = std::move(line->failed);
  return failed ? failed->wait({}) : Status();
}

void RunQueue::work(Line &line) {
  std::unique_lock guard(line.lock);
  for (;;) {
    if (line.runs.empty() && !line.isClosed) {
      // To wake a sleeper costs the caller of push() more than all else there: a run that comes
      // soon after another finds none.
      line.isWanted.store(false, std::memory_order_relaxed);
      guard.unlock();
      for (int spin = 0; spin < kSpins && !line.isWanted.load(std::memory_order_acquire); ++spin)
        spinPause();
      guard.lock();
    }
    line.arrived.wait(guard, [&] { return line.isClosed || !line.runs.empty(); });
    if (line.runs.empty())
      return;
    std::shared_ptr<QueuedRun> run = line.runs.front();
    guard.unlock();
    bool isWell = run->compute();
    guard.lock();
    if (!isWell && !line.failed)
      line.failed = std::move(run);
    line.runs.pop_front();
    if (line.runs.empty())
      line.idle.notify_all();
  }
}
