//===- UnpackedWeights.cpp - Weights that are stored in few bits --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/UnpackedWeights.h"

#include "ir/analysis/CostModel.h"
#include "ir/dl/DLOps.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

/// Ops of one element's arithmetic, each counted wherever it is read, and what they may cost: a
/// product computes them again for each block of its rows.
static constexpr int64_t kMostOps = 32, kMostCost = 16;

namespace {
/// The maps from stored weights to a value, as a tree.
struct Unpacking {
  WeightDependence &weights;
  int64_t ops = 0, cost = 0;
  llvm::SetVector<Value> leaves;

  bool visit(Value value);
};
} // namespace

/// The op computes each element from elements of its operands alone, none of them at a computed
/// place.
static bool isPlainMap(Operation *op) {
  auto loops = dyn_cast_or_null<LoopNestOpInterface>(op);
  if (!loops || op->getNumResults() != 1 || !isFusible(op) || op->hasAttr("dl.no_fuse"))
    return false;
  LoopNest nest = loops.getLoopNest();
  return nest.isMap() && !nest.hasComputed();
}

bool Unpacking::visit(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isPlainMap(op)) {
    leaves.insert(value);
    return true;
  }
  // Its numbers and places lie in memory as kernels multiply them.
  if (isa<dl::ExpandTwoOfFourOp>(op)) {
    leaves.insert_range(op->getOperands());
    return true;
  }
  cost += resultCost(cast<LoopNestOpInterface>(op));
  if (++ops > kMostOps || cost > kMostCost)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return visit(operand); });
}

/// Static: a value that depends on weights alone has no symbols.
static int64_t bytesOf(Value value) {
  return dl::asConstant(storedBytes(cast<RankedTensorType>(value.getType())))
      .value_or(INT64_MAX / 4);
}

static bool isSmallInteger(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  return type && type.getWidth() <= 8;
}

bool isUnpacked(Value value, WeightDependence &weights) {
  if (!isa<FloatType>(getElementTypeOrSelf(value.getType())) ||
      !isPlainMap(value.getDefiningOp()) || !weights.dependsOnWeightsAlone(value))
    return false;
  if (value.getDefiningOp<dl::ExpandTwoOfFourOp>())
    return true;
  Unpacking unpacking{weights, 0, 0, {}};
  if (!unpacking.visit(value))
    return false;
  int64_t stored = 0, integers = 0;
  for (Value leaf : unpacking.leaves) {
    stored += bytesOf(leaf);
    integers += isSmallInteger(leaf) ? bytesOf(leaf) : 0;
  }
  return stored > 0 && stored * 4 <= bytesOf(value) * 3 && integers * 2 > stored;
}

bool mayUnpack(OpOperand &use) {
  auto reader = dyn_cast<LoopNestOpInterface>(use.getOwner());
  if (!reader || !isFusible(reader) || reader->hasAttr("dl.no_fuse"))
    return false;
  LoopNest nest = reader.getLoopNest();
  auto reads = [&](const Access &access) { return access.operand == use.getOperandNumber(); };
  if (nest.isProduct)
    return !nest.isWindow() && nest.terms.size() == 2 && reads(nest.terms[1]) &&
           !nest.terms[1].checked && !nest.terms[1].isComputed();
  return nest.isMap() && llvm::count_if(nest.results, reads) == 1 &&
         llvm::find_if(nest.results, reads)->isComputed();
}

/// A copy of the tree that ends in `value`, before the builder's place.
static Value copyOf(Value value, OpBuilder &builder, SmallVectorImpl<Operation *> &copies) {
  Operation *op = value.getDefiningOp();
  if (!isPlainMap(op))
    return value;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<dl::ExpandTwoOfFourOp>(op) ? operand : copyOf(operand, builder, copies));
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copies.push_back(copy);
  return copy->getResult(0);
}

SmallVector<Operation *> unpackFor(OpOperand &use, WeightDependence &weights) {
  SmallVector<Operation *> copies;
  OpBuilder builder(use.getOwner());
  use.set(copyOf(use.get(), builder, copies));
  for (Operation *copy : copies)
    weights.forget(copy);
  return copies;
}

} // namespace dlc
