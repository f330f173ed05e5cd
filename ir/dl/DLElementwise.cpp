//===- DLElementwise.cpp - Types and folds of elementwise ops --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::dl {

ScalarKind kindOf(Value tensor) { return scalarKind(getElementTypeOrSelf(tensor.getType())); }

LogicalResult inferElementwise(StringRef op, std::optional<Location> location, TypeRange operands,
                               SmallVectorImpl<Type> &types) {
  auto first = cast<RankedTensorType>(operands.front());
  for (Type type : operands.drop_front())
    if (!sameShapeAndElement(type, first))
      return emitOptionalError(location, "'", op, "' needs operands of one shape and dtype, got ",
                               text(first), " and ", text(type));
  types.push_back(first);
  return success();
}

std::optional<int64_t> wrapDim(std::optional<Location> location, StringRef op, int64_t dim,
                               int64_t rank) {
  if (dim >= -rank && dim < rank)
    return dim < 0 ? dim + rank : dim;
  (void)emitOptionalError(location, "'", op, "' has dim ", dim, "; expected ", -rank, " to ",
                          rank - 1, " for a tensor of rank ", rank);
  return std::nullopt;
}

LogicalResult GeluOp::verify() {
  if (getApproximate() != "none" && getApproximate() != "tanh")
    return emitOpError("has approximate = '") << getApproximate() << "'; expected 'none' or 'tanh'";
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

} // namespace dlc::dl
