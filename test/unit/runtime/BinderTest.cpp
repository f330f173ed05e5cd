//===- BinderTest.cpp - Symbols from dims, and the sentences where they do not fit ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/bind/ShapeBinder.h"
#include "test/unit/runtime/PackageBuilder.h"

#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::test;
using rt::Dims;
using schema::DType;
using schema::ExprOp;

namespace {

/// A module without commands, for its shapes.
struct Shapes : PackageBuilder {
  std::shared_ptr<rt::Module> made;

  rt::Expected<rt::Binding> bind(const std::vector<Dims> &inputs) {
    program(schema::Target::cpu).cpu_images.clear();
    imageBytes.clear();
    for (uint32_t i = 0; i < module.outputs.size(); ++i) {
      std::vector<Expr> dims;
      for (uint32_t row : module.outputs[i]->dims)
        dims.push_back({row});
      buffer(schema::Storage::output, module.outputs[i]->dtype, dims, i);
    }
    std::vector<uint8_t> bytes = file();
    rt::Expected<std::shared_ptr<rt::Module>> loaded =
        rt::Module::loadMemory(bytes.data(), bytes.size(), true);
    EXPECT_FALSE(loaded.failed()) << loaded.status().message();
    made = *loaded;
    return rt::bindShapes(*made, inputs);
  }
  void refused(const std::vector<Dims> &inputs, const std::string &sentence) {
    rt::Expected<rt::Binding> binding = bind(inputs);
    module.programs.clear();
    ASSERT_TRUE(binding.failed());
    EXPECT_EQ(binding.status().code(), DLC_USAGE);
    EXPECT_EQ(binding.status().message(), sentence);
  }
};

} // namespace

TEST(Binder, BindsAndEvaluates) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64), t = shapes.symbol("T", 1, 512);
  shapes.input("x", DType::f32, {n, t});
  shapes.output("y", DType::f32,
                {shapes.product({n, t}), shapes.apply(ExprOp::ceildiv, t, shapes.constant(8)),
                 shapes.apply(ExprOp::mod, t, shapes.constant(8))});
  rt::Expected<rt::Binding> binding = shapes.bind({{3, 17}});
  ASSERT_FALSE(binding.failed()) << binding.status().message();
  EXPECT_EQ(binding->symbols, std::vector<int64_t>({3, 17}));
  EXPECT_EQ(binding->outputs, std::vector<Dims>({{51, 3, 1}}));
}

TEST(Binder, ConflictNamesBothInputs) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64);
  shapes.input("x", DType::f32, {n, shapes.constant(4)});
  shapes.input("mask", DType::boolean, {n});
  shapes.refused({{3, 4}, {4}}, "input 'mask', dim 0: expected 3, got 4: N = 3 by input 'x', dim "
                                "0; 'mask' is bool[N] with N in 1..64");
}

TEST(Binder, RangeStaticRankAndCount) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64);
  shapes.input("x", DType::f32, {n, shapes.constant(28)});
  const char *signature = "; 'x' is f32[N,28] with N in 1..64";
  shapes.refused({{65, 28}}, std::string("input 'x', dim 0: expected 1 to 64, got 65") + signature);
  shapes.refused({{0, 28}}, std::string("input 'x', dim 0: expected 1 to 64, got 0") + signature);
  shapes.refused({{-1, 28}}, std::string("input 'x', dim 0: expected 1 to 64, got -1") + signature);
  shapes.refused({{1, 27}}, std::string("input 'x', dim 1: expected 28, got 27") + signature);
  shapes.refused({{1}}, std::string("input 'x': expected 2 dims, got 1") + signature);
  shapes.refused({}, "expected 1 input, got 0");
}

TEST(Binder, SolvesADimOfOneSymbol) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64);
  Expr twice = shapes.product({shapes.constant(2), n});
  shapes.input("x", DType::f32, {shapes.apply(ExprOp::add, twice, shapes.constant(1))});
  shapes.output("y", DType::f32, {n});
  for (int64_t value : {1, 2, 33, 64}) {
    rt::Expected<rt::Binding> binding = shapes.bind({{2 * value + 1}});
    ASSERT_FALSE(binding.failed()) << binding.status().message();
    EXPECT_EQ(binding->outputs[0], Dims({value}));
    shapes.module.programs.clear();
  }
  shapes.refused({{6}}, "input 'x', dim 0: no value in range makes 2*N + 1 equal to 6; 'x' is "
                        "f32[2*N + 1] with N in 1..64");
  shapes.refused({{131}}, "input 'x', dim 0: no value in range makes 2*N + 1 equal to 131; 'x' is "
                          "f32[2*N + 1] with N in 1..64");
}

TEST(Binder, SolvesThroughAnotherInput) {
  // dim 0 is N*T, which gives T once N is known from the second input.
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64), t = shapes.symbol("T", 1, 64);
  shapes.input("flat", DType::f32, {shapes.product({n, t})});
  shapes.input("lengths", DType::i32, {n});
  rt::Expected<rt::Binding> binding = shapes.bind({{35}, {5}});
  ASSERT_FALSE(binding.failed()) << binding.status().message();
  EXPECT_EQ(binding->symbols, std::vector<int64_t>({5, 7}));
}

TEST(Binder, ChecksWhatItCannotSolve) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64);
  Expr half = shapes.apply(ExprOp::floordiv, n, shapes.constant(2));
  shapes.input("half", DType::f32, {half});
  shapes.refused({{3}}, "the inputs' dims do not determine the symbol 'N'"); // 6 or 7
  shapes.input("full", DType::f32, {n});
  rt::Expected<rt::Binding> binding = shapes.bind({{3}, {7}});
  EXPECT_FALSE(binding.failed()) << binding.status().message();
  shapes.module.programs.clear();
  shapes.refused(
      {{3}, {8}},
      "input 'half', dim 0: expected 4, got 3; 'half' is f32[N floordiv 2] with N in 1..64");
}

TEST(Binder, ASymbolThatNothingNamesNeedsNoValue) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64);
  shapes.symbol("unused", 1, 9);
  shapes.module.expressions.pop_back(); // its row
  shapes.input("x", DType::f32, {n});
  rt::Expected<rt::Binding> binding = shapes.bind({{3}});
  EXPECT_FALSE(binding.failed()) << binding.status().message();
}

TEST(Binder, OutputsThatWouldBeNegativeAreRefused) {
  Shapes shapes;
  Expr h = shapes.symbol("H", 1, 64);
  shapes.input("x", DType::f32, {h});
  shapes.output("y", DType::f32, {shapes.apply(ExprOp::add, h, shapes.constant(-4))});
  shapes.refused(
      {{3}}, "output 'y', dim 0 would be -1 for these inputs: they are too small for the model");
}

TEST(Binder, NeedsBeyondTheRangesAreChecked) {
  Shapes shapes;
  Expr h = shapes.symbol("H", 1, 64);
  shapes.input("x", DType::f32, {h});
  shapes.module.needs.push_back(std::make_unique<schema::NeedT>());
  shapes.module.needs.back()->dim = h.row;
  shapes.module.needs.back()->least = 5;
  shapes.module.needs.back()->why = "m.dl:1:2: topk needs 5 or more along dim 0 of f32[H]";
  rt::Expected<rt::Binding> binding = shapes.bind({{5}});
  EXPECT_FALSE(binding.failed()) << binding.status().message();
  shapes.module.programs.clear();
  shapes.refused({{4}}, "the model does not take inputs of these dims: m.dl:1:2: topk needs 5 or "
                        "more along dim 0 of f32[H]; it would be 4");
}

TEST(Binder, NeedsOfEqualSizesAreChecked) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64), m = shapes.symbol("M", 1, 64);
  shapes.input("x", DType::f32, {n});
  shapes.input("y", DType::f32, {m});
  shapes.module.needs.push_back(std::make_unique<schema::NeedT>());
  schema::NeedT &need = *shapes.module.needs.back();
  need.dim = shapes.apply(ExprOp::add, n, shapes.apply(ExprOp::mul, m, shapes.constant(-1))).row;
  need.exact = true;
  need.why = "m.dl:1:2: N and M to be equal";
  rt::Expected<rt::Binding> binding = shapes.bind({{5}, {5}});
  EXPECT_FALSE(binding.failed()) << binding.status().message();
  for (int64_t other : {4, 6}) {
    shapes.module.programs.clear();
    shapes.refused({{5}, {other}}, "the model does not take inputs of these dims: m.dl:1:2: N and "
                                   "M to be equal; they differ by " +
                                       std::to_string(5 - other));
  }
}

TEST(Binder, StepsAreToldInSizes) {
  Shapes shapes;
  Expr h = shapes.symbol("H", 1, 4);
  shapes.module.symbols[0]->step = 32;
  shapes.module.symbols[0]->why = "node 'join' (Concat) needs H/16 and H/32*2 to be equal";
  shapes.input("x", DType::f32, {shapes.apply(ExprOp::mul, h, shapes.constant(32))});
  shapes.output("y", DType::f32, {shapes.apply(ExprOp::mul, h, shapes.constant(2))});
  rt::Expected<rt::Binding> binding = shapes.bind({{96}});
  ASSERT_FALSE(binding.failed()) << binding.status().message();
  EXPECT_EQ(binding->outputs, std::vector<Dims>({{6}}));
  EXPECT_EQ(shapes.made->expressions().print(shapes.module.outputs[0]->dims[0]), "H/16");
  for (int64_t size : {100, 160}) {
    shapes.module.programs.clear();
    shapes.refused({{size}},
                   "input 'x', dim 0: expected 32 to 128 in steps of 32, got " +
                       std::to_string(size) +
                       "; 'x' is f32[H] with H in 32..128 in steps of 32 (node 'join' (Concat) "
                       "needs H/16 and H/32*2 to be equal)");
  }
}

TEST(Binder, DerivedSymbolsFollowFromOthers) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64);
  Expr few = shapes.apply(ExprOp::min, n, shapes.constant(5));
  Expr symbol = shapes.symbol("few", 1, 4);
  shapes.module.symbols[1]->is_derived = true;
  shapes.module.symbols[1]->derived = few.row;
  shapes.input("x", DType::f32, {n});
  shapes.output("y", DType::f32, {shapes.product({symbol, shapes.constant(2)})});
  rt::Expected<rt::Binding> binding = shapes.bind({{3}});
  ASSERT_FALSE(binding.failed()) << binding.status().message();
  EXPECT_EQ(binding->symbols, std::vector<int64_t>({3, 3}));
  EXPECT_EQ(binding->outputs, std::vector<Dims>({{6}}));
  shapes.module.programs.clear();
  // Beyond the range for which the kernels were made.
  shapes.refused({{9}}, "the model does not take inputs of these dims: few = min(N, 5) would be 5; "
                        "expected 1 to 4");
}

/// Each operation of a definition, over the value of N and a constant.
TEST(Binder, EvaluatesDefinitions) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64), three = shapes.constant(3);
  auto real = [&](Expr x) { return shapes.apply(ExprOp::real, x, x); };
  auto integer = [&](Expr x) { return shapes.apply(ExprOp::integer, x, x); };
  auto unary = [&](ExprOp op, Expr x) { return shapes.apply(op, x, x); };
  Expr ratio = shapes.apply(ExprOp::ratio, real(n), real(three));
  Expr isLess = shapes.apply(ExprOp::less, n, three);
  Expr choice = shapes.apply(ExprOp::select, n, three);
  shapes.module.expressions[choice.row] =
      schema::ExprNode(ExprOp::select, n.row, three.row, isLess.row);
  std::vector<std::pair<Expr, int64_t>> wanted = {
      {shapes.apply(ExprOp::max, n, three), 8},
      {shapes.apply(ExprOp::equal, n, three), 0},
      {isLess, 0},
      {choice, 3},
      {shapes.apply(ExprOp::quotient, shapes.constant(-7), three), -2},
      {shapes.apply(ExprOp::quotient, n, shapes.constant(0)), 0},
      {shapes.apply(ExprOp::remainder, shapes.constant(-7), three), -1},
      {integer(unary(ExprOp::floor, ratio)), 2},
      {integer(unary(ExprOp::ceil, ratio)), 3},
      {integer(unary(ExprOp::nearest, ratio)), 3},
      {integer(unary(ExprOp::root, real(n))), 2},
      {integer(shapes.apply(ExprOp::sum, ratio, real(three))), 5},
      {integer(shapes.apply(ExprOp::difference, real(three), real(n))), -5},
      {integer(shapes.apply(ExprOp::product, ratio, real(three))), 8},
      {integer(unary(ExprOp::single, real(shapes.constant(16777217)))), 16777216},
      {integer(shapes.apply(ExprOp::real_min, ratio, real(n))), 2},
      {integer(shapes.apply(ExprOp::real_max, ratio, real(n))), 8},
      {shapes.apply(ExprOp::real_equal, ratio, ratio), 1},
      {shapes.apply(ExprOp::real_less, ratio, real(n)), 1}};
  for (auto [row, value] : wanted) {
    shapes.symbol("d" + std::to_string(row.row), -100, 20000000);
    shapes.module.symbols.back()->is_derived = true;
    shapes.module.symbols.back()->derived = row.row;
  }
  shapes.input("x", DType::f32, {n});
  rt::Expected<rt::Binding> binding = shapes.bind({{8}});
  ASSERT_FALSE(binding.failed()) << binding.status().message();
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(binding->symbols[1 + i], wanted[i].second)
        << shapes.made->expressions().print(wanted[i].first.row);
}

TEST(Binder, PrintsExpressions) {
  Shapes shapes;
  Expr n = shapes.symbol("N", 1, 64), two = shapes.constant(2);
  Expr sum = shapes.apply(ExprOp::add, n, two);
  Expr nested = shapes.apply(ExprOp::mul, sum, two);
  Expr quotient = shapes.apply(ExprOp::floordiv, nested, shapes.apply(ExprOp::mul, n, two));
  // A DAG whose tree has 2^40 leaves prints in bounded time.
  Expr deep = n;
  for (int i = 0; i < 10; ++i)
    deep = shapes.apply(ExprOp::add, deep, deep);
  shapes.input("x", DType::f32, {n});
  ASSERT_FALSE(shapes.bind({{1}}).failed());
  const rt::Expressions &expressions = shapes.made->expressions();
  EXPECT_EQ(expressions.print(nested.row), "2*(N + 2)");
  EXPECT_EQ(expressions.print(quotient.row), "2*(N + 2) floordiv (2*N)");
  EXPECT_LT(expressions.print(deep.row).size(), 1000u);
}
