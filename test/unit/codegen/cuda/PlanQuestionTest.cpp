//===- PlanQuestionTest.cpp - Kernels asked about where no GPU code can be ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The context has no gpu dialect: no question can begin a function.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/plan/TargetModule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

struct PlanQuestionTest : testing::Test {
  PlanQuestionTest() {
    context.loadDialect<dl::DLDialect, dlx::DLXDialect, arith::ArithDialect, memref::MemRefDialect,
                        scf::SCFDialect>();
    module = parseSourceString<ModuleOp>(R"(
      module attributes {dl.symbols = [#dl.symbol<"N", 9, 4096>]} {
        module @cuda {
          dlx.kernel @k attributes {kind = #dlx.kind<contraction>} {
          ^bb0(%x: tensor<?x64xf16, #dl.t<[s0, 64]>>, %w: tensor<32x64xf16>):
            %0 = dl.linear %x, %w : (tensor<?x64xf16, #dl.t<[s0, 64]>>, tensor<32x64xf16>)
              -> tensor<?x32xf16, #dl.t<[s0, 32]>>
            dl.yield %0 : tensor<?x32xf16, #dl.t<[s0, 32]>>
          }
        }
      })",
                                         &context);
    module->walk([&](dlx::KernelOp op) { kernel = op; });
    symbols = symbolsOf(kernel->getParentOfType<ModuleOp>());
  }
  ~PlanQuestionTest() override { EXPECT_FALSE(context.getLoadedDialect("gpu")); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  dlx::KernelOp kernel;
  SmallVector<dl::Range> symbols;
};

TEST_F(PlanQuestionTest, ContractionOfAView) {
  KernelView view(kernel, symbols);
  auto found = Contraction::of(view);
  ASSERT_TRUE(found);
  const Contraction &c = *found;
  EXPECT_EQ(view.largest(c.m.extent), 4096);
  EXPECT_EQ(dl::asConstant(c.n.extent), 32);
  EXPECT_EQ(dl::asConstant(c.depth.extent), 64);
  EXPECT_TRUE(c.batch.groups.empty());
  EXPECT_TRUE(c.liesAlongReduction(0) && c.liesAlongReduction(1));
  EXPECT_FALSE(c.storesAlongM());

  KernelView few(kernel, symbols, ShapePart{c.m.extent, {9, 16}});
  EXPECT_EQ(few.largest(c.m.extent), 16);
}

TEST_F(PlanQuestionTest, SchedulesAnswer) {
  PlanQuestion question(kernel, symbols);
  std::vector<std::string> names;
  for (const Schedule *schedule : schedules())
    if (dlx::PlanAttr plan = schedule->match(question)) {
      EXPECT_GT(plan.getNs(), 0);
      names.push_back(plan.getSchedule().str());
    }
  EXPECT_TRUE(llvm::is_contained(names, "tensor_cores"));
  EXPECT_TRUE(llvm::is_contained(names, "wgmma"));
}

} // namespace
