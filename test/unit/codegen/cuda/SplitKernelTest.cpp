//===- SplitKernelTest.cpp - Matrix products whose tiles several blocks share -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few tiles and long sums, under each policy, checked: the block that comes last may be any. Each
// launch must leave its counters at zero. Whole numbers are exact: a part that is missing, or
// counted twice, shows.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
class SplitKernelTest : public CudaKernelTest {
protected:
  void loadProduct(const std::string &callee, const std::string &body, int64_t largest,
                   const std::string &precision = "f32") {
    load("contraction", body, largest, precision);
    EXPECT_NE(text().find("dlc::" + callee + "<config>"), std::string::npos) << text();
    EXPECT_GT(config("parts"), 1);
  }
};
} // namespace

constexpr Tolerance kSums{0, 2e-5};
constexpr Tolerance kHalf{2.0, 4e-3};
constexpr Tolerance kExact{};

// Rows beyond the end, a last slab that is half empty; parts of unequal length.
TEST_P(SplitKernelTest, LinearRows) {
  loadProduct(
      "contract_simt_split",
      R"(^bb0(%x: tensor<?x2100xf32, #dl.t<[s0, 2100]>>, %w: tensor<40x2100xf32>, %b: tensor<40xf32>):
    %0 = dl.linear %x, %w, %b : (tensor<?x2100xf32, #dl.t<[s0, 2100]>>, tensor<40x2100xf32>, tensor<40xf32>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    %1 = dl.relu %0 : (tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    dl.yield %1 : tensor<?x40xf32, #dl.t<[s0, 40]>>)",
      40);
  for (int64_t rows : {0, 1, 31, 33, 40})
    check({rows, 1}, kSums);
  check({33, 1}, kExact, Fill::whole);
}

// Of each depth: parts without a step, and of one.
TEST_P(SplitKernelTest, SymbolicDepth) {
  loadProduct("contract_simt_split",
              R"(^bb0(%a: tensor<33x?xf32, #dl.t<[33, s0]>>, %b: tensor<?x24xf32, #dl.t<[s0, 24]>>):
    %0 = dl.matmul %a, %b : (tensor<33x?xf32, #dl.t<[33, s0]>>, tensor<?x24xf32, #dl.t<[s0, 24]>>) -> tensor<33x24xf32>
    dl.yield %0 : tensor<33x24xf32>)",
              4096);
  for (int64_t depth : {0, 1, 63, 64, 65, 129, 500})
    check({depth, 1}, kExact, Fill::whole);
  check({2001, 1}, kSums);
}

TEST_P(SplitKernelTest, Batches) {
  loadProduct("contract_simt_split",
              R"(^bb0(%a: tensor<3x?x2048xf32, #dl.t<[3, s0, 2048]>>, %b: tensor<3x2048x17xf32>):
    %0 = dl.matmul %a, %b : (tensor<3x?x2048xf32, #dl.t<[3, s0, 2048]>>, tensor<3x2048x17xf32>) -> tensor<3x?x17xf32, #dl.t<[3, s0, 17]>>
    dl.yield %0 : tensor<3x?x17xf32, #dl.t<[3, s0, 17]>>)",
              40);
  for (int64_t rows : {1, 33})
    check({rows, 1}, kExact, Fill::whole);
}

// Places of rows and a bit for each tap; the walk over k's loops begins in their middle.
TEST_P(SplitKernelTest, Convolution) {
  loadProduct(
      "contract_simt_split",
      R"(^bb0(%x: tensor<?x256x4x3xf32, #dl.t<[s0, 256, 4, 3], order = [0, 2, 3, 1]>>, %w: tensor<36x256x3x3xf32, #dl.t<[36, 256, 3, 3], order = [0, 2, 3, 1]>>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x256x4x3xf32, #dl.t<[s0, 256, 4, 3], order = [0, 2, 3, 1]>>, tensor<36x256x3x3xf32, #dl.t<[36, 256, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<?x36x4x3xf32, #dl.t<[s0, 36, 4, 3], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x36x4x3xf32, #dl.t<[s0, 36, 4, 3], order = [0, 2, 3, 1]>>)",
      3);
  EXPECT_EQ(config("taps_a"), 9) << text();
  for (int64_t images : {0, 1, 3})
    check({images, 1}, kExact, Fill::whole);
  check({2, 1}, kSums);
}

// The block that comes last takes the largest of each window.
TEST_P(SplitKernelTest, Pooled) {
  loadProduct(
      "contract_simt_pooled_split",
      R"(^bb0(%x: tensor<?x256x8x6xf32, #dl.t<[s0, 256, 8, 6], order = [0, 2, 3, 1]>>, %w: tensor<36x256x3x3xf32, #dl.t<[36, 256, 3, 3], order = [0, 2, 3, 1]>>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x256x8x6xf32, #dl.t<[s0, 256, 8, 6], order = [0, 2, 3, 1]>>, tensor<36x256x3x3xf32, #dl.t<[36, 256, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<?x36x8x6xf32, #dl.t<[s0, 36, 8, 6], order = [0, 2, 3, 1]>>
    %1 = dl.relu %0 : (tensor<?x36x8x6xf32, #dl.t<[s0, 36, 8, 6], order = [0, 2, 3, 1]>>) -> tensor<?x36x8x6xf32, #dl.t<[s0, 36, 8, 6], order = [0, 2, 3, 1]>>
    %2 = dl.max_pool2d %1 {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<?x36x8x6xf32, #dl.t<[s0, 36, 8, 6], order = [0, 2, 3, 1]>>) -> tensor<?x36x4x3xf32, #dl.t<[s0, 36, 4, 3], order = [0, 2, 3, 1]>>
    dl.yield %2 : tensor<?x36x4x3xf32, #dl.t<[s0, 36, 4, 3], order = [0, 2, 3, 1]>>)",
      3);
  for (int64_t images : {0, 1, 3})
    check({images, 1}, kExact, Fill::whole);
  check({2, 1}, kSums);
}

// Windows of 3 x 3 leave rows of a tile empty.
TEST_P(SplitKernelTest, PooledHalves) {
  loadProduct(
      "contract_mma_pooled_split",
      R"(^bb0(%x: tensor<1x1024x6x6xf16, #dl.t<[1, 1024, 6, 6], order = [0, 2, 3, 1]>>, %w: tensor<40x1024x3x3xf16, #dl.t<[40, 1024, 3, 3], order = [0, 2, 3, 1]>>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x1024x6x6xf16, #dl.t<[1, 1024, 6, 6], order = [0, 2, 3, 1]>>, tensor<40x1024x3x3xf16, #dl.t<[40, 1024, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<1x40x6x6xf16, #dl.t<[1, 40, 6, 6], order = [0, 2, 3, 1]>>
    %1 = dl.max_pool2d %0 {kernel_size = array<i64: 3, 3>, stride = array<i64: 3, 3>} : (tensor<1x40x6x6xf16, #dl.t<[1, 40, 6, 6], order = [0, 2, 3, 1]>>) -> tensor<1x40x2x2xf16, #dl.t<[1, 40, 2, 2], order = [0, 2, 3, 1]>>
    dl.yield %1 : tensor<1x40x2x2xf16, #dl.t<[1, 40, 2, 2], order = [0, 2, 3, 1]>>)",
      1);
  check({1, 1}, kHalf);
}

TEST_P(SplitKernelTest, HalfPrecision) {
  loadProduct("contract_mma_split",
              R"(^bb0(%a: tensor<?x9000xf16, #dl.t<[s0, 9000]>>, %b: tensor<40x9000xf16>):
    %0 = dl.linear %a, %b : (tensor<?x9000xf16, #dl.t<[s0, 9000]>>, tensor<40x9000xf16>) -> tensor<?x40xf16, #dl.t<[s0, 40]>>
    dl.yield %0 : tensor<?x40xf16, #dl.t<[s0, 40]>>)",
              33);
  for (int64_t rows : {1, 33})
    check({rows, 1}, kHalf);
}

TEST_P(SplitKernelTest, Tf32) {
  loadProduct("contract_mma_split",
              R"(^bb0(%a: tensor<33x?xf32, #dl.t<[33, s0]>>, %b: tensor<?x40xf32, #dl.t<[s0, 40]>>):
    %0 = dl.matmul %a, %b : (tensor<33x?xf32, #dl.t<[33, s0]>>, tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<33x40xf32>
    dl.yield %0 : tensor<33x40xf32>)",
              4096, "tf32");
  for (int64_t depth : {0, 1, 31, 33, 700, 2001})
    check({depth, 1}, kExact, Fill::whole);
}

// Large grids stay whole, also where only a large enough shape makes them so; so do sums that few
// steps end.
TEST_P(SplitKernelTest, StaysWhole) {
  auto product = [&](const std::string &k, int64_t largest) {
    load("contraction",
         "^bb0(%a: tensor<?x" + k + "xf32, #dl.t<[s0, " + k + "]>>, %b: tensor<40x" + k +
             "xf32>):\n%0 = dl.linear %a, %b : (tensor<?x" + k + "xf32, #dl.t<[s0, " + k +
             "]>>, tensor<40x" + k + "xf32>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>\n" +
             "dl.yield %0 : tensor<?x40xf32, #dl.t<[s0, 40]>>",
         largest);
    return config("parts");
  };
  EXPECT_GT(product("2100", 40), 1);
  EXPECT_EQ(product("2100", 1 << 18), -1);
  EXPECT_EQ(product("256", 40), -1);
}

/// The meeting of blocks with one line of it taken out.
class PlantedSplitTest : public CudaKernelTest {
protected:
  void plant(const std::string &line, const std::string &phrase) {
    schedule = "float_units";
    load("contraction",
         R"(^bb0(%a: tensor<?x2048xf32, #dl.t<[s0, 2048]>>, %b: tensor<20x2048xf32>):
    %0 = dl.linear %a, %b : (tensor<?x2048xf32, #dl.t<[s0, 2048]>>, tensor<20x2048xf32>) -> tensor<?x20xf32, #dl.t<[s0, 20]>>
    dl.yield %0 : tensor<?x20xf32, #dl.t<[s0, 20]>>)",
         33);
    check({33, 1}, kSums);
    removeFromHeader("dlc_split.cuh", line);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({33, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
};

TEST_P(PlantedSplitTest, ArrivesBeforeItsPartIsComplete) {
  plant("    barrier(); // the part is complete\n", "race: load");
}
TEST_P(PlantedSplitTest, PartMayBeSeenAfterItsArrival) {
  plant("      fence(); // it is seen before its arrival\n", "missing fence: load");
  EXPECT_NE(report().find("no fence before the other block's update"), std::string::npos)
      << report();
}
TEST_P(PlantedSplitTest, PartsMayBeReadBeforeTheArrivals) {
  plant("        fence(); // arrivals are seen before their parts\n", "missing fence: load");
  EXPECT_NE(report().find("no fence behind this block's update"), std::string::npos) << report();
}
TEST_P(PlantedSplitTest, GoesOnBeforeItKnowsWhetherToDoSo) {
  plant("    barrier(); // all know who goes on\n", "shared 'last'");
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedSplitTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, SplitKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
