//===- MarkGatedMlp.cpp - Name the products of a gated MLP --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/Passes.h"
#include "passes/raise/ProductOperand.h"
#include "passes/raise/WrittenArithmetic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "mark-gated-mlp"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_MARKGATEDMLP
#include "passes/Passes.h.inc"

namespace {

class MarkGatedMlp : public impl::MarkGatedMlpBase<MarkGatedMlp> {
  void runOnOperation() override;

  bool mark(dl::MulOp gated);
  LoopNestOpInterface productBefore(Value value, Operation *&reader, Covered &covered);
  Value activationOf(LoopNestOpInterface product);

  WeightDependence weights;
};

} // namespace

/// Returns the operand of a product that is not its weights; null where `product` is no product of
/// weights.
Value MarkGatedMlp::activationOf(LoopNestOpInterface product) {
  LoopNest nest = product.getLoopNest();
  bool isSum = nest.isProduct && nest.terms.size() == 2 && !nest.isWindow() &&
               nest.reduction.size() == 1 &&
               isa<FloatType>(getElementTypeOrSelf(product->getResult(0)));
  if (!isSum)
    return {};
  for (unsigned term : {0u, 1u}) {
    Value x = product->getOperand(nest.terms[term].operand),
          weight = product->getOperand(nest.terms[1 - term].operand);
    if (weights.dependsOnWeightsAlone(weight) && !weights.dependsOnWeightsAlone(x))
      return x;
  }
  return {};
}

/// The product with weights that `value` is a part of, with a bias or without; null where it is
/// none. Covers the ops on the way.
LoopNestOpInterface MarkGatedMlp::productBefore(Value value, Operation *&part, Covered &covered) {
  part = nullptr;
  while (Operation *op = value.getDefiningOp()) {
    covered.add(op);
    if (auto product = dyn_cast<LoopNestOpInterface>(op); product && activationOf(product))
      return product;
    if (isa<dl::SliceOp, dl::PartOp>(op) && !part) { // of gate and up as one product
      part = op;
      value = op->getOperand(0);
    } else if (auto sum = dyn_cast<dl::AddOp>(op)) {
      if (weights.dependsOnWeightsAlone(sum.getOther()))
        value = sum.getX();
      else if (weights.dependsOnWeightsAlone(sum.getX()))
        value = sum.getOther();
      else
        return {};
    } else if (isa<dl::CastOp, dl::ReshapeOp>(op)) {
      value = op->getOperand(0);
    } else {
      return {};
    }
  }
  return {};
}

bool MarkGatedMlp::mark(dl::MulOp gated) {
  for (auto [gate, up] :
       {std::pair(gated.getX(), gated.getOther()), std::pair(gated.getOther(), gated.getX())}) {
    Operation *activation = gate.getDefiningOp();
    if (!isa_and_nonnull<dl::SiluOp, dl::GeluOp>(activation))
      continue;
    Covered covered(gated);
    covered.add(activation);
    Operation *gatePart, *upPart;
    auto gateProduct = productBefore(activation->getOperand(0), gatePart, covered),
         upProduct = productBefore(up, upPart, covered);
    if (!gateProduct || !upProduct || activationOf(gateProduct) != activationOf(upProduct) ||
        (gateProduct == upProduct) != (gatePart && upPart) || !covered.isClosed())
      continue;
    // The projection back, where nothing else reads the gated values.
    if (gated->hasOneUse())
      if (auto down = dyn_cast<LoopNestOpInterface>(*gated->user_begin());
          down && activationOf(down) == gated.getResult())
        covered.add(down);
    for (Operation *op : covered.inOrder())
      op->setAttr(dl::kRole, StringAttr::get(&getContext(), "gated_mlp"));
    return true;
  }
  return false;
}

void MarkGatedMlp::runOnOperation() {
  weights = {};
  getOperation().walk([&](dl::MulOp op) { numMarked += mark(op); });
}

} // namespace dlc
