//===- SimtKernelTest.cpp - Matrix products in IEEE float ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked. Whole numbers are exact: an element in the wrong place shows.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
class SimtKernelTest : public CudaKernelTest {
protected:
  void loadProduct(const std::string &body, int64_t largest = 200) {
    load("contraction", body, largest);
    EXPECT_NE(text().find("dlc::contract_simt<config>"), std::string::npos) << text();
  }
};
} // namespace

constexpr Tolerance kSums{0, 1e-5};
constexpr Tolerance kExact{};

// Both operands along k, copied 16 bytes at a time; rows beyond the end and a last slab that is
// half empty.
TEST_P(SimtKernelTest, LinearRows) {
  loadProduct(
      R"(^bb0(%x: tensor<?x72xf32, #dl.t<[s0, 72]>>, %w: tensor<80x72xf32>, %b: tensor<80xf32>):
    %0 = dl.linear %x, %w, %b : (tensor<?x72xf32, #dl.t<[s0, 72]>>, tensor<80x72xf32>, tensor<80xf32>) -> tensor<?x80xf32, #dl.t<[s0, 80]>>
    %1 = dl.relu %0 : (tensor<?x80xf32, #dl.t<[s0, 80]>>) -> tensor<?x80xf32, #dl.t<[s0, 80]>>
    dl.yield %1 : tensor<?x80xf32, #dl.t<[s0, 80]>>)");
  EXPECT_EQ(config("width_a"), 4) << text();
  EXPECT_EQ(config("width_b"), 4);
  EXPECT_EQ(config("along_k_a"), 1);
  EXPECT_EQ(config("along_k_b"), 1);
  EXPECT_EQ(config("vector"), 4);
  checkBoundaries(kSums);
  for (int64_t rows : {1, 65, 129})
    check({rows, 1}, kExact, Fill::whole);
}

// Tiles of 8 columns, whose lanes have two each, and of 16 for eight warps; weights that come
// early, of either operand.
TEST_P(SimtKernelTest, SmallTiles) {
  const char *body =
      R"(^bb0(%x: tensor<?x200xf32, #dl.t<[s0, 200]>>, %w: tensor<40x200xf32>):
    %0 = dl.linear %x, %w : (tensor<?x200xf32, #dl.t<[s0, 200]>>, tensor<40x200xf32>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    dl.yield %0 : tensor<?x40xf32, #dl.t<[s0, 40]>>)";
  schedule = "float_units";
  for (auto [columns, warps] : {std::pair(8, 4), std::pair(16, 8)})
    for (int early : {0, 1, 2}) {
      numbers = {{"tile_m", 32}, {"tile_n", columns}, {"tile_k", 64},
                 {"warps_m", 1}, {"warps_n", 1},      {"warps_k", warps},
                 {"stages", 4},  {"parts", 1},        {"early", early}};
      loadProduct(body);
      EXPECT_EQ(config("tile_n"), columns) << text();
      EXPECT_EQ(config("warps_k"), warps);
      EXPECT_EQ(config("early"), early);
      for (int64_t rows : {0, 1, 33, 65})
        check({rows, 1}, kSums);
      check({33, 1}, kExact, Fill::whole);
    }
}

// Taps past the end of k have numbers that no word has a bit for.
TEST_P(SimtKernelTest, MoreTapsThanBits) {
  loadProduct(
      R"(^bb0(%x: tensor<?x4x9x7xf32, #dl.t<[s0, 4, 9, 7], order = [0, 2, 3, 1]>>, %w: tensor<20x4x5x5xf32, #dl.t<[20, 4, 5, 5], order = [0, 2, 3, 1]>>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 2, 2>} : (tensor<?x4x9x7xf32, #dl.t<[s0, 4, 9, 7], order = [0, 2, 3, 1]>>, tensor<20x4x5x5xf32, #dl.t<[20, 4, 5, 5], order = [0, 2, 3, 1]>>) -> tensor<?x20x9x7xf32, #dl.t<[s0, 20, 9, 7], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x20x9x7xf32, #dl.t<[s0, 20, 9, 7], order = [0, 2, 3, 1]>>)");
  EXPECT_EQ(config("taps_a"), 25) << text();
  for (int64_t images : {1, 3})
    check({images, 1}, kExact, Fill::whole);
}

// The second operand across k, of which each depth: single elements of the first.
TEST_P(SimtKernelTest, MatmulDepth) {
  loadProduct(R"(^bb0(%a: tensor<33x?xf32, #dl.t<[33, s0]>>, %b: tensor<?x24xf32, #dl.t<[s0, 24]>>):
    %0 = dl.matmul %a, %b : (tensor<33x?xf32, #dl.t<[33, s0]>>, tensor<?x24xf32, #dl.t<[s0, 24]>>) -> tensor<33x24xf32>
    dl.yield %0 : tensor<33x24xf32>)");
  EXPECT_EQ(config("width_a"), 1) << text();
  EXPECT_EQ(config("along_k_a"), 1);
  EXPECT_EQ(config("width_b"), 4);
  EXPECT_EQ(config("along_k_b"), 0);
  checkBoundaries(kSums);
  for (int64_t depth : {1, 63, 129})
    check({depth, 1}, kExact, Fill::whole);
}

// Copies of eight bytes; symbolic columns, so that they are finished one by one.
TEST_P(SimtKernelTest, NarrowCopies) {
  loadProduct(R"(^bb0(%a: tensor<40x34xf32>, %b: tensor<34x?xf32, #dl.t<[34, s0]>>):
    %0 = dl.matmul %a, %b : (tensor<40x34xf32>, tensor<34x?xf32, #dl.t<[34, s0]>>) -> tensor<40x?xf32, #dl.t<[40, s0]>>
    dl.yield %0 : tensor<40x?xf32, #dl.t<[40, s0]>>)");
  EXPECT_EQ(config("width_a"), 2) << text();
  EXPECT_EQ(config("width_b"), 1);
  EXPECT_EQ(config("along_k_b"), 0);
  EXPECT_EQ(config("vector"), 1);
  checkBoundaries(kSums);
  check({65, 1}, kExact, Fill::whole);
}

// A deep sum of few results: warps share k, and add their shares in one order.
TEST_P(SimtKernelTest, SharedDepth) {
  loadProduct(R"(^bb0(%a: tensor<?x400xf32, #dl.t<[s0, 400]>>, %b: tensor<64x400xf32>):
    %0 = dl.linear %a, %b : (tensor<?x400xf32, #dl.t<[s0, 400]>>, tensor<64x400xf32>) -> tensor<?x64xf32, #dl.t<[s0, 64]>>
    dl.yield %0 : tensor<?x64xf32, #dl.t<[s0, 64]>>)",
              129);
  EXPECT_GT(config("warps_k"), 1) << text();
  for (int64_t rows : {1, 31, 33})
    check({rows, 1}, kSums);
  check({33, 1}, kExact, Fill::whole);
}

// The largest tile: two quads of rows and of columns a lane, many turns of the ring.
TEST_P(SimtKernelTest, LargestTile) {
  loadProduct(
      R"(^bb0(%a: tensor<?x72xf32, #dl.t<[s0, 72]>>, %b: tensor<72x1024xf32>):
    %0 = dl.matmul %a, %b : (tensor<?x72xf32, #dl.t<[s0, 72]>>, tensor<72x1024xf32>) -> tensor<?x1024xf32, #dl.t<[s0, 1024]>>
    dl.yield %0 : tensor<?x1024xf32, #dl.t<[s0, 1024]>>)",
      4096);
  EXPECT_EQ(config("tile_m"), 128) << text();
  EXPECT_EQ(config("tile_n"), 128);
  check({129, 1}, kExact, Fill::whole);
}

// A producer of one operand: its elements are computed on the way into shared memory.
TEST_P(SimtKernelTest, ComputedOperand) {
  loadProduct(
      R"(^bb0(%a: tensor<?x3x20x16xf32, #dl.t<[s0, 3, 20, 16]>>, %b: tensor<3x16x24xf32>, %z: tensor<?x3x20x24xf32, #dl.t<[s0, 3, 20, 24]>>):
    %0 = dl.neg %a : (tensor<?x3x20x16xf32, #dl.t<[s0, 3, 20, 16]>>) -> tensor<?x3x20x16xf32, #dl.t<[s0, 3, 20, 16]>>
    %1 = dl.matmul %0, %b : (tensor<?x3x20x16xf32, #dl.t<[s0, 3, 20, 16]>>, tensor<3x16x24xf32>) -> tensor<?x3x20x24xf32, #dl.t<[s0, 3, 20, 24]>>
    %2 = dl.add %1, %z : (tensor<?x3x20x24xf32, #dl.t<[s0, 3, 20, 24]>>, tensor<?x3x20x24xf32, #dl.t<[s0, 3, 20, 24]>>) -> tensor<?x3x20x24xf32, #dl.t<[s0, 3, 20, 24]>>
    dl.yield %2 : tensor<?x3x20x24xf32, #dl.t<[s0, 3, 20, 24]>>)");
  EXPECT_EQ(config("width_a"), 0) << text();
  for (int64_t size : {0, 1, 7})
    check({size, 1}, kSums);
  check({3, 1}, kExact, Fill::whole);
}

// Channels first: places of the image are read across k, filters are one long row along it.
TEST_P(SimtKernelTest, ConvolutionChannelsFirst) {
  loadProduct(
      R"(^bb0(%x: tensor<?x4x9x8xf32, #dl.t<[s0, 4, 9, 8]>>, %w: tensor<40x4x2x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 0, 1, 1, 0>, dilation = array<i64: 2, 1>} : (tensor<?x4x9x8xf32, #dl.t<[s0, 4, 9, 8]>>, tensor<40x4x2x3xf32>) -> tensor<?x40x8x7xf32, #dl.t<[s0, 40, 8, 7]>>
    dl.yield %0 : tensor<?x40x8x7xf32, #dl.t<[s0, 40, 8, 7]>>)");
  // The rows are the filters here: neighbouring results are places.
  EXPECT_EQ(config("width_a"), 4) << text();
  EXPECT_EQ(config("along_k_a"), 1);
  EXPECT_EQ(config("width_b"), 1);
  EXPECT_EQ(config("along_k_b"), 0);
  for (int64_t size : {0, 1, 2, 3, 8})
    check({size, 1}, kSums);
  check({3, 1}, kExact, Fill::whole);
}

// More tiles of places than the grid's y counts: its x counts all tiles, here two rows of them.
TEST_P(SimtKernelTest, TilesBeyondGridY) {
  loadProduct(
      R"(^bb0(%x: tensor<?x16x8x8xf32, #dl.t<[s0, 16, 8, 8]>>, %w: tensor<136x16x1x1xf32>):
    %0 = dl.conv2d %x, %w : (tensor<?x16x8x8xf32, #dl.t<[s0, 16, 8, 8]>>, tensor<136x16x1x1xf32>) -> tensor<?x136x8x8xf32, #dl.t<[s0, 136, 8, 8]>>
    dl.yield %0 : tensor<?x136x8x8xf32, #dl.t<[s0, 136, 8, 8]>>)",
      16777216);
  EXPECT_GT(config("row_tiles"), 1) << text();
  for (int64_t size : {0, 1, 5})
    check({size, 1}, kSums);
  check({3, 1}, kExact, Fill::whole);
}

// Channels last: four channels of a place at once, or zeros outside the image.
TEST_P(SimtKernelTest, ConvolutionChannelsLast) {
  loadProduct(
      R"(^bb0(%x: tensor<?x8x9x7xf32, #dl.t<[s0, 8, 9, 7], order = [0, 2, 3, 1]>>, %w: tensor<24x8x3x3xf32, #dl.t<[24, 8, 3, 3], order = [0, 2, 3, 1]>>, %b: tensor<24xf32>):
    %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>, stride = array<i64: 2, 1>} : (tensor<?x8x9x7xf32, #dl.t<[s0, 8, 9, 7], order = [0, 2, 3, 1]>>, tensor<24x8x3x3xf32, #dl.t<[24, 8, 3, 3], order = [0, 2, 3, 1]>>, tensor<24xf32>) -> tensor<?x24x5x7xf32, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x24x5x7xf32, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>)");
  EXPECT_EQ(config("width_a"), 4) << text();
  EXPECT_EQ(config("width_b"), 4);
  // Places of rows and a bit for each tap are found once; k's loops are walked, not divided out.
  EXPECT_EQ(config("taps_a"), 9);
  EXPECT_EQ(config("k_loops"), 3);
  for (int64_t size : {0, 1, 2, 3, 8})
    check({size, 1}, kSums);
  check({3, 1}, kExact, Fill::whole);
}

TEST_P(SimtKernelTest, WideIndex) {
  loadProduct(R"(^bb0(%x: tensor<?x16xf32, #dl.t<[s0, 16]>>, %w: tensor<24x16xf32>):
    %0 = dl.linear %x, %w : (tensor<?x16xf32, #dl.t<[s0, 16]>>, tensor<24x16xf32>) -> tensor<?x24xf32, #dl.t<[s0, 24]>>
    dl.yield %0 : tensor<?x24xf32, #dl.t<[s0, 24]>>)",
              int64_t(1) << 40);
  EXPECT_NE(text().find("using index = i64"), std::string::npos) << text();
  for (int64_t size : {0, 1, 33, 129})
    check({size, 1}, kSums);
}

/// The template with one line of it taken out.
class PlantedSimtTest : public CudaKernelTest {
protected:
  void plant(const std::string &header, const std::string &line, const std::string &name) {
    load("contraction",
         R"(^bb0(%a: tensor<?x264xf32, #dl.t<[s0, 264]>>, %b: tensor<264x32xf32>):
    %0 = dl.matmul %a, %b : (tensor<?x264xf32, #dl.t<[s0, 264]>>, tensor<264x32xf32>) -> tensor<?x32xf32, #dl.t<[s0, 32]>>
    dl.yield %0 : tensor<?x32xf32, #dl.t<[s0, 32]>>)");
    check({33, 1}, kSums);
    removeFromHeader(header, line);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({33, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(name), std::string::npos) << report();
  }
};

// Elements that another thread's copy has not brought yet.
TEST_P(PlantedSimtTest, NoBarrierAfterTheCopies) {
  plant("dlc_slab.cuh",
        "      barrier(); // which also ends all reads of the stage that is filled now\n",
        "with no barrier between");
}
TEST_P(PlantedSimtTest, NoWaitForTheCopies) {
  plant("dlc_slab.cuh", "      cp_async_wait<STAGES - 2>();\n", "missing wait: load of ");
}
// Totals that another warp has not written.
TEST_P(PlantedSimtTest, NoBarrierAfterTheTotals) {
  plant("dlc_simt.cuh", "      barrier();\n", "race: ");
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedSimtTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, SimtKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
