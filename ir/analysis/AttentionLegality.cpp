//===- AttentionLegality.cpp - Which attention a target has a kernel for ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/AttentionLegality.h"

#include "ir/dl/composite/AttentionParts.h"

using namespace mlir;

namespace dlc {

static bool isShortFloat(Value value) {
  Type type = getElementTypeOrSelf(value);
  return type.isF32() || type.isF16() || type.isBF16();
}

static bool isHeadWidth(AffineExpr width) {
  auto elements = dl::asConstant(width);
  return elements && *elements >= 1 && *elements <= kMostHeadWidth;
}

bool hasAttentionKernel(dl::AttentionOp op, StringRef target) {
  if (target != "cuda")
    return false;
  dl::AttentionParts parts;
  [[maybe_unused]] std::string wrong = dl::readParts(op.getBodyBlock(), parts);
  assert(wrong.empty() && "the verifier has seen to it");
  Value query = parts.operandOf(parts.scoresOp, parts.queryTerm),
        key = parts.operandOf(parts.scoresOp, parts.keyTerm),
        value = parts.operandOf(parts.sumOp, parts.valueTerm);
  Type element = getElementTypeOrSelf(query);
  if (!isShortFloat(query) || !isShortFloat(parts.scores) || !isShortFloat(parts.softmax) ||
      getElementTypeOrSelf(key) != element || getElementTypeOrSelf(value) != element)
    return false;
  LoopNest product = parts.scoresOp.getLoopNest(), sum = parts.sumOp.getLoopNest();
  AffineExpr width = getAffineConstantExpr(1, op.getContext());
  for (auto [dim, extent] : llvm::enumerate(sum.parallel))
    if (!sum.terms[parts.weightsTerm].map.isFunctionOfDim(dim) &&
        sum.terms[parts.valueTerm].map.isFunctionOfDim(dim))
      width = width * extent;
  return isHeadWidth(dl::normalize(width)) &&
         isHeadWidth(dl::product(product.reduction, op.getContext()));
}

} // namespace dlc
