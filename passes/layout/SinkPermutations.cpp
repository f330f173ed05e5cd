//===- SinkPermutations.cpp - Permutations that move nothing after what reads them --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/view/ViewLayout.h"
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "sink-permutations"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_SINKPERMUTATIONS
#include "passes/Passes.h.inc"

namespace {

class SinkPermutations : public impl::SinkPermutationsBase<SinkPermutations> {
  void runOnOperation() override;

  bool isOfWeights(Value value);
  bool hasRoot(Value value);
  dl::PermuteOp permutationToSink(Operation &op);
  void sink(Operation &op, dl::PermuteOp permute);

  WeightDependence weights;
};

} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool isKeptOut(Operation *op) { return op->hasAttr("dl.no_fuse"); }

/// Returns true if `value` is made of weights alone, or of such a value that is broadcast to dims
/// of the inputs.
bool SinkPermutations::isOfWeights(Value value) {
  while (auto broadcast = value.getDefiningOp<dl::BroadcastOp>())
    value = broadcast.getX();
  return weights.dependsOnWeightsAlone(value);
}

/// Returns true if a kernel with a reduction, a window or a contraction computes `value`, perhaps
/// with elementwise ops after it, for one reader.
bool SinkPermutations::hasRoot(Value value) {
  while (value.hasOneUse()) {
    auto loops = value.getDefiningOp<LoopNestOpInterface>();
    if (!loops || isKeptOut(loops))
      return false;
    if (!loops->hasTrait<OpTrait::Elementwise>())
      return !loops.getLoopNest().isMap();
    // The operand that was computed last is the one that the kernel can have begun with; what is
    // made of weights is there before.
    Value last;
    for (Value operand : loops->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && !isOfWeights(operand))
        if (!last || last.getDefiningOp()->isBeforeInBlock(op))
          last = operand;
    if (!last)
      return false;
    value = last;
  }
  return false;
}

/// The permutation among the operands of `op` that may go after it; null if there is none.
dl::PermuteOp SinkPermutations::permutationToSink(Operation &op) {
  if (!op.hasTrait<OpTrait::Elementwise>() || op.getNumResults() != 1 || isKeptOut(&op))
    return {};
  for (Value operand : op.getOperands()) {
    auto permute = operand.getDefiningOp<dl::PermuteOp>();
    if (permute && permute->hasOneUse() && !isKeptOut(permute) && keepsBytes(permute) &&
        hasRoot(permute.getX()))
      return permute;
  }
  return {};
}

/// f(permute(x), y) -> permute(f(x, inverse(y))), where neither permutation moves a byte.
void SinkPermutations::sink(Operation &op, dl::PermuteOp permute) {
  DenseI64ArrayAttr order = permute.getDimsAttr();
  int64_t rank = typeOf(permute).getRank();
  SmallVector<int64_t> dims, inverse(rank);
  for (auto [to, from] : llvm::enumerate(permute.getDims())) {
    dims.push_back(from < 0 ? from + rank : from);
    inverse[dims.back()] = static_cast<int64_t>(to);
  }
  OpBuilder builder(&op);
  // `permute` is erased with its last use.
  auto typeBefore = [&](Value value) {
    dl::Dims old = dl::getDims(typeOf(value)), changed;
    for (int64_t dim : inverse)
      changed.push_back(old[dim]);
    return dl::makeTensor(changed, typeOf(value).getElementType());
  };
  auto inLayout = [](Value value, RankedTensorType type, std::optional<dl::Layout> layout) {
    value.setType(dl::withLayout(type, *layout)); // a permutation of a tensor without tiles has one
  };
  for (OpOperand &operand : op.getOpOperands()) {
    Value value = operand.get();
    auto other = value.getDefiningOp<dl::PermuteOp>();
    if (other && other.getDimsAttr() == order && keepsBytes(other)) {
      operand.set(other.getX());
      if (other->use_empty()) {
        weights.forget(other);
        other->erase();
      }
      continue;
    }
    auto turned = dl::PermuteOp::create(builder, op.getLoc(), typeBefore(value), value,
                                        builder.getDenseI64ArrayAttr(inverse));
    inLayout(turned, typeBefore(value), layoutOfResult(turned, dl::getLayout(typeOf(value))));
    operand.set(turned);
  }
  Value result = op.getResult(0);
  RankedTensorType type = typeOf(result);
  builder.setInsertionPointAfter(&op);
  auto moved =
      dl::PermuteOp::create(builder, op.getLoc(), type, result, builder.getDenseI64ArrayAttr(dims));
  inLayout(result, typeBefore(result), layoutOfOperand(moved, dl::getLayout(type)));
  result.replaceAllUsesExcept(moved, moved);
}

void SinkPermutations::runOnOperation() {
  weights = {};
  for (Operation &op : llvm::make_early_inc_range(getOperation().front())) {
    dl::PermuteOp permute = permutationToSink(op);
    if (!permute)
      continue;
    sink(op, permute);
    ++numSunk;
  }
}

} // namespace dlc
