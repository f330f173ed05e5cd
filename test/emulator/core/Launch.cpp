//===- Launch.cpp - one emulated kernel launch ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/core/Launch.h"
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/Worker.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <thread>

namespace dlc::emu {

namespace {

/// Workers keep their stacks and arenas from launch to launch.
struct WorkerPool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;

  std::unique_ptr<Worker> take() {
    std::lock_guard<std::mutex> lock(mutex);
    if (idle.empty())
      return std::make_unique<Worker>();
    std::unique_ptr<Worker> worker = std::move(idle.back());
    idle.pop_back();
    return worker;
  }
  void give(std::unique_ptr<Worker> worker) {
    std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(worker));
  }
};

WorkerPool &workerPool() {
  static WorkerPool pool;
  return pool;
}

/// Starting a host thread costs about as much as emulating this many threads.
constexpr uint64_t kThreadsWorthAWorker = 16 * 1024;

unsigned chooseWorkers(const LaunchRequest &request, const Settings &settings) {
  if (settings.check || request.cooperative)
    return 1;
  uint64_t blocks = uint64_t(request.grid.x) * request.grid.y * request.grid.z;
  uint64_t threads = blocks * request.block.x * request.block.y * request.block.z;
  if (settings.workers)
    return static_cast<unsigned>(std::min<uint64_t>(settings.workers, blocks));
  uint64_t wanted = std::min(blocks, 1 + threads / kThreadsWorthAWorker);
  return static_cast<unsigned>(
      std::min<uint64_t>(wanted, std::max(1u, std::thread::hardware_concurrency())));
}

} // namespace

Launch::Launch(const LaunchRequest &request, const Settings &settings)
    : request(request), settings(settings),
      clusterCount(request.grid.x * request.grid.y * request.grid.z / request.cluster) {
  if (settings.policy != Policy::Random)
    return;
  order.resize(clusterCount);
  for (uint32_t i = 0; i < clusterCount; ++i)
    order[i] = i;
  uint64_t state = settings.seed * 0x9E3779B97F4A7C15ull + 0x1234567;
  for (uint32_t i = clusterCount; i > 1; --i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
}

bool Launch::nextCluster(uint32_t &number) {
  uint32_t i = started.fetch_add(1);
  if (i >= clusterCount) {
    started = clusterCount; // no overflow, however often it is asked
    return false;
  }
  number = request.cluster * (settings.policy == Policy::Order     ? i
                              : settings.policy == Policy::Reverse ? clusterCount - 1 - i
                                                                   : order[i]);
  return true;
}

void Launch::fail(Fault fault, const Text &what) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed)
    return;
  result.fault = fault;
  result.report = "kernel " + request.kernel + ", " + what.c_str() + " [policy " +
                  settings.describePolicy() + "]";
  failed = true;
}

LaunchResult runLaunch(const LaunchRequest &request, const Settings &settings) {
  Launch launch(request, settings);
  // The checker's records of device memory are shared, so checked launches take turns.
  static std::mutex checkerMutex;
  std::unique_lock<std::mutex> checkerLock(checkerMutex, std::defer_lock);
  if (settings.check) {
    checkerLock.lock();
    launch.checker = &Checker::get();
    launch.checker->beginLaunch(launch);
  }
  auto work = [&launch] {
    std::unique_ptr<Worker> worker = workerPool().take();
    worker->run(launch);
    workerPool().give(std::move(worker));
  };
  std::vector<std::thread> others;
  for (unsigned i = 1, n = chooseWorkers(request, settings); i < n; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
  launch.result.staticShared = launch.staticShared;
  return launch.result;
}

Text formatText(const char *format, ...) {
  Text result;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(result.text, sizeof result.text, format, arguments);
  va_end(arguments);
  return result;
}

void failThread(Fault fault, const char *format, ...) {
  Text what;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what.text, sizeof what.text, format, arguments);
  va_end(arguments);
  Thread &thread = self();
  Worker &worker = *thread.home().worker;
  // What was read before it was written explains what went wrong later.
  Checker *checker = worker.launch().checker;
  if (checker && !checker->unwritten().empty())
    worker.launch().fail(Fault::LaunchFailed, formatText("%s", checker->unwritten().c_str()));
  worker.launch().fail(fault, describeThread(thread, what));
  worker.abandon();
}

Text describeThread(const Thread &thread, const Text &what) {
  const DlcEmuDim &block = thread.block->index;
  return formatText("block (%u,%u,%u), thread (%u,%u,%u): %s", block.x, block.y, block.z,
                    thread.index.x, thread.index.y, thread.index.z, what.c_str());
}

} // namespace dlc::emu
