//===- DLTypesTest.cpp - Dims, layouts and their address maps -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLTypes.h"

#include "ir/dl/DLDialect.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace dlc;

namespace {
struct DLTypes : testing::Test {
  DLTypes() { context.loadDialect<dl::DLDialect>(); }
  AffineExpr number(int64_t value) { return dl::constantDim(value, &context); }
  AffineExpr symbol(unsigned position) { return getAffineSymbolExpr(position, &context); }
  Type f32() { return Float32Type::get(&context); }

  /// Offsets of all elements of a static tensor, in row-major order of its logical indices.
  std::vector<int64_t> offsets(RankedTensorType type) {
    std::vector<int64_t> list;
    SmallVector<int64_t> index(type.getRank(), 0);
    for (int64_t element = 0; element < type.getNumElements(); ++element) {
      SmallVector<AffineExpr> at;
      for (int64_t i : index)
        at.push_back(number(i));
      list.push_back(*dl::asConstant(dl::normalize(dl::physicalOffset(type, at))));
      for (int64_t dim = type.getRank() - 1; dim >= 0 && ++index[dim] == type.getDimSize(dim);
           --dim)
        index[dim] = 0;
    }
    return list;
  }

  MLIRContext context;
};
} // namespace

TEST_F(DLTypes, StaticRowMajorHasNoEncoding) {
  EXPECT_FALSE(dl::makeTensor({number(2), number(3)}, f32()).getEncoding());
  dl::Layout same;
  same.order = {0, 1};
  EXPECT_FALSE(dl::makeTensor({number(2), number(3)}, f32(), same).getEncoding());
  EXPECT_TRUE(dl::makeTensor({symbol(0), number(3)}, f32()).getEncoding());
}

TEST_F(DLTypes, EqualDimsAreOneExpression) {
  AffineExpr n = symbol(0), t = symbol(1);
  EXPECT_EQ(dl::normalize(n + n), dl::normalize(n * 2));
  EXPECT_EQ(dl::normalize(n * t), dl::normalize(t * n));
  EXPECT_EQ(dl::normalize((n + 1) * 4), dl::normalize(n * 4 + 4));
  EXPECT_EQ(dl::normalize((n * 4).floorDiv(4)), n);
  EXPECT_NE(dl::normalize((n + 1).floorDiv(2)), dl::normalize(n.floorDiv(2) + 1));
}

TEST_F(DLTypes, ProductsOfSymbolsAreOneExpression) {
  AffineExpr n = symbol(0), t = symbol(1), h = symbol(2);
  EXPECT_EQ(dl::normalize(n * t * 8), dl::normalize(number(8) * t * n));
  EXPECT_EQ(dl::normalize(n * (t + h)), dl::normalize(h * n + n * t));
  EXPECT_EQ(dl::normalize((n + t) * (n - t)), dl::normalize(n * n - t * t));
  EXPECT_EQ(dl::normalize((n * t * 8).floorDiv(n)), dl::normalize(t * 8));
  EXPECT_EQ(dl::normalize((n * 16).floorDiv(n * 2)), number(8));
  EXPECT_EQ(dl::normalize((n * t).ceilDiv(t)), n);
  EXPECT_NE(dl::normalize((n * t + 1).floorDiv(t)), n);
  EXPECT_EQ(dl::normalize(n * t - t * n), number(0));
  // Normal forms stay what they are.
  for (AffineExpr expr : {n * t * 8 + t, (n * t + 1).floorDiv(t) * 2 + n, n * (t % h), (n + t) * h})
    EXPECT_EQ(dl::normalize(dl::normalize(expr)), dl::normalize(expr));
}

TEST_F(DLTypes, RowMajorOffsetsCountUp) {
  auto offsets = this->offsets(dl::makeTensor({number(2), number(3), number(4)}, f32()));
  for (int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(offsets[i], i);
}

TEST_F(DLTypes, ChannelsLast) {
  auto type = dl::makeTensor({number(2), number(3), number(4), number(5)}, f32(),
                             dl::Layout::channelsLast(4));
  auto offsets = this->offsets(type);
  // Element (1, 2, 3, 4): ((1*4 + 3)*5 + 4)*3 + 2.
  EXPECT_EQ(offsets[((1 * 3 + 2) * 4 + 3) * 5 + 4], ((1 * 4 + 3) * 5 + 4) * 3 + 2);
  EXPECT_EQ(std::set<int64_t>(offsets.begin(), offsets.end()).size(), offsets.size());
}

TEST_F(DLTypes, TilesRoundUpAndNeverOverlap) {
  dl::Layout panels{{0, 1}, 0, 16};
  auto type = dl::makeTensor({number(33), number(5)}, f32(), panels);
  EXPECT_EQ(dl::asConstant(dl::storedElements(type)), 48 * 5);
  auto offsets = this->offsets(type);
  EXPECT_EQ(offsets[17 * 5 + 2], (1 * 5 + 2) * 16 + 1);
  std::set<int64_t> distinct(offsets.begin(), offsets.end());
  EXPECT_EQ(distinct.size(), offsets.size());
  EXPECT_LT(*distinct.rbegin(), 48 * 5);
}

TEST_F(DLTypes, RangesCoverEveryValue) {
  dl::Range ranges[] = {{1, 7}, {0, 3}};
  AffineExpr n = symbol(0), t = symbol(1);
  AffineExpr exprs[] = {n * 3 - t * 2 + 1,   (n - 4).floorDiv(2), (n + t).ceilDiv(3), n * t, n % 5,
                        (n * 2 + 1) % 3 - t, n * n * 2 - n,       n * t - t + n - 1};
  for (AffineExpr expr : exprs) {
    auto range = dl::rangeOf(expr, ranges);
    ASSERT_TRUE(range);
    for (int64_t a = 1; a <= 7; ++a)
      for (int64_t b = 0; b <= 3; ++b) {
        AffineExpr values[] = {number(a), number(b)};
        int64_t value = *dl::asConstant(dl::normalize(expr.replaceSymbols(values)));
        EXPECT_LE(range->min, value);
        EXPECT_GE(range->max, value);
      }
  }
  EXPECT_EQ(dl::rangeOf(n * n * 2 - n, ranges)->min, 1) << "n * (n * 2 - 1)";
  EXPECT_EQ(dl::rangeOf(n * t - t, ranges)->min, 0) << "t * (n - 1)";
  EXPECT_FALSE(dl::rangeOf(symbol(2), ranges));
  EXPECT_FALSE(dl::rangeOf(n * number(INT64_MAX), ranges)) << "overflow is no bound";
}

TEST_F(DLTypes, TextUsesTheWordsOfTheLanguage) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  (*module)->setAttr("dl.symbols",
                     ArrayAttr::get(&context, {dl::SymbolAttr::get(&context, "N", 1, 8),
                                               dl::SymbolAttr::get(&context, "T", 1, 8)}));
  auto text = [&](auto what) { return dl::text(what, *module); };
  EXPECT_EQ(text(dl::normalize(symbol(0) * 4 - 1)), "N*4 - 1");
  EXPECT_EQ(text((symbol(0) + 1) * symbol(1)), "(N + 1)*T");
  EXPECT_EQ(text(dl::makeTensor({symbol(0), number(3)}, f32())), "f32[N,3]");
  EXPECT_EQ(text(dl::makeTensor({number(3)}, IntegerType::get(&context, 1))), "bool[3]");
  EXPECT_EQ(text(dl::makeTensor({}, IntegerType::get(&context, 8, IntegerType::Unsigned))), "u8[]");
}
