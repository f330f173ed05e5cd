//===- SemaTest.cpp - The dims of models --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

#include "ir/dl/base/DLTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace dlc;
using namespace dlc::frontend;

namespace {

TEST_F(Frontend, namesDimsByTheModelThatHasThem) {
  auto source = [](StringRef dim, StringRef result) {
    return ("dl 1\ndim " + dim + " = 2..16\nmodel M {\nforward(x: f32[" + dim + ",3]) -> (y: f32[" +
            result + ",3]) {\ny = relu(x)\n}\n}")
        .str();
  };
  mlir::MLIRContext context;
  context.printOpOnDiagnostic(false);
  Listener listener(context);
  auto import = [&](StringRef dim) {
    write("t.dl", source(dim, dim));
    auto module = importFile(path("t.dl"), {}, context);
    EXPECT_TRUE(module) << listener.text;
    return module;
  };
  auto first = import("N"), second = import("rows");
  auto input = [](mlir::ModuleOp module) {
    auto function = *module.getOps<mlir::func::FuncOp>().begin();
    return dl::text(function.getArgument(0));
  };
  EXPECT_EQ(input(*first), "f32[N,3]");
  EXPECT_EQ(input(*second), "f32[rows,3]");

  // A text that is refused in between has its own, too, those of its inputs before there is an op.
  auto refused = [&](StringRef text, const ImportOptions &options) {
    write("t.dl", text);
    EXPECT_FALSE(importFile(path("t.dl"), options, context));
    return std::exchange(listener.text, "");
  };
  EXPECT_EQ(refused(source("T", "2*T"), {}),
            "5:1: error: output 'y' is f32[T,3], declared as f32[T*2,3]; change one of them\n"
            "4:26: note: declared here\n");
  ImportOptions shapes;
  shapes.shapes.only = "x:4";
  EXPECT_EQ(refused(source("T", "T"), shapes),
            "4:9: error: --shapes: 'x' has 2 dims, got 1; it is f32[T,3]\n");
  EXPECT_EQ(input(*first), "f32[N,3]");
}

} // namespace
