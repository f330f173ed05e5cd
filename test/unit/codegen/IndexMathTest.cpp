//===- IndexMathTest.cpp - What schedules may conclude about addresses --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/IndexMath.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
struct IndexMathTest : testing::Test {
  IndexMathTest() : math(&context, dl::Range{1, 64}) {
    n = getAffineSymbolExpr(0, &context);
    i = math.addLoop(n);
    j = math.addLoop(math.constant(10));
  }
  MLIRContext context;
  IndexMath math;
  AffineExpr n, i, j;
};
} // namespace

TEST_F(IndexMathTest, Strides) {
  EXPECT_EQ(math.strideAlong(i * 10 + j, j), Stride::unit);
  EXPECT_EQ(math.strideAlong(i * 10 + j, i), Stride::other);
  EXPECT_EQ(math.strideAlong(i * 10, j), Stride::uniform);
  EXPECT_EQ(math.stepAlong(i * 10 + j, i), 10);
  EXPECT_EQ(math.strideAlong(j.floorDiv(2), j), Stride::other);
  EXPECT_EQ(math.strideAlong(i * n + j, i), Stride::other) << "the step is n, not a number";
}

TEST_F(IndexMathTest, BoundsAreProvedOnlyWhereTheyHold) {
  EXPECT_TRUE(math.isNonNegative(i));
  EXPECT_TRUE(math.isBelow(i, n))
      << "the extent of the loop itself, over all of the symbol's range";
  EXPECT_FALSE(math.isBelow(i + 1, n));
  EXPECT_FALSE(math.isNonNegative(i - 1));
  EXPECT_TRUE(math.isBelow(j, math.constant(10)));
  EXPECT_FALSE(math.isBelow(j, math.constant(9)));
  // A window of 3 at stride 2 over an input of 2*10 + 1.
  AffineExpr k = math.addLoop(math.constant(3));
  EXPECT_TRUE(math.isBelow(j * 2 + k, math.constant(21)));
  EXPECT_FALSE(math.isBelow(j * 2 + k, math.constant(20)));
  EXPECT_FALSE(math.isNonNegative(j * 2 + k - 1)) << "padding";
}

TEST_F(IndexMathTest, RangesOfQuotients) {
  auto range = math.range((i * 10 + j) % 7);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->min, 0);
  EXPECT_EQ(range->max, 6);
  EXPECT_TRUE(math.isNonNegative((i * 10 + j).floorDiv(7)));
}

TEST_F(IndexMathTest, ExtentsMayNameOuterLoops) {
  AffineExpr tail = math.addLoop(n - i); // runs over [0, n - i)
  EXPECT_TRUE(math.isBelow(i + tail, n));
  EXPECT_FALSE(math.isBelow(i + tail + 1, n));
}
