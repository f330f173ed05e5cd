//===- SymbolNamesTest.cpp - The names of dims in messages --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dlc;

namespace {

/// Modules of one context that name the same symbol otherwise.
struct SymbolNames : testing::Test {
  SymbolNames()
      : handler(&context, [this](Diagnostic &diagnostic) { errors += diagnostic.str() + "\n"; }) {
    context.loadDialect<dl::DLDialect, func::FuncDialect>();
    context.printOpOnDiagnostic(false);
  }
  /// A function of f32[name,3] and f32[name + 1,3] with these statements, not verified yet.
  OwningOpRef<ModuleOp> module(StringRef name, StringRef statements) {
    std::string source =
        ("module attributes {dl.symbols = [#dl.symbol<\"" + name +
         "\", 2, 9>]} {\nfunc.func @f(%x: tensor<?x3xf32, #dl.t<[s0, 3]>>, %other: "
         "tensor<?x3xf32, #dl.t<[s0 + 1, 3]>>) {\n" +
         statements + "\nreturn\n}\n}")
            .str();
    auto parsed = parseSourceString<ModuleOp>(source, ParserConfig(&context, false));
    EXPECT_TRUE(parsed) << errors;
    return parsed;
  }
  static Block &body(ModuleOp module) {
    return (*module.getOps<func::FuncOp>().begin()).getBody().front();
  }
  std::string errorsOf(ModuleOp module) {
    EXPECT_TRUE(failed(verify(module)));
    return std::exchange(errors, "");
  }

  MLIRContext context;
  std::string errors;
  ScopedDiagnosticHandler handler;
};

TEST_F(SymbolNames, EachModuleHasItsOwnInMessagesOfVerifiers) {
  StringRef select = "%y = dl.select %x {dim = 0 : i64, index = 4 : i64} : "
                     "(tensor<?x3xf32, #dl.t<[s0, 3]>>) -> tensor<3xf32>";
  auto first = module("N", select), second = module("rows", select);
  auto message = [](const std::string &name) {
    return "'dl.select' op takes index 4 of dim 0 of f32[" + name +
           ",3], which it may not have: " + name + " is 2 or more; raise the smallest value of " +
           name + " to 5: dim " + name + " = 5..9\n";
  };
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(errorsOf(*first), message("N"));
    EXPECT_EQ(errorsOf(*second), message("rows"));
  }
}

TEST_F(SymbolNames, AnOpWithoutOperandsHasThoseOfItsModule) {
  StringRef arange = "%y = dl.arange {start = affine_map<()[s0] -> (s0)>, end = affine_map<()[s0] "
                     "-> (s0 - 5)>} : () -> tensor<0xi64>";
  auto first = module("N", arange), second = module("rows", arange);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(errorsOf(*first), "'dl.arange' cannot go from N to N - 5 in steps of 1\n");
    EXPECT_EQ(errorsOf(*second), "'dl.arange' cannot go from rows to rows - 5 in steps of 1\n");
  }
}

TEST_F(SymbolNames, InferenceHasThoseOfTheOperands) {
  auto first = module("N", ""), second = module("rows", "");
  auto elementwise = [&](ModuleOp of) {
    SmallVector<Type> types;
    EXPECT_TRUE(failed(
        dl::inferElementwise("add", UnknownLoc::get(&context), body(of).getArguments(), types)));
    return std::exchange(errors, "");
  };
  auto product = [&](ModuleOp of) {
    SmallVector<Type> types;
    EXPECT_TRUE(failed(dl::MatmulOp::inferReturnTypes(
        &context, UnknownLoc::get(&context), body(of).getArguments(), {}, nullptr, {}, types)));
    return std::exchange(errors, "");
  };
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(elementwise(*first),
              "'add' needs operands of one shape and dtype, got f32[N,3] and f32[N + 1,3]\n");
    EXPECT_EQ(elementwise(*second),
              "'add' needs operands of one shape and dtype, got f32[rows,3] and f32[rows + 1,3]\n");
    EXPECT_EQ(product(*first),
              "'dl.matmul' needs as many columns of x as rows of other, got 3 and N + 1\n");
    EXPECT_EQ(product(*second),
              "'dl.matmul' needs as many columns of x as rows of other, got 3 and rows + 1\n");
  }
}

TEST_F(SymbolNames, TheNearestModuleThatHasSomeCounts) {
  auto outer = module("N", "");
  OpBuilder builder(outer->getBodyRegion());
  auto inner = ModuleOp::create(builder, UnknownLoc::get(&context));
  AffineExpr dim = getAffineSymbolExpr(0, &context);
  EXPECT_EQ(dl::text(dim, inner), "N");
  inner->setAttr("dl.symbols", builder.getArrayAttr(dl::SymbolAttr::get(&context, "rows", 1, 2)));
  EXPECT_EQ(dl::text(dim, inner), "rows");
  EXPECT_EQ(dl::text(dim, *outer), "N");
  EXPECT_EQ(dl::text(getAffineSymbolExpr(1, &context), *outer), "s1") << "which has no name";
  EXPECT_EQ(dl::text(body(*outer).getArgument(0)), "f32[N,3]");
  EXPECT_EQ(dl::text(dim, {}), "s0") << "by no module";
  Block detached;
  Value alone =
      detached.addArgument(body(*outer).getArgument(0).getType(), builder.getUnknownLoc());
  EXPECT_EQ(dl::text(alone), "f32[s0,3]");
}

} // namespace
