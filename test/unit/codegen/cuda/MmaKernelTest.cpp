//===- MmaKernelTest.cpp - Matrix products on tensor cores --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In f16 and bf16, under each policy, checked. Whole numbers are exact: an element in the wrong
// place shows.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
class MmaKernelTest : public CudaKernelTest {
protected:
  void expectTemplate() {
    EXPECT_NE(text().find("dlc::contract_mma<config>"), std::string::npos) << text();
  }
};
} // namespace

constexpr Tolerance kHalf{2.0, 2e-3};
constexpr Tolerance kExact{};

// Both operands along k, copied 16 bytes at a time; rows beyond the end and a last slab that is
// half empty.
TEST_P(MmaKernelTest, LinearRows) {
  load("contraction",
       R"(^bb0(%x: tensor<?x72xf16, #dl.t<[s0, 72]>>, %w: tensor<80x72xf16>, %b: tensor<80xf16>):
    %0 = dl.linear %x, %w, %b : (tensor<?x72xf16, #dl.t<[s0, 72]>>, tensor<80x72xf16>, tensor<80xf16>) -> tensor<?x80xf16, #dl.t<[s0, 80]>>
    %1 = dl.relu %0 : (tensor<?x80xf16, #dl.t<[s0, 80]>>) -> tensor<?x80xf16, #dl.t<[s0, 80]>>
    dl.yield %1 : tensor<?x80xf16, #dl.t<[s0, 80]>>)");
  expectTemplate();
  EXPECT_EQ(config("width_a"), 8) << text();
  EXPECT_EQ(config("width_b"), 8);
  EXPECT_EQ(config("vector"), 8);
  checkBoundaries(kHalf);
  for (int64_t rows : {1, 65, 129})
    check({rows, 1}, kExact, Fill::whole);
}

// The second operand along n; one of each depth, odd ones too: what is not a multiple of two cannot
// be copied.
TEST_P(MmaKernelTest, MatmulDepth) {
  load("contraction",
       R"(^bb0(%a: tensor<33x?xbf16, #dl.t<[33, s0]>>, %b: tensor<?x24xbf16, #dl.t<[s0, 24]>>):
    %0 = dl.matmul %a, %b : (tensor<33x?xbf16, #dl.t<[33, s0]>>, tensor<?x24xbf16, #dl.t<[s0, 24]>>) -> tensor<33x24xbf16>
    dl.yield %0 : tensor<33x24xbf16>)");
  expectTemplate();
  EXPECT_EQ(config("width_a"), 1) << text();
  EXPECT_EQ(config("width_b"), 8);
  EXPECT_EQ(config("along_k_b"), 0);
  checkBoundaries({2.0, 1.6e-2});
  for (int64_t depth : {1, 63, 129})
    check({depth, 1}, kExact, Fill::whole);
}

// Weights are asked for before the grids before this one have ended: sums of fewer slabs than the
// ring has and of more.
TEST_P(MmaKernelTest, WeightsComeEarly) {
  schedule = "tensor_cores";
  for (int early : {1, 2}) {
    numbers = {{"early", early}};
    load("contraction", R"(^bb0(%x: tensor<?x72xf16, #dl.t<[s0, 72]>>, %w: tensor<80x72xf16>):
    %0 = dl.linear %x, %w : (tensor<?x72xf16, #dl.t<[s0, 72]>>, tensor<80x72xf16>) -> tensor<?x80xf16, #dl.t<[s0, 80]>>
    dl.yield %0 : tensor<?x80xf16, #dl.t<[s0, 80]>>)");
    EXPECT_EQ(config("early"), early) << text();
    EXPECT_EQ(text().find("begin_grid"), std::string::npos) << text();
    for (int64_t rows : {0, 1, 65, 129})
      check({rows, 1}, kExact, Fill::whole);
    load("contraction", R"(^bb0(%x: tensor<?x2056xf16, #dl.t<[s0, 2056]>>, %w: tensor<2056x40xf16>):
    %0 = dl.matmul %x, %w : (tensor<?x2056xf16, #dl.t<[s0, 2056]>>, tensor<2056x40xf16>) -> tensor<?x40xf16, #dl.t<[s0, 40]>>
    dl.yield %0 : tensor<?x40xf16, #dl.t<[s0, 40]>>)");
    check({65, 1}, kHalf);
  }
  // A single element of two bytes is not copied.
  numbers = {{"early", 1}};
  load("contraction", R"(^bb0(%x: tensor<?x33xf16, #dl.t<[s0, 33]>>, %w: tensor<80x33xf16>):
    %0 = dl.linear %x, %w : (tensor<?x33xf16, #dl.t<[s0, 33]>>, tensor<80x33xf16>) -> tensor<?x80xf16, #dl.t<[s0, 80]>>
    dl.yield %0 : tensor<?x80xf16, #dl.t<[s0, 80]>>)");
  EXPECT_EQ(config("early"), 0) << text();
  check({65, 1}, kExact, Fill::whole);
}

// A convolution by its filters, whose image has places of windows.
TEST_P(MmaKernelTest, FiltersComeEarly) {
  schedule = "tensor_cores";
  for (int early : {1, 2}) {
    numbers = {{"early", early}};
    load(
        "contraction",
        R"(^bb0(%x: tensor<?x32x5x7xf16, #dl.t<[s0, 32, 5, 7], order = [0, 2, 3, 1]>>, %w: tensor<24x32x3x3xf16, #dl.t<[24, 32, 3, 3], order = [0, 2, 3, 1]>>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x32x5x7xf16, #dl.t<[s0, 32, 5, 7], order = [0, 2, 3, 1]>>, tensor<24x32x3x3xf16, #dl.t<[24, 32, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<?x24x5x7xf16, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x24x5x7xf16, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>)",
        5);
    EXPECT_EQ(config("early"), early) << text();
    for (int64_t images : {1, 5})
      check({images, 1}, kExact, Fill::whole);
  }
}

// Copies of four and of eight bytes.
TEST_P(MmaKernelTest, NarrowCopies) {
  load("contraction", R"(^bb0(%a: tensor<?x34xf16, #dl.t<[s0, 34]>>, %b: tensor<34x20xf16>):
    %0 = dl.matmul %a, %b : (tensor<?x34xf16, #dl.t<[s0, 34]>>, tensor<34x20xf16>) -> tensor<?x20xf16, #dl.t<[s0, 20]>>
    dl.yield %0 : tensor<?x20xf16, #dl.t<[s0, 20]>>)");
  EXPECT_EQ(config("width_a"), 2) << text();
  EXPECT_EQ(config("width_b"), 4);
  EXPECT_EQ(config("vector"), 1);
  checkBoundaries(kHalf);
  check({65, 1}, kExact, Fill::whole);
}

// The result's columns are the first operand's: the product is computed transposed. Symbolic
// columns.
TEST_P(MmaKernelTest, MatmulColumns) {
  load("contraction", R"(^bb0(%a: tensor<40x24xf16>, %b: tensor<24x?xf16, #dl.t<[24, s0]>>):
    %0 = dl.matmul %a, %b : (tensor<40x24xf16>, tensor<24x?xf16, #dl.t<[24, s0]>>) -> tensor<40x?xf16, #dl.t<[40, s0]>>
    dl.yield %0 : tensor<40x?xf16, #dl.t<[40, s0]>>)");
  expectTemplate();
  checkBoundaries(kHalf);
  check({129, 1}, kExact, Fill::whole);
}

// Many tiles, a ring that goes round several times.
TEST_P(MmaKernelTest, ManyTiles) {
  load("contraction", R"(^bb0(%a: tensor<?x520xf16, #dl.t<[s0, 520]>>, %b: tensor<520x264xf16>):
    %0 = dl.matmul %a, %b : (tensor<?x520xf16, #dl.t<[s0, 520]>>, tensor<520x264xf16>) -> tensor<?x264xf16, #dl.t<[s0, 264]>>
    dl.yield %0 : tensor<?x264xf16, #dl.t<[s0, 264]>>)");
  EXPECT_GE(config("stages"), 3);
  check({130, 1}, kHalf);
  check({130, 1}, kExact, Fill::whole);
}

// A batch whose second operand is repeated, a producer on the way in, a residual on the way out.
TEST_P(MmaKernelTest, BatchesBetweenMaps) {
  load(
      "contraction",
      R"(^bb0(%a: tensor<?x6x?x16xbf16, #dl.t<[s1, 6, s0, 16]>>, %b: tensor<6x16x8xbf16>, %z: tensor<?x6x?x8xbf16, #dl.t<[s1, 6, s0, 8]>>):
    %0 = dl.neg %a : (tensor<?x6x?x16xbf16, #dl.t<[s1, 6, s0, 16]>>) -> tensor<?x6x?x16xbf16, #dl.t<[s1, 6, s0, 16]>>
    %1 = dl.matmul %0, %b : (tensor<?x6x?x16xbf16, #dl.t<[s1, 6, s0, 16]>>, tensor<6x16x8xbf16>) -> tensor<?x6x?x8xbf16, #dl.t<[s1, 6, s0, 8]>>
    %2 = dl.add %1, %z : (tensor<?x6x?x8xbf16, #dl.t<[s1, 6, s0, 8]>>, tensor<?x6x?x8xbf16, #dl.t<[s1, 6, s0, 8]>>) -> tensor<?x6x?x8xbf16, #dl.t<[s1, 6, s0, 8]>>
    dl.yield %2 : tensor<?x6x?x8xbf16, #dl.t<[s1, 6, s0, 8]>>)");
  EXPECT_EQ(config("width_a"), 0) << text();
  EXPECT_NE(text().find("nullptr"), std::string::npos) << text();
  for (int64_t size : {0, 1, 7, 33, 65})
    check({size, 3}, {2.0, 1.6e-2});
  check({33, 2}, kExact, Fill::whole);
}

// The first layer of a network: of three channels nothing lies together for 4 bytes. Neighbouring
// threads take neighbouring places of the image, and neighbours of a filter.
TEST_P(MmaKernelTest, FewChannels) {
  for (const char *order : {"", ", order = [0, 2, 3, 1]"}) {
    std::string x = "tensor<?x3x11x9xf16, #dl.t<[s0, 3, 11, 9]" + std::string(order) + ">>",
                y = "tensor<?x20x6x5xf16, #dl.t<[s0, 20, 6, 5]" + std::string(order) + ">>",
                w = "tensor<20x3x5x5xf16>";
    load("contraction",
         "^bb0(%x: " + x + ", %w: " + w +
             "):\n%0 = dl.conv2d %x, %w {padding = array<i64: 2, 2>, stride = array<i64: 2, 2>} : "
             "(" +
             x + ", " + w + ") -> " + y + "\ndl.yield %0 : " + y,
         64);
    expectTemplate();
    EXPECT_EQ(config("width_a") * config("width_b"), 1) << text();
    EXPECT_EQ(config("across_a") + config("across_b"), 1) << text();
    for (int64_t images : {0, 1, 3})
      check({images, 1}, {2.0, 4e-3});
    check({5, 1}, kExact, Fill::whole);
  }
}

// Queries times transposed keys, from projections that lie head by head in each row: no copy
// between.
TEST_P(MmaKernelTest, TransposedInPlace) {
  load(
      "contraction",
      R"(^bb0(%q: tensor<?x3x16xf16, #dl.t<[s0, 3, 16]>>, %t: tensor<?x3x16xf16, #dl.t<[s0, 3, 16]>>):
    %0 = dl.permute %q {dims = array<i64: 1, 0, 2>} : (tensor<?x3x16xf16, #dl.t<[s0, 3, 16]>>) -> tensor<3x?x16xf16, #dl.t<[3, s0, 16]>>
    %1 = dl.permute %t {dims = array<i64: 1, 2, 0>} : (tensor<?x3x16xf16, #dl.t<[s0, 3, 16]>>) -> tensor<3x16x?xf16, #dl.t<[3, 16, s0]>>
    %2 = dl.matmul %0, %1 : (tensor<3x?x16xf16, #dl.t<[3, s0, 16]>>, tensor<3x16x?xf16, #dl.t<[3, 16, s0]>>) -> tensor<3x?x?xf16, #dl.t<[3, s0, s0]>>
    dl.yield %2 : tensor<3x?x?xf16, #dl.t<[3, s0, s0]>>)");
  EXPECT_EQ(config("width_a"), 8) << text();
  EXPECT_EQ(config("width_b"), 8);
  for (int64_t size : {0, 1, 7, 33, 65})
    check({size, 1}, kHalf);
  check({33, 1}, kExact, Fill::whole);
}

// Implicit GEMM, channels last: eight channels of a place are copied at once, or zeros outside the
// image.
TEST_P(MmaKernelTest, ConvolutionChannelsLast) {
  load(
      "contraction",
      R"(^bb0(%x: tensor<?x8x9x7xf16, #dl.t<[s0, 8, 9, 7], order = [0, 2, 3, 1]>>, %w: tensor<24x8x3x3xf16, #dl.t<[24, 8, 3, 3], order = [0, 2, 3, 1]>>, %b: tensor<24xf16>):
    %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>, stride = array<i64: 2, 1>} : (tensor<?x8x9x7xf16, #dl.t<[s0, 8, 9, 7], order = [0, 2, 3, 1]>>, tensor<24x8x3x3xf16, #dl.t<[24, 8, 3, 3], order = [0, 2, 3, 1]>>, tensor<24xf16>) -> tensor<?x24x5x7xf16, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>
    %1 = dl.relu %0 : (tensor<?x24x5x7xf16, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>) -> tensor<?x24x5x7xf16, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>
    dl.yield %1 : tensor<?x24x5x7xf16, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>)");
  EXPECT_EQ(config("width_a"), 8) << text();
  EXPECT_EQ(config("width_b"), 8);
  EXPECT_EQ(config("vector"), 8);
  for (int64_t size : {0, 1, 2, 3, 8})
    check({size, 1}, kHalf);
  check({3, 1}, kExact, Fill::whole);
}

// Channels first and filters as PyTorch has them: the image is read element by element, the
// result's columns are places.
TEST_P(MmaKernelTest, ConvolutionChannelsFirst) {
  load("contraction",
       R"(^bb0(%x: tensor<?x4x9x8xbf16, #dl.t<[s0, 4, 9, 8]>>, %w: tensor<40x4x2x3xbf16>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 0, 1, 1, 0>, dilation = array<i64: 2, 1>} : (tensor<?x4x9x8xbf16, #dl.t<[s0, 4, 9, 8]>>, tensor<40x4x2x3xbf16>) -> tensor<?x40x8x7xbf16, #dl.t<[s0, 40, 8, 7]>>
    dl.yield %0 : tensor<?x40x8x7xbf16, #dl.t<[s0, 40, 8, 7]>>)");
  expectTemplate();
  for (int64_t size : {0, 1, 2, 3, 8})
    check({size, 1}, {2.0, 1.6e-2});
  check({3, 1}, kExact, Fill::whole);
}

// More tiles of places than the grid's y counts: its x counts all tiles, here two rows of them.
TEST_P(MmaKernelTest, TilesBeyondGridY) {
  load("contraction",
       R"(^bb0(%x: tensor<?x16x8x8xf16, #dl.t<[s0, 16, 8, 8]>>, %w: tensor<136x16x1x1xf16>):
    %0 = dl.conv2d %x, %w : (tensor<?x16x8x8xf16, #dl.t<[s0, 16, 8, 8]>>, tensor<136x16x1x1xf16>) -> tensor<?x136x8x8xf16, #dl.t<[s0, 136, 8, 8]>>
    dl.yield %0 : tensor<?x136x8x8xf16, #dl.t<[s0, 136, 8, 8]>>)",
       16777216);
  EXPECT_GT(config("row_tiles"), 1) << text();
  for (int64_t size : {0, 1, 5})
    check({size, 1}, {2.0, 2e-3});
  check({3, 1}, kExact, Fill::whole);
}

TEST_P(MmaKernelTest, WideIndex) {
  load("contraction",
       R"(^bb0(%x: tensor<?x16xf16, #dl.t<[s0, 16]>>, %w: tensor<24x16xf16>):
    %0 = dl.linear %x, %w : (tensor<?x16xf16, #dl.t<[s0, 16]>>, tensor<24x16xf16>) -> tensor<?x24xf16, #dl.t<[s0, 24]>>
    dl.yield %0 : tensor<?x24xf16, #dl.t<[s0, 24]>>)",
       int64_t(1) << 40);
  EXPECT_NE(text().find("using index = i64"), std::string::npos) << text();
  for (int64_t size : {0, 1, 33, 129})
    check({size, 1}, kHalf);
}

// f32 rounded to tf32: 11 bits of each factor, so 2^-10 of each product. Whole numbers of that many
// bits are exact.
constexpr Tolerance kTf32{0, 2e-3};

TEST_P(MmaKernelTest, Tf32) {
  load("contraction",
       R"(^bb0(%x: tensor<?x72xf32, #dl.t<[s0, 72]>>, %w: tensor<40x72xf32>, %b: tensor<40xf32>):
    %0 = dl.linear %x, %w, %b : (tensor<?x72xf32, #dl.t<[s0, 72]>>, tensor<40x72xf32>, tensor<40xf32>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    %1 = dl.relu %0 : (tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    dl.yield %1 : tensor<?x40xf32, #dl.t<[s0, 40]>>)",
       200, "tf32");
  expectTemplate();
  EXPECT_EQ(config("width_a"), 4) << text();
  EXPECT_EQ(config("width_b"), 4);
  EXPECT_EQ(config("vector"), 4);
  checkBoundaries(kTf32);
  for (int64_t rows : {1, 65, 129})
    check({rows, 1}, kExact, Fill::whole);
}

// What lies along n is transposed by copies of single elements.
TEST_P(MmaKernelTest, Tf32Transposed) {
  load("contraction",
       R"(^bb0(%a: tensor<33x?xf32, #dl.t<[33, s0]>>, %b: tensor<?x24xf32, #dl.t<[s0, 24]>>):
    %0 = dl.matmul %a, %b : (tensor<33x?xf32, #dl.t<[33, s0]>>, tensor<?x24xf32, #dl.t<[s0, 24]>>) -> tensor<33x24xf32>
    dl.yield %0 : tensor<33x24xf32>)",
       200, "tf32");
  expectTemplate();
  EXPECT_EQ(config("width_a"), 1) << text();
  EXPECT_EQ(config("width_b"), 1);
  checkBoundaries(kTf32);
  for (int64_t depth : {1, 63, 129})
    check({depth, 1}, kExact, Fill::whole);
}

TEST_P(MmaKernelTest, Tf32Convolution) {
  load("contraction",
       R"(^bb0(%x: tensor<?x4x9x8xf32, #dl.t<[s0, 4, 9, 8]>>, %w: tensor<40x4x2x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 0, 1, 1, 0>, dilation = array<i64: 2, 1>} : (tensor<?x4x9x8xf32, #dl.t<[s0, 4, 9, 8]>>, tensor<40x4x2x3xf32>) -> tensor<?x40x8x7xf32, #dl.t<[s0, 40, 8, 7]>>
    dl.yield %0 : tensor<?x40x8x7xf32, #dl.t<[s0, 40, 8, 7]>>)",
       200, "tf32");
  expectTemplate();
  for (int64_t size : {0, 1, 3})
    check({size, 1}, kTf32);
  check({3, 1}, kExact, Fill::whole);
}

/// The template with one line of it taken out.
class PlantedMmaTest : public CudaKernelTest {
protected:
  /// `depth` decides in which stage of the ring the sum ends; the report must hold `phrase`.
  void plant(const std::string &line, int depth, const std::string &phrase) {
    std::string k = std::to_string(depth), a = "tensor<?x" + k + "xf16, #dl.t<[s0, " + k + "]>>",
                b = "tensor<" + k + "x32xf16>", y = "tensor<?x32xf16, #dl.t<[s0, 32]>>";
    load("contraction", "^bb0(%a: " + a + ", %b: " + b + "):\n%0 = dl.matmul %a, %b : (" + a +
                            ", " + b + ") -> " + y + "\ndl.yield %0 : " + y);
    check({33, 1}, kHalf);
    removeFromHeader("dlc_slab.cuh", line);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({33, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
};

// Elements that another thread's copy has not brought yet.
TEST_P(PlantedMmaTest, NoBarrierAfterTheCopies) {
  plant("      barrier(); // which also ends all reads of the stage that is filled now\n", 264,
        "with no barrier between");
}
// Elements of a copy that is still under way.
TEST_P(PlantedMmaTest, NoWaitForTheCopies) {
  plant("      cp_async_wait<STAGES - 2>();\n", 264, "missing wait: load of 16 B");
}
// Totals over the first stage, which other warps still multiply where the sum ends in it.
TEST_P(PlantedMmaTest, NoBarrierBeforeTheTotals) {
  plant("  cp_async_wait<0>();\n  barrier();\n", 520, "race: ");
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedMmaTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, MmaKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
