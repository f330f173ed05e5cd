//===- Sides.cpp - The roles of the loops in a product of two factors ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/kernel/Sides.h"

#include "ir/dl/composite/AttentionParts.h"
#include "ir/dl/contraction/DLContraction.h"

using namespace mlir;

namespace dlc {

static llvm::SmallBitVector loopsMoving(const LoopNest &nest, unsigned term) {
  llvm::SmallBitVector loops(nest.parallel.size());
  for (unsigned loop = 0; loop < nest.parallel.size(); ++loop)
    loops[loop] = nest.terms[term].map.isFunctionOfDim(loop);
  return loops;
}

std::optional<Sides> findSides(const LoopNest &nest, unsigned first) {
  if (!nest.isProduct || nest.terms.size() != 2)
    return std::nullopt;
  llvm::SmallBitVector ofFirst = loopsMoving(nest, first), ofSecond = loopsMoving(nest, 1 - first);
  Sides sides;
  sides.batch = ofFirst;
  sides.batch &= ofSecond;
  sides.columns = ofSecond;
  sides.columns.reset(ofFirst);
  sides.rows = ofSecond.flip();
  sides.repeated = sides.rows;
  sides.repeated.reset(ofFirst);
  sides.groups = sides.batch;
  for (AffineExpr index : nest.terms[first].map.getResults())
    if (auto loop = dyn_cast<AffineDimExpr>(index); loop && loop.getPosition() < ofFirst.size())
      sides.groups.reset(loop.getPosition());
  return sides;
}

Sides findSides(const dl::AttentionParts &parts) {
  LoopNestOpInterface scoresOp = parts.scoresOp, sumOp = parts.sumOp;
  LoopNest product = scoresOp.getLoopNest(), sum = sumOp.getLoopNest();
  Sides sides = *findSides(sum, parts.weightsTerm);
  sides.batch |= sides.repeated;
  sides.rows.reset(sides.repeated);
  sides.repeated.reset();
  // Of the rows of the weights, those that the key has as well are heads.
  for (auto [position, index] : llvm::enumerate(sum.terms[parts.weightsTerm].map.getResults()))
    for (unsigned loop = 0; loop < sum.parallel.size(); ++loop)
      if (sides.rows.test(loop) && index.isFunctionOfDim(loop) &&
          product.terms[parts.keyTerm].map.isFunctionOfDim(position)) {
        sides.rows.reset(loop);
        sides.batch.set(loop);
      }
  return sides;
}

std::optional<MatrixSides> findMatrix(Operation *product) {
  if (!isa<dl::LinearOp, dl::MatmulOp, dl::ContractOp>(product))
    return std::nullopt;
  auto dims = dl::resultDimsOf(product, 1);
  if (!dims || dims->size() != 2 || ((*dims)[0] < 0) == ((*dims)[1] < 0))
    return std::nullopt;
  return MatrixSides{static_cast<unsigned>(std::max((*dims)[0], (*dims)[1])), (*dims)[0] < 0};
}

} // namespace dlc
