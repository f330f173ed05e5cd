//===- AttentionChoiceTest.cpp - Which tile an attention gets -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionWgmmaChoice.h"

#include "gtest/gtest.h"

namespace dlc::codegen {

constexpr int64_t kExtents[] = {1, 2, 15, 16, 17, 32, 33, 64, 65, 128, 129, 200, 256, 4096};
/// Of one block on every GPU since sm_80.
constexpr int64_t kSharedOfAny = 99 << 10;

TEST(AttentionChoiceTest, EveryHeadFitsEveryGpu) {
  for (int64_t rows : kExtents)
    for (int64_t keys : kExtents)
      for (int64_t depth : kExtents)
        for (int64_t columns : kExtents) {
          if (depth > 256 || columns > 256)
            continue;
          HeadShape head = {rows, keys, depth, columns};
          for (int64_t bytes : {2, 4}) {
            for (const AttentionTile &tile :
                 attentionTiles(ProductUnit::tensorCores, head, bytes)) {
              EXPECT_LE(tile.sharedBytes(head, bytes), kSharedOfAny);
              EXPECT_GE(tile.keys, 16);
              EXPECT_LE(tile.threads(), 128);
              EXPECT_LT(tile.rows, std::max<int64_t>(2 * rows, 32));
              EXPECT_EQ(tile.rows, 16 * tile.tilesM * tile.warpsM());
            }
          }
          AttentionTile tile = attentionTiles(ProductUnit::floats, head, 4).front();
          EXPECT_LE(tile.sharedBytes(head, 4), kSharedOfAny);
          EXPECT_TRUE(tile.rows % 16 == 0 && tile.keys % 16 == 0 && tile.keys > 0 && tile.rows > 0);
        }
}

TEST(AttentionChoiceTest, Tiles) {
  auto isMma = [](const HeadShape &head, const AttentionTile &expected) {
    return attentionTiles(ProductUnit::tensorCores, head, 2).front() == expected;
  };
  EXPECT_TRUE(isMma({4096, 4096, 64, 64}, {64, 64, 1}));
  EXPECT_TRUE(isMma({4096, 4096, 128, 128}, {64, 64, 1}));
  EXPECT_TRUE(isMma({4096, 4096, 256, 256}, {64, 32, 1}));
  // One query of a decoder: the warps share its keys.
  EXPECT_TRUE(isMma({1, 4096, 64, 64}, {16, 64, 4}));
  EXPECT_TRUE(isMma({8, 4096, 128, 128}, {16, 32, 4}));
  EXPECT_TRUE(isMma({1, 16, 64, 64}, {16, 16, 1}));
  AttentionTile tile = attentionTiles(ProductUnit::floats, {4096, 4096, 64, 64}, 4).front();
  EXPECT_TRUE(tile.rows == 64 && tile.keys == 64);
  tile = attentionTiles(ProductUnit::floats, {4096, 4096, 128, 128}, 4).front();
  EXPECT_TRUE(tile.rows == 64 && tile.keys == 32);
}

//===- Blocks that share keys -----------------------------------------------------------------===//

static AttentionTile sharedTile(const AttentionShape &shape, const GpuModel &gpu = kHopper) {
  ProductUnit unit = shape.elementBytes == 2 ? ProductUnit::tensorCores : ProductUnit::floats;
  return chooseAttentionTile(unit, shape, gpu);
}

/// A decoder's step: one query for each of 32 heads, 8192 keys.
constexpr AttentionShape kDecoder = {{1, 8192, 128, 128}, 32, 2, false};

TEST(AttentionChoiceTest, OneQuerySharesItsKeys) {
  for (const GpuModel &gpu : kGpus) {
    AttentionTile tile = sharedTile(kDecoder, gpu);
    // Where memory is slow, 32 blocks ask for all that it gives.
    EXPECT_EQ(tile.parts > 1, gpu.memoryBytes > 1000) << gpu.name;
    // Fewer heads leave more blocks for each.
    AttentionShape fewHeads = kDecoder;
    fewHeads.batch = 8;
    EXPECT_GE(sharedTile(fewHeads, gpu).parts, tile.parts) << gpu.name;
  }
  // No time is less than that of the bytes of keys and values.
  double bytes = 2.0 * 32 * 8192 * 256;
  EXPECT_GT(estimatedClocks(sharedTile(kDecoder), kDecoder, kHopper), bytes / kHopper.bytesOnce);
  EXPECT_LT(estimatedClocks(sharedTile(kDecoder), kDecoder, kHopper),
            1.25 * bytes / kHopper.bytesOnce);
}

TEST(AttentionChoiceTest, ManyQueriesShareNone) {
  EXPECT_EQ(sharedTile({{2048, 2048, 64, 64}, 64, 2, false}).parts, 1);
  EXPECT_EQ(sharedTile({{2048, 2048, 128, 128}, 64, 2, true}).parts, 1);
  EXPECT_EQ(sharedTile({{1, 8192, 128, 128}, 1024, 2, false}).parts, 1);
}

// Warps of 32 rows read keys and values half as often, but make half as many blocks.
TEST(AttentionChoiceTest, WarpsOf32Rows) {
  EXPECT_EQ(sharedTile({{2048, 2048, 64, 64}, 64, 2, false}).tilesM, 2);
  EXPECT_EQ(sharedTile({{2048, 2048, 64, 64}, 64, 2, false, /*masked=*/true}).tilesM, 1);
  EXPECT_EQ(sharedTile({{197, 197, 64, 64}, 12, 2, false}).tilesM, 1);
  for (int64_t depth : {64, 80})
    for (int64_t bytes : {2, 4}) {
      auto tiles = attentionTiles(ProductUnit::tensorCores, {2048, 2048, depth, 64}, bytes);
      EXPECT_EQ(tiles.size(), depth == 64 && bytes == 2 ? 2u : 1u);
    }
}

TEST(AttentionChoiceTest, FewKeysShareNone) {
  for (int64_t bytes : {2, 4})
    for (int64_t keys : {1, 17, 64})
      EXPECT_EQ(sharedTile({{1, keys, 64, 64}, 12, bytes, false}).parts, 1) << keys;
}

TEST(AttentionChoiceTest, EachPartHasKeys) {
  for (int64_t keys : {300, 1000, 4096, 8192, 1 << 20})
    for (int64_t bytes : {2, 4}) {
      AttentionTile tile = sharedTile({{4, keys, 64, 64}, 2, bytes, false});
      EXPECT_LE((tile.parts - 1) * tile.span(), keys);
    }
}

//===- wgmma ----------------------------------------------------------------------------------===//

TEST(AttentionChoiceTest, WgmmaTilesFit) {
  for (int64_t depth : {16, 64, 80, 128, 192, 256})
    for (int64_t columns : {8, 64, 80, 128, 192, 256}) {
      HeadShape head = {2048, 2048, depth, columns};
      auto tiles = wgmmaAttentionTiles({head, 64, 2, false});
      ASSERT_FALSE(tiles.empty()) << depth << ", " << columns;
      for (const WgmmaAttentionTile &tile : tiles) {
        EXPECT_GE(tile.stages, 2);
        EXPECT_LE(tile.sharedBytes(head, 2), kHopper.sharedBytes);
        EXPECT_TRUE(columns <= 128 || tile.keys == 64); // registers
        EXPECT_EQ(WgmmaAttentionTile::columns(head) % WgmmaAttentionTile::chunk(head), 0);
      }
      for (const WgmmaAttentionTile &tile :
           wgmmaAttentionTiles({head, 64, 2, false, /*masked=*/true}))
        EXPECT_EQ(tile.keys, 64); // a mask's addresses take registers
    }
  for (auto [depth, columns] :
       {std::pair(40, 64), std::pair(64, 4), std::pair(64, 320), std::pair(320, 64)})
    EXPECT_TRUE(wgmmaAttentionTiles({{2048, 2048, depth, columns}, 64, 2, false}).empty())
        << depth << ", " << columns;
}

// Long attention is faster by wgmma, one query for a long past by blocks that share it.
TEST(AttentionChoiceTest, WgmmaWhereRowsAreMany) {
  auto gain = [](const AttentionShape &shape) {
    return estimatedClocks(sharedTile(shape), shape, kHopper) /
           estimatedClocks(chooseWgmmaAttentionTile(shape), shape);
  };
  EXPECT_GT(gain({{2048, 2048, 64, 64}, 64, 2, false}), 1.3);
  EXPECT_GT(gain({{2048, 2048, 128, 128}, 64, 2, true}), 1.8);
  EXPECT_LT(gain(kDecoder), 0.5);
  // No time is less than that of the products alone.
  for (int64_t width : {64, 128}) {
    AttentionShape shape = {{2048, 2048, width, width}, 64, 2, false};
    double products = 64.0 * 2048 * 2048 * 2 * double(width);
    EXPECT_GT(estimatedClocks(chooseWgmmaAttentionTile(shape), shape) * kHopper.wgmma.products *
                  double(kHopper.multiprocessors),
              products);
  }
}

TEST(AttentionChoiceTest, WgmmaTakesSpansThatKeysFill) {
  EXPECT_EQ(chooseWgmmaAttentionTile({{2048, 2048, 64, 64}, 64, 2, false}).keys, 128);
  EXPECT_EQ(chooseWgmmaAttentionTile({{2048, 190, 64, 64}, 64, 2, false}).keys, 64);
  EXPECT_EQ(chooseWgmmaAttentionTile({{2048, 2048, 256, 256}, 64, 2, false}).keys, 64);
}

} // namespace dlc::codegen
