//===- AttentionLimits.cpp - Which attentions kernels compute -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/AttentionLimits.h"

#include "ir/kernel/Sides.h"

using namespace mlir;

namespace dlc::codegen {

static bool isShortFloat(Value value) {
  Type type = getElementTypeOrSelf(value);
  return type.isF32() || type.isF16() || type.isBF16();
}

static bool isHeadWidth(AffineExpr width) {
  auto elements = dl::asConstant(width);
  return elements && *elements >= 1 && *elements <= kMostHeadWidth;
}

std::optional<AttentionDims> dimsOfAttention(const dl::AttentionParts &parts, bool isCausal) {
  LoopNestOpInterface scoresOp = parts.scoresOp, sumOp = parts.sumOp;
  LoopNest product = scoresOp.getLoopNest(), sum = sumOp.getLoopNest();
  Sides sides = findSides(parts);
  ArrayRef<AffineExpr> weights = sum.terms[parts.weightsTerm].map.getResults();
  std::optional<unsigned> row, column;
  auto isLonger = [&](unsigned dim) {
    auto own = dl::asConstant(sum.parallel[dim]),
         longest = row ? dl::asConstant(sum.parallel[*row]) : 0;
    return longest && (!own || *own >= *longest);
  };
  for (unsigned dim : sides.columns.set_bits()) {
    if (column && dl::asConstant(sum.parallel[*column]) != 1 &&
        dl::asConstant(sum.parallel[dim]) != 1)
      return std::nullopt;
    if (!column || dl::asConstant(sum.parallel[dim]) != 1)
      column = dim;
  }
  for (unsigned dim : sides.rows.set_bits())
    if (isCausal ? weights[weights.size() - 2].isFunctionOfDim(dim) : isLonger(dim))
      row = dim;
  if (!row || !column || product.reduction.size() != 1)
    return std::nullopt;
  return AttentionDims{*row, *column};
}

std::string whyBeyondLimits(dl::AttentionOp op) {
  dl::AttentionParts parts;
  [[maybe_unused]] std::string wrong = dl::readParts(op.getBodyBlock(), parts);
  assert(wrong.empty() && "the verifier has seen to it");
  Value query = parts.operandOf(parts.scoresOp, parts.queryTerm),
        key = parts.operandOf(parts.scoresOp, parts.keyTerm),
        value = parts.operandOf(parts.sumOp, parts.valueTerm);
  Type element = getElementTypeOrSelf(query);
  if (!isShortFloat(query) || !isShortFloat(parts.scores) || !isShortFloat(parts.softmax) ||
      getElementTypeOrSelf(key) != element || getElementTypeOrSelf(value) != element)
    return "one kernel needs query, key and value of one type, and that, the scores and the "
           "weights in f32, f16 or bf16";
  LoopNest product = parts.scoresOp.getLoopNest(), sum = parts.sumOp.getLoopNest();
  AffineExpr width = getAffineConstantExpr(1, op.getContext());
  for (unsigned dim : findSides(parts).columns.set_bits())
    width = width * sum.parallel[dim];
  if (!isHeadWidth(dl::normalize(width)) ||
      !isHeadWidth(dl::product(product.reduction, op.getContext())))
    return "one kernel needs heads of 1 to " + std::to_string(kMostHeadWidth) +
           " elements, known when the model is compiled";
  return "";
}

} // namespace dlc::codegen
