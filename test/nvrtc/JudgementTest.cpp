//===- JudgementTest.cpp - what the NVRTC check lets pass -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/nvrtc/Limits.h"
#include "test/nvrtc/Ptxas.h"

#include <gtest/gtest.h>

namespace dlc::nvrtc {
namespace {

// As NVRTC 13.0 writes it.
constexpr const char *kLog =
    "ptxas info    : 1 bytes gmem\n"
    "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
    "ptxas info    : Function properties for second\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 1 barriers\n"
    "ptxas info    : Compile time = 328.975 ms\n"
    "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
    "ptxas info    : Function properties for first\n"
    "ptxas         .     96 bytes stack frame, 160 bytes spill stores, 156 bytes spill loads\n"
    "ptxas info    : Used 64 registers, used 1 barriers, 96 bytes cumulative stack size, 32 bytes "
    "smem, 360 bytes cmem[0]\n"
    "\n";

TEST(PtxasTest, FiguresOfEachKernel) {
  PtxasLog log = PtxasLog::parse(kLog);
  ASSERT_EQ(log.kernels.size(), 2u);
  EXPECT_EQ(log.kernels[0].name, "second");
  EXPECT_EQ(log.kernels[0].registers, 168);
  EXPECT_EQ(log.kernels[0].sharedBytes, 0);
  EXPECT_EQ(log.kernels[0].spilledBytes, 0);
  EXPECT_EQ(log.kernels[1].name, "first");
  EXPECT_EQ(log.kernels[1].registers, 64);
  EXPECT_EQ(log.kernels[1].sharedBytes, 32);
  EXPECT_EQ(log.kernels[1].stackBytes, 96);
  EXPECT_EQ(log.kernels[1].spilledBytes, 316);
  EXPECT_EQ(log.remarks, "");
}

TEST(PtxasTest, WarningsAreRemarks) {
  std::string warning =
      "k.cu(2): warning #177-D: variable \"unused\" was declared but never referenced\n";
  EXPECT_EQ(PtxasLog::parse(warning + kLog).remarks, warning);
}

TEST(PtxasTest, SerializedWgmmaIsARemark) {
  std::string loss =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to "
      "insufficient register resources for the wgmma pipeline in the function 'first'\n";
  EXPECT_EQ(PtxasLog::parse(kLog + loss).remarks, loss);
}

constexpr Architecture kGpu = {"sm_80", 1000};

TEST(LimitsTest, SpillsNeedARule) {
  EXPECT_EQ(problemOf({"k", 32, 0, 0, 8}, {}, kGpu), "spills 8 bytes, and no rule allows it");
  EXPECT_EQ(problemOf({"k", 32, 0, 64, 0}, {}, kGpu), "");
  // By kind, name and size.
  EXPECT_EQ(problemOf({"dlc_conv2d_relu", 48, 0, 0, 40}, {256, 0, "contraction"}, kGpu), "");
  EXPECT_EQ(problemOf({"dlc_conv2d_relu", 48, 0, 0, 56}, {256, 0, "map"}, kGpu),
            "spills 56 bytes, and no rule allows it");
  EXPECT_EQ(problemOf({"dlc_conv2d_relu", 48, 0, 0, 4000}, {256, 0, "contraction"}, kGpu),
            "spills 4000 bytes, and no rule allows it");
}

TEST(LimitsTest, RegistersOfABlock) {
  EXPECT_EQ(problemOf({"k", 64}, {1024, 0, ""}, kGpu), "");
  EXPECT_EQ(problemOf({"k", 65}, {1024, 0, ""}, kGpu),
            "65 registers in 1024 threads are 73728, a block has 65536");
  EXPECT_EQ(problemOf({"k", 168}, {384, 0, ""}, kGpu), "");
  // A warp that is not full takes as many as a full one.
  EXPECT_EQ(problemOf({"k", 255}, {225, 0, ""}, kGpu), "");
  EXPECT_EQ(problemOf({"k", 255}, {257, 0, ""}, kGpu),
            "255 registers in 257 threads are 73728, a block has 65536");
}

TEST(LimitsTest, SharedMemoryOfABlock) {
  EXPECT_EQ(problemOf({"k", 32, 600}, {32, 400, ""}, kGpu), "");
  EXPECT_EQ(problemOf({"k", 32, 601}, {32, 400, ""}, kGpu),
            "1001 bytes of shared memory, a block has 1000");
}

} // namespace
} // namespace dlc::nvrtc
