//===- ClusterTest.cpp - blocks that read each other's memory ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"
#include <cstdlib>
#include <numeric>

namespace dlc::test {

namespace {

constexpr unsigned kThreads = 64, kBlocks = 12, kCluster = 4;

class ClusterTest : public CheckedTest {
protected:
  void SetUp() override {
    CheckedTest::SetUp();
    std::vector<float> values(size_t(kThreads) * kBlocks);
    std::iota(values.begin(), values.end(), 1.0f);
    x = upload(values);
    y = upload(std::vector<float>(values.size(), 0.0f));
  }
  Result run(const char *kernel, unsigned blocks = kBlocks) {
    return launch(compileFile("cluster.cu", kernel, {"--gpu-architecture=sm_90a"}), {blocks},
                  {kThreads}, kThreads * sizeof(float), x, y);
  }
  void expectFault(const char *kernel, Result result, const std::string &phrase) {
    EXPECT_EQ(run(kernel), result);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  /// The first `threads` of each block have the values of the next block in the cluster.
  void expectValuesOfNext(unsigned threads) {
    std::vector<float> got = download<float>(y, size_t(kThreads) * kBlocks);
    for (unsigned block = 0; block < kBlocks; ++block)
      for (unsigned thread = 0; thread < threads; ++thread) {
        unsigned next = block / kCluster * kCluster + (block + 1) % kCluster;
        ASSERT_EQ(got[block * kThreads + thread], float(next * kThreads + thread + 1))
            << block << ", " << thread;
      }
  }

  DevicePtr x = 0, y = 0;
};

} // namespace

TEST_P(ClusterTest, BlocksReadEachOther) {
  ASSERT_EQ(run("next_block"), Result::Success) << report();
  expectValuesOfNext(kThreads);
}

TEST_P(ClusterTest, ThreadsThatHaveEndedAreNotWaitedFor) {
  ASSERT_EQ(run("next_block_of_half"), Result::Success) << report();
  expectValuesOfNext(kThreads / 2);
}

TEST_P(ClusterTest, ReadsBeforeTheBarrier) {
  // The order decides which mistake shows first: a value that is not there yet, or one that nothing
  // orders.
  EXPECT_EQ(run("no_barrier_before"), Result::LaunchFailed);
  bool isUnwritten = report().find("uninitialised: load of 4 B at block ") != std::string::npos,
       isRace = report().find("race: ") != std::string::npos;
  EXPECT_TRUE(isUnwritten || isRace) << report();
}

TEST_P(ClusterTest, EndsWhileOthersRead) {
  EXPECT_NE(run("no_barrier_after"), Result::Success);
  bool ends = report().find("missing cluster barrier: the block ends while thread ") !=
              std::string::npos,
       hasEnded = report().find(", and that block has ended") != std::string::npos;
  EXPECT_TRUE(ends || hasEnded) << report();
}

TEST_P(ClusterTest, OverwritesWhatOthersRead) {
  EXPECT_EQ(run("overwrites"), Result::LaunchFailed);
  EXPECT_NE(report().find("race: "), std::string::npos) << report();
}

TEST_P(ClusterTest, ABarrierThatOrdersNothing) {
  expectFault("leaves_and_reads", Result::LaunchFailed, "race: load at block ");
}

TEST_P(ClusterTest, TwoKindsOfBarriers) {
  expectFault("two_kinds_of_barriers", Result::LaunchFailed, "divergent barrier: ");
}

TEST_P(ClusterTest, ReadsWhatNobodyWrote) {
  expectFault("reads_unwritten", Result::LaunchFailed, "uninitialised: load of 4 B at block ");
}

TEST_P(ClusterTest, Stores) {
  expectFault("stores", Result::IllegalAddress,
              "blocks of a cluster only read each other's memory");
}

TEST_P(ClusterTest, ReadsPastTheEnd) {
  expectFault("reads_past_the_end", Result::IllegalAddress, "out of bounds: load of 4 B");
}

TEST_P(ClusterTest, ABarrierWithoutClusters) {
  expectFault("without_clusters", Result::LaunchFailed,
              "cluster_barrier in a kernel without clusters");
}

TEST_P(ClusterTest, GridsThatAreNoMultiple) {
  EXPECT_EQ(run("next_block", kBlocks - 1), Result::InvalidClusterSize);
  setenv("DLC_EMU_ARCH", "80", 1);
  Function old = compileFile("cluster.cu", "next_block", {"--gpu-architecture=sm_80"});
  EXPECT_EQ(launch(old, {kBlocks}, {kThreads}, kThreads * sizeof(float), x, y),
            Result::InvalidClusterSize);
  unsetenv("DLC_EMU_ARCH");
}

INSTANTIATE_TEST_SUITE_P(Policies, ClusterTest,
                         ::testing::Values("order", "reverse", "random:1", "random:2"));

} // namespace dlc::test
