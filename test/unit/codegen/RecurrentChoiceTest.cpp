//===- RecurrentChoiceTest.cpp - Which blocks a recurrence gets ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/RecurrentChoice.h"

#include "gtest/gtest.h"

namespace dlc::codegen {

/// An LSTM of as many outputs as units.
static StepShape lstm(int64_t units, int64_t rows, int64_t bytes = 4) {
  return {4, units, units, rows, bytes, false};
}

TEST(RecurrentChoiceTest, SmallStatesStayInOneBlock) {
  for (int64_t units : {1, 7, 16, 64, 72})
    EXPECT_EQ(chooseUnitShare(lstm(units, 1)).units, 0) << units;
}

TEST(RecurrentChoiceTest, OneRowIsShared) {
  for (int64_t units : {200, 256, 500, 512}) {
    StepShape shape = lstm(units, 1);
    UnitShare share = chooseUnitShare(shape);
    ASSERT_GT(share.units, 0) << units;
    EXPECT_LT(clocksOfSharedStep(shape, share), clocksOfRowStep(shape) / 2);
  }
}

// A block for each of many rows has them all read the weights at once.
TEST(RecurrentChoiceTest, ManyRowsHaveBlocksOfTheirOwn) {
  EXPECT_EQ(chooseUnitShare(lstm(128, 100)).units, 0);
  EXPECT_GT(chooseUnitShare(lstm(512, 64)).units, 0);
}

// Weights that fit no grid stay in memory; in 16 bits twice as many units fit.
TEST(RecurrentChoiceTest, WeightsThatFitNoGrid) {
  EXPECT_EQ(chooseUnitShare(lstm(1024, 1)).units, 0);
  EXPECT_GT(chooseUnitShare(lstm(640, 1, 2)).units, 0);
}

TEST(RecurrentChoiceTest, EveryShareFits) {
  for (int64_t gates : {1, 3, 4})
    for (int64_t units = 1; units <= 2048; units += units < 40 ? 1 : 37)
      for (int64_t outputs : {units, units / 3 + 1})
        for (int64_t rows : {1, 8, 64}) {
          StepShape shape = {gates, units, outputs, rows, 4, outputs != units};
          UnitShare share = chooseUnitShare(shape);
          if (share.units == 0)
            continue;
          EXPECT_LE(share.sharedBytes(shape), 48 << 10);
          EXPECT_LE(share.blocks(shape), 128);
          EXPECT_GE(share.blocks(shape), 2);
          EXPECT_GE(share.blocks(shape) * share.units, units);
          EXPECT_GE(share.blocks(shape) * share.outputs, shape.hasProjection ? outputs : 0);
        }
}

} // namespace dlc::codegen
