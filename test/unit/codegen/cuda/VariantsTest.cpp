//===- VariantsTest.cpp - Kernels for parts of the shapes ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

#include <gtest/gtest.h>

#include <set>

using namespace dlc;
using namespace dlc::test;

namespace {
class VariantsTest : public CudaKernelTest {
protected:
  /// y = x w + b of s0 rows; the weight lies as ONNX has it.
  void matmul(const std::string &type, int64_t depth, int64_t columns, int64_t largest) {
    std::string k = std::to_string(depth), n = std::to_string(columns);
    std::string x = "tensor<?x" + k + "x" + type + ", #dl.t<[s0, " + k + "]>>",
                w = "tensor<" + k + "x" + n + "x" + type + ">",
                y = "tensor<?x" + n + "x" + type + ", #dl.t<[s0, " + n + "]>>";
    load("contraction",
         "^bb0(%x: " + x + ", %w: " + w + "):\n%0 = dl.matmul %x, %w : (" + x + ", " + w + ") -> " +
             y + "\ndl.yield %0 : " + y,
         largest);
  }
  /// Runs each variant at both ends of its rows, and in between; the limits must not overlap and
  /// leave nothing between them.
  void checkEach(Tolerance tolerance, int64_t largest) {
    std::set<std::string> texts = {text()};
    int64_t end = -1;
    for (dlx::VariantAttr variant : variants()) {
      ASSERT_EQ(variant.getGpu(), 0);
      int64_t least = variant.getLimits()[0], most = variant.getLimits()[1];
      EXPECT_GT(least, end);
      EXPECT_LE(most, largest);
      end = most;
      takeVariant(variant);
      EXPECT_TRUE(texts.insert(text()).second) << "the same kernel twice:\n" << text();
      for (int64_t rows : {least, least + 1, (least + most) / 2, most})
        if (rows >= least && rows <= most && rows <= 300)
          check({rows, 1}, tolerance);
    }
  }
};

constexpr Tolerance kSums{16.0, 4e-6}, kHalf{2.0, 2e-3};
} // namespace

TEST_P(VariantsTest, Floats) {
  matmul("f32", 96, 128, 4096);
  ASSERT_FALSE(variants().empty());
  // The first ones are for few rows: one, as a decoder has it, and up to eight.
  EXPECT_EQ(variants().front().getLimits()[1], 1);
  EXPECT_EQ(variants()[1].getLimits()[1], 8);
  EXPECT_LE(variants().size(), 5u);
  checkEach(kSums, 4096);
}

TEST_P(VariantsTest, Halves) {
  matmul("f16", 512, 256, 2048);
  ASSERT_GE(variants().size(), 3u);
  checkEach(kHalf, 2048);
}

// One tile suits all of so few rows: no variant but that for one row.
TEST_P(VariantsTest, NotWithoutNeed) {
  matmul("f32", 96, 128, 8);
  EXPECT_TRUE(variants().empty());
}

// A narrowed kernel believes its limits: beyond them it may be wrong, so that the runtime must hold
// them.
TEST_P(VariantsTest, SumOfTwoSymbols) {
  load("contraction",
       R"(^bb0(%a: tensor<?x?x64xf16, #dl.t<[s1, s0, 64]>>, %b: tensor<64x256xf16>):
    %0 = dl.matmul %a, %b : (tensor<?x?x64xf16, #dl.t<[s1, s0, 64]>>, tensor<64x256xf16>) -> tensor<?x?x256xf16, #dl.t<[s1, s0, 256]>>
    dl.yield %0 : tensor<?x?x256xf16, #dl.t<[s1, s0, 256]>>)",
       1000);
  ASSERT_FALSE(variants().empty());
  for (dlx::VariantAttr variant : variants()) {
    int64_t least = variant.getLimits()[0], most = variant.getLimits()[1];
    takeVariant(variant);
    for (int64_t batch : {1, 2, 4})
      for (int64_t rows : {least / batch, (least + most) / 2 / batch, most / batch})
        if (rows * batch >= least && rows * batch <= most && rows * batch <= 300)
          check({rows, batch}, kHalf);
  }
}

// A batch that a grid cannot always count along z: a kernel for those that it can, and one for all.
TEST_P(VariantsTest, BatchBeyondGrid) {
  load(
      "contraction",
      R"(^bb0(%a: tensor<?x3x24x32xf16, #dl.t<[s0, 3, 24, 32]>>, %b: tensor<?x3x32x40xf16, #dl.t<[s0, 3, 32, 40]>>):
    %0 = dl.matmul %a, %b : (tensor<?x3x24x32xf16, #dl.t<[s0, 3, 24, 32]>>, tensor<?x3x32x40xf16, #dl.t<[s0, 3, 32, 40]>>) -> tensor<?x3x24x40xf16, #dl.t<[s0, 3, 24, 40]>>
    dl.yield %0 : tensor<?x3x24x40xf16, #dl.t<[s0, 3, 24, 40]>>)",
      65536);
  ASSERT_EQ(variants().size(), 1u);
  EXPECT_EQ(variants()[0].getLimits()[1], 65535);
  check({2, 1}, kHalf);
  takeVariant(variants()[0]);
  for (int64_t batch : {1, 7})
    check({batch, 1}, kHalf);
}

INSTANTIATE_TEST_SUITE_P(Policies, VariantsTest, ::testing::Values("order", "reverse", "random:7"));
