//===- GraphTest.cpp - CUDA graphs, the caller's stream, the GPU's time -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Device.h"
#include "test/unit/runtime/CudaRunner.h"

using namespace dlc::test;
using dlc::cuda::ContextScope;
using dlc::cuda::Driver;
using dlc::cuda::GpuDevice;
using dlc::cuda::Result;

#if !defined(DLC_EMU_DRIVER_PATH)
TEST(Graph, OnTheEmulator) { GTEST_SKIP() << "the emulator is not part of this build"; }
#else

namespace {

class Graph : public Cuda {
protected:
  void SetUp() override { before = driverCalls(); }

  /// Calls since the last look.
  DriverCalls since() {
    DriverCalls now = driverCalls(), difference = now - before;
    before = now;
    return difference;
  }

  DriverCalls before;
};

} // namespace

TEST_F(Graph, TheSecondRunOfAShapeCapturesAndLaterOnesReplay) {
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("cuda"));
  ASSERT_TRUE(context);
  since();
  expectRight(context.get(), 3);
  DriverCalls calls = since();
  EXPECT_EQ(calls.launches, 1);
  EXPECT_EQ(calls.captures, 0);
  expectRight(context.get(), 3);
  calls = since();
  EXPECT_EQ(calls.captures, 1);
  EXPECT_EQ(calls.graphsMade, 1);
  EXPECT_EQ(calls.graphLaunches, 1);
  for (int run = 0; run < 3; ++run)
    expectRight(context.get(), 3);
  calls = since();
  EXPECT_EQ(calls.launches, 0);
  EXPECT_EQ(calls.captures, 0);
  EXPECT_EQ(calls.graphLaunches, 3);
  EXPECT_EQ(calls.uploads, 3); // the inputs
  context.reset();
  EXPECT_EQ(since().graphsDestroyed, 1);
}

TEST_F(Graph, EachShapeHasItsOwnAndTheOldestGoes) {
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("cuda"));
  ASSERT_TRUE(context);
  expectRight(context.get(), 64); // the arena is large enough for all from here on
  since();
  for (int round = 0; round < 3; ++round)
    for (int64_t n = 1; n <= 16; ++n)
      expectRight(context.get(), n);
  DriverCalls calls = since();
  EXPECT_EQ(calls.allocations, 0);
  EXPECT_EQ(calls.launches, 17); // all captured: what first runs share, then each shape's own
  EXPECT_EQ(calls.graphsMade, 17);
  EXPECT_EQ(calls.graphLaunches, 48);
  // One more than are kept: it takes the place of 1, which then begins anew.
  expectRight(context.get(), 17);
  EXPECT_EQ(since().graphsDestroyed, 1);
  expectRight(context.get(), 2);
  calls = since();
  EXPECT_EQ(calls.launches, 0);
  EXPECT_EQ(calls.graphLaunches, 1);
  expectRight(context.get(), 1);
  calls = since();
  EXPECT_EQ(calls.graphsMade, 0);
  EXPECT_EQ(calls.patches, 1);
  context.reset();
  EXPECT_GE(since().graphsDestroyed, 14);
}

TEST_F(Graph, AnArenaThatMovesTakesTheGraphsWithIt) {
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("cuda"));
  ASSERT_TRUE(context);
  for (int run = 0; run < 3; ++run)
    expectRight(context.get(), 2);
  since();
  expectRight(context.get(), 60);
  EXPECT_EQ(since().allocations, 1);
  for (int run = 0; run < 3; ++run) {
    expectRight(context.get(), 2);
    expectRight(context.get(), 60);
  }
  DriverCalls calls = since();
  EXPECT_EQ(calls.graphsMade, 2);
  EXPECT_GE(calls.graphsDestroyed, 1);
}

TEST_F(Graph, WhereThereIsNone) {
  auto graphsOf = [&](dlc_context_options chosen, const PackageBuilder &package, int64_t n) {
    ModulePtr module = load(package.file());
    ContextPtr context = open(module.get(), chosen);
    since();
    for (int run = 0; run < 4; ++run)
      expectRight(context.get(), n);
    return since().graphLaunches;
  };
  dlc_context_options chosen = options("cuda");
  EXPECT_EQ(graphsOf(chosen, cudaPackage(), 3), 3);
  EXPECT_EQ(graphsOf(chosen, cudaPackage(), 0), 0); // nothing is launched at all
  chosen.no_graph = 1;
  EXPECT_EQ(graphsOf(chosen, cudaPackage(), 3), 0);
  chosen = options("cuda");
  chosen.profile = 1;
  EXPECT_EQ(graphsOf(chosen, cudaPackage(), 3), 0);
}

TEST_F(Graph, AFailureToMakeOneIsNoFailureOfTheRun) {
  auto opened = Driver::open();
  ASSERT_FALSE(opened.failed());
  auto *driver = const_cast<Driver *>(*opened);
  auto make = driver->graphInstantiate;
  auto launch = driver->graphLaunch;
  ModulePtr module = load(cudaPackage().file());
  {
    driver->graphInstantiate = [](dlc::cuda::GraphExec *, dlc::cuda::Graph, unsigned long long) {
      return Result::OutOfMemory;
    };
    ContextPtr context = open(module.get(), options("cuda"));
    for (int run = 0; run < 4; ++run)
      expectRight(context.get(), 3);
    driver->graphInstantiate = make;
  }
  {
    driver->graphLaunch = [](dlc::cuda::GraphExec, dlc::cuda::Stream) {
      return Result::OutOfMemory;
    };
    ContextPtr context = open(module.get(), options("cuda"));
    for (int run = 0; run < 4; ++run)
      expectRight(context.get(), 3);
    driver->graphLaunch = launch;
  }
  {
    driver->graphInstantiate = nullptr; // a driver that is older than graphs
    ContextPtr context = open(module.get(), options("cuda"));
    for (int run = 0; run < 3; ++run)
      expectRight(context.get(), 3);
    driver->graphInstantiate = make;
  }
}

TEST_F(Graph, TheCallersStream) {
  auto device = GpuDevice::open(0);
  ASSERT_FALSE(device.failed());
  const Driver &driver = (*device)->driver();
  dlc::cuda::Stream stream = nullptr;
  {
    ContextScope scope(**device);
    ASSERT_EQ(driver.streamCreate(&stream, 0), Result::Success);
  }
  ModulePtr module = load(cudaPackage().file());
  dlc_context_options chosen = options("cuda");
  chosen.stream = stream;
  ContextPtr context = open(module.get(), chosen);
  ASSERT_TRUE(context);
  for (int run = 0; run < 3; ++run) {
    expectRight(context.get(), 3);
    EXPECT_EQ(driverCalls().lastStream, stream);
  }
  EXPECT_EQ(since().graphLaunches, 2);
  context.reset();
  {
    ContextScope scope(**device);
    EXPECT_EQ(driver.streamSynchronize(stream), Result::Success) << "it is still the caller's";
    ASSERT_EQ(driver.streamBeginCapture(stream, dlc::cuda::StreamCaptureMode::Relaxed),
              Result::Success);
  }
  open(module.get(), chosen, DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("the stream captures a graph"));
  ContextScope scope(**device);
  dlc::cuda::Graph graph = nullptr;
  EXPECT_EQ(driver.streamEndCapture(stream, &graph), Result::Success);
  EXPECT_EQ(driver.graphDestroy(graph), Result::Success);
  EXPECT_EQ(driver.streamDestroy(stream), Result::Success);
}

TEST_F(Graph, TheGpusTimeOfARun) {
  ModulePtr module = load(cudaPackage().file());
  dlc_context_options chosen = options("cuda");
  chosen.time_device = 1;
  ContextPtr context = open(module.get(), chosen);
  double time = -1;
  EXPECT_EQ(dlc_context_device_time(context.get(), &time), DLC_UNSUPPORTED);
  for (int run = 0; run < 3; ++run) {
    time = -1;
    expectRight(context.get(), 3);
    EXPECT_EQ(dlc_context_device_time(context.get(), &time), DLC_OK);
    EXPECT_GE(time, 0);
    EXPECT_LT(time, 1e7);
  }
  EXPECT_GT(since().graphLaunches, 0);
  ModulePtr onCpu = load(affinePackage().file());
  ContextPtr cpu = open(onCpu.get(), options("cpu"));
  EXPECT_EQ(dlc_context_device_time(cpu.get(), &time), DLC_UNSUPPORTED);
  EXPECT_STREQ(dlc_last_error(),
               "the device's time is measured on a GPU, from the first run of a context with the "
               "option 'time_device' or 'profile' on");
  EXPECT_EQ(dlc_context_device_time(nullptr, &time), DLC_USAGE);
}

TEST_F(Graph, WeightsAndActivationsAreOneAllocationEach) {
  since();
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("cuda"));
  DriverCalls calls = since();
  EXPECT_EQ(calls.allocations, 2); // one for what the init program alone reads
  EXPECT_EQ(calls.uploads, 1);     // one weight, once
  expectRight(context.get(), 3);
  EXPECT_EQ(since().allocations, 1);
  ContextPtr second = open(module.get(), options("cuda"));
  calls = since();
  EXPECT_EQ(calls.allocations, 0);
  EXPECT_EQ(calls.uploads, 0);
}

// Kernels that wait for those before them may begin before these have ended; on GPUs that know of
// it, unless told not to.
TEST_F(Graph, KernelsThatWaitBeginEarly) {
  PackageBuilder waiting = cudaPackage();
  for (auto &kernel : waiting.module.programs.back()->kernels)
    kernel->waits = true;
  struct {
    const char *what;
    bool waits, isTold, isProfiled;
    const char *arch;
    int expected;
  } const cases[] = {{"waits", true, false, false, "90", 1},
                     {"a newer GPU", true, false, false, "120", 1},
                     {"does not wait", false, false, false, "90", 0},
                     {"told not to", true, true, false, "90", 0},
                     {"each kernel is timed", true, false, true, "90", 0},
                     {"an older GPU", true, false, false, "86", 0}};
  for (const auto &one : cases) {
    SCOPED_TRACE(one.what);
    Environment arch("DLC_EMU_ARCH", one.arch);
    ModulePtr module = load((one.waits ? waiting : cudaPackage()).file());
    dlc_context_options chosen = options("cuda");
    chosen.no_overlap = one.isTold;
    chosen.profile = one.isProfiled;
    ContextPtr context = open(module.get(), chosen);
    ASSERT_TRUE(context);
    EXPECT_EQ(since().earlyLaunches, 0); // the init program
    expectRight(context.get(), 3);
    DriverCalls calls = since();
    EXPECT_EQ(calls.earlyLaunches, one.expected);
    EXPECT_EQ(calls.launches, 1 - one.expected);
    expectRight(context.get(), 3);
    EXPECT_EQ(since().earlyLaunches, one.expected); // captured
  }
}

#endif
