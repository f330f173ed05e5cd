//===- WideRows.cpp - Rows of the first operand, widened in scratch memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element of the first operand is multiplied with the columns of all panels at hand. Where it is
// stored narrower than it is multiplied, whole vectors of a block's rows are widened before that:
// u8 less its zero point to i16, f16 and bf16 to f32. Then one load gives an element to all lanes.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/ContractionSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Bytes of a row that lie in scratch memory at a time: a block of such rows stays in the first
/// cache.
static constexpr int64_t kWideRowBytes = 1024;

Type ContractionSchedule::wideType() const { return neighbours == 1 ? accType : neighbourType(); }

bool ContractionSchedule::isNarrowFloat(Type elementType) const {
  return accType.isF32() && (elementType.isF16() || elementType.isBF16());
}

int64_t ContractionSchedule::wideRowSteps() const {
  return kWideRowBytes * 8 / wideType().getIntOrFloatBitWidth();
}

bool ContractionSchedule::widensRows() const {
  return wideRows && !readsZeroPoint && (rows.front().source || !rows.front().inside);
}

void ContractionSchedule::planWideRows() {
  Type element = getElementTypeOrSelf(aTensor.getType());
  bool isNarrow = neighbours == 2 ? element.getIntOrFloatBitWidth() == 8
                                  : neighbours == 1 && isNarrowFloat(element);
  if (!isNarrow || !parts.areNeighbours || !isa<BlockArgument>(aTensor))
    return;
  int64_t begin = llvm::alignTo(scratchBytes, 64);
  wideRows = k.scratchView(wideType(), kMostBlockRows * wideRowSteps(), begin);
  scratchBytes = begin + kMostBlockRows * kWideRowBytes;
}

Value ContractionSchedule::placeInWideRows(int64_t row) {
  Value at = k.value(reductionAt[parts.reduction.back()]);
  at = k.builder.createOrFold<arith::SubIOp>(k.loc, at, wideRowsFrom);
  return k.add(k.index(row * wideRowSteps()), at);
}

/// Steps `from` to `to` of the innermost loop, at most wideRowSteps() of them.
void ContractionSchedule::widenRows(unsigned dim, Value from, Value to) {
  wideRowsFrom = from;
  k.math.bindLoop(reduction[dim], from);
  reductionAt[dim] = reduction[dim];
  Type element = getElementTypeOrSelf(aTensor.getType());
  auto wide = [&](Value stored) -> Value {
    Value value = Scalar(k.builder, k.loc, fromStorage(k.builder, k.loc, stored, element),
                         scalarKind(element))
                      .convertTo(wideType(), scalarKind(wideType()))
                      .value();
    if (parts.zeroPoint == 0)
      return value;
    Value zeroPoint =
        arith::ConstantOp::create(k.builder, k.loc, k.builder.getI16IntegerAttr(parts.zeroPoint));
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      zeroPoint = k.splat(zeroPoint, vector.getNumElements());
    return arith::SubIOp::create(k.builder, k.loc, value, zeroPoint);
  };
  int64_t width = neighbours * lanes; // elements of wideType() in a register
  Value count = k.builder.createOrFold<arith::SubIOp>(k.loc, to, from);
  Value whole = k.mul(k.divide(count, k.index(width)), k.index(width));
  auto vector = VectorType::get({width}, storageType(element));
  for (auto [i, row] : llvm::enumerate(rows)) {
    auto [buffer, first] = placeOfA(row);
    Value target = k.index(i * wideRowSteps());
    k.forEach(k.index(0), whole, width, [&, buffer = buffer, first = first](Value at) {
      Value stored = vector::LoadOp::create(k.builder, k.loc, vector, buffer, k.add(first, at));
      vector::StoreOp::create(k.builder, k.loc, wide(stored), wideRows, k.add(target, at));
    });
    k.forEach(whole, count, 1, [&, buffer = buffer, first = first](Value at) {
      Value stored = memref::LoadOp::create(k.builder, k.loc, buffer, k.add(first, at));
      memref::StoreOp::create(k.builder, k.loc, wide(stored), wideRows, k.add(target, at));
    });
  }
}

} // namespace dlc::codegen
