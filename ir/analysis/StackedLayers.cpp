//===- StackedLayers.cpp - Recurrences whose steps run in waves ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
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

std::string whyNotInWaves(RecurrentOpInterface above) {
  RecurrentOpInterface below = layerBelow(above);
  dl::LinearOp product = productOfGates(above);
  Recurrence first = below.getRecurrence(), second = above.getRecurrence();
  if (below->getName() != above->getName())
    return "the layer below is of another kind";
  if (first.units != second.units || first.projection || second.projection)
    return "steps run in waves with those of the layer below where both have as many units, and no "
           "projection";
  if (first.reverse != second.reverse)
    return "the layer below goes the other way along time";
  auto weight = cast<RankedTensorType>(product.getWeight().getType());
  auto lengthsOf = [](RecurrentOpInterface op, const Recurrence &r) {
    return r.lengths ? op->getOperand(*r.lengths) : Value();
  };
  if (lengthsOf(below, first) != lengthsOf(above, second))
    return "the layer below has other lengths";
  if (first.steps != second.steps || first.rows != second.rows ||
      first.rowsFirst != second.rowsFirst || first.elementType != second.elementType ||
      weight.getElementType() != first.elementType)
    return "the layer below has other dims or another type";
  if (!dl::getLayout(weight).isRowMajor())
    return "the weight of the product between the layers does not lie row by row";
  return "";
}

bool areStacked(ArrayRef<RecurrentOpInterface> ops) {
  return ops.size() > 1 && productOfGates(ops[1]) != nullptr;
}

} // namespace dlc
