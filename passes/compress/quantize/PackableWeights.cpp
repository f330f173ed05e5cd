//===- PackableWeights.cpp - Weights that can be stored in few bits -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/PackableWeights.h"

#include "ir/analysis/FusionLegality.h"
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/dl/contraction/DLContraction.h"
#include "ir/kernel/Sides.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

/// Sums of fewer terms have few weights, and a scale for these takes as much again; so of a row of
/// a table.
static constexpr int64_t kFewestTerms = 16;

namespace {
/// Follows a weight to all that reads it.
class WeightReaders {
public:
  WeightReaders(PackableWeight &found, const LayerPatterns &kept, WeightDependence &weights)
      : found(found), kept(kept), weights(weights) {}

  /// `value` is the weight, or with `isTurned` its transpose.
  void follow(Value value, bool isTurned);

private:
  bool addProduct(OpOperand &use, bool isTurned);
  bool addTable(OpOperand &use, bool isTurned);
  void keepIfAsked(Operation *reader);
  void keep(const Twine &why) {
    if (found.whyKept.empty())
      found.whyKept = why.str();
  }

  PackableWeight &found;
  const LayerPatterns &kept;
  WeightDependence &weights;
};
} // namespace

/// The user or the estimate of gains may want this one product or look-up to stay.
void WeightReaders::keepIfAsked(Operation *reader) {
  if (kept.matches(reader))
    keep("--keep-f32 names it");
  if (auto slower = reader->getAttrOfType<StringAttr>(dl::kKeptByCost))
    keep(slower.getValue());
}

bool WeightReaders::addProduct(OpOperand &use, bool isTurned) {
  Operation *op = use.getOwner();
  // The first factor of a product is read as it is.
  auto matrix = use.getOperandNumber() == 1 ? findMatrix(op) : std::nullopt;
  if (!matrix || weights.dependsOnWeightsAlone(op->getOperand(0)))
    return false;
  auto ofX = dl::resultDimsOf(op, 0);
  if (ofX->empty() || ofX->back() >= 0)
    return false;
  bool isTransposed = matrix->isTransposed != isTurned;
  if (!found.products.empty() && isTransposed != found.isTransposed)
    keep("products sum along both of its dims");
  found.isTransposed = isTransposed;
  found.products.push_back(&use);
  keepIfAsked(op);
  return true;
}

bool WeightReaders::addTable(OpOperand &use, bool isTurned) {
  Operation *op = use.getOwner();
  if (isTurned)
    return false;
  auto select = dyn_cast<dl::IndexSelectOp>(op);
  bool isTable = (isa<dl::EmbeddingOp>(op) && use.getOperandNumber() == 1) ||
                 (isa<dl::IndexOp>(op) && use.getOperandNumber() == 0) ||
                 (select && select.getDim() == 0 && use.getOperandNumber() == 0);
  // Rows at places that are known at load are read then.
  if (!isTable || weights.dependsOnWeightsAlone(op->getResult(0)))
    return false;
  found.tables.push_back(&use);
  keepIfAsked(op);
  return true;
}

void WeightReaders::follow(Value value, bool isTurned) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (auto permute = dyn_cast<dl::PermuteOp>(op);
        permute && permute.getDims() == ArrayRef<int64_t>{1, 0})
      follow(permute, !isTurned);
    else if (!addProduct(use, isTurned) && !addTable(use, isTurned))
      keep("also read by " + op->getName().stripDialect());
  }
}

SmallVector<OpOperand *> PackableWeight::readers() const {
  SmallVector<OpOperand *> all(products);
  all.append(tables);
  llvm::sort(all, [](OpOperand *a, OpOperand *b) {
    return a->getOwner() != b->getOwner() && a->getOwner()->isBeforeInBlock(b->getOwner());
  });
  return all;
}

WeightFormat PackableWeight::formatOf(WeightFormat all) const {
  auto weight = op;
  auto bits = weight->getAttrOfType<IntegerAttr>(kStoredBits);
  // No sum evens out the errors of a row that is looked up: 4 bits are too few for what all layers
  // read.
  const bool isWide = (bits && bits.getInt() == 8) || (products.empty() && all.bits < 8);
  return isWide ? WeightFormat{.bits = 8, .isSymmetric = true} : all;
}

std::vector<PackableWeight> findPackableWeights(func::FuncOp function, const LayerPatterns &kept) {
  std::vector<PackableWeight> all;
  WeightDependence weights;
  for (auto op : function.front().getOps<dl::WeightOp>()) {
    auto type = cast<RankedTensorType>(op.getY().getType());
    if (type.getRank() != 2 || !type.getElementType().isF32())
      continue;
    PackableWeight found{op, false, {}, {}, {}};
    WeightReaders(found, kept, weights).follow(op.getY(), /*isTurned=*/false);
    if (found.products.empty() && found.tables.empty())
      continue;
    if (found.isTransposed && !found.tables.empty() && found.whyKept.empty())
      found.whyKept = "products sum along its dim 0, and look-ups take rows of it";
    if (found.columns() < kFewestTerms && found.whyKept.empty())
      found.whyKept =
          (found.products.empty() ? "a row has " : "a sum has ") + std::to_string(found.columns()) +
          (found.products.empty() ? " numbers" : " terms") + ", too few to pay for a scale";
    all.push_back(std::move(found));
  }
  return all;
}

SmallVector<Value> activationsOf(ArrayRef<PackableWeight> weights) {
  llvm::SetVector<Value> activations;
  for (const PackableWeight &weight : weights)
    for (size_t product = 0; weight.whyKept.empty() && product < weight.products.size(); ++product)
      activations.insert(weight.getActivation(product));
  return activations.takeVector();
}

} // namespace dlc
