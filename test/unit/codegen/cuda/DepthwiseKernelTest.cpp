//===- DepthwiseKernelTest.cpp - Convolutions of few channels each ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked. Whole numbers are exact: an element in the wrong place shows.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
class DepthwiseKernelTest : public CudaKernelTest {
protected:
  void loadStrips(const std::string &body, int64_t largest = 200) {
    load("contraction", body, largest);
    EXPECT_NE(text().find("dlc::depthwise<config>"), std::string::npos) << text();
  }
  void checkSizes(Tolerance tolerance) {
    for (int64_t size : {0, 1, 2, 3})
      check({size, 1}, tolerance);
    check({2, 1}, Tolerance{}, Fill::whole);
  }
};
} // namespace

constexpr Tolerance kSums{0, 1e-5}, kHalf{2.0, 2e-3}, kBfloat{2.0, 1e-2};

// Four channels at once; a residual, a bias and an activation behind; strips that reach beyond the
// image's edge.
TEST_P(DepthwiseKernelTest, ChannelsLast) {
  loadStrips(
      R"(^bb0(%x: tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>, %w: tensor<24x1x3x3xf32, #dl.t<[24, 1, 3, 3], order = [1, 2, 3, 0]>>, %b: tensor<24xf32>, %z: tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>):
    %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>, groups = 24 : i64} : (tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>, tensor<24x1x3x3xf32, #dl.t<[24, 1, 3, 3], order = [1, 2, 3, 0]>>, tensor<24xf32>) -> tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>
    %1 = dl.add %0, %z : (tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>, tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>) -> tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>
    %2 = dl.relu %1 : (tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>) -> tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>
    dl.yield %2 : tensor<?x24x23x25xf32, #dl.t<[s0, 24, 23, 25], order = [0, 2, 3, 1]>>)");
  EXPECT_EQ(config("lanes"), 4) << text();
  EXPECT_EQ(config("width_x"), 4);
  EXPECT_EQ(config("width_w"), 4);
  EXPECT_GT(config("columns"), 1);
  EXPECT_NE(text().find("dlc::store(y"), std::string::npos) << text();
  checkSizes(kSums);
}

// Strides and dilations that skip rows and columns of the image, padding on one side alone; the
// filter as PyTorch stores it.
TEST_P(DepthwiseKernelTest, StridesAndDilations) {
  loadStrips(
      R"(^bb0(%x: tensor<?x8x17x15xf32, #dl.t<[s0, 8, 17, 15], order = [0, 2, 3, 1]>>, %w: tensor<8x1x3x2xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 2, 0, 1, 3>, stride = array<i64: 3, 2>, dilation = array<i64: 2, 5>, groups = 8 : i64} : (tensor<?x8x17x15xf32, #dl.t<[s0, 8, 17, 15], order = [0, 2, 3, 1]>>, tensor<8x1x3x2xf32>) -> tensor<?x8x6x7xf32, #dl.t<[s0, 8, 6, 7], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x8x6x7xf32, #dl.t<[s0, 8, 6, 7], order = [0, 2, 3, 1]>>)");
  EXPECT_EQ(config("width_w"), 1) << text();
  checkSizes(kSums);
}

// Channels first: a thread goes down a column, its neighbours stand beside it. The image's size is
// known at run time alone.
TEST_P(DepthwiseKernelTest, ChannelsFirst) {
  loadStrips(
      R"(^bb0(%x: tensor<2x20x?x70xf32, #dl.t<[2, 20, s0, 70]>>, %w: tensor<20x1x5x3xf32>, %b: tensor<20xf32>):
    %0 = dl.conv2d %x, %w, %b {padding = array<i64: 2, 1>, groups = 20 : i64} : (tensor<2x20x?x70xf32, #dl.t<[2, 20, s0, 70]>>, tensor<20x1x5x3xf32>, tensor<20xf32>) -> tensor<2x20x?x70xf32, #dl.t<[2, 20, s0, 70]>>
    dl.yield %0 : tensor<2x20x?x70xf32, #dl.t<[2, 20, s0, 70]>>)");
  EXPECT_EQ(config("lanes"), 1) << text();
  EXPECT_EQ(config("whole_h"), 0);
  for (int64_t size : {0, 1, 2, 3, 7, 8, 9, 17})
    check({size, 1}, kSums);
  check({9, 1}, Tolerance{}, Fill::whole);
}

// Neighbours along a row of the image come as one vector, those that padding shifts alone: each
// stride, padding on one side, none, and a result whose last rows no strip fills.
TEST_P(DepthwiseKernelTest, VectorsAlongRows) {
  struct Window {
    const char *type;
    int taps, left, right, stride, width;
    bool isTogether; // as is expected
  };
  for (auto [type, taps, left, right, stride, width, isTogether] :
       {Window{"f16", 3, 1, 1, 1, 56, true},
        {"f16", 3, 1, 1, 2, 64, true},
        {"f16", 7, 3, 3, 1, 16, true},
        {"f16", 5, 0, 0, 1, 36, true},
        {"f16", 3, 2, 0, 1, 40, true},
        {"f32", 3, 1, 1, 1, 24, true},
        {"bf16", 3, 1, 1, 1, 7, false}}) {
    int out = (width + left + right - taps) / stride + 1;
    std::string t = type, w = std::to_string(width), o = std::to_string(out),
                k = std::to_string(taps), s = std::to_string(stride),
                x = "tensor<?x6x13x" + w + "x" + t + ", #dl.t<[s0, 6, 13, " + w + "]>>",
                filter = "tensor<6x1x3x" + k + "x" + t + ">",
                y = "tensor<?x6x13x" + o + "x" + t + ", #dl.t<[s0, 6, 13, " + o + "]>>";
    loadStrips("^bb0(%x: " + x + ", %w: " + filter +
               "):\n%0 = dl.conv2d %x, %w {padding = array<i64: 1, " + std::to_string(left) +
               ", 1, " + std::to_string(right) + ">, stride = array<i64: 1, " + s +
               ">, groups = 6 : i64} : (" + x + ", " + filter + ") -> " + y +
               "\ndl.yield %0 : " + y);
    EXPECT_EQ(config("along_x") > 1, isTogether) << text();
    EXPECT_EQ(config("first_x"), left);
    checkSizes(t == "f32" ? kSums : t == "f16" ? kHalf : kBfloat);
  }
}

// Neighbouring columns leave as one vector where a thread has them.
TEST_P(DepthwiseKernelTest, OneDimension) {
  loadStrips(
      R"(^bb0(%x: tensor<?x3x32xf32, #dl.t<[s0, 3, 32]>>, %w: tensor<3x1x5xf32>):
    %0 = dl.conv1d %x, %w {padding = array<i64: 2>, groups = 3 : i64} : (tensor<?x3x32xf32, #dl.t<[s0, 3, 32]>>, tensor<3x1x5xf32>) -> tensor<?x3x32xf32, #dl.t<[s0, 3, 32]>>
    dl.yield %0 : tensor<?x3x32xf32, #dl.t<[s0, 3, 32]>>)");
  EXPECT_EQ(config("taps_h"), 1) << text();
  EXPECT_EQ(config("across"), config("columns") > 1);
  checkSizes(kSums);
}

TEST_P(DepthwiseKernelTest, Half) {
  loadStrips(
      R"(^bb0(%x: tensor<?x16x41x40xf16, #dl.t<[s0, 16, 41, 40], order = [0, 2, 3, 1]>>, %w: tensor<16x1x3x3xf16, #dl.t<[16, 1, 3, 3], order = [1, 2, 3, 0]>>, %b: tensor<16xf16>):
    %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, groups = 16 : i64} : (tensor<?x16x41x40xf16, #dl.t<[s0, 16, 41, 40], order = [0, 2, 3, 1]>>, tensor<16x1x3x3xf16, #dl.t<[16, 1, 3, 3], order = [1, 2, 3, 0]>>, tensor<16xf16>) -> tensor<?x16x21x20xf16, #dl.t<[s0, 16, 21, 20], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x16x21x20xf16, #dl.t<[s0, 16, 21, 20], order = [0, 2, 3, 1]>>)");
  EXPECT_GT(config("lanes"), 1) << text();
  checkSizes(kHalf);
}

// A long epilogue waits in shared memory, and is called from one place.
TEST_P(DepthwiseKernelTest, LongEpilogue) {
  loadStrips(
      R"(^bb0(%x: tensor<?x32x28x28xbf16, #dl.t<[s0, 32, 28, 28], order = [0, 2, 3, 1]>>, %w: tensor<32x1x3x3xbf16, #dl.t<[32, 1, 3, 3], order = [1, 2, 3, 0]>>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 32 : i64} : (tensor<?x32x28x28xbf16, #dl.t<[s0, 32, 28, 28], order = [0, 2, 3, 1]>>, tensor<32x1x3x3xbf16, #dl.t<[32, 1, 3, 3], order = [1, 2, 3, 0]>>) -> tensor<?x32x28x28xbf16, #dl.t<[s0, 32, 28, 28], order = [0, 2, 3, 1]>>
    %1 = dl.gelu %0 : (tensor<?x32x28x28xbf16, #dl.t<[s0, 32, 28, 28], order = [0, 2, 3, 1]>>) -> tensor<?x32x28x28xbf16, #dl.t<[s0, 32, 28, 28], order = [0, 2, 3, 1]>>
    dl.yield %1 : tensor<?x32x28x28xbf16, #dl.t<[s0, 32, 28, 28], order = [0, 2, 3, 1]>>)",
      4096);
  EXPECT_EQ(config("staged"), 1) << text();
  for (int64_t size : {0, 1})
    check({size, 1}, kBfloat);
}

// Groups of three channels that give two: each result sums over three.
TEST_P(DepthwiseKernelTest, SmallGroups) {
  loadStrips(
      R"(^bb0(%x: tensor<?x12x6x6xf32, #dl.t<[s0, 12, 6, 6], order = [0, 2, 3, 1]>>, %w: tensor<8x3x3x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 4 : i64} : (tensor<?x12x6x6xf32, #dl.t<[s0, 12, 6, 6], order = [0, 2, 3, 1]>>, tensor<8x3x3x3xf32>) -> tensor<?x8x6x6xf32, #dl.t<[s0, 8, 6, 6], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x8x6x6xf32, #dl.t<[s0, 8, 6, 6], order = [0, 2, 3, 1]>>)");
  EXPECT_EQ(config("depth"), 3) << text();
  checkSizes(kSums);
}

// Filters too large to stay in registers, and too many to unroll.
TEST_P(DepthwiseKernelTest, LargeFilter) {
  loadStrips(
      R"(^bb0(%x: tensor<?x4x16x16xf32, #dl.t<[s0, 4, 16, 16], order = [0, 2, 3, 1]>>, %w: tensor<4x1x13x13xf32, #dl.t<[4, 1, 13, 13], order = [1, 2, 3, 0]>>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 6, 6>, groups = 4 : i64} : (tensor<?x4x16x16xf32, #dl.t<[s0, 4, 16, 16], order = [0, 2, 3, 1]>>, tensor<4x1x13x13xf32, #dl.t<[4, 1, 13, 13], order = [1, 2, 3, 0]>>) -> tensor<?x4x16x16xf32, #dl.t<[s0, 4, 16, 16], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x4x16x16xf32, #dl.t<[s0, 4, 16, 16], order = [0, 2, 3, 1]>>)");
  EXPECT_EQ(config("rows"), 1) << text();
  checkSizes(kSums);
}

// A producer of the image: its elements are computed where they are read, and are zeros outside.
TEST_P(DepthwiseKernelTest, ComputedImage) {
  loadStrips(
      R"(^bb0(%x: tensor<?x8x5x6xf32, #dl.t<[s0, 8, 5, 6], order = [0, 2, 3, 1]>>, %w: tensor<8x1x3x3xf32>):
    %0 = dl.cos %x : (tensor<?x8x5x6xf32, #dl.t<[s0, 8, 5, 6], order = [0, 2, 3, 1]>>) -> tensor<?x8x5x6xf32, #dl.t<[s0, 8, 5, 6], order = [0, 2, 3, 1]>>
    %1 = dl.conv2d %0, %w {padding = array<i64: 1, 1>, groups = 8 : i64} : (tensor<?x8x5x6xf32, #dl.t<[s0, 8, 5, 6], order = [0, 2, 3, 1]>>, tensor<8x1x3x3xf32>) -> tensor<?x8x5x6xf32, #dl.t<[s0, 8, 5, 6], order = [0, 2, 3, 1]>>
    dl.yield %1 : tensor<?x8x5x6xf32, #dl.t<[s0, 8, 5, 6], order = [0, 2, 3, 1]>>)");
  EXPECT_EQ(config("width_x"), 0) << text();
  for (int64_t size : {0, 1, 3})
    check({size, 1}, kSums);
}

TEST_P(DepthwiseKernelTest, WideIndex) {
  loadStrips(
      R"(^bb0(%x: tensor<?x4x5x5xf32, #dl.t<[s0, 4, 5, 5], order = [0, 2, 3, 1]>>, %w: tensor<4x1x3x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 4 : i64} : (tensor<?x4x5x5xf32, #dl.t<[s0, 4, 5, 5], order = [0, 2, 3, 1]>>, tensor<4x1x3x3xf32>) -> tensor<?x4x5x5xf32, #dl.t<[s0, 4, 5, 5], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x4x5x5xf32, #dl.t<[s0, 4, 5, 5], order = [0, 2, 3, 1]>>)",
      int64_t(1) << 40);
  EXPECT_NE(text().find("using index = i64"), std::string::npos) << text();
  checkSizes(kSums);
}

INSTANTIATE_TEST_SUITE_P(Policies, DepthwiseKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
