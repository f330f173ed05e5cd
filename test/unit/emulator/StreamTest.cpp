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

INSTANTIATE_TEST_SUITE_P(Policies, StreamTest, ::testing::Values("order", "reverse", "random:3"));

} // namespace
} // namespace dlc::test
