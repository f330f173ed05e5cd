//===- DecomposeOps.cpp - Replace ops by the ops that define them -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "ir/interfaces/Decomposable.h"
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

/// What gives no elements is not computed: schedules need not know of dims of size 0 beside others.
static bool computesNothing(Operation *op) {
  return isa<LoopNestOpInterface>(op) && isMemoryEffectFree(op) &&
         !op->hasTrait<OpTrait::ConstantLike>() && givesNoElements(op);
}

void DecomposeOps::runOnOperation() {
  if (getOperation().isExternal())
    return;
  Block &block = getOperation().front();
  for (auto position = block.begin(); position != block.end();) {
    Operation *op = &*position;
    bool isNothing = computesNothing(op);
    // An attention stays one op: decompose-attention asks the target about it.
    if (!isNothing && (!isa<DecomposableOpInterface>(op) || isa<dl::AttentionOp>(op))) {
      ++position;
      continue;
    }
    // What the op becomes is looked at too.
    Operation *before = op->getPrevNode();
    op->replaceAllUsesWith(isNothing ? constantsWithoutElements(op)
                                     : decompose(cast<DecomposableOpInterface>(op)));
    op->erase();
    position = before ? std::next(before->getIterator()) : block.begin();
    ++numDecomposed;
  }
}

} // namespace dlc
