//===- DerivedSizeTest.cpp - Values, ranges and simplification of derived sizes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DerivedSize.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace dlc;
using dl::SizeFunction;

namespace {

struct DerivedSize : testing::Test {
  DerivedSize() { context.loadDialect<dl::DLDialect>(); }
  AffineExpr symbol(unsigned position) { return getAffineSymbolExpr(position, &context); }
  AffineExpr number(int64_t value) { return dl::constantDim(value, &context); }
  Attribute dim(AffineExpr expr) {
    return AffineMapAttr::get(dl::dimsMap(dl::normalize(expr), &context));
  }
  Attribute real(double value) { return FloatAttr::get(Float64Type::get(&context), value); }
  dl::DerivedAttr make(SizeFunction function, ArrayRef<Attribute> operands) {
    return dl::DerivedAttr::get(&context, function, operands);
  }
  int64_t value(SizeFunction function, ArrayRef<int64_t> integers) {
    SmallVector<Attribute> operands;
    for (int64_t integer : integers)
      operands.push_back(dim(number(integer)));
    return dl::valueOf(make(function, operands), {});
  }

  /// A random integer or real size over three symbols.
  Attribute random(std::mt19937 &rng, bool isReal, unsigned depth) {
    auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(rng);
    };
    if (depth == 0 && isReal)
      return real(static_cast<double>(pick(-8, 8)) / 4);
    if (depth == 0) {
      AffineExpr sum = number(pick(-9, 9));
      for (unsigned i = 0; i < 3; ++i)
        sum = sum + symbol(i) * pick(-2, 3);
      return dim(pick(0, 2) == 0 ? sum.floorDiv(pick(1, 4)) : sum);
    }
    static constexpr SizeFunction kIntegers[] = {SizeFunction::min,      SizeFunction::max,
                                                 SizeFunction::equal,    SizeFunction::less,
                                                 SizeFunction::quotient, SizeFunction::remainder,
                                                 SizeFunction::integer,  SizeFunction::select};
    static constexpr SizeFunction kReals[] = {
        SizeFunction::real,    SizeFunction::single, SizeFunction::sum,   SizeFunction::difference,
        SizeFunction::product, SizeFunction::floor,  SizeFunction::ceil,  SizeFunction::nearest,
        SizeFunction::min,     SizeFunction::max,    SizeFunction::select};
    SizeFunction function = isReal ? kReals[pick(0, std::size(kReals) - 1)]
                                   : kIntegers[pick(0, std::size(kIntegers) - 1)];
    bool isComparison = function == SizeFunction::equal || function == SizeFunction::less;
    bool takesReal = isReal ? function != SizeFunction::real
                            : function == SizeFunction::integer || (isComparison && pick(0, 1));
    SmallVector<Attribute> operands;
    for (unsigned i = 0; i < dl::arityOf(function); ++i) {
      bool isCondition = function == SizeFunction::select && i == 0;
      operands.push_back(random(rng, takesReal && !isCondition, depth - 1));
    }
    return make(function, operands);
  }

  MLIRContext context;
};

TEST_F(DerivedSize, Values) {
  EXPECT_EQ(value(SizeFunction::min, {3, -5}), -5);
  EXPECT_EQ(value(SizeFunction::select, {-1, 7, 9}), 7);
  EXPECT_EQ(value(SizeFunction::select, {0, 7, 9}), 9);
  EXPECT_EQ(value(SizeFunction::quotient, {-7, 2}), -3);
  EXPECT_EQ(value(SizeFunction::quotient, {7, 0}), 0);
  EXPECT_EQ(value(SizeFunction::quotient, {INT64_MIN, -1}), INT64_MAX);
  EXPECT_EQ(value(SizeFunction::remainder, {-7, 2}), -1);
  EXPECT_EQ(value(SizeFunction::remainder, {INT64_MIN, -1}), 0);
  auto whole = [&](SizeFunction round, double x) {
    return dl::valueOf(make(SizeFunction::integer, {make(round, {real(x)})}), {});
  };
  EXPECT_EQ(whole(SizeFunction::nearest, 2.5), 2);
  EXPECT_EQ(whole(SizeFunction::nearest, 3.5), 4);
  EXPECT_EQ(whole(SizeFunction::nearest, -2.5), -2);
  EXPECT_EQ(whole(SizeFunction::ceil, -2.5), -2);
  EXPECT_EQ(whole(SizeFunction::floor, -2.5), -3);
  EXPECT_EQ(whole(SizeFunction::floor, 1e300), INT64_MAX);
  EXPECT_EQ(whole(SizeFunction::root, -1), 0); // NaN
  // In f32, 16777217 is 16777216.
  Attribute odd = make(SizeFunction::real, {dim(number(16777217))});
  EXPECT_EQ(dl::valueOf(make(SizeFunction::integer, {make(SizeFunction::single, {odd})}), {}),
            16777216);
}

TEST_F(DerivedSize, RangesHoldEachValueAndSimplifiedIsEqual) {
  std::mt19937 rng(7);
  SmallVector<dl::Range> ranges{{0, 3}, {1, 5}, {2, 4}};
  unsigned bounded = 0, simple = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    auto size = dyn_cast<dl::DerivedAttr>(random(rng, /*isReal=*/false, 1 + round % 3));
    ASSERT_TRUE(size);
    auto range = dl::rangeOf(size, ranges);
    AffineExpr dim = dl::simplified(size, ranges);
    bounded += range.has_value();
    simple += dim != nullptr;
    for (int64_t a = 0; a <= 3; ++a)
      for (int64_t b = 1; b <= 5; ++b)
        for (int64_t c = 2; c <= 4; ++c) {
          int64_t value = dl::valueOf(size, {a, b, c});
          if (range)
            ASSERT_TRUE(range->min <= value && value <= range->max)
                << dl::text(size, {}) << " is " << value << " for " << a << ", " << b << ", " << c
                << "; its range is " << range->min << ".." << range->max;
          if (dim)
            ASSERT_EQ(dl::asConstant(
                          dl::normalize(dim.replaceSymbols({number(a), number(b), number(c)}))),
                      value)
                << dl::text(size, {});
        }
  }
  EXPECT_GT(bounded, 2500u);
  EXPECT_GT(simple, 100u);
}

TEST_F(DerivedSize, Simplifies) {
  SmallVector<dl::Range> ranges{{1, 100}, {1, 8}};
  AffineExpr n = symbol(0);
  EXPECT_EQ(dl::simplified(make(SizeFunction::min, {dim(n), dim(n + 1)}), ranges), n);
  // Half of a dim is never larger than the dim.
  AffineExpr half = dl::normalize(n.floorDiv(2));
  EXPECT_EQ(dl::simplified(make(SizeFunction::min, {dim(half), dim(n)}), ranges), half);
  EXPECT_EQ(dl::simplified(make(SizeFunction::quotient, {dim(n), dim(number(4))}), ranges),
            dl::normalize(n.floorDiv(4)));
  AffineExpr both = n * symbol(1);
  EXPECT_EQ(dl::simplified(make(SizeFunction::quotient, {dim(both * 12), dim(both * 3)}), ranges),
            number(4));
  EXPECT_FALSE(dl::simplified(make(SizeFunction::quotient, {dim(both * 12), dim(n + 1)}), ranges))
      << "whose range a symbol can have";
  EXPECT_EQ(dl::simplified(make(SizeFunction::equal, {dim(n), dim(number(-1))}), ranges),
            number(0));
  EXPECT_FALSE(dl::simplified(make(SizeFunction::min, {dim(n), dim(number(7))}), ranges));
}

TEST_F(DerivedSize, Text) {
  EXPECT_EQ(dl::text(make(SizeFunction::integer,
                          {make(SizeFunction::product,
                                {make(SizeFunction::real, {dim(symbol(0) * 2)}), real(2)})}),
                     {}),
            "integer(product(real(s0*2), 2.0))");
}

} // namespace
