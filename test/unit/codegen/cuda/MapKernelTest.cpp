//===- MapKernelTest.cpp - Elementwise kernels and kernels that move elements -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

using MapKernelTest = CudaKernelTest;
constexpr Tolerance kFewUlps{4.0};
constexpr Tolerance kExact{};

// 30 columns: no whole vectors in a row, one flat row where nothing is broadcast.
TEST_P(MapKernelTest, BroadcastAddRelu) {
  load("map", R"(^bb0(%x: tensor<?x30xf32, #dl.t<[s0, 30]>>, %b: tensor<30xf32>):
    %0 = dl.broadcast %b : (tensor<30xf32>) -> tensor<?x30xf32, #dl.t<[s0, 30]>>
    %1 = dl.add %x, %0 : (tensor<?x30xf32, #dl.t<[s0, 30]>>, tensor<?x30xf32, #dl.t<[s0, 30]>>) -> tensor<?x30xf32, #dl.t<[s0, 30]>>
    %2 = dl.relu %1 : (tensor<?x30xf32, #dl.t<[s0, 30]>>) -> tensor<?x30xf32, #dl.t<[s0, 30]>>
    dl.yield %2 : tensor<?x30xf32, #dl.t<[s0, 30]>>)");
  checkBoundaries(kFewUlps, Fill::special);
}

// Rows of whole vectors.
TEST_P(MapKernelTest, BroadcastVectors) {
  load("map", R"(^bb0(%x: tensor<?x32xf32, #dl.t<[s0, 32]>>, %b: tensor<32xf32>):
    %0 = dl.broadcast %b : (tensor<32xf32>) -> tensor<?x32xf32, #dl.t<[s0, 32]>>
    %1 = dl.mul %x, %0 : (tensor<?x32xf32, #dl.t<[s0, 32]>>, tensor<?x32xf32, #dl.t<[s0, 32]>>) -> tensor<?x32xf32, #dl.t<[s0, 32]>>
    dl.yield %1 : tensor<?x32xf32, #dl.t<[s0, 32]>>)");
  EXPECT_NE(text().find("dlc::load<4>(other"), std::string::npos) << text();
  checkBoundaries(kFewUlps);
}

// A row of any length: vectors and a scalar tail.
TEST_P(MapKernelTest, GeluTail) {
  load("map", R"(^bb0(%x: tensor<?xf32, #dl.t<[s0]>>):
    %0 = dl.gelu %x : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xf32, #dl.t<[s0]>>)");
  checkBoundaries({8.0, 1e-7}, Fill::special);
}

TEST_P(MapKernelTest, HalfPrecision) {
  load("map", R"(^bb0(%x: tensor<?x3xf16, #dl.t<[s0, 3]>>, %z: tensor<?x3xbf16, #dl.t<[s0, 3]>>):
    %0 = dl.cast %z {dtype = f16} : (tensor<?x3xbf16, #dl.t<[s0, 3]>>) -> tensor<?x3xf16, #dl.t<[s0, 3]>>
    %1 = dl.sub %x, %0 : (tensor<?x3xf16, #dl.t<[s0, 3]>>, tensor<?x3xf16, #dl.t<[s0, 3]>>) -> tensor<?x3xf16, #dl.t<[s0, 3]>>
    %2 = dl.tanh %1 : (tensor<?x3xf16, #dl.t<[s0, 3]>>) -> tensor<?x3xf16, #dl.t<[s0, 3]>>
    dl.yield %2 : tensor<?x3xf16, #dl.t<[s0, 3]>>)");
  checkBoundaries({1.0});
}

TEST_P(MapKernelTest, IntegersToHalf) {
  load("map", R"(^bb0(%x: tensor<?xi32, #dl.t<[s0]>>):
    %0 = dl.cast %x {dtype = f16} : (tensor<?xi32, #dl.t<[s0]>>) -> tensor<?xf16, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xf16, #dl.t<[s0]>>)");
  checkBoundaries(kExact);
  load("map", R"(^bb0(%x: tensor<?xui8, #dl.t<[s0]>>):
    %0 = dl.cast %x {dtype = bf16} : (tensor<?xui8, #dl.t<[s0]>>) -> tensor<?xbf16, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xbf16, #dl.t<[s0]>>)");
  checkBoundaries(kExact);
}

TEST_P(MapKernelTest, DoubleAndIntegers) {
  load("map", R"(^bb0(%x: tensor<?xf64, #dl.t<[s0]>>, %i: tensor<?xi8, #dl.t<[s0]>>):
    %0 = dl.exp %x : (tensor<?xf64, #dl.t<[s0]>>) -> tensor<?xf64, #dl.t<[s0]>>
    %1 = dl.mul %i, %i : (tensor<?xi8, #dl.t<[s0]>>, tensor<?xi8, #dl.t<[s0]>>) -> tensor<?xi8, #dl.t<[s0]>>
    %2 = dl.cast %1 {dtype = f64} : (tensor<?xi8, #dl.t<[s0]>>) -> tensor<?xf64, #dl.t<[s0]>>
    %3 = dl.add %0, %2 : (tensor<?xf64, #dl.t<[s0]>>, tensor<?xf64, #dl.t<[s0]>>) -> tensor<?xf64, #dl.t<[s0]>>
    dl.yield %3 : tensor<?xf64, #dl.t<[s0]>>)");
  checkBoundaries(kFewUlps);
}

TEST_P(MapKernelTest, BytesAndBools) {
  load("map", R"(^bb0(%x: tensor<?xui8, #dl.t<[s0]>>, %z: tensor<?xi1, #dl.t<[s0]>>):
    %0 = dl.cast %z {dtype = ui8} : (tensor<?xi1, #dl.t<[s0]>>) -> tensor<?xui8, #dl.t<[s0]>>
    %1 = dl.maximum %x, %0 : (tensor<?xui8, #dl.t<[s0]>>, tensor<?xui8, #dl.t<[s0]>>) -> tensor<?xui8, #dl.t<[s0]>>
    %2 = dl.sub %1, %0 : (tensor<?xui8, #dl.t<[s0]>>, tensor<?xui8, #dl.t<[s0]>>) -> tensor<?xui8, #dl.t<[s0]>>
    %3 = dl.cast %2 {dtype = f32} : (tensor<?xui8, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s0]>>
    dl.yield %3 : tensor<?xf32, #dl.t<[s0]>>)");
  checkBoundaries(kExact);
  load("map", R"(^bb0(%x: tensor<?xf32, #dl.t<[s0]>>):
    %0 = dl.cast %x {dtype = i1} : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xi1, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xi1, #dl.t<[s0]>>)");
  checkBoundaries(kExact, Fill::whole);
}

TEST_P(MapKernelTest, Layouts) {
  load("map", R"(^bb0(%x: tensor<?x8x5x5xf32, #dl.t<[s0, 8, 5, 5]>>):
    %0 = dl.convert_layout %x : (tensor<?x8x5x5xf32, #dl.t<[s0, 8, 5, 5]>>) -> tensor<?x8x5x5xf32, #dl.t<[s0, 8, 5, 5], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x8x5x5xf32, #dl.t<[s0, 8, 5, 5], order = [0, 2, 3, 1]>>)");
  checkBoundaries(kExact);
  load(
      "map",
      R"(^bb0(%x: tensor<?x3x4x6xf32, #dl.t<[s0, 3, 4, 6], order = [0, 2, 3, 1]>>, %b: tensor<3x1x1xf32>):
    %0 = dl.broadcast %b : (tensor<3x1x1xf32>) -> tensor<?x3x4x6xf32, #dl.t<[s0, 3, 4, 6]>>
    %1 = dl.add %x, %0 : (tensor<?x3x4x6xf32, #dl.t<[s0, 3, 4, 6], order = [0, 2, 3, 1]>>, tensor<?x3x4x6xf32, #dl.t<[s0, 3, 4, 6]>>) -> tensor<?x3x4x6xf32, #dl.t<[s0, 3, 4, 6]>>
    dl.yield %1 : tensor<?x3x4x6xf32, #dl.t<[s0, 3, 4, 6]>>)");
  checkBoundaries(kFewUlps);
}

TEST_P(MapKernelTest, MovesElements) {
  load("map", R"(^bb0(%x: tensor<?x6xf32, #dl.t<[s0, 6]>>, %z: tensor<?x2xf32, #dl.t<[s0, 2]>>):
    %0 = dl.cat %x, %z {dim = 1 : i64} : (tensor<?x6xf32, #dl.t<[s0, 6]>>, tensor<?x2xf32, #dl.t<[s0, 2]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
    dl.yield %0 : tensor<?x8xf32, #dl.t<[s0, 8]>>)");
  checkBoundaries(kExact);
  load("map", R"(^bb0(%x: tensor<?x6xf32, #dl.t<[s0, 6]>>):
    %0 = dl.pad %x {pad = affine_map<() -> (1, 2)>, value = 5.0 : f64} : (tensor<?x6xf32, #dl.t<[s0, 6]>>) -> tensor<?x9xf32, #dl.t<[s0, 9]>>
    dl.yield %0 : tensor<?x9xf32, #dl.t<[s0, 9]>>)");
  checkBoundaries(kExact);
  load("map", R"(^bb0(%x: tensor<?x9xf32, #dl.t<[s0, 9]>>):
    %0 = dl.slice %x {dim = 1 : i64, start = 1 : i64, step = 2 : i64} : (tensor<?x9xf32, #dl.t<[s0, 9]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
    dl.yield %0 : tensor<?x4xf32, #dl.t<[s0, 4]>>)");
  checkBoundaries(kExact);
  load("map", R"(^bb0(%x: tensor<3x?xf32, #dl.t<[3, s0]>>):
    %0 = dl.permute %x {dims = array<i64: 1, 0>} : (tensor<3x?xf32, #dl.t<[3, s0]>>) -> tensor<?x3xf32, #dl.t<[s0, 3]>>
    dl.yield %0 : tensor<?x3xf32, #dl.t<[s0, 3]>>)");
  checkBoundaries(kExact);
}

// Neither merged nor cut at constants: the inner extent is a symbol.
TEST_P(MapKernelTest, SymbolicInside) {
  load("map",
       R"(^bb0(%x: tensor<3x?x5xf32, #dl.t<[3, s0, 5]>>, %b: tensor<?x5xf32, #dl.t<[s0, 5]>>):
    %0 = dl.broadcast %b : (tensor<?x5xf32, #dl.t<[s0, 5]>>) -> tensor<3x?x5xf32, #dl.t<[3, s0, 5]>>
    %1 = dl.minimum %x, %0 : (tensor<3x?x5xf32, #dl.t<[3, s0, 5]>>, tensor<3x?x5xf32, #dl.t<[3, s0, 5]>>) -> tensor<3x?x5xf32, #dl.t<[3, s0, 5]>>
    dl.yield %1 : tensor<3x?x5xf32, #dl.t<[3, s0, 5]>>)");
  checkBoundaries(kExact, Fill::special);
}

// Offsets may pass 2^31 when the sizes are what they may be: 64-bit index arithmetic.
TEST_P(MapKernelTest, WideIndex) {
  load("map", R"(^bb0(%x: tensor<?x7xf32, #dl.t<[s0, 7]>>, %b: tensor<7xf32>):
    %0 = dl.broadcast %b : (tensor<7xf32>) -> tensor<?x7xf32, #dl.t<[s0, 7]>>
    %1 = dl.add %x, %0 : (tensor<?x7xf32, #dl.t<[s0, 7]>>, tensor<?x7xf32, #dl.t<[s0, 7]>>) -> tensor<?x7xf32, #dl.t<[s0, 7]>>
    dl.yield %1 : tensor<?x7xf32, #dl.t<[s0, 7]>>)",
       int64_t(1) << 40);
  EXPECT_NE(text().find("const i64 i"), std::string::npos) << text();
  checkBoundaries(kFewUlps);
}

TEST_P(MapKernelTest, Scalar) {
  load("map", R"(^bb0(%x: tensor<f32>):
    %0 = dl.sqrt %x : (tensor<f32>) -> tensor<f32>
    dl.yield %0 : tensor<f32>)");
  check({1, 1}, kFewUlps);
}

INSTANTIATE_TEST_SUITE_P(Policies, MapKernelTest, ::testing::Values("order", "random:7"));

} // namespace dlc::test
