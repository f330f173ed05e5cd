//===- FewChannelsChoiceTest.cpp - Which rows a block of a first layer gets ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/window/FewChannelsChoice.h"

#include <gtest/gtest.h>

namespace dlc::codegen {

/// ResNet's first layer.
static FewChannelsShape resNet(int64_t images) {
  return {.channels = 3,
          .wide = 224,
          .filters = 64,
          .outHigh = 112,
          .outWide = 112,
          .tapsHigh = 7,
          .tapsWide = 7,
          .strideHigh = 2,
          .strideWide = 2,
          .padLeft = 3,
          .images = images};
}

// Seven taps and one before them are a group of eight; 21 of them and half a step of mma.
TEST(FewChannelsChoiceTest, RoomOfABlock) {
  FewChannelsShape shape = resNet(1);
  EXPECT_EQ(FewChannelsTile::depth(shape), 176);
  // Filters, 3 x 9 lines of 240 elements, totals of 16 places of four warps.
  EXPECT_EQ((FewChannelsTile{2, 1, 64}.sharedBytes(shape)),
            (64 * 184 + 27 * 240) * 2 + 4 * 16 * 72 * 4);
  shape.isAcross = true;
  EXPECT_EQ((FewChannelsTile{2, 1, 64}.sharedBytes(shape)),
            (64 * 184 + 27 * 240) * 2 + 4 * 64 * 36 * 4);
  // Windows at odd places read a copy.
  shape = {3, 32, 16, 32, 32, 3, 3, 1, 1, 1, 1};
  EXPECT_EQ(FewChannelsTile::depth(shape), 48);
  EXPECT_EQ((FewChannelsTile{1, 1, 16}.sharedBytes(shape)),
            (16 * 56 + 2 * 9 * 48) * 2 + 4 * 16 * 24 * 4);
}

// One image is cut into few rows, so that all multiprocessors have some; of many, blocks take more.
TEST(FewChannelsChoiceTest, RowsByImages) {
  FewChannelsTile one = chooseFewChannelsTile(resNet(1), kHopper),
                  many = chooseFewChannelsTile(resNet(32), kHopper);
  EXPECT_GE(one.spans(resNet(1)), 56);
  EXPECT_GT(many.rows * many.turns, one.rows * one.turns);
  EXPECT_LE(many.sharedBytes(resNet(32)), FewChannelsTile::mostShared);
}

// Filters of three frames take so much room that a block has half of them.
TEST(FewChannelsChoiceTest, FiltersOfVideo) {
  FewChannelsShape shape = resNet(16);
  shape.tapsDeep = 3;
  EXPECT_EQ(FewChannelsTile::depth(shape), 512);
  for (const FewChannelsTile &tile : fewChannelsTiles(shape)) {
    EXPECT_EQ(tile.filters, 32);
    EXPECT_LE(tile.sharedBytes(shape), FewChannelsTile::mostShared);
  }
  EXPECT_GT(chooseFewChannelsTile(shape, kHopper).rows, 0);
  shape.tapsDeep = 40; // filters of which not even sixteen fit
  EXPECT_TRUE(fewChannelsTiles(shape).empty());
}

// An H100 took 216 us for this layer as an implicit GEMM, PyTorch 194; the memory's rate allows 20.
TEST(FewChannelsChoiceTest, EstimateOfResNet) {
  FewChannelsShape shape = resNet(32);
  double us = estimatedClocks(chooseFewChannelsTile(shape, kHopper), shape, kHopper) /
              kHopper.gigahertz / 1000;
  EXPECT_GT(us, 20);
  EXPECT_LT(us, 120);
}

} // namespace dlc::codegen
