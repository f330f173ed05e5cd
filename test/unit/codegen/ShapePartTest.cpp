//===- ShapePartTest.cpp - Some of the shapes that a kernel may have ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/variants/ShapePart.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
class ShapePartTest : public testing::Test {
protected:
  AffineExpr number(int64_t value) { return getAffineConstantExpr(value, &context); }
  MLIRContext context;
  AffineExpr n = getAffineSymbolExpr(0, &context), t = getAffineSymbolExpr(1, &context);
  SmallVector<dl::Range> symbols = {{1, 64, 0}, {0, 512, 128}};
};
} // namespace

TEST_F(ShapePartTest, Grows) {
  EXPECT_TRUE(growsWithSymbols(n * t, symbols));
  EXPECT_TRUE(growsWithSymbols((t + 3).floorDiv(2) * 7 + n, symbols));
  EXPECT_TRUE(growsWithSymbols(t - 5, symbols));
  EXPECT_FALSE(growsWithSymbols(number(100) - t, symbols));
  EXPECT_FALSE(growsWithSymbols(t % 16, symbols));
  EXPECT_FALSE(growsWithSymbols((t - 5) * n, symbols)) << "falls with n where t is below 5";
}

TEST_F(ShapePartTest, BoundsEachSymbol) {
  SmallVector<dl::Range> within = symbolsWithin({n * t, {200, 1000}}, symbols);
  ASSERT_EQ(within.size(), 3u);
  EXPECT_EQ(within[0].min, 1);
  EXPECT_EQ(within[0].max, 64);
  EXPECT_EQ(within[1].min, 4);   // 64 * 3 is below 200
  EXPECT_EQ(within[1].max, 512); // 1 * 512 is within
  EXPECT_EQ(within[1].usual, 128);
  EXPECT_EQ(within[2].min, 200);
  EXPECT_EQ(within[2].max, 1000);

  within = symbolsWithin({n * t, {0, 8}}, symbols);
  EXPECT_EQ(within[0].max, 64) << "t may be 0";
  EXPECT_EQ(within[1].max, 8);
  EXPECT_EQ(within[1].usual, 8);
}

// Whatever the symbols are in the part, they lie within.
TEST_F(ShapePartTest, LosesNothing) {
  for (AffineExpr extent : {n * t, n + t * 2, (t + 1).ceilDiv(3) * n, (n * 5 + 2).floorDiv(4)})
    for (auto [least, most] : {std::pair<int64_t, int64_t>{0, 8}, {9, 64}, {65, 3000}}) {
      SmallVector<dl::Range> within = symbolsWithin({extent, {least, most}}, symbols);
      for (int64_t a = 1; a <= 64; ++a)
        for (int64_t b = 0; b <= 512; ++b) {
          int64_t value =
              dl::asConstant(extent.replaceDimsAndSymbols({}, {number(a), number(b)})).value();
          if (value < least || value > most)
            continue;
          EXPECT_TRUE(a >= within[0].min && a <= within[0].max) << a;
          EXPECT_TRUE(b >= within[1].min && b <= within[1].max) << b;
        }
    }
}
