//===- StreamTest.cpp - work of several streams that nothing orders -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"

namespace dlc::test {

namespace {

const char *const kAddOne = R"(
#include "dlc_device.cuh"
DLC_KERNEL(32) add_one(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + 1.0f; }
)";

class StreamTest : public CheckedTest {
protected:
  void SetUp() override {
    CheckedTest::SetUp();
    kernel = compile(kAddOne, "add_one");
    ASSERT_EQ(api.streamCreate(&first, kStreamNonBlocking), Result::Success);
    ASSERT_EQ(api.streamCreate(&second, kStreamNonBlocking), Result::Success);
    ASSERT_EQ(api.eventCreate(&event, 0), Result::Success);
    void *memory = nullptr;
    ASSERT_EQ(api.memHostAlloc(&memory, 128, 0), Result::Success);
    pinned = static_cast<float *>(memory);
    std::fill(pinned, pinned + 32, 7.0f);
    x = upload(std::vector<float>(32, 1.0f));
    y = upload(std::vector<float>(32, 0.0f));
    z = upload(std::vector<float>(32, 0.0f));
  }

  Result add(DevicePtr from, DevicePtr to, Stream stream) {
    void *parameters[] = {&from, &to};
    return api.launchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  }
  void expectReport(const std::string &phrase) {
    EXPECT_EQ(api.ctxSynchronize(), Result::LaunchFailed);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  void expectClean() { EXPECT_EQ(api.ctxSynchronize(), Result::Success) << report(); }

  Function kernel = nullptr;
  Stream first = nullptr, second = nullptr;
  Event event = nullptr;
  float *pinned = nullptr;
  DevicePtr x = 0, y = 0, z = 0;
};

TEST_P(StreamTest, EventsOrderKernels) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(api.eventRecord(event, first), Result::Success);
  ASSERT_EQ(api.streamWaitEvent(second, event, 0), Result::Success);
  ASSERT_EQ(add(y, z, second), Result::Success);
  expectClean();
  EXPECT_EQ(download<float>(z, 32)[31], 3.0f);
}

TEST_P(StreamTest, MissingEventWait) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(api.eventRecord(event, first), Result::Success);
  ASSERT_EQ(add(y, z, second), Result::Success);
  // It shows as wrong data where the second stream runs first, and is reported in either order.
  expectReport("missing event wait: ");
  EXPECT_NE(report().find("kernel add_one in stream "), std::string::npos) << report();
}

TEST_P(StreamTest, AnEventOfEarlierWorkIsNotEnough) {
  ASSERT_EQ(api.eventRecord(event, first), Result::Success);
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(api.streamWaitEvent(second, event, 0), Result::Success);
  ASSERT_EQ(add(y, z, second), Result::Success);
  expectReport("missing event wait: ");
}

TEST_P(StreamTest, WritersOfOneBuffer) {
  ASSERT_EQ(add(x, z, first), Result::Success);
  ASSERT_EQ(add(y, z, second), Result::Success);
  expectReport("missing event wait: store at buffer #");
}

TEST_P(StreamTest, ReadersOfOneBufferAreFree) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(add(x, z, second), Result::Success);
  expectClean();
}

TEST_P(StreamTest, TheHostOrdersWhatItWaitsFor) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(api.streamSynchronize(first), Result::Success);
  ASSERT_EQ(add(y, z, second), Result::Success);
  ASSERT_EQ(api.eventRecord(event, second), Result::Success);
  ASSERT_EQ(api.eventSynchronize(event), Result::Success);
  ASSERT_EQ(add(z, y, first), Result::Success);
  expectClean();
  EXPECT_EQ(download<float>(y, 32)[0], 4.0f);
}

TEST_P(StreamTest, TheDefaultStreamOrdersBlockingOnes) {
  Stream blocking = nullptr;
  ASSERT_EQ(api.streamCreate(&blocking, 0), Result::Success);
  ASSERT_EQ(add(x, y, blocking), Result::Success);
  ASSERT_EQ(add(y, z, nullptr), Result::Success);
  ASSERT_EQ(add(z, y, blocking), Result::Success);
  expectClean();
  // A stream that does not block it is not ordered.
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(add(y, z, nullptr), Result::Success);
  expectReport("missing event wait: ");
}

TEST_P(StreamTest, CopiesCountAsWell) {
  ASSERT_EQ(api.memcpyHtoDAsync(x, pinned, 128, first), Result::Success);
  ASSERT_EQ(add(x, y, second), Result::Success);
  expectReport("missing event wait: ");
  EXPECT_NE(report().find("copy in stream "), std::string::npos) << report();
}

TEST_P(StreamTest, FillsCountAsWell) {
  ASSERT_EQ(api.memsetD32Async(x, 0, 32, first), Result::Success);
  ASSERT_EQ(api.memcpyDtoDAsync(y, x, 128, second), Result::Success);
  expectReport("missing event wait: it ");
}

TEST_P(StreamTest, PinnedMemoryChangedTooEarly) {
  ASSERT_EQ(api.memcpyHtoDAsync(x, pinned, 128, first), Result::Success);
  pinned[5] = 0;
  expectReport("missing synchronize: the host has changed pinned memory");
}

TEST_P(StreamTest, PinnedMemoryReadTooEarlyIsNaN) {
  ASSERT_EQ(api.memcpyDtoHAsync(pinned, x, 128, first), Result::Success);
  EXPECT_NE(pinned[0], pinned[0]) << "nobody has waited yet";
  ASSERT_EQ(api.streamSynchronize(first), Result::Success);
  EXPECT_EQ(pinned[0], 1.0f);
  pinned[0] = 2.0f; // now it is the host's
  ASSERT_EQ(api.memcpyHtoDAsync(y, pinned, 128, second), Result::Success);
  expectClean();
  EXPECT_EQ(download<float>(y, 32)[0], 2.0f);
}

TEST_P(StreamTest, OneStreamMayUsePinnedMemoryToAndFro) {
  ASSERT_EQ(api.memcpyDtoHAsync(pinned, x, 128, first), Result::Success);
  ASSERT_EQ(api.memcpyHtoDAsync(y, pinned, 128, first), Result::Success);
  expectClean();
  EXPECT_EQ(download<float>(y, 32)[0], 1.0f);
}

//===-- Launches that may begin before the one before has ended -----------===//

const char *const kEarly = R"(
#include "dlc_async.cuh"
DLC_KERNEL(32) waits(const float *x, float *y) {
  dlc::begin_grid();
  y[threadIdx.x] = x[threadIdx.x] + 1.0f;
}
DLC_KERNEL(32) reads_early(const float *x, float *y) {
  float value = x[threadIdx.x] + 1.0f;
  dlc::begin_grid();
  y[threadIdx.x] = value;
}
DLC_KERNEL(32) writes_early(const float *x, float *y) {
  y[threadIdx.x] = 1.0f;
  dlc::begin_grid();
  y[threadIdx.x] += x[threadIdx.x];
}
DLC_KERNEL(32) copies_early(DLC_GRID_CONST dlc::tensor_map map, float *y) {
  DLC_DYN_SMEM(smem);
  u64 *bar = reinterpret_cast<u64 *>(smem + 128);
  if (threadIdx.x == 0) {
    dlc::prefetch_map(&map);
    dlc::mbar_init(bar, 1);
    dlc::mbar_fence_init();
    dlc::mbar_expect_tx(bar, 128);
    dlc::tma_load_2d(smem, &map, bar, 0, 0);
  }
  dlc::barrier();
  dlc::begin_grid();
  dlc::mbar_wait(bar, 0);
  y[threadIdx.x] = reinterpret_cast<float *>(smem)[threadIdx.x];
}
DLC_KERNEL(32) never_waits(float *y) { y[threadIdx.x] = 1.0f; }
DLC_KERNEL(32) leaves_early(const float *x, float *y) {
  if (threadIdx.x == 7)
    return;
  dlc::begin_grid();
  y[threadIdx.x] = x[threadIdx.x] + 1.0f;
}
)";

class EarlyLaunchTest : public StreamTest {
protected:
  Result launchEarly(const char *name, std::vector<DevicePtr> buffers, int isAllowed = 1) {
    Function function = compile(kEarly, name);
    LaunchAttribute attribute;
    attribute.isAllowed = isAllowed;
    LaunchConfig config = {1, 1, 1, 32, 1, 1, 0, first, &attribute, 1};
    void *parameters[] = {&buffers[0], &buffers.back()};
    return api.launchKernelEx(&config, function, parameters, nullptr);
  }
};

TEST_P(EarlyLaunchTest, AWaitOrdersReadsAndWrites) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(launchEarly("waits", {y, z}), Result::Success);
  ASSERT_EQ(launchEarly("waits", {z, y}), Result::Success);
  expectClean();
  EXPECT_EQ(download<float>(y, 32)[31], 4.0f);
}

TEST_P(EarlyLaunchTest, AReadBeforeTheWait) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(launchEarly("reads_early", {y, z}), Result::Success);
  expectReport("missing grid dependency wait: load at buffer #");
  EXPECT_NE(report().find("which kernel add_one in stream "), std::string::npos) << report();
}

TEST_P(EarlyLaunchTest, ACopyByTmaBeforeTheWait) {
  Function function = compile(kEarly, "copies_early", {"--gpu-architecture=sm_90a"});
  for (DevicePtr source : {x, y}) {
    TensorMap map = describe(TensorMapType::Tf32, source, 1, 32, 1);
    ASSERT_EQ(add(x, y, first), Result::Success);
    LaunchAttribute attribute;
    LaunchConfig config = {1, 1, 1, 32, 1, 1, 256, first, &attribute, 1};
    void *parameters[] = {&map, &z};
    ASSERT_EQ(api.launchKernelEx(&config, function, parameters, nullptr), Result::Success);
    if (source == x)
      expectClean();
    else
      expectReport("missing grid dependency wait: tma_load_2d at buffer #");
  }
}

// The memory of a buffer that the kernel before still reads.
TEST_P(EarlyLaunchTest, AWriteBeforeTheWait) {
  ASSERT_EQ(add(y, z, first), Result::Success);
  ASSERT_EQ(launchEarly("writes_early", {x, y}), Result::Success);
  expectReport("missing grid dependency wait: store at buffer #");
}

// What no running kernel has written may be read: weights. So may anything after a copy, which
// begins and ends in order.
TEST_P(EarlyLaunchTest, WhatIsReadyMayBeReadBeforeTheWait) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(launchEarly("reads_early", {x, z}), Result::Success);
  ASSERT_EQ(api.memcpyDtoDAsync(x, z, 128, first), Result::Success);
  ASSERT_EQ(launchEarly("reads_early", {z, y}), Result::Success);
  expectClean();
}

// All early launches back to the last one in order may still run.
TEST_P(EarlyLaunchTest, AReadOfWhatAnEarlierLaunchWrote) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(launchEarly("waits", {x, z}), Result::Success);
  ASSERT_EQ(launchEarly("reads_early", {y, x}), Result::Success);
  expectReport("missing grid dependency wait: load at buffer #");
}

// The chain would break: the next launch waits for this one alone.
TEST_P(EarlyLaunchTest, ALaunchWithoutWait) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(launchEarly("never_waits", {z}), Result::Success);
  expectReport("missing grid dependency wait: this thread of an early launch ends without it");
}

TEST_P(EarlyLaunchTest, AThreadWithoutWait) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(launchEarly("leaves_early", {y, z}), Result::Success);
  expectReport("thread (7,0,0): missing grid dependency wait");
}

TEST_P(EarlyLaunchTest, LaunchesInOrderNeedNoWait) {
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(launchEarly("never_waits", {y}, /*isAllowed=*/0), Result::Success);
  expectClean();
}

// A capture keeps the attribute.
TEST_P(EarlyLaunchTest, InAGraph) {
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  // No module may be loaded while capturing.
  Function early = compile(kEarly, "reads_early");
  ASSERT_EQ(api.streamBeginCapture(first, StreamCaptureMode::ThreadLocal), Result::Success);
  ASSERT_EQ(add(x, y, first), Result::Success);
  LaunchAttribute attribute;
  LaunchConfig config = {1, 1, 1, 32, 1, 1, 0, first, &attribute, 1};
  void *parameters[] = {&y, &z};
  ASSERT_EQ(api.launchKernelEx(&config, early, parameters, nullptr), Result::Success);
  ASSERT_EQ(api.streamEndCapture(first, &graph), Result::Success);
  ASSERT_EQ(api.graphInstantiate(&exec, graph, 0), Result::Success);
  ASSERT_EQ(api.graphLaunch(exec, first), Result::Success);
  expectReport("missing grid dependency wait: load at buffer #");
  api.graphExecDestroy(exec);
  api.graphDestroy(graph);
}

INSTANTIATE_TEST_SUITE_P(Policies, EarlyLaunchTest,
                         ::testing::Values("order", "reverse", "random:3"));
INSTANTIATE_TEST_SUITE_P(Policies, StreamTest, ::testing::Values("order", "reverse", "random:3"));

} // namespace
} // namespace dlc::test
