//===- ScaleRange.cpp - Which scales may become part of weights ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/structure/ScaleRange.h"

#include "ir/dl/DLOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

/// Returns the magnitudes of what `op` holds itself, if they are not of scales.
static std::optional<Magnitudes> ownMagnitudes(Operation *op) {
  if (auto noted = op->getAttrOfType<DenseF64ArrayAttr>(kMagnitudes); noted && noted.size() == 2)
    return Magnitudes{noted[0], noted[1]};
  auto full = dyn_cast<dl::FullOp>(op);
  auto number = full ? dyn_cast<FloatAttr>(full.getFill()) : FloatAttr();
  if (!number)
    return std::nullopt;
  Magnitudes own = Magnitudes::of(number.getValueAsDouble());
  return own.areOfScales() ? std::nullopt : std::optional(own);
}

std::optional<Magnitudes> unusualMagnitudes(Value value) {
  std::optional<Magnitudes> found;
  llvm::SmallSetVector<Operation *, 8> reached;
  auto reach = [&](Value from) {
    if (Operation *op = from.getDefiningOp())
      reached.insert(op);
  };
  reach(value);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next];
    if (auto own = ownMagnitudes(op))
      found = found ? found->with(*own) : own;
    // What a sum adds, such as eps, is seldom a scale, and keeps the sum away from 0.
    if (isa<dl::MulOp, dl::DivOp, dl::NegOp, dl::AbsOp, dl::SqrtOp, dl::RsqrtOp, dl::ReciprocalOp,
            dl::SquareOp, dl::CastOp, dl::CatOp, dl::ReshapeOp, dl::BroadcastOp, dl::PermuteOp,
            dl::TransposeOp, dl::SliceOp>(op))
      for (Value operand : op->getOperands())
        reach(operand);
  }
  return found;
}

} // namespace dlc
