//===- DecomposeOps.cpp - Replace ops by the ops that define them ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "decompose-ops"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_DECOMPOSEOPS
#include "passes/Passes.h.inc"

namespace {
class DecomposeOps : public impl::DecomposeOpsBase<DecomposeOps> {
  void runOnOperation() override;
};
} // namespace

void DecomposeOps::runOnOperation() {
  if (getOperation().isExternal())
    return;
  Block &block = getOperation().front();
  for (auto position = block.begin(); position != block.end();) {
    auto op = dyn_cast<DecomposableOpInterface>(*position);
    // An attention stays one op: decompose-attention asks the target about it.
    if (!op || isa<dl::AttentionOp>(*position)) {
      ++position;
      continue;
    }
    // What the op becomes is looked at too.
    Operation *before = op->getPrevNode();
    op->replaceAllUsesWith(decompose(op));
    op->erase();
    position = before ? std::next(before->getIterator()) : block.begin();
    ++numDecomposed;
  }
}

} // namespace dlc
