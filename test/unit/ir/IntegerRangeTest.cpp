//===- IntegerRangeTest.cpp - Between which numbers integer tensors lie -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/IntegerRange.h"

#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace dlc;

namespace {

class IntegerRangeTest : public testing::Test {
protected:
  IntegerRangeTest() {
    context.loadDialect<dl::DLDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  }

  /// The value that a function of these arguments and ops returns, of type `result`.
  Value returned(const std::string &ops, const std::string &result) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(%u: tensor<2x3xui8>, %s: tensor<2x3xi8>, %i: tensor<2x3xi32>, %l: "
        "tensor<2x3xui64>, %t: tensor<2x3xi1>, %f: tensor<2x3xf32>) -> " +
            result + " {\n" + ops + "\nreturn %y : " + result + "\n}",
        &context);
    EXPECT_TRUE(module) << ops;
    auto function = *module->getOps<func::FuncOp>().begin();
    return function.front().getTerminator()->getOperand(0);
  }

  void expect(const std::string &ops, const std::string &result,
              std::optional<IntegerRange> expected) {
    auto found = IntegerRanges().of(returned(ops, result));
    ASSERT_EQ(found.has_value(), expected.has_value()) << ops;
    if (found)
      EXPECT_EQ(*found, *expected) << ops << "\nis " << found->min << " to " << found->max;
  }

  static std::string cast(const std::string &name, const std::string &x, const std::string &from,
                          const std::string &to) {
    return "%" + name + " = dl.cast %" + x + " {dtype = " + to + "} : (tensor<2x3x" + from +
           ">) -> tensor<2x3x" + to + ">\n";
  }
  static std::string binary(const std::string &name, const std::string &op, const std::string &a,
                            const std::string &b, const std::string &type) {
    std::string tensor = "tensor<2x3x" + type + ">";
    return "%" + name + " = dl." + op + " %" + a + ", %" + b + " : (" + tensor + ", " + tensor +
           ") -> " + tensor + "\n";
  }
  static std::string full(const std::string &name, int64_t number, const std::string &type) {
    std::string element = type[0] == 'u' ? type.substr(1) : type;
    return "%" + name + " = dl.full " + std::to_string(number) + " : " + element +
           " -> tensor<2x3x" + type + ">\n";
  }

  static constexpr int64_t kLeast = INT32_MIN, kMost = INT32_MAX;
  const std::string i32 = "tensor<2x3xi32>";
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(IntegerRangeTest, CastsKeepWhatTheyCanHold) {
  expect(cast("y", "u", "ui8", "i32"), i32, IntegerRange{0, 255});
  expect(cast("y", "s", "i8", "i32"), i32, IntegerRange{-128, 127});
  expect(cast("y", "t", "i1", "i32"), i32, IntegerRange{0, 1});
  expect(cast("y", "i", "i32", "i8"), "tensor<2x3xi8>", IntegerRange{-128, 127});
  expect(cast("y", "s", "i8", "ui8"), "tensor<2x3xui8>", IntegerRange{0, 255}); // -1 becomes 255
  expect(cast("y", "f", "f32", "i32"), i32, IntegerRange{kLeast, kMost});
  expect(cast("y", "s", "i8", "f32"), "tensor<2x3xf32>", std::nullopt);
  expect(cast("y", "i", "i32", "i1"), "tensor<2x3xi1>", IntegerRange{0, 1});
  // Numbers beyond an i64.
  expect(cast("a", "l", "ui64", "i64") + cast("y", "a", "i64", "i32"), i32,
         IntegerRange{kLeast, kMost});
}

TEST_F(IntegerRangeTest, ArithmeticMovesBothEnds) {
  std::string u = cast("a", "u", "ui8", "i32"), s = cast("b", "s", "i8", "i32");
  for (auto [zero, range] :
       {std::pair<int64_t, IntegerRange>{0, {0, 255}}, {128, {-128, 127}}, {255, {-255, 0}}})
    expect(u + full("z", zero, "i32") + binary("y", "sub", "a", "z", "i32"), i32, range);
  expect(u + s + binary("y", "sub", "a", "b", "i32"), i32, IntegerRange{-127, 383});
  expect(u + s + binary("y", "add", "a", "b", "i32"), i32, IntegerRange{-128, 382});
  expect(u + s + binary("y", "mul", "a", "b", "i32"), i32, IntegerRange{-32640, 32385});
  expect(u + s + binary("y", "maximum", "a", "b", "i32"), i32, IntegerRange{0, 255});
  expect(u + s + binary("y", "minimum", "a", "b", "i32"), i32, IntegerRange{-128, 127});
  expect(s + "%y = dl.neg %b : (tensor<2x3xi32>) -> tensor<2x3xi32>", i32, IntegerRange{-127, 128});
  expect(s + "%y = dl.relu %b : (tensor<2x3xi32>) -> tensor<2x3xi32>", i32, IntegerRange{0, 127});
  expect(
      "%y = dl.clamp %i {min = -7.0 : f64, max = 9.0 : f64} : (tensor<2x3xi32>) -> tensor<2x3xi32>",
      i32, IntegerRange{-7, 9});
  expect("%y = dl.clamp %i {min = -7.0 : f64} : (tensor<2x3xi32>) -> tensor<2x3xi32>", i32,
         IntegerRange{-7, kMost});
  expect(full("y", 200, "ui8"), "tensor<2x3xui8>", IntegerRange{200, 200});
}

TEST_F(IntegerRangeTest, WhatMayWrapIsAnything) {
  std::string one = full("o", 1, "i32");
  expect(one + binary("y", "add", "i", "o", "i32"), i32, IntegerRange{kLeast, kMost});
  expect(binary("y", "mul", "i", "i", "i32"), i32, IntegerRange{kLeast, kMost});
  // In i8 the difference wraps, though it would fit an i32.
  std::string zero = full("z", 5, "i8");
  expect(zero + binary("a", "sub", "s", "z", "i8") + cast("y", "a", "i8", "i32"), i32,
         IntegerRange{-128, 127});
}

TEST_F(IntegerRangeTest, MovesGiveWhatTheyMoveAndWhatTheyFill) {
  std::string u = cast("a", "u", "ui8", "i32");
  expect(u + "%y = dl.permute %a {dims = array<i64: 1, 0>} : (tensor<2x3xi32>) -> tensor<3x2xi32>",
         "tensor<3x2xi32>", IntegerRange{0, 255});
  expect(u + cast("b", "s", "i8", "i32") +
             "%y = dl.cat %a, %b {dim = 0 : i64} : (tensor<2x3xi32>, tensor<2x3xi32>) -> "
             "tensor<4x3xi32>",
         "tensor<4x3xi32>", IntegerRange{-128, 255});
  expect(u + "%y = dl.pad %a {pad = affine_map<() -> (1, 0)>, value = -3.0 : f64} : "
             "(tensor<2x3xi32>) -> "
             "tensor<2x4xi32>",
         "tensor<2x4xi32>", IntegerRange{-3, 255});
  // A result of another kind of op has the numbers of its type.
  expect(u + "%y = dl.sum %a {dim = array<i64: 1>} : (tensor<2x3xi32>) -> tensor<2xi64>",
         "tensor<2xi64>", IntegerRange{INT64_MIN, INT64_MAX});
}

TEST_F(IntegerRangeTest, WideningKeepsEachNumber) {
  EXPECT_TRUE(widenedFrom(returned(cast("y", "u", "ui8", "i32"), i32)));
  EXPECT_TRUE(widenedFrom(returned(cast("y", "s", "i8", "i32"), i32)));
  EXPECT_FALSE(widenedFrom(returned(cast("y", "t", "i1", "i32"), i32)));
  EXPECT_FALSE(widenedFrom(returned(cast("y", "s", "i8", "ui32"), "tensor<2x3xui32>")));
  EXPECT_FALSE(widenedFrom(returned(cast("y", "i", "i32", "i8"), "tensor<2x3xi8>")));
  EXPECT_FALSE(widenedFrom(returned(cast("y", "f", "f32", "i32"), i32)));
  EXPECT_FALSE(widenedFrom(returned(full("y", 3, "i32"), i32)));
  // Less a number, the zero point.
  std::string less = cast("a", "u", "ui8", "i32") + full("z", 7, "i32");
  auto integers = widenedFrom(returned(less + binary("y", "sub", "a", "z", "i32"), i32));
  ASSERT_TRUE(integers);
  EXPECT_EQ(integers->zeroPoint, 7);
  EXPECT_TRUE(isa<BlockArgument>(integers->stored));
  EXPECT_FALSE(widenedFrom(returned(less + binary("y", "sub", "z", "a", "i32"), i32)));
  EXPECT_FALSE(widenedFrom(returned(less + binary("y", "sub", "a", "i", "i32"), i32)));
  // In i16 the difference of these would wrap.
  EXPECT_FALSE(widenedFrom(returned(cast("a", "s", "i8", "i16") + full("z", 32700, "i16") +
                                        binary("y", "sub", "a", "z", "i16"),
                                    "tensor<2x3xi16>")));
}

} // namespace
