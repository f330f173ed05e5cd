//===- ContractionChoiceTest.cpp - Which tile a matrix product gets -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionChoice.h"
#include "ir/machine/EstimateMargins.h"
#include "test/bench/MeasuredTiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

namespace dlc::codegen {

namespace {
struct Case {
  const char *what;
  ProductShape shape;
  int64_t m, n;
};
} // namespace

constexpr Case kCases[] = {
    {"a large square", {4096, 4096, 4096, 1, 2}, 128, 128},
    {"a large square in tf32", {4096, 4096, 4096, 1, 4}, 128, 128},
    {"64 blocks of a larger tile would do, 132 multiprocessors wait",
     {512, 512, 512, 1, 2},
     64,
     32},
    {"few rows, wide: the tile that was fastest on an H100", {16, 4096, 4096, 1, 2}, 16, 16},
    {"two rows' tiles", {32, 4096, 4096, 1, 2}, 32, 32},
    {"a late convolution of ResNet-50", {49, 512, 4608, 1, 2}, 16, 16},
    {"its first, batch 8", {100352, 64, 147, 1, 2}, 128, 64},
    {"less than a tile", {9, 7, 5, 1, 2}, 16, 16},
    {"one element", {1, 1, 1, 1, 2}, 16, 16},
    {"heads of attention", {128, 128, 64, 96, 2}, 64, 64},
};

TEST(ContractionChoiceTest, Table) {
  for (const Case &c : kCases) {
    ProductTile tile = chooseTile(ProductUnit::tensorCores, c.shape, kHopper);
    EXPECT_EQ(tile.m, c.m) << c.what;
    EXPECT_EQ(tile.n, c.n) << c.what;
  }
}

// Convolutions of ResNet-50 at batch 32 by wgmma. Threads copy slower than TMA, and find rows
// first; memory gives the image once, not once a tap.
TEST(ContractionChoiceTest, GatheredOperands) {
  struct Convolution {
    const char *what;
    ProductShape shape;
    int64_t taps, n;
  };
  for (const Convolution &c : {Convolution{"3x3 of 64", {100352, 64, 576, 1, 2}, 9, 64},
                               Convolution{"3x3 of 128", {25088, 128, 1152, 1, 2}, 9, 128},
                               Convolution{"3x3 of 256", {6272, 256, 2304, 1, 2}, 9, 128},
                               Convolution{"1x1, strided", {25088, 512, 256, 1, 2}, 1, 128}}) {
    WgmmaTile gathers = {0, 0, 0, 1, Gathered::rows, c.taps},
              once = {0, 0, 0, 1, Gathered::rows, 1};
    WgmmaTile chosen = chooseWgmmaTile(c.shape, gathers, true);
    EXPECT_EQ(chosen.n, c.n) << c.what;
    EXPECT_EQ(chosen.gathered, Gathered::rows);
    EXPECT_EQ(chosen.taps, c.taps);
    for (const WgmmaTile &tile : wgmmaTiles()) {
      double clocks = estimatedClocks(tile.fedAs(gathers), c.shape);
      EXPECT_LE(estimatedClocks(chosen, c.shape),
                tile.pingpong ? clocks / kMargins.pingpong : clocks);
      EXPECT_GE(estimatedClocks(tile.fedAs(once), c.shape), estimatedClocks(tile, c.shape));
    }
  }
  ProductShape few = {100352, 64, 576, 1, 2};
  WgmmaTile repeated = chooseWgmmaTile(few, {0, 0, 0, 1, Gathered::rows, 9}, true),
            apart = repeated.fedAs({0, 0, 0, 1, Gathered::rows, 1});
  EXPECT_LT(estimatedClocks(repeated, few), estimatedClocks(apart, few));
  // Half of a tile's rows where they are the columns, half of the copies.
  ProductShape shape = {128, 64, 65536, 1, 2};
  WgmmaTile tile = wgmmaTiles()[2], rows = {0, 0, 0, 1, Gathered::rows, 9},
            columns = {0, 0, 0, 1, Gathered::columns, 9};
  EXPECT_LT(estimatedClocks(tile.fedAs(columns), shape), estimatedClocks(tile.fedAs(rows), shape));
}

// Few tiles and long sums: the blocks of a cluster share a tile. What keeps the GPU busy as it is,
// and what a batch of products is, they do not.
TEST(ContractionChoiceTest, ClustersShareTiles) {
  struct Product {
    const char *what;
    ProductShape shape;
    bool shares;
  };
  for (const Product &c :
       {Product{"the second layer of BERT's feed-forward", {128, 768, 3072, 1, 2}, true},
        Product{"of ViT's", {197, 768, 3072, 1, 2}, true},
        Product{"of a Llama's", {128, 2048, 5632, 1, 2}, true},
        Product{"the last stage of ResNet-50", {49, 512, 4608, 1, 2}, true},
        Product{"a short sum", {128, 768, 256, 1, 2}, false},
        Product{"many tiles", {4096, 4096, 4096, 1, 2}, false}}) {
    WgmmaTile tile = chooseWgmmaTile(c.shape, {}, true),
              whole = chooseWgmmaTile(c.shape, {}, false);
    EXPECT_EQ(tile.parts > 1, c.shares) << c.what;
    EXPECT_EQ(whole.parts, 1) << c.what;
    EXPECT_LE(estimatedClocks(tile, c.shape), estimatedClocks(whole, c.shape)) << c.what;
  }
}

// Many tiles whose totals take long to finish, or few slabs: totals leave while the next tile is
// multiplied. One tile a block gains nothing; bytes and single slabs cannot.
TEST(ContractionChoiceTest, WarpgroupsTakeTilesInTurn) {
  ProductShape gelu = {6304, 3072, 768, 1, 2};
  gelu.finishing = 12;
  ProductShape bytes = gelu;
  bytes.elementBytes = 1;
  struct Product {
    const char *what;
    ProductShape shape;
    bool inTurn;
  };
  for (const Product &c :
       {Product{"gelu of ViT-B/16 at batch 32", gelu, true},
        Product{"its first projection", {6304, 2304, 768, 1, 2}, true},
        Product{"long sums", {4096, 4096, 16384, 1, 2}, false},
        Product{"one tile a block", {1024, 1024, 2048, 1, 2}, false},
        Product{"one slab", {100352, 256, 64, 1, 2}, false}, Product{"bytes", bytes, false}}) {
    WgmmaTile tile = chooseWgmmaTile(c.shape, {}, true);
    EXPECT_EQ(tile.pingpong, c.inTurn) << c.what;
    EXPECT_TRUE(std::isfinite(estimatedClocks(tile, c.shape))) << c.what;
  }
  // One warpgroup finishes its tile while the other one multiplies: most of that time is hidden.
  ProductShape quick = gelu;
  quick.finishing = 0;
  WgmmaTile inTurn = chooseWgmmaTile(gelu, {}, true), together = wgmmaTiles()[1];
  EXPECT_LT(estimatedClocks(inTurn, gelu) - estimatedClocks(inTurn, quick),
            0.6 * (estimatedClocks(together, gelu) - estimatedClocks(together, quick)));
}

TEST(ContractionChoiceTest, TilesOfWgmmaFit) {
  for (const WgmmaTile &tile : wgmmaTiles()) {
    EXPECT_LE(tile.sharedBytes(), kHopper.sharedBytes) << tile.n << " in " << tile.parts;
    EXPECT_LE(tile.parts, 8) << "what each GPU with clusters takes";
    if (tile.parts > 1)
      EXPECT_EQ(tile.chunk, tile.n) << "all totals lie in shared memory at once";
  }
}

// Bytes are multiplied twice as fast as halves, and half as many of them are copied: about half the
// time.
TEST(ContractionChoiceTest, BytesTakeHalfTheTime) {
  for (ProductShape halves :
       {ProductShape{4096, 4096, 4096, 1, 2}, ProductShape{3136, 256, 2304, 1, 2}}) {
    ProductShape bytes = halves;
    bytes.elementBytes = 1;
    ProductTile of16 = chooseTile(ProductUnit::tensorCores, halves, kHopper),
                of8 = chooseTile(ProductUnit::tensorCores, bytes, kHopper);
    double ratio = estimatedClocks(of8, bytes, kHopper) / estimatedClocks(of16, halves, kHopper);
    EXPECT_GT(ratio, 0.45);
    EXPECT_LT(ratio, 0.7);
  }
}

constexpr Case kFloatCases[] = {
    {"a large square", {4096, 4096, 4096, 1, 4}, 128, 128},
    {"less than a tile", {9, 7, 5, 1, 4}, 32, 8},
};

TEST(ContractionChoiceTest, FloatTable) {
  for (const Case &c : kFloatCases) {
    ProductTile tile = chooseTile(ProductUnit::floats, c.shape, kHopper);
    EXPECT_EQ(tile.m, c.m) << c.what;
    EXPECT_EQ(tile.n, c.n) << c.what;
  }
}

// What contract_simt requires of a tile, and the GPU of a block, for any shape.
TEST(ContractionChoiceTest, FloatsFitTemplateAndGpu) {
  for (int64_t m : {1, 15, 33, 128, 1000, 5000})
    for (int64_t n : {1, 16, 33, 256, 4097})
      for (int64_t depth : {0, 1, 31, 64, 5000})
        for (int64_t batch : {1, 48}) {
          ProductTile tile = chooseTile(ProductUnit::floats, {m, n, depth, batch, 4}, kHopper);
          EXPECT_EQ(tile.m / tile.warpsM % 32, 0);
          EXPECT_TRUE(tile.n / tile.warpsN % 16 == 0 || tile.n / tile.warpsN == 8);
          EXPECT_EQ(tile.k / 4 % tile.warpsK, 0);
          EXPECT_GE(tile.stages, 2);
          EXPECT_LE(tile.threads(), 256);
          EXPECT_LE(tile.sharedBytes(4), 99 << 10) << "what every GPU since sm_80 gives a block";
        }
}

// The first layer of ResNet-50 at batch 32: its image's elements come one by one, for each tile of
// columns anew, so that one tile has all of the filters.
TEST(ContractionChoiceTest, ElementsOneByOne) {
  ProductShape together = {401408, 64, 147, 1, 2}, apart = together;
  apart.areRowsApart = apart.areColumnsApart = true;
  ProductTile tile = chooseTile(ProductUnit::tensorCores, apart, kHopper);
  EXPECT_EQ(tile.n, 64);
  EXPECT_GT(estimatedClocks(tile, apart, kHopper), 1.5 * estimatedClocks(tile, together, kHopper));
}

// What contract_mma requires of a tile, and the GPU of a block, for any shape.
TEST(ContractionChoiceTest, FitsTemplateAndGpu) {
  for (int64_t bytes : {1, 2, 4})
    for (int64_t m : {1, 15, 16, 17, 63, 128, 1000, 5000})
      for (int64_t n : {1, 16, 33, 256, 4097})
        for (int64_t depth : {0, 1, 31, 64, 5000})
          for (int64_t batch : {1, 48}) {
            ProductTile tile =
                chooseTile(ProductUnit::tensorCores, {m, n, depth, batch, bytes}, kHopper);
            EXPECT_EQ(tile.m / tile.warpsM % 16, 0);
            EXPECT_EQ(tile.n / tile.warpsN % 16, 0);
            EXPECT_TRUE(tile.k * bytes == 64 || tile.k * bytes == 128 || tile.k * bytes == 256);
            EXPECT_EQ(tile.k * bytes / 32 % tile.warpsK, 0);
            EXPECT_GE(tile.stages, 2);
            EXPECT_LE(tile.threads(), 256);
            EXPECT_LE(tile.sharedBytes(bytes), 99 << 10)
                << "what every GPU since sm_80 gives a block";
          }
}

// A tile has whole windows; those that 32 rows do not divide into stay with a warp's one quad of
// rows.
TEST(ContractionChoiceTest, HoldsWindows) {
  for (int64_t window : {2, 3, 4, 8, 9, 11, 16})
    for (int64_t windows : {1, 7, 64, 3000}) {
      ProductShape shape = {windows * window, 64, 288, 1, 4, window};
      ProductTile floats = chooseTile(ProductUnit::floats, shape, kHopper),
                  cores = chooseTile(ProductUnit::tensorCores, shape, kHopper);
      EXPECT_GE(floats.usedRows(window), window);
      EXPECT_TRUE(32 % window == 0 || floats.m / floats.warpsM == 32);
      EXPECT_GE(cores.usedRows(window), window);
    }
}

// Rows of a tile that no window fills are paid for: nine of sixteen, but 63 of 64.
TEST(ContractionChoiceTest, AvoidsBrokenTiles) {
  ProductTile small = {16, 64, 64, 1, 4, 1, 3}, large = {64, 64, 64, 2, 2, 1, 3};
  auto cost = [](const ProductTile &tile, int64_t window) {
    return estimatedClocks(tile, {90000, 64, 576, 1, 2, window}, kHopper);
  };
  EXPECT_GT(cost(small, 9) / cost(small, 1), 1.5);
  EXPECT_LT(cost(large, 9) / cost(large, 1), 1.1);
  EXPECT_EQ(cost(large, 4), cost(large, 1));
}

// A grid that leaves multiprocessors idle splits k among the warps of a block.
TEST(ContractionChoiceTest, SplitsDeepSums) {
  EXPECT_GT(chooseTile(ProductUnit::tensorCores, {49, 512, 4608, 1, 2}, kHopper).warpsK, 1);
  EXPECT_EQ(chooseTile(ProductUnit::tensorCores, {4096, 4096, 4096, 1, 2}, kHopper).warpsK, 1);
}

/// Blocks of a tile that may be shared.
static int64_t partsOf(ProductUnit unit, const ProductShape &shape) {
  return chooseTile(unit, shape, kHopper, /*maySplit=*/true).parts;
}

// Long sums of few tiles are split among blocks; what fills the GPU, or ends soon, stays whole.
TEST(ContractionChoiceTest, SplitsAmongBlocks) {
  constexpr auto floats = ProductUnit::floats, cores = ProductUnit::tensorCores;
  // The last stage of ResNet-50 at batch 1, in each precision.
  EXPECT_EQ(partsOf(floats, {49, 512, 4608, 1, 4}), 4);
  EXPECT_EQ(partsOf(cores, {49, 512, 4608, 1, 2}), 4);
  EXPECT_GT(partsOf(cores, {49, 512, 4608, 1, 4}), 1);
  EXPECT_EQ(partsOf(floats, {49, 2048, 512, 1, 4}), 1) << "a short sum";
  EXPECT_EQ(partsOf(floats, {784, 512, 4608, 1, 4}), 1) << "its batch 16";
  EXPECT_EQ(partsOf(cores, {4096, 4096, 4096, 1, 2}), 1);
  // A feed-forward layer of BERT with 32 tokens; many heads of attention.
  EXPECT_GT(partsOf(floats, {32, 768, 3072, 1, 4}), 1);
  EXPECT_EQ(partsOf(floats, {32, 64, 512, 96, 4}), 1);
  // A choice that may not split is what it was.
  EXPECT_EQ(chooseTile(floats, {49, 512, 4608, 1, 4}, kHopper).parts, 1);
}

// All parts of all tiles run at once, each of several steps; and the estimate says that it pays.
TEST(ContractionChoiceTest, PartsFitGpu) {
  for (ProductUnit unit : {ProductUnit::floats, ProductUnit::tensorCores})
    for (int64_t m : {1, 15, 33, 128, 1000})
      for (int64_t n : {1, 33, 256, 4097})
        for (int64_t depth : {0, 1, 255, 2000, 5000, 100000})
          for (int64_t batch : {1, 3, 48}) {
            ProductShape shape = {m, n, depth, batch, 4};
            const GpuModel &gpu = kHopper;
            ProductTile whole = chooseTile(unit, shape, gpu),
                        tile = chooseTile(unit, shape, gpu, /*maySplit=*/true);
            int64_t tiles = (m + tile.m - 1) / tile.m * ((n + tile.n - 1) / tile.n) * batch;
            if (tile.parts == 1) {
              EXPECT_EQ(estimatedClocks(tile, shape, gpu), estimatedClocks(whole, shape, gpu));
              continue;
            }
            EXPECT_LE(tiles * tile.parts, gpu.multiprocessors);
            EXPECT_LE(tiles, 1024) << "each has a counter";
            EXPECT_GE((depth + tile.k - 1) / tile.k, 4 * tile.parts);
            EXPECT_GE(tile.stages, 2);
            EXPECT_LT(estimatedClocks(tile, shape, gpu), 0.8 * estimatedClocks(whole, shape, gpu));
          }
}

// More multiprocessors want more blocks.
TEST(ContractionChoiceTest, FollowsTheGpu) {
  GpuModel small = kHopper;
  small.multiprocessors = 16;
  ProductShape shape = {512, 512, 512, 1, 2};
  ProductTile many = chooseTile(ProductUnit::tensorCores, shape, kHopper),
              few = chooseTile(ProductUnit::tensorCores, shape, small);
  EXPECT_LT(many.m * many.n, few.m * few.n);
}

// The tile with the smallest estimate is nearly the fastest that an H100 measured, for each of 28
// shapes. The fit that leaves the judged shape out (tools/scripts/bench tiles --fit) has the same
// goals.
TEST(ContractionChoiceTest, MeasuredTilesHaveLittleRegret) {
  std::ifstream file(DLC_ROOT "/test/bench/results/tiles-nvidia-h100-80gb-hbm3-2026-11-23.csv");
  struct Best {
    double estimate = INFINITY, itsTime = 0, least = INFINITY;
  };
  std::map<std::array<int64_t, 3>, Best> shapes;
  std::vector<MeasuredTile> rows = readMeasuredTiles(file);
  EXPECT_EQ(rows.size(), 1194u) << "a row is of a tile that the compiler no longer has";
  for (const MeasuredTile &row : rows) {
    Best &best = shapes[{row.shape.m, row.shape.n, row.shape.k}];
    best.least = std::min(best.least, row.microseconds);
    double estimate = estimatedMicroseconds(row, kHopper);
    if (estimate < best.estimate) {
      best.estimate = estimate;
      best.itsTime = row.microseconds;
    }
  }
  ASSERT_EQ(shapes.size(), 28u);
  double logarithms = 0;
  for (const auto &[shape, best] : shapes) {
    double regret = best.itsTime / best.least;
    EXPECT_LE(regret, 1.4) << shape[0] << "x" << shape[1] << "x" << shape[2];
    logarithms += std::log(regret);
  }
  EXPECT_LE(std::exp(logarithms / double(shapes.size())), 1.12);
}

// The tile of mma.sync that chooseTile takes, where it was measured, is as near to the fastest of
// them.
TEST(ContractionChoiceTest, ChosenTilesHaveLittleRegret) {
  std::ifstream file(DLC_ROOT "/test/bench/results/tiles-nvidia-h100-80gb-hbm3-2026-11-23.csv");
  std::map<std::array<int64_t, 3>, std::pair<double, double>>
      shapes; // time of the chosen, least time
  for (const MeasuredTile &row : readMeasuredTiles(file)) {
    const auto *tile = std::get_if<ProductTile>(&row.tile);
    if (!tile)
      continue;
    auto &[itsTime, least] =
        shapes.try_emplace({row.shape.m, row.shape.n, row.shape.k}, 0, INFINITY).first->second;
    least = std::min(least, row.microseconds);
    ProductTile chosen =
        chooseTile(ProductUnit::tensorCores, row.shape, kHopper, /*maySplit=*/true);
    if (chosen.m == tile->m && chosen.n == tile->n && chosen.k == tile->k &&
        chosen.parts == tile->parts)
      itsTime = row.microseconds;
  }
  double logarithms = 0;
  int measured = 0;
  for (const auto &[shape, times] : shapes)
    if (times.first > 0) {
      EXPECT_LE(times.first / times.second, 1.5) << shape[0] << "x" << shape[1] << "x" << shape[2];
      logarithms += std::log(times.first / times.second);
      ++measured;
    }
  EXPECT_GE(measured, 20) << "parts of other numbers were not measured";
  EXPECT_LE(std::exp(logarithms / measured), 1.12);
}

// A shape that is twice as deep takes longer, and none takes no time.
TEST(ContractionChoiceTest, EstimateGrows) {
  ProductTile tile = chooseTile(ProductUnit::tensorCores, {256, 256, 256, 1, 2}, kHopper);
  double once = estimatedClocks(tile, {256, 256, 256, 1, 2}, kHopper);
  EXPECT_GT(once, 0);
  EXPECT_GT(estimatedClocks(tile, {256, 256, 512, 1, 2}, kHopper), once);
  EXPECT_GT(estimatedClocks(tile, {256, 256, 256, 900, 2}, kHopper), once);
}

// A block of each tile of sparse tensor cores has room on each GPU, and of few rows takes a tile of
// eight, whose time is that of 9/16 of the matrix's bytes.
TEST(ContractionChoiceTest, TwoOfFour) {
  for (const GpuModel &gpu : kGpus)
    for (const ProductTile &tile : tilesFor(ProductUnit::sparseTensorCores,
                                            {4096, 4096, 4096, 1, 2}, gpu, /*maySplit=*/false))
      EXPECT_LE(tile.sharedBytes(2), gpu.sharedBytes) << gpu.name << " " << tile.m << "x" << tile.n;
  for (const SparseWgmmaTile &tile : sparseWgmmaTiles())
    EXPECT_LE(tile.sharedBytes(), kHopper.sharedBytes) << tile.m;
  const ProductShape few = {1, 4096, 4096, 1, 2};
  ProductTile tile = chooseTile(ProductUnit::sparseTensorCores, few, kHopper);
  EXPECT_EQ(tile.m, 8);
  double bytes = 4096.0 * 4096 * 2 * kStoredOfSparse + 2 * 2 * 4096;
  EXPECT_NEAR(estimatedClocks(tile, few, kHopper), bytes / kHopper.bytesOnce,
              0.01 * bytes / kHopper.bytesOnce);
  // Large products take less time by either instruction than whole ones by the same.
  const ProductShape large = {4096, 4096, 4096, 1, 2};
  auto clocks = [&](ProductUnit unit) {
    return estimatedClocks(chooseTile(unit, large, kHopper), large, kHopper);
  };
  EXPECT_LT(clocks(ProductUnit::sparseTensorCores), 0.9 * clocks(ProductUnit::tensorCores));
  EXPECT_LT(estimatedClocks(chooseSparseWgmmaTile(large), large),
            0.85 * estimatedClocks(chooseWgmmaTile(large, {}, /*maySplit=*/false), large));
}

} // namespace dlc::codegen
