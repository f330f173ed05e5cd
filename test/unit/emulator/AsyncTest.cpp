//===- AsyncTest.cpp - mbarriers, TMA, wgmma and fences: planted mistakes -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What only mbarriers order must neither be missed nor reported where it is right.
//===----------------------------------------------------------------------===//
#include "test/unit/emulator/EmuDevice.h"
#include <numeric>

namespace dlc::test {

namespace {

class AsyncTest : public CheckedTest {
protected:
  void SetUp() override {
    CheckedTest::SetUp();
    std::vector<float> values(64);
    std::iota(values.begin(), values.end(), 1.0f);
    x = upload(values);
    y = upload(std::vector<float>(4096, 0.0f));
  }

  Result run(const char *kernel, const char *plant = "-DNOTHING", unsigned threads = 64,
             unsigned shared = 0) {
    return launch(compileFile("async.cu", kernel, {plant}), {1}, {threads}, shared, x, y);
  }
  Result runStored(const char *plant = "-DNOTHING") {
    return run("stored_operands", plant, 128, 2 * 64 * 64 * 2);
  }

  /// 128 x 128 x 640 in ten steps through a ring of four stages.
  Result runGemm(const char *plant) {
    constexpr unsigned kShared = 4 * (128 * 64 + 128 * 64) * 2 + 64;
    constexpr int m = 128, n = 128, k = 640;
    Function kernel = compileFile("gemm90.cu", "gemm90", {plant});
    api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, kShared);
    DevicePtr a = upload(std::vector<uint16_t>(m * k, 0x3f80));
    TensorMap map = describe(TensorMapType::Bf16, a, m, k, 128);
    DevicePtr c = allocate(m * n * 2);
    Result result =
        launch(kernel, {1}, {384}, kShared, map, map, c, upload(std::vector<float>(n)), m, n, k);
    if (result == Result::Success) {
      EXPECT_EQ(download<uint16_t>(c, m * n)[m * n - 1], 0x4420); // 640
    }
    return result;
  }

  void expectReport(Result result, const std::string &phrase) {
    EXPECT_EQ(result, Result::LaunchFailed);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }

  DevicePtr x = 0, y = 0;
};

TEST_P(AsyncTest, MbarriersOrder) {
  ASSERT_EQ(run("exchange"), Result::Success) << report();
  EXPECT_EQ(download<float>(y, 64)[0], 64.0f);
  ASSERT_EQ(run("relay"), Result::Success) << report();
  EXPECT_EQ(download<float>(y, 1)[0], ((1 * 2 + 2) * 2 + 3) * 2);
}

TEST_P(AsyncTest, MissingWaitAtMbarrier) {
  expectReport(run("exchange", "-DPLANT_NO_WAIT"), "race: ");
}

TEST_P(AsyncTest, WrongPhase) {
  expectReport(run("exchange", "-DPLANT_WRONG_PHASE"), "wrong phase: ");
  EXPECT_NE(report().find("the mbarrier at shared 'bar'"), std::string::npos) << report();
}

TEST_P(AsyncTest, MissingWaitInRelay) { expectReport(run("relay", "-DPLANT_NO_WAIT"), "race: "); }

TEST_P(AsyncTest, TooFewArrivals) {
  expectReport(run("too_few_arrivals"), "deadlock: 64 threads wait for ever (64 at an mbarrier");
  EXPECT_NE(report().find("phase 0 of the mbarrier at shared 'bar'+0 (of 8 B): that is in phase 0 "
                          "and lacks 1 of 65 arrivals and 0 B"),
            std::string::npos)
      << report();
}

TEST_P(AsyncTest, Pipeline) { EXPECT_EQ(runGemm("-DNOTHING"), Result::Success) << report(); }

TEST_P(AsyncTest, PipelineWithoutWaitForFull) {
  expectReport(runGemm("-DPLANT_NO_FULL_WAIT"), "missing wait: ");
}

TEST_P(AsyncTest, PipelineWithoutWaitForEmpty) {
  expectReport(runGemm("-DPLANT_NO_EMPTY_WAIT"), "missing wait: mbar_expect_tx at the mbarrier");
}

TEST_P(AsyncTest, PipelineThatWaitsForTheWrongPhase) {
  expectReport(runGemm("-DPLANT_WRONG_PHASE"), "wrong phase: ");
}

TEST_P(AsyncTest, PipelineThatFreesWhatIsStillMultiplied) {
  expectReport(runGemm("-DPLANT_NO_WGMMA_WAIT"), "missing wait: tma_load_2d");
  EXPECT_NE(report().find("which wgmma of warpgroup "), std::string::npos) << report();
}

TEST_P(AsyncTest, MbarrierThatTheCopiesDoNotSee) {
  expectReport(runGemm("-DPLANT_NO_FENCE_INIT"),
               "missing fence: tma_load_2d counts at the mbarrier");
}

TEST_P(AsyncTest, MbarrierThatTheThreadsDoNotSee) {
  EXPECT_EQ(runGemm("-DPLANT_NO_INIT_BARRIER"), Result::LaunchFailed);
  EXPECT_TRUE(report().find("with no barrier between") != std::string::npos ||
              report().find("was not initialised") != std::string::npos)
      << report();
}

TEST_P(AsyncTest, StoredOperands) {
  ASSERT_EQ(runStored(), Result::Success) << report();
  EXPECT_EQ(download<float>(y, 4096), std::vector<float>(4096, 16.0f));
}

TEST_P(AsyncTest, MissingProxyFence) {
  expectReport(runStored("-DPLANT_NO_FENCE"), "missing fence: wgmma at ");
  EXPECT_NE(report().find("with no fence_async between"), std::string::npos) << report();
}

TEST_P(AsyncTest, StoreToWhatIsBeingMultiplied) {
  expectReport(runStored("-DPLANT_EARLY_STORE"), "race: ");
}

INSTANTIATE_TEST_SUITE_P(Policies, AsyncTest, ::testing::Values("order", "reverse", "random:5"));

} // namespace
} // namespace dlc::test
