//===- FoldConstants.cpp - Compute what is made of dl.full alone --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"
#include "passes/simplify/FoldedElement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

#define DEBUG_TYPE "fold-constants"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/Passes.h.inc"

namespace {
class FoldConstants : public impl::FoldConstantsBase<FoldConstants> {
  void runOnOperation() override;
};
} // namespace

/// The number of a dl.full; null for all else.
static TypedAttr fillOf(Value value) {
  auto full = value.getDefiningOp<dl::FullOp>();
  return full ? full.getFill() : TypedAttr();
}

void FoldConstants::runOnOperation() {
  getOperation().walk([&](LoopNestOpInterface op) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return;
    TypedAttr value = foldedElement(op, fillOf);
    if (!value)
      return;
    OpBuilder builder(op);
    auto full = dl::FullOp::create(builder, op.getLoc(), op->getResult(0).getType(), value);
    op->getResult(0).replaceAllUsesWith(full);
    op->erase();
    ++numFolded;
  });
}

} // namespace dlc
