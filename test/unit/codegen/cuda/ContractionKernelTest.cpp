//===- ContractionKernelTest.cpp - Matrix products and convolutions -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

using ContractionKernelTest = CudaKernelTest;
constexpr Tolerance kProducts{16.0, 4e-6};
constexpr Tolerance kExact{};

TEST_P(ContractionKernelTest, LinearRows) {
  load("contraction",
       R"(^bb0(%x: tensor<?x37xf32, #dl.t<[s0, 37]>>, %w: tensor<70x37xf32>, %b: tensor<70xf32>):
    %0 = dl.linear %x, %w, %b : (tensor<?x37xf32, #dl.t<[s0, 37]>>, tensor<70x37xf32>, tensor<70xf32>) -> tensor<?x70xf32, #dl.t<[s0, 70]>>
    %1 = dl.relu %0 : (tensor<?x70xf32, #dl.t<[s0, 70]>>) -> tensor<?x70xf32, #dl.t<[s0, 70]>>
    dl.yield %1 : tensor<?x70xf32, #dl.t<[s0, 70]>>)");
  checkBoundaries(kProducts);
  check({65, 1}, kExact, Fill::whole);
}

TEST_P(ContractionKernelTest, MatmulDepth) {
  load("contraction",
       R"(^bb0(%a: tensor<33x?xf32, #dl.t<[33, s0]>>, %b: tensor<?x17xf32, #dl.t<[s0, 17]>>):
    %0 = dl.matmul %a, %b : (tensor<33x?xf32, #dl.t<[33, s0]>>, tensor<?x17xf32, #dl.t<[s0, 17]>>) -> tensor<33x17xf32>
    dl.yield %0 : tensor<33x17xf32>)");
  checkBoundaries(kProducts);
}

TEST_P(ContractionKernelTest, MatmulColumns) {
  load("contraction", R"(^bb0(%a: tensor<9x20xf64>, %b: tensor<20x?xf64, #dl.t<[20, s0]>>):
    %0 = dl.matmul %a, %b : (tensor<9x20xf64>, tensor<20x?xf64, #dl.t<[20, s0]>>) -> tensor<9x?xf64, #dl.t<[9, s0]>>
    dl.yield %0 : tensor<9x?xf64, #dl.t<[9, s0]>>)");
  checkBoundaries({64.0, 1e-14});
}

// The batch of one operand is repeated; scaled on the way in, a residual added on the way out.
TEST_P(ContractionKernelTest, BatchesBetweenMaps) {
  load(
      "contraction",
      R"(^bb0(%a: tensor<?x6x?x8xf16, #dl.t<[s1, 6, s0, 8]>>, %b: tensor<6x8x5xf16>, %z: tensor<?x6x?x5xf16, #dl.t<[s1, 6, s0, 5]>>):
    %0 = dl.neg %a : (tensor<?x6x?x8xf16, #dl.t<[s1, 6, s0, 8]>>) -> tensor<?x6x?x8xf16, #dl.t<[s1, 6, s0, 8]>>
    %1 = dl.matmul %0, %b : (tensor<?x6x?x8xf16, #dl.t<[s1, 6, s0, 8]>>, tensor<6x8x5xf16>) -> tensor<?x6x?x5xf16, #dl.t<[s1, 6, s0, 5]>>
    %2 = dl.add %1, %z : (tensor<?x6x?x5xf16, #dl.t<[s1, 6, s0, 5]>>, tensor<?x6x?x5xf16, #dl.t<[s1, 6, s0, 5]>>) -> tensor<?x6x?x5xf16, #dl.t<[s1, 6, s0, 5]>>
    dl.yield %2 : tensor<?x6x?x5xf16, #dl.t<[s1, 6, s0, 5]>>)");
  for (int64_t size : {0, 1, 7, 33, 65})
    check({size, 3}, {2.0, 1e-3});
}

TEST_P(ContractionKernelTest, Integers) {
  load("contraction", R"(^bb0(%a: tensor<?x19xi32, #dl.t<[s0, 19]>>, %b: tensor<19x21xi32>):
    %0 = dl.matmul %a, %b : (tensor<?x19xi32, #dl.t<[s0, 19]>>, tensor<19x21xi32>) -> tensor<?x21xi32, #dl.t<[s0, 21]>>
    dl.yield %0 : tensor<?x21xi32, #dl.t<[s0, 21]>>)");
  checkBoundaries(kExact);
}

TEST_P(ContractionKernelTest, ConvolutionChannelsLast) {
  load(
      "contraction",
      R"(^bb0(%x: tensor<?x5x9x8xf32, #dl.t<[s0, 5, 9, 8], order = [0, 2, 3, 1]>>, %w: tensor<12x5x3x3xf32>, %b: tensor<12xf32>):
    %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>, stride = array<i64: 2, 1>} : (tensor<?x5x9x8xf32, #dl.t<[s0, 5, 9, 8], order = [0, 2, 3, 1]>>, tensor<12x5x3x3xf32>, tensor<12xf32>) -> tensor<?x12x5x8xf32, #dl.t<[s0, 12, 5, 8], order = [0, 2, 3, 1]>>
    %1 = dl.relu %0 : (tensor<?x12x5x8xf32, #dl.t<[s0, 12, 5, 8], order = [0, 2, 3, 1]>>) -> tensor<?x12x5x8xf32, #dl.t<[s0, 12, 5, 8], order = [0, 2, 3, 1]>>
    dl.yield %1 : tensor<?x12x5x8xf32, #dl.t<[s0, 12, 5, 8], order = [0, 2, 3, 1]>>)");
  for (int64_t size : {0, 1, 2, 3, 8})
    check({size, 1}, kProducts);
}

TEST_P(ContractionKernelTest, ConvolutionChannelsFirst) {
  load("contraction",
       R"(^bb0(%x: tensor<?x4x9x8xf32, #dl.t<[s0, 4, 9, 8]>>, %w: tensor<40x4x2x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 0, 1, 1, 0>, dilation = array<i64: 2, 1>} : (tensor<?x4x9x8xf32, #dl.t<[s0, 4, 9, 8]>>, tensor<40x4x2x3xf32>) -> tensor<?x40x8x7xf32, #dl.t<[s0, 40, 8, 7]>>
    dl.yield %0 : tensor<?x40x8x7xf32, #dl.t<[s0, 40, 8, 7]>>)");
  for (int64_t size : {0, 1, 2, 3, 8})
    check({size, 1}, kProducts);
}

TEST_P(ContractionKernelTest, GroupedConvolution) {
  load("contraction",
       R"(^bb0(%x: tensor<?x6x5x5xf32, #dl.t<[s0, 6, 5, 5]>>, %w: tensor<4x3x3x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 2 : i64} : (tensor<?x6x5x5xf32, #dl.t<[s0, 6, 5, 5]>>, tensor<4x3x3x3xf32>) -> tensor<?x4x5x5xf32, #dl.t<[s0, 4, 5, 5]>>
    dl.yield %0 : tensor<?x4x5x5xf32, #dl.t<[s0, 4, 5, 5]>>)");
  for (int64_t size : {0, 1, 3, 9})
    check({size, 1}, kProducts);
}

// A symbolic image: every bounds check and every division is by a value.
TEST_P(ContractionKernelTest, SymbolicImage) {
  load("contraction",
       R"(^bb0(%x: tensor<?x2x?x6xf32, #dl.t<[s1, 2, s0 + 3, 6]>>, %w: tensor<3x2x3x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : (tensor<?x2x?x6xf32, #dl.t<[s1, 2, s0 + 3, 6]>>, tensor<3x2x3x3xf32>) -> tensor<?x3x?x3xf32, #dl.t<[s1, 3, (s0 + 2) floordiv 2 + 1, 3]>>
    dl.yield %0 : tensor<?x3x?x3xf32, #dl.t<[s1, 3, (s0 + 2) floordiv 2 + 1, 3]>>)");
  for (int64_t size : {0, 1, 2, 7, 16})
    check({size, 2}, kProducts);
}

// Offsets may pass 2^31 when the sizes are what they may be: 64-bit index arithmetic.
TEST_P(ContractionKernelTest, WideIndex) {
  schedule = "tiles";
  load("contraction",
       R"(^bb0(%x: tensor<?x4x6x5xf32, #dl.t<[s0, 4, 6, 5]>>, %w: tensor<7x4x3x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x4x6x5xf32, #dl.t<[s0, 4, 6, 5]>>, tensor<7x4x3x3xf32>) -> tensor<?x7x6x5xf32, #dl.t<[s0, 7, 6, 5]>>
    dl.yield %0 : tensor<?x7x6x5xf32, #dl.t<[s0, 7, 6, 5]>>)",
       int64_t(1) << 40);
  EXPECT_NE(text().find("const i64 m0"), std::string::npos) << text();
  for (int64_t size : {0, 1, 3, 9})
    check({size, 1}, kProducts);
}

/// A matrix product of what no template takes, with one barrier taken out: the checker sees it, in
/// whatever order the threads run.
class PlantedBarrierTest : public CudaKernelTest {
protected:
  void plant(bool first) {
    schedule = "tiles";
    load("contraction",
         R"(^bb0(%a: tensor<?x40xf64, #dl.t<[s0, 40]>>, %b: tensor<40x33xf64>):
    %0 = dl.matmul %a, %b : (tensor<?x40xf64, #dl.t<[s0, 40]>>, tensor<40x33xf64>) -> tensor<?x33xf64, #dl.t<[s0, 33]>>
    dl.yield %0 : tensor<?x33xf64, #dl.t<[s0, 33]>>)");
    check({33, 1}, kProducts);
    const std::string original = text(), barrier = "dlc::barrier();";
    size_t at = first ? original.find(barrier) : original.rfind(barrier);
    ASSERT_NE(at, std::string::npos);
    replaceText(std::string(original).erase(at, barrier.size()));
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({33, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find("_tile"), std::string::npos) << report();
  }
};

TEST_P(PlantedBarrierTest, ReadsBeforeTheTileIsFull) { plant(/*first=*/true); }
TEST_P(PlantedBarrierTest, FillsBeforeTheTileIsRead) { plant(/*first=*/false); }

INSTANTIATE_TEST_SUITE_P(Policies, PlantedBarrierTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, ContractionKernelTest, ::testing::Values("order", "random:7"));

} // namespace dlc::test
