//===- CudaFaultTest.cpp - Every call of the driver failing in turn ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Library.h"
#include "test/unit/runtime/CudaRunner.h"
#include "test/unit/runtime/Instead.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace dlc::test;
using dlc::cuda::Result;

#if !defined(DLC_EMU_DRIVER_PATH)
TEST(CudaFault, OnTheEmulator) { GTEST_SKIP() << "the emulator is not part of this build"; }
#else

namespace {

/// The emulated driver's own way to fail.
struct Emulator {
  void (*failAt)(long call, int result);
  long (*callCount)();
  const char *(*failedFunction)();
  const char *(*leaks)();

  Emulator() {
    void *library = dlopen(DLC_EMU_DRIVER_PATH, RTLD_NOW | RTLD_LOCAL);
    auto bind = [&](auto &function, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    bind(failAt, "dlcEmuFailAt");
    bind(callCount, "dlcEmuCallCount");
    bind(failedFunction, "dlcEmuFailedFunction");
    bind(leaks, "dlcEmuLeaks");
  }
};

struct Outcome {
  dlc_status status = DLC_OK;
  std::string message;
};

class CudaFault : public Cuda {
protected:
  /// Loads the package, runs it on three shapes, one until its graph is replayed, two through a
  /// graph that they share, and frees all.
  Outcome use(const std::vector<uint8_t> &file) {
    if (isInLine)
      return useInLine(file);
    Outcome outcome;
    ModulePtr module = load(file);
    dlc_context *context = nullptr;
    dlc_context_options chosen = options("cuda");
    chosen.time_device = 1;
    outcome.status = dlc_context_create(module.get(), &chosen, &context);
    for (int64_t n : {3, 3, 3, 17, 5, 3})
      if (outcome.status == DLC_OK) {
        std::vector<float> y;
        outcome.status = runScale(context, n, &y);
        for (size_t i = 0; outcome.status == DLC_OK && i < y.size(); ++i)
          EXPECT_EQ(y[i], float(i) * float(i % 4 + 2));
      }
    outcome.message = outcome.status == DLC_OK ? "" : dlc_last_error();
    dlc_context_free(context);
    return outcome;
  }

  /// The same with runs that are enqueued, in two streams.
  Outcome useInLine(const std::vector<uint8_t> &file) {
    Outcome outcome;
    ModulePtr module = load(file);
    dlc_context *context = nullptr;
    dlc_context_options chosen = options("cuda");
    auto note = [&](dlc_status status) {
      outcome = {status, status == DLC_OK ? "" : dlc_last_error()};
      return status == DLC_OK;
    };
    std::vector<float> x(64, 1), y(64, -1);
    std::vector<RunPtr> runs;
    note(dlc_context_create(module.get(), &chosen, &context));
    for (int i = 0; i < 3 && outcome.status == DLC_OK; ++i) {
      dlc_tensor in = tensor(DLC_F32, {i == 1 ? 16 : 3, 4}, x), out = in;
      out.data = y.data();
      // CUDA's default stream, by a name of it that is not null.
      dlc_enqueue_options into = {sizeof(into), reinterpret_cast<void *>(i == 1)};
      dlc_run *run = nullptr;
      if (note(dlc_context_prepare(context, &in, 1)))
        note(dlc_context_enqueue(context, &in, 1, &out, 1, &into, &run));
      runs.emplace_back(run);
    }
    for (RunPtr &run : runs)
      if (outcome.status == DLC_OK)
        note(dlc_run_wait(run.get(), -1));
    if (outcome.status == DLC_OK)
      note(dlc_context_synchronize(context));
    for (size_t i = 0; outcome.status == DLC_OK && i < 64; ++i)
      EXPECT_EQ(y[i], float(i % 4 + 2));
    dlc_context_free(context);
    return outcome;
  }

  /// Whether a run may go on as if nothing had been where this fails and the GPU is not lost.
  static bool mayFail(const std::string &function) {
    for (const char *piece :
         {"Graph", "Capture", "while capturing", "DeviceGetName", "MemGetInfo", "MemHostAlloc"})
      if (function.find(piece) != std::string::npos)
        return true;
    return false;
  }

  /// Which calls fail: {0, 1}, all of them, or with DLC_FAULT_TURN=K/N each Nth from K % N on,
  /// where a run takes long.
  static std::pair<long, long> turn() {
    long number = 0, count = 1;
    if (const char *text = std::getenv("DLC_FAULT_TURN"))
      if (std::sscanf(text, "%ld/%ld", &number, &count) != 2 || count < 1)
        count = 1;
    return {number % count, count};
  }

  void failEach(Result result, bool isLost) {
    const std::vector<uint8_t> file = cudaPackage().file();
    const auto [first, step] = turn();
    long failures = 0, call = first;
    for (;; call += step) {
      emulator.failAt(call, static_cast<int>(result));
      Outcome outcome = use(file);
      std::string failed = emulator.failedFunction();
      emulator.failAt(-1, 0);
      EXPECT_STREQ(emulator.leaks(), "") << "after " << failed << " failed: " << outcome.message;
      if (failed.empty()) {
        EXPECT_EQ(outcome.status, DLC_OK) << outcome.message;
        break;
      }
      if (outcome.status != DLC_OK) {
        ++failures;
        EXPECT_TRUE(outcome.status == DLC_DEVICE || outcome.status == DLC_UNSUPPORTED)
            << failed << ": " << outcome.status;
        EXPECT_NE(outcome.message, "") << failed;
      } else {
        EXPECT_TRUE(mayFail(failed)) << failed << " failed, and nobody noticed";
      }
      // Before there is a context, none is lost.
      if (isLost && outcome.status == DLC_DEVICE &&
          outcome.message.find("cannot make a context") == std::string::npos)
        EXPECT_NE(outcome.message.find("end the process and start anew"), std::string::npos)
            << failed << ": " << outcome.message;
      // And all is well again.
      outcome = use(file);
      ASSERT_EQ(outcome.status, DLC_OK) << "after " << failed << ": " << outcome.message;
      ASSERT_STREQ(emulator.leaks(), "");
    }
    EXPECT_GT(failures * step, 40);
    EXPECT_GT(call, 50);
  }

  Emulator emulator;
  bool isInLine = false; ///< use() enqueues its runs
};

} // namespace

TEST_F(CudaFault, OutOfMemoryAnywhere) { failEach(Result::OutOfMemory, false); }
TEST_F(CudaFault, ALostGpuAnywhere) { failEach(Result::IllegalAddress, true); }
TEST_F(CudaFault, AnUnknownErrorAnywhere) { failEach(static_cast<Result>(12345), false); }

TEST_F(CudaFault, AnywhereInRunsThatAreEnqueued) {
  // The arrays of the test count as pinned: what pins them would count among the calls.
  Instead pinned(
      *dlc::cuda::Driver::open(), &dlc::cuda::Driver::pointerGetAttribute,
      +[](void *value, dlc::cuda::PointerAttribute, dlc::cuda::DevicePtr) {
        *static_cast<int *>(value) = static_cast<int>(dlc::cuda::MemoryType::Host);
        return Result::Success;
      });
  isInLine = true;
  failEach(Result::OutOfMemory, false);
  failEach(Result::IllegalAddress, true);
}

TEST_F(CudaFault, OutOfMemorySaysHowMuch) {
  // The first allocation is of the prepared weights, the second of those that the init program
  // alone reads, the third of the activations.
  for (auto [nth, what] : {std::pair(0, "the weights need 64 bytes; "),
                           {1, "the weights need 256 bytes; "},
                           {2, "the activations need 192 bytes; "}}) {
    const std::vector<uint8_t> file = cudaPackage().file();
    Outcome outcome;
    for (long call = 0, found = 0;; ++call) {
      emulator.failAt(call, static_cast<int>(Result::OutOfMemory));
      outcome = use(file);
      std::string failed = emulator.failedFunction();
      emulator.failAt(-1, 0);
      ASSERT_NE(failed, "");
      if (failed == "cuMemAlloc_v2" && found++ == nth)
        break;
    }
    EXPECT_EQ(outcome.status, DLC_DEVICE);
    EXPECT_NE(outcome.message.find(std::string("not enough GPU memory: ") + what),
              std::string::npos)
        << outcome.message;
    EXPECT_NE(outcome.message.find(" of 8.0 GiB are free on dlc CUDA emulator"), std::string::npos)
        << outcome.message;
  }
}

TEST_F(CudaFault, ACompileThatFailsGivesItsLog) {
  for (const char *number : {"0", "1"}) {
    Outcome outcome;
    {
      Environment fault("DLC_EMU_NVRTC_FAULT", number);
      outcome = use(cudaPackage().file());
    }
    EXPECT_EQ(outcome.status, DLC_INTERNAL);
    EXPECT_NE(outcome.message.find("NVRTC 13.0 refuses the kernel '"), std::string::npos)
        << outcome.message;
    EXPECT_NE(outcome.message.find("NVRTC_ERROR_COMPILATION\n"), std::string::npos)
        << outcome.message;
    EXPECT_NE(outcome.message.find("(1): error: planted by DLC_EMU_NVRTC_FAULT"), std::string::npos)
        << outcome.message;
    EXPECT_STREQ(emulator.leaks(), "");
    EXPECT_EQ(use(cudaPackage().file()).status, DLC_OK);
  }
}

#endif
