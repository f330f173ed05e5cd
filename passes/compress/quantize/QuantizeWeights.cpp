//===- QuantizeWeights.cpp - Weights in few bits, unpacked by what reads them -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/Passes.h"
#include "passes/compress/quantize/PackableWeights.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "quantize-weights"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_QUANTIZEWEIGHTS
#include "passes/Passes.h.inc"

namespace {

class QuantizeWeights : public impl::QuantizeWeightsBase<QuantizeWeights> {
public:
  using QuantizeWeightsBase::QuantizeWeightsBase;

private:
  void runOnOperation() override;
  WeightFormat format() const { return {bits, group, symmetric, perTensor}; }
  void pack(const PackableWeight &weight);
  Value unpacked(const PackableWeight &weight, dl::Builder &builder) const;
};

} // namespace

/// The numbers that the few bits stand for, f32[N, K].
Value QuantizeWeights::unpacked(const PackableWeight &weight, dl::Builder &builder) const {
  int64_t rows = weight.rows(), columns = weight.columns();
  WeightFormat format = weight.formatOf(this->format());
  const int64_t gridRows = format.isPerTensor ? 1 : rows, groups = format.groupsOf(columns);
  Type f32 = builder.getF32Type(), u8 = builder.getIntegerType(8, /*isSigned=*/false);
  Type byte = format.lowest() < 0 ? builder.getI8Type() : u8;
  Value stored = storedPart(weight.op, kCodesSuffix,
                            {rows, format.bits == 8 ? columns : (columns + 1) / 2}, byte);
  Value scale = storedPart(weight.op, kScaleSuffix, {gridRows, groups}, f32), zero;
  if (!format.isSymmetric)
    zero = storedPart(weight.op, kZeroSuffix, {gridRows, groups}, u8);
  auto whole = [&](Value x) { return builder.slice(x, 1, 0, columns); };
  Value codes = stored;
  if (format.bits == 4) {
    Value low = builder.make<dl::BitwiseAndOp>(stored, builder.fullLike(stored, 15)),
          high = builder.make<dl::FloorDivideOp>(stored, builder.fullLike(stored, 16));
    codes = whole(builder.make<dl::CatOp>(ValueRange{low, high}, uint64_t(1)));
  }
  auto ofGroups = [&](Value x) -> Value {
    if (format.group == 0)
      return builder.broadcast(x, dl::dimsOf(codes));
    return whole(builder.make<dl::RepeatInterleaveOp>(x, uint64_t(format.group), uint64_t(1)));
  };
  Value steps = builder.cast(codes, f32);
  if (zero)
    steps = builder.make<dl::SubOp>(steps, builder.cast(ofGroups(zero), f32));
  else if (format.symmetricZero() != 0)
    steps = builder.make<dl::SubOp>(steps, builder.fullLike(steps, format.symmetricZero()));
  return builder.make<dl::MulOp>(steps, ofGroups(scale));
}

void QuantizeWeights::pack(const PackableWeight &weight) {
  // Where the first of them is read, and as a part of that layer.
  Operation *named =
      (weight.products.empty() ? weight.tables : weight.products).front()->getOwner();
  dl::Builder builder(named->getLoc(), &getContext());
  builder.setInsertionPoint(weight.readers().front()->getOwner());
  Value numbers = unpacked(weight, builder);
  for (OpOperand *table : weight.tables)
    table->set(numbers);
  for (OpOperand *use : weight.products) {
    Operation *op = use->getOwner();
    // The product reads [N, K]: a matmul, [K, N], becomes a linear.
    bool isTurned = isa<dl::MatmulOp>(op);
    if (auto contract = dyn_cast<dl::ContractOp>(op)) {
      SmallVector<int64_t> loops(contract.getOtherLoops());
      if (loops[0] >= static_cast<int64_t>(contract.getRank()))
        std::swap(loops[0], loops[1]);
      contract.setOtherLoops(loops);
    }
    if (!isTurned) {
      use->set(numbers);
      continue;
    }
    dl::Builder before(op);
    op->getResult(0).replaceAllUsesWith(
        before.make<dl::LinearOp>(op->getOperand(0), numbers, Value()));
    op->erase();
  }
  ++numPacked;
}

void QuantizeWeights::runOnOperation() {
  func::FuncOp function = getOperation();
  if (bits != 4 && bits != 8) {
    function.emitError("bits is 4 or 8, got ") << bits.getValue();
    return signalPassFailure();
  }
  if (group < 0 || (perTensor && group > 0)) {
    function.emitError("group is 0 or more, and 0 with per-tensor, got ") << group.getValue();
    return signalPassFailure();
  }
  auto kept = LayerPatterns::keptByPass(function, *keepF32);
  if (failed(kept))
    return signalPassFailure();
  if (function.isExternal())
    return;
  for (const PackableWeight &weight : findPackableWeights(function, *kept)) {
    for (OpOperand *use : weight.readers())
      use->getOwner()->removeAttr(dl::kKeptByCost);
    if (!weight.whyKept.empty())
      ++numKept;
    else
      pack(weight);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace dlc
