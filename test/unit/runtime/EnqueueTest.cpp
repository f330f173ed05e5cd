//===- EnqueueTest.cpp - Runs that nobody waits for, on the CPU -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/RefusedCall.h"
#include "test/unit/runtime/Runner.h"

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <linux/sched.h>
#include <mutex>
#include <thread>

#if defined(__SANITIZE_THREAD__)
#define DLC_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DLC_THREAD_SANITIZER
#endif
#endif

using namespace dlc::test;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;
using B = PackageBuilder;

namespace {

/// A door that kernels go through: while it is closed, runs are in flight.
class Gate {
public:
  Gate() { setOpen(false); }
  ~Gate() { setOpen(true); }
  void open() { setOpen(true); }

  /// A kernel.
  static void pass(const dlc::abi::CpuArgs *, int64_t, int64_t, void *) {
    std::unique_lock guard(lock);
    changed.wait(guard, [] { return isOpen; });
  }

private:
  static void setOpen(bool value) {
    {
      std::lock_guard guard(lock);
      isOpen = value;
    }
    changed.notify_all();
  }
  static inline std::mutex lock;
  static inline std::condition_variable changed;
  static inline bool isOpen = true;
};

/// `package` with a gate after its commands.
PackageBuilder gated(PackageBuilder package) {
  package.launch(package.kernel("gate", Gate::pass), {}, {package.constant(1)});
  return package;
}

/// y = 2 * x + (1, 2, 3, 4), `times` over.
float affine(float x, size_t i, int times = 1) {
  for (; times > 0; --times)
    x = 2 * x + float(i % 4 + 1);
  return x;
}

struct Enqueue : testing::Test {
  void start(const PackageBuilder &package, dlc_context_options chosen = options()) {
    module = load(package.file());
    context = open(module.get(), chosen);
    ASSERT_TRUE(context);
  }
  /// Frees the module as well, which the context keeps alive.
  void forgetModule() { module.reset(); }

  ModulePtr module;
  ContextPtr context;
};

} // namespace

TEST_F(Enqueue, RunsComputeInOrder) {
  Gate gate;
  start(gated(affinePackage()));
  std::vector<float> values[4];
  for (auto &list : values)
    list.assign(8, 1);
  // Each reads what the one before it writes.
  std::vector<RunPtr> runs;
  for (int i = 0; i < 3; ++i)
    runs.push_back(enqueue(context.get(), tensor(DLC_F32, {2, 4}, values[i]),
                           tensor(DLC_F32, {2, 4}, values[i + 1])));
  for (RunPtr &run : runs) {
    EXPECT_EQ(dlc_run_wait(run.get(), 0), DLC_PENDING);
    EXPECT_STREQ(dlc_last_error(), "the run has not ended yet");
    EXPECT_EQ(dlc_run_wait(run.get(), 5), DLC_PENDING);
  }
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_run_output_dims(runs[0].get(), 0, &rank, dims), DLC_PENDING);
  gate.open();
  EXPECT_EQ(dlc_run_wait(runs[2].get(), -1), DLC_OK);
  for (RunPtr &run : runs)
    EXPECT_EQ(dlc_run_wait(run.get(), 0), DLC_OK) << "the last one came last";
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(values[3][i], affine(1, i, 3));
  ASSERT_EQ(dlc_run_output_dims(runs[0].get(), 0, &rank, dims), DLC_OK);
  EXPECT_EQ(std::vector<int64_t>(dims, dims + rank), std::vector<int64_t>({2, 4}));
  EXPECT_EQ(dlc_run_output_dims(runs[0].get(), 1, &rank, dims), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "there is no output 1; the module has 1");
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
}

TEST_F(Enqueue, ShapesAlternateInLine) {
  Gate gate;
  start(gated(affinePackage()));
  std::vector<float> x(64 * 4, 3), y[6];
  const int64_t rows[] = {2, 64, 0, 2, 5, 64};
  dlc_tensor in = tensor(DLC_F32, {64, 4}, x);
  ASSERT_EQ(dlc_context_prepare(context.get(), &in, 1), DLC_OK);
  for (int i = 0; i < 6; ++i) {
    y[i].assign(size_t(rows[i]) * 4, -1);
    ASSERT_TRUE(enqueue(context.get(), tensor(DLC_F32, {rows[i], 4}, x),
                        tensor(DLC_F32, {rows[i], 4}, y[i])));
  }
  gate.open();
  // A run of the other kind waits for them, and bind does.
  std::vector<float> last(4);
  dlc_tensor small = tensor(DLC_F32, {1, 4}, x), out = tensor(DLC_F32, {1, 4}, last);
  ASSERT_EQ(dlc_context_run(context.get(), &small, 1, &out, 1), DLC_OK) << dlc_last_error();
  EXPECT_EQ(last[3], affine(3, 3));
  for (auto &list : y)
    for (size_t i = 0; i < list.size(); ++i)
      ASSERT_EQ(list[i], affine(3, i));
  enqueue(context.get(), tensor(DLC_F32, {2, 4}, x), tensor(DLC_F32, {2, 4}, y[0]));
  ASSERT_EQ(dlc_context_bind(context.get(), &in, 1), DLC_OK);
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  ASSERT_EQ(dlc_context_output_dims(context.get(), 0, &rank, dims), DLC_OK);
  EXPECT_EQ(dims[0], 64);
  dlc_memory_info memory = {};
  memory.struct_size = sizeof(memory);
  enqueue(context.get(), tensor(DLC_F32, {2, 4}, x), tensor(DLC_F32, {2, 4}, y[0]));
  ASSERT_EQ(dlc_context_memory(context.get(), &memory), DLC_OK);
  EXPECT_EQ(memory.arena_bytes, 64) << "of the run in line, which is waited for";
}

TEST_F(Enqueue, StatesPassFromRunToRun) {
  Gate gate;
  start(gated(delayPackage(Target::cpu)));
  std::vector<float> x[5], y[5];
  for (int i = 0; i < 5; ++i) {
    x[i].assign(8, float(i + 1));
    y[i].assign(8, -1);
  }
  auto put = [&](int i) {
    return enqueue(context.get(), tensor(DLC_F32, {2, 4}, x[i]), tensor(DLC_F32, {2, 4}, y[i]));
  };
  for (int i = 0; i < 3; ++i)
    put(i);
  // The states that the runs in line will leave are known.
  std::vector<float> other(12);
  enqueue(context.get(), tensor(DLC_F32, {3, 4}, other), tensor(DLC_F32, {3, 4}, other), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' holds [2,4] from the runs before"));
  gate.open();
  ASSERT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  put(3);
  put(4);
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  EXPECT_EQ(y[0][0], 0);
  EXPECT_EQ(y[1][0], 1);
  EXPECT_EQ(y[2][7], 2);
  EXPECT_EQ(y[3][0], 0);
  EXPECT_EQ(y[4][7], 4);
}

TEST_F(Enqueue, AfterARunThatFailedStatesAreReset) {
  // It sleeps beyond the timeout while `isSlow`.
  static std::atomic<bool> isSlow;
  isSlow = true;
  PackageBuilder package = delayPackage(Target::cpu);
  package.launch(package.kernel("slow",
                                [](const dlc::abi::CpuArgs *, int64_t, int64_t, void *) {
                                  timespec pause = {0, isSlow ? 300'000'000 : 0};
                                  nanosleep(&pause, nullptr);
                                }),
                 {}, {package.constant(1)});
  package.copy(0, 2);
  dlc_context_options chosen = options();
  chosen.timeout_ms = 150;
  start(package, chosen);
  std::vector<float> x(8, 1), y(8);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  RunPtr first = enqueue(context.get(), in, out), second = enqueue(context.get(), in, out);
  EXPECT_EQ(dlc_run_wait(first.get(), -1), DLC_DEVICE);
  EXPECT_TRUE(lastErrorHas("after 150 ms 3 of the run's 4 commands are done")) << dlc_last_error();
  EXPECT_EQ(dlc_run_wait(second.get(), -1), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the run before failed and may have left states half written; "
                                 "reset them first (dlc_context_reset_states)");
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_run_output_dims(first.get(), 0, &rank, dims), DLC_DEVICE);
  // The first failure, once.
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_DEVICE);
  EXPECT_TRUE(lastErrorHas("after 150 ms 3 of the run's 4 commands are done"));
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  isSlow = false;
  ASSERT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  enqueue(context.get(), in, out);
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_OK) << dlc_last_error();
  EXPECT_EQ(y[0], 0);
}

TEST_F(Enqueue, BoolsAreLookedAtWhenTheRunBegins) {
  PackageBuilder package;
  Expr four = package.constant(4);
  package.input("x", DType::boolean, {four});
  package.output("y", DType::boolean, {four});
  package.program(Target::cpu);
  package.buffer(Storage::input, DType::boolean, {four});
  package.buffer(Storage::output, DType::boolean, {four});
  package.copy(0, 1);
  start(package);
  std::vector<uint8_t> wrong = {0, 1, 7, 0}, right = {1, 0, 1, 1}, y(4);
  RunPtr first = enqueue(context.get(), tensor(DLC_BOOL, {4}, wrong), tensor(DLC_BOOL, {4}, y));
  RunPtr second = enqueue(context.get(), tensor(DLC_BOOL, {4}, right), tensor(DLC_BOOL, {4}, y));
  EXPECT_EQ(dlc_run_wait(first.get(), -1), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("input 'x': element 2 is 7; a bool is 0 or 1"));
  EXPECT_EQ(dlc_run_wait(second.get(), -1), DLC_OK) << "runs without states go on";
  EXPECT_EQ(y, right);
}

TEST_F(Enqueue, FreeingTheContextWaitsForItsRuns) {
  auto gate = std::make_unique<Gate>();
  start(gated(affinePackage()));
  std::vector<float> x(8, 5), y(8, -1);
  RunPtr run, other;
  for (RunPtr *made : {&run, &other})
    *made = enqueue(context.get(), tensor(DLC_F32, {2, 4}, x), tensor(DLC_F32, {2, 4}, y));
  forgetModule();
  std::atomic<bool> isOpen = false;
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    isOpen = true;
    gate->open();
  });
  context.reset();
  EXPECT_TRUE(isOpen);
  opener.join();
  EXPECT_EQ(y[1], affine(5, 1));
  EXPECT_EQ(dlc_run_wait(run.get(), 0), DLC_OK) << "a handle outlives the context";
  EXPECT_EQ(dlc_run_wait(other.get(), 0), DLC_OK);
}

TEST_F(Enqueue, NobodyNeedsTheHandle) {
  Gate gate;
  start(gated(affinePackage()));
  std::vector<float> x(8, 5), y(8, -1), z(8, -1);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  ASSERT_EQ(dlc_context_enqueue(context.get(), &in, 1, &out, 1, nullptr, nullptr), DLC_OK);
  // Freed while the run is in flight.
  enqueue(context.get(), in, tensor(DLC_F32, {2, 4}, z)).reset();
  gate.open();
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  EXPECT_EQ(y[1], affine(5, 1));
  EXPECT_EQ(z[1], affine(5, 1));
}

TEST_F(Enqueue, ContextsRunSideBySide) {
  Gate gate;
  start(gated(affinePackage()));
  std::vector<float> x(8, 5), y(8, -1), z(8, -1);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x);
  RunPtr slow = enqueue(context.get(), in, tensor(DLC_F32, {2, 4}, y));
  ModulePtr otherModule = load(affinePackage().file());
  ContextPtr other = open(otherModule.get(), options());
  RunPtr fast = enqueue(other.get(), in, tensor(DLC_F32, {2, 4}, z));
  EXPECT_EQ(dlc_run_wait(fast.get(), -1), DLC_OK);
  EXPECT_EQ(dlc_run_wait(slow.get(), 0), DLC_PENDING);
  gate.open();
  EXPECT_EQ(dlc_run_wait(slow.get(), -1), DLC_OK);
}

TEST_F(Enqueue, ManyThreadsWaitForOneRun) {
  auto gate = std::make_unique<Gate>();
  start(gated(affinePackage()));
  std::vector<float> x(64 * 4, 5), y(64 * 4, -1);
  dlc_tensor in = tensor(DLC_F32, {64, 4}, x), out = tensor(DLC_F32, {64, 4}, y);
  RunPtr run = enqueue(context.get(), in, out);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      while (i % 2 && dlc_run_wait(run.get(), 1) == DLC_PENDING) {
      }
      right += dlc_run_wait(run.get(), -1) == DLC_OK && y[5] == affine(5, 1);
    });
  gate->open();
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 6);
  // The line goes on while others wait for what is in it.
  for (int round = 0; round < 50; ++round) {
    run = enqueue(context.get(), in, out);
    std::thread waiter([handle = run.get()] { EXPECT_EQ(dlc_run_wait(handle, -1), DLC_OK); });
    RunPtr next = enqueue(context.get(), in, out);
    waiter.join();
    EXPECT_EQ(dlc_run_wait(next.get(), -1), DLC_OK);
  }
}

TEST_F(Enqueue, WhatIsWrongIsToldAtOnce) {
  start(affinePackage());
  std::vector<float> x(8, 1), y(8);
  std::vector<double> wide(8);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  auto refused = [&](dlc_tensor from, dlc_tensor to, const std::string &message) {
    enqueue(context.get(), from, to, DLC_USAGE);
    EXPECT_STREQ(dlc_last_error(), message.c_str());
  };
  refused(tensor(DLC_F64, {2, 4}, wide), out, "input 'x': expected f32[N,4], got f64");
  refused(tensor(DLC_F32, {2, 3}, x), out,
          "input 'x', dim 1: expected 4, got 3; 'x' is f32[N,4] with N in 0..64");
  refused(in, tensor(DLC_F32, {1, 4}, y), "output 'y', dim 0: expected 2, got 1");
  dlc_tensor null = in;
  null.data = nullptr;
  refused(null, out, "input 'x': its data pointer is null");
  enqueue(context.get(), in, out, DLC_USAGE, /*stream=*/&x);
  EXPECT_TRUE(lastErrorHas("a stream is for runs on a GPU, and the context runs on cpu ("));
  dlc_run *run = nullptr;
  EXPECT_EQ(dlc_context_enqueue(nullptr, &in, 1, &out, 1, nullptr, &run), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the context is null");
  dlc_enqueue_options none = {};
  EXPECT_EQ(dlc_context_enqueue(context.get(), &in, 1, &out, 1, &none, &run), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the options' struct_size is 0; set it to sizeof(the struct)");
  EXPECT_EQ(dlc_context_enqueue(context.get(), nullptr, 1, &out, 1, nullptr, &run), DLC_USAGE);
  EXPECT_EQ(dlc_context_prepare(nullptr, &in, 1), DLC_USAGE);
  EXPECT_EQ(dlc_context_synchronize(nullptr), DLC_USAGE);
  EXPECT_EQ(dlc_run_wait(nullptr, 0), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "the run is null");
  int rank;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_run_output_dims(nullptr, 0, &rank, dims), DLC_USAGE);
  dlc_run_free(nullptr);
  // And all is well.
  RunPtr right = enqueue(context.get(), in, out);
  EXPECT_EQ(dlc_run_wait(right.get(), -1), DLC_OK);
  EXPECT_EQ(y[1], affine(1, 1));
}

TEST_F(Enqueue, ASignalInterruptsNothing) {
  Gate gate;
  start(gated(affinePackage()));
  struct sigaction action = {}, before;
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0); // without SA_RESTART
  std::vector<float> x(8, 5), y(8, -1);
  RunPtr run = enqueue(context.get(), tensor(DLC_F32, {2, 4}, x), tensor(DLC_F32, {2, 4}, y));
  std::thread opener([&, waiter = pthread_self()] {
    for (int i = 0; i < 20; ++i) {
      pthread_kill(waiter, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    gate.open();
  });
  EXPECT_EQ(dlc_run_wait(run.get(), -1), DLC_OK);
  EXPECT_EQ(y[1], affine(5, 1));
  opener.join();
  sigaction(SIGUSR1, &before, nullptr);
}

#if !defined(DLC_THREAD_SANITIZER) // which follows no fork of a threaded process
TEST_F(Enqueue, AForkedChildRunsButDoesNotEnqueue) {
  start(affinePackage());
  std::vector<float> x(8, 5), y(8, -1);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  enqueue(context.get(), in, out);
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  pid_t child = fork();
  if (child == 0) {
    dlc_run *run = nullptr;
    bool isRight =
        dlc_context_enqueue(context.get(), &in, 1, &out, 1, nullptr, &run) == DLC_USAGE && !run &&
        std::string(dlc_last_error()) ==
            "the context has enqueued runs before this process was forked, and the thread that "
            "computes them is in the parent: make a context of its own for the child";
    isRight &= dlc_context_run(context.get(), &in, 1, &out, 1) == DLC_OK;
    isRight &= dlc_context_synchronize(context.get()) == DLC_OK;
    dlc_context *made = nullptr;
    dlc_context_options chosen = options();
    isRight &= dlc_context_create(module.get(), &chosen, &made) == DLC_OK;
    isRight &= dlc_context_enqueue(made, &in, 1, &out, 1, nullptr, nullptr) == DLC_OK;
    dlc_context_free(made);
    context.reset();
    _exit(isRight ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  enqueue(context.get(), in, out);
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
}

TEST_F(Enqueue, TheSystemGivesNoThread) {
  start(affinePackage());
  std::vector<float> x(8, 5), y(8, -1);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  auto message = [&]() -> std::string {
    dlc_run *run = nullptr;
    if (dlc_context_enqueue(context.get(), &in, 1, &out, 1, nullptr, &run) != DLC_DEVICE || run)
      return "the call did not fail";
    return dlc_last_error();
  };
  EXPECT_EQ(resultUnder({SYS_clone3, 1, sizeof(clone_args), EAGAIN}, message),
            "cannot start the thread of the enqueued runs: Resource temporarily unavailable");
}
#endif
