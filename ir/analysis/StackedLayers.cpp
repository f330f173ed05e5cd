//===- StackedLayers.cpp - Recurrences whose steps run in waves ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/StackedLayers.h"

using namespace mlir;

namespace dlc {

dl::LinearOp productOfGates(RecurrentOpInterface above) {
  return above->getOperand(above.getRecurrence().gates).getDefiningOp<dl::LinearOp>();
}

RecurrentOpInterface layerBelow(RecurrentOpInterface above) {
  dl::LinearOp product = productOfGates(above);
  auto below =
      product ? product.getX().getDefiningOp<RecurrentOpInterface>() : RecurrentOpInterface();
  return below && below->getResult(0) == product.getX() ? below : RecurrentOpInterface();
}

std::optional<dl::NotFused> whyNotInWaves(RecurrentOpInterface above) {
  RecurrentOpInterface below = layerBelow(above);
  dl::LinearOp product = productOfGates(above);
  Recurrence first = below.getRecurrence(), second = above.getRecurrence();
  if (below->getName() != above->getName())
    return dl::NotFused::layer_kind;
  if (first.units != second.units || first.projection || second.projection)
    return dl::NotFused::layer_units;
  if (first.reverse != second.reverse)
    return dl::NotFused::layer_direction;
  auto weight = cast<RankedTensorType>(product.getWeight().getType());
  auto lengthsOf = [](RecurrentOpInterface op, const Recurrence &r) {
    return r.lengths ? op->getOperand(*r.lengths) : Value();
  };
  if (lengthsOf(below, first) != lengthsOf(above, second))
    return dl::NotFused::layer_lengths;
  if (first.steps != second.steps || first.rows != second.rows ||
      first.rowsFirst != second.rowsFirst || first.elementType != second.elementType ||
      weight.getElementType() != first.elementType)
    return dl::NotFused::layer_type;
  if (!dl::getLayout(weight).isRowMajor())
    return dl::NotFused::layer_weight;
  return std::nullopt;
}

bool areStacked(ArrayRef<RecurrentOpInterface> ops) {
  return ops.size() > 1 && productOfGates(ops[1]) != nullptr;
}

} // namespace dlc
