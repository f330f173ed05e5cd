//===- RowsChoiceTest.cpp - How few rows times a matrix share a GPU -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/RowsChoice.h"

#include <gtest/gtest.h>

namespace dlc::codegen {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t blocksOf(const RowsShape &shape, const RowsTile &tile) {
  return ceilDiv(shape.columns, tile.blockColumns()) * shape.batch * tile.parts;
}

// A layer of a language model: two blocks for each multiprocessor, more or less, however the matrix
// lies.
TEST(RowsChoiceTest, FillsGpu) {
  for (int64_t rows : {1, 2, 4, 8})
    for (bool alongK : {false, true}) {
      RowsShape shape = {rows, 4096, 4096, 1, 2, alongK, 8};
      RowsTile tile = chooseRowsTile(shape, kHopper, /*maySplit=*/true);
      EXPECT_EQ(blocksOf(shape, tile), 256) << rows << alongK;
      EXPECT_EQ(tile.parts, alongK ? 1 : 4);
      EXPECT_GE(tile.stages * (alongK ? tile.columns : tile.deep), 8) << "vectors on their way";
    }
  // Few rows read their own elements once for each of a warp's columns.
  EXPECT_EQ(chooseRowsTile({1, 4096, 4096, 1, 2, true, 8}, kHopper, true).columns, 2);
  EXPECT_EQ(chooseRowsTile({8, 4096, 4096, 1, 2, true, 8}, kHopper, true).columns, 4);
  // Where columns are few, warps share k before blocks do.
  RowsTile narrow = chooseRowsTile({1, 64, 1 << 16, 1, 2, true, 8}, kHopper, true);
  EXPECT_EQ(narrow.warpsK, 8);
  EXPECT_GT(narrow.parts, 1);
  RowsTile shallow = chooseRowsTile({1, 3072, 768, 1, 4, true, 4}, kHopper, true);
  EXPECT_EQ(shallow.warpsK, 1);
  EXPECT_EQ(shallow.parts, 1);
}

// Parts of a sum are worth their exchange: 64 KB of the matrix each, and a ring that goes round.
TEST(RowsChoiceTest, PartsAtTheirLimits) {
  auto partsOf = [](int64_t columns, int64_t depth) {
    return chooseRowsTile({1, columns, depth, 1, 2, false, 8}, kHopper, true).parts;
  };
  EXPECT_EQ(partsOf(64, 1023), 1) << "less than two parts of 64 KB";
  EXPECT_EQ(partsOf(64, 1024), 2);
  EXPECT_EQ(partsOf(64, 1 << 20), 16) << "one block adds them all";
  EXPECT_EQ(partsOf(1 << 15, 4096), 1) << "512 blocks";
  EXPECT_EQ(chooseRowsTile({1, 4096, 4096, 1, 2, false, 8}, kHopper, false).parts, 1);
  GpuModel small = kHopper;
  small.multiprocessors = 16;
  EXPECT_EQ(chooseRowsTile({1, 4096, 4096, 1, 2, false, 8}, small, true).parts, 1);
}

// contract_rows has requirements for a tile, and the GPU for a block; both hold for any shape.
TEST(RowsChoiceTest, FitsTemplateAndGpu) {
  for (int64_t rows : {1, 2, 3, 8})
    for (int64_t columns : {1, 9, 33, 72, 4096, 100000})
      for (int64_t depth : {1, 32, 127, 4096, 65536})
        for (int64_t batch : {1, 3, 64})
          for (int64_t bytes : {1, 2, 4, 8})
            for (int64_t width = 1; width * bytes <= 16; width *= 2)
              for (bool alongK : {false, true})
                for (bool maySplit : {false, true}) {
                  RowsShape shape = {rows, columns, depth, batch, bytes, alongK, width};
                  RowsTile tile = chooseRowsTile(shape, kHopper, maySplit);
                  EXPECT_EQ(tile.warpsN() * tile.warpsK, RowsTile::warps);
                  EXPECT_EQ(32 % tile.lanesN, 0);
                  EXPECT_EQ(width % (alongK ? tile.deep : tile.columns), 0);
                  EXPECT_TRUE(!alongK || tile.lanesN == 1);
                  EXPECT_GE(tile.stages, 1);
                  EXPECT_LE(tile.sharedBytes(rows, bytes, std::max<int64_t>(bytes, 4)), 99 << 10)
                      << "what every GPU since sm_80 gives a block";
                  EXPECT_TRUE(maySplit || tile.parts == 1);
                  if (tile.parts > 1) {
                    EXPECT_LE(blocksOf(shape, tile) / tile.parts, 1024) << "each has a counter";
                    EXPECT_GE(depth, tile.parts * tile.step() * tile.stages);
                  }
                }
}

} // namespace dlc::codegen
