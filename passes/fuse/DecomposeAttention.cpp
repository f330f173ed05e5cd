//===- DecomposeAttention.cpp - Attention that no kernel of the target computes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/AttentionLegality.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "decompose-attention"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_DECOMPOSEATTENTION
#include "passes/Passes.h.inc"

namespace {
class DecomposeAttention : public impl::DecomposeAttentionBase<DecomposeAttention> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    StringRef target = module.getName().value_or("");
    getOperation().walk([&](dl::AttentionOp op) {
      if (hasAttentionKernel(op, target))
        return;
      op->replaceAllUsesWith(decompose(op));
      op->erase();
      ++numDecomposed;
    });
  }
};
} // namespace

} // namespace dlc
