//===- ReduceChoiceTest.cpp - Into how many parts the rows of a reduction are cut ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/reduce/ReduceChoice.h"

#include "gtest/gtest.h"

#include <limits>

namespace dlc::codegen {

static constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(ReduceChoiceTest, ManyOrShortRowsStayWhole) {
  EXPECT_FALSE(chooseRowShare({1, 1000, false}).isCut());
  EXPECT_FALSE(chooseRowShare({4096, 1 << 20, false}).isCut());
  EXPECT_FALSE(chooseRowShare({kHuge, kHuge, false}).isCut());
  EXPECT_FALSE(chooseRowShare({0, 1 << 20, false}).isCut());
}

TEST(ReduceChoiceTest, FewLongRowsFillTheGpu) {
  EXPECT_EQ(chooseRowShare({1, 1 << 20, false}).parts, 128);
  EXPECT_EQ(chooseRowShare({1, kHuge, false}).parts, 128);
  EXPECT_EQ(chooseRowShare({32, 1 << 20, false}).parts, 4);
  EXPECT_EQ(chooseRowShare({1, 40000, false}).parts, 10);
}

TEST(ReduceChoiceTest, ColumnsAreCutWhereThreadsAreFew) {
  EXPECT_FALSE(chooseRowShare({64, 49, true}).isCut());
  EXPECT_FALSE(chooseRowShare({100000, 1000, true}).isCut());
  EXPECT_FALSE(chooseRowShare({kHuge, kHuge, true}).isCut());
  EXPECT_EQ(chooseRowShare({64, 12544, true}).blocks, 98);
  EXPECT_EQ(chooseRowShare({64, 12544, true}).parts, 784);
}

// What waits for each other must fit any GPU, and no row may be left without a part.
TEST(ReduceChoiceTest, Bounds) {
  for (bool isAcross : {false, true})
    for (int64_t rows = 1; rows < 100000; rows = rows * 3 / 2 + 1)
      for (int64_t terms = 1; terms < int64_t(1) << 40; terms *= 3)
        if (RowShare share = chooseRowShare({rows, terms, isAcross}); share.isCut()) {
          EXPECT_LE(share.blocks, 128) << rows << " rows of " << terms;
          EXPECT_GE(share.parts, 2);
          EXPECT_LE(share.parts * rows, share.blocks * (isAcross ? kPartThreads : 1));
          EXPECT_LE(share.parts, terms);
        }
}

} // namespace dlc::codegen
