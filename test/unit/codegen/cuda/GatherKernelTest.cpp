//===- GatherKernelTest.cpp - Convolutions on Hopper's tensor cores -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implicit GEMM by wgmma, whose rows threads gather while TMA brings the filters: under each
// policy, checked, on a GPU with three multiprocessors, so that blocks take several tiles. Whole
// numbers are exact.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
/// A convolution of `channels` x height x width images to `filters` maps, and what it is a case of.
struct ConvolutionCase {
  int channels, height, width, filters, size;
  std::string type = "f16", attributes;
  int high = 0, wide = 0;              // of the result
  bool channelsFirst = false;          // in the result
  std::string before = {}, after = {}; // a unary operator on the image, on the result
};

class GatherKernelTest : public CudaKernelTest {
protected:
  static std::string body(const ConvolutionCase &of) {
    auto tensor = [&](const std::string &first, int channels, int high, int wide, bool last) {
      std::string inner =
          std::to_string(channels) + "x" + std::to_string(high) + "x" + std::to_string(wide);
      std::string dims =
          std::to_string(channels) + ", " + std::to_string(high) + ", " + std::to_string(wide);
      return "tensor<" + first + "x" + inner + "x" + of.type + ", #dl.t<[" +
             (first == "?" ? "s0" : first) + ", " + dims + "]" +
             (last ? ", order = [0, 2, 3, 1]" : "") + ">>";
    };
    std::string x = tensor("?", of.channels, of.height, of.width, true),
                w = tensor(std::to_string(of.filters), of.channels, of.size, of.size, true),
                y = tensor("?", of.filters, of.high, of.wide, !of.channelsFirst),
                b = "tensor<" + std::to_string(of.filters) + "x" + of.type + ">";
    std::string text = "^bb0(%x: " + x + ", %w: " + w + ", %b: " + b + "):\n", image = "%x",
                result = "%1";
    if (!of.before.empty()) {
      text += "%0 = dl." + of.before + " %x : (" + x + ") -> " + x + "\n";
      image = "%0";
    }
    text += "%1 = dl.conv2d " + image + ", %w, %b {" + of.attributes + "} : (" + x + ", " + w +
            ", " + b + ") -> " + y + "\n";
    if (!of.after.empty()) {
      text += "%2 = dl." + of.after + " %1 : (" + y + ") -> " + y + "\n";
      result = "%2";
    }
    return text + "dl.yield " + result + " : " + y;
  }
  /// `parts`: blocks that share a tile.
  void load(const ConvolutionCase &of, int64_t largest = 16, int64_t parts = 1) {
    if (numbers.empty())
      numbers = {{"tile_n", 64}, {"stages", 6}, {"chunk", 64}, {"parts", parts}, {"pingpong", 0}};
    CudaKernelTest::load("contraction", body(of), largest, "f32", "always");
    std::string callee = parts > 1 ? "dlc::contract_wgmma_gathered_split<config>"
                                   : "dlc::contract_wgmma_gathered<config>";
    EXPECT_NE(text().find(callee), std::string::npos) << text();
    EXPECT_EQ(config("gathers_columns"), of.channelsFirst);
  }
  bool hasGatheredKernel(const ConvolutionCase &of, int64_t largest, const std::string &precision) {
    CudaKernelTest::load("contraction", body(of), largest, precision, "auto");
    return hasHopperKernel();
  }
};

constexpr Tolerance kHalf{2.0, 2e-3}, kBrain{2.0, 1.6e-2}, kExact{};
const std::string kPadded = "padding = array<i64: 1, 1>";
const ConvolutionCase kUsual = {.channels = 64,
                                .height = 5,
                                .width = 7,
                                .filters = 80,
                                .size = 3,
                                .attributes = kPadded,
                                .high = 5,
                                .wide = 7,
                                .after = "relu"};
} // namespace

// Nine taps of one slab each; rows and columns that end within tiles.
TEST_P(GatherKernelTest, Padded) {
  load(kUsual);
  EXPECT_EQ(config("taps"), 9);
  EXPECT_EQ(config("vector"), 8);
  for (int64_t images : {0, 1, 3, 4, 11})
    check({images, 1}, kHalf);
  check({8, 1}, kExact, Fill::whole);
}

// Strides, dilation and padding that differ; slabs that hold parts of two taps, the last of them
// half empty.
TEST_P(GatherKernelTest, StridedDilated) {
  load({.channels = 40,
        .height = 11,
        .width = 9,
        .filters = 72,
        .size = 3,
        .attributes =
            "padding = array<i64: 2, 1>, stride = array<i64: 2, 1>, dilation = array<i64: "
            "2, 1>",
        .high = 6,
        .wide = 9});
  for (int64_t images : {1, 2, 5})
    check({images, 1}, kHalf);
  check({3, 1}, kExact, Fill::whole);
}

// The filters begin before the grids before this one have ended.
TEST_P(GatherKernelTest, FiltersComeEarly) {
  numbers = {{"tile_n", 64}, {"stages", 6},   {"chunk", 64},
             {"parts", 1},   {"pingpong", 0}, {"early", 2}};
  load(kUsual);
  check({8, 1}, kExact, Fill::whole);
  numbers = {{"tile_n", 64}, {"stages", 6},   {"chunk", 64},
             {"parts", 1},   {"pingpong", 0}, {"early", 1}};
  ConvolutionCase first = kUsual;
  first.channelsFirst = true;
  load(first);
  check({5, 1}, kExact, Fill::whole);
}

// One tap with a step between rows, as where a residual network halves its image.
TEST_P(GatherKernelTest, StridedPoints) {
  load({.channels = 72,
        .height = 9,
        .width = 6,
        .filters = 136,
        .size = 1,
        .attributes = "stride = array<i64: 2, 2>",
        .high = 5,
        .wide = 3});
  EXPECT_EQ(config("taps"), 1);
  for (int64_t images : {0, 1, 9})
    check({images, 1}, kHalf);
  check({9, 1}, kExact, Fill::whole);
}

// Without padding the taps of a line are one row of memory.
TEST_P(GatherKernelTest, Valid) {
  load({.channels = 32,
        .height = 8,
        .width = 7,
        .filters = 64,
        .size = 3,
        .type = "bf16",
        .attributes = "",
        .high = 6,
        .wide = 5});
  EXPECT_EQ(config("taps"), 3);
  for (int64_t images : {1, 4, 7})
    check({images, 1}, kBrain);
}

// The ring goes round several times, and blocks take several tiles.
TEST_P(GatherKernelTest, ManyTiles) {
  ConvolutionCase many = kUsual;
  many.channels = 128;
  many.filters = 264;
  load(many);
  check({6, 1}, kHalf);
  check({9, 1}, kExact, Fill::whole);
}

// Blocks that begin in the middle of k, and of a tap; one of five has a step less.
TEST_P(GatherKernelTest, Split) {
  load(kUsual, 16, 5);
  for (int64_t images : {0, 1, 4, 11})
    check({images, 1}, kHalf);
  check({8, 1}, kExact, Fill::whole);
  numbers.clear();
  ConvolutionCase strided = {.channels = 40,
                             .height = 11,
                             .width = 9,
                             .filters = 72,
                             .size = 3,
                             .attributes = "padding = array<i64: 2, 1>, stride = array<i64: 2, 1>, "
                                           "dilation = array<i64: 2, 1>",
                             .high = 6,
                             .wide = 9,
                             .channelsFirst = true};
  load(strided, 16, 2);
  check({3, 1}, kExact, Fill::whole);
}

// The result as PyTorch has it: places are the columns.
TEST_P(GatherKernelTest, ChannelsFirst) {
  ConvolutionCase first = kUsual;
  first.channelsFirst = true;
  load(first);
  for (int64_t images : {0, 1, 2, 9})
    check({images, 1}, kHalf);
  check({5, 1}, kExact, Fill::whole);
}

// Large convolutions take tiles of 256 columns: of filters, and of places.
TEST_P(GatherKernelTest, WideTiles) {
  ConvolutionCase wide = {.channels = 24,
                          .height = 9,
                          .width = 16,
                          .filters = 1016,
                          .size = 3,
                          .attributes = kPadded,
                          .high = 9,
                          .wide = 16};
  for (bool channelsFirst : {false, true}) {
    wide.channelsFirst = channelsFirst;
    numbers = {{"tile_n", 256}, {"stages", 4}, {"chunk", 32}, {"pingpong", 0}};
    load(wide, 4096);
    EXPECT_EQ(config("tile_n"), 256) << text();
    check({1, 1}, kHalf);
    check({2, 1}, kExact, Fill::whole);
  }
}

// Not a number spreads to the windows around it and nowhere else.
TEST_P(GatherKernelTest, Specials) {
  load(kUsual);
  check({3, 1}, kHalf, Fill::special);
}

// Large convolutions pay. What 16 bytes do not divide, what is computed on its way in, floats and
// groups have the kernels that all GPUs have.
TEST_P(GatherKernelTest, WhereItPays) {
  ConvolutionCase large = {.channels = 256,
                           .height = 14,
                           .width = 14,
                           .filters = 256,
                           .size = 3,
                           .attributes = kPadded,
                           .high = 14,
                           .wide = 14};
  EXPECT_TRUE(hasGatheredKernel(large, 64, "f32"));
  large.before = "relu";
  EXPECT_FALSE(hasGatheredKernel(large, 64, "f32"));
  large.before = "";
  large.type = "f32";
  EXPECT_FALSE(hasGatheredKernel(large, 64, "tf32"));
  large.type = "f16";
  large.channels = 252;
  EXPECT_FALSE(hasGatheredKernel(large, 64, "f32"));
}

// Each warpgroup that multiplies has tiles of its own, whose slabs all warps of the first one
// bring.
TEST_P(GatherKernelTest, TilesInTurn) {
  for (int tile : {64, 128}) {
    numbers = {{"tile_n", tile}, {"stages", 5}, {"chunk", 64}, {"parts", 1}, {"pingpong", 1}};
    load(kUsual);
    EXPECT_EQ(config("pingpong"), 1) << text();
    for (int64_t images : {0, 1, 4, 9})
      check({images, 1}, kExact, Fill::whole);
  }
}

/// The kernel with a part of a header taken out.
class PlantedGatherTest : public GatherKernelTest {
protected:
  void SetUp() override {
    GatherKernelTest::SetUp();
    load(kUsual);
    check({4, 1}, kHalf);
  }
  /// The checker's report must hold `phrase`.
  void expectReport(const std::string &header, const std::string &part, const std::string &phrase) {
    removeFromHeader(header, part);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({4, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
};

// The copies are stores of threads, which the asynchronous units see after a fence alone.
TEST_P(PlantedGatherTest, NoFence) {
  expectReport("dlc_contract90.cuh",
               "    fence_async();  // the copies are plain stores, wgmma reads asynchronously\n",
               "missing fence: wgmma at ");
}
// A slab that is said to be there while its copies are on their way.
TEST_P(PlantedGatherTest, NoWaitForTheCopies) {
  expectReport("dlc_contract90.cuh", "    cp_async_wait<kLag>();\n", "missing wait: wgmma ");
}
// One lane speaks for the copies of all.
TEST_P(PlantedGatherTest, NoBarrierOfTheWarp) {
  expectReport("dlc_contract90.cuh",
               "    warp_barrier(); // one lane speaks for the copies of all\n", "race: wgmma at ");
}
// Padding that is read: before the first image and after the last one there is none.
TEST_P(PlantedGatherTest, NoTestOfTheTap) {
  expectReport("dlc_gather.cuh", " && (inside[own] >> tap & 1) != 0", "cp_async out of bounds: ");
}
// Elements where wgmma does not look for them.
TEST_P(PlantedGatherTest, NoSwizzle) {
  llvm::SmallVector<Tensor> inputs, same;
  Tensor right, wrong;
  engine.seed(7);
  ASSERT_EQ(run({4, 1}, Fill::whole, inputs, right), Result::Success) << report();
  removeFromHeader("dlc_slab.cuh", "SWIZZLED ? swizzled<kChunks>(line, chunk) : ");
  engine.seed(7);
  ASSERT_EQ(run({4, 1}, Fill::whole, same, wrong), Result::Success) << report();
  EXPECT_NE(right.floats(), wrong.floats());
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedGatherTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, GatherKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
