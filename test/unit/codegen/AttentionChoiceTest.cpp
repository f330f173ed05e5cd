//===- AttentionChoiceTest.cpp - Which tile an attention gets --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionChoice.h"

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
            AttentionMmaTile tile = chooseAttentionMmaTile(head, bytes);
            EXPECT_LE(tile.sharedBytes(head, bytes), kSharedOfAny);
            EXPECT_GE(tile.keys, 16);
            EXPECT_LE(tile.threads(), 128);
            EXPECT_LT(tile.rows(), std::max<int64_t>(2 * rows, 32));
          }
          AttentionSimtTile tile = chooseAttentionSimtTile(head);
          EXPECT_LE(tile.sharedBytes(head), kSharedOfAny);
          EXPECT_TRUE(tile.rows % 16 == 0 && tile.keys % 16 == 0 && tile.keys > 0 && tile.rows > 0);
        }
}

TEST(AttentionChoiceTest, Tiles) {
  auto isMma = [](const HeadShape &head, int64_t bytes, const AttentionMmaTile &expected) {
    AttentionMmaTile tile = chooseAttentionMmaTile(head, bytes);
    return tile.warpsM == expected.warpsM && tile.warpsN == expected.warpsN &&
           tile.keys == expected.keys;
  };
  EXPECT_TRUE(isMma({4096, 4096, 64, 64}, 2, {4, 1, 64}));
  EXPECT_TRUE(isMma({4096, 4096, 128, 128}, 2, {4, 1, 64}));
  EXPECT_TRUE(isMma({4096, 4096, 256, 256}, 2, {4, 1, 32}));
  // One query of a decoder: the warps share its keys.
  EXPECT_TRUE(isMma({1, 4096, 64, 64}, 2, {1, 4, 64}));
  EXPECT_TRUE(isMma({8, 4096, 128, 128}, 2, {1, 4, 32}));
  EXPECT_TRUE(isMma({1, 16, 64, 64}, 2, {1, 1, 16}));
  AttentionSimtTile tile = chooseAttentionSimtTile({4096, 4096, 64, 64});
  EXPECT_TRUE(tile.rows == 64 && tile.keys == 64);
  tile = chooseAttentionSimtTile({4096, 4096, 128, 128});
  EXPECT_TRUE(tile.rows == 64 && tile.keys == 32);
}

} // namespace dlc::codegen
