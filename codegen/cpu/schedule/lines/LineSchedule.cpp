//===- LineSchedule.cpp - Running sums of lines on the CPU --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of sums along the last dim is one line; of other sums it is 16 neighbouring lines, one per
// lane of a vector. Along the last dim, integers are added in vectors, since their sums do not
// depend on the order. Floats are added one by one: a partial sum in another order could overflow
// although no running sum does.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/CpuLines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
class SumSchedule : CpuLines {
public:
  explicit SumSchedule(CpuKernel &kernel) : CpuLines(kernel) {}
  CpuLaunch run();

private:
  void addVectors(AffineExpr offset, Value &first, Value &sum);
};
} // namespace

/// Adds up whole vectors of the line at hand from place `first` on; then `first` and `sum` are
/// where they end.
void SumSchedule::addVectors(AffineExpr offset, Value &first, Value &sum) {
  Value lanes = k.index(kLinesOfTile);
  Value end = k.mul(k.divide(k.value(work.length), lanes), lanes);
  sum = k.fold(first, end, kLinesOfTile, {sum}, [&](Value i, ValueRange carried) {
           k.math.bindLoop(along, i);
           k.vector = VectorLoop{along, kLinesOfTile, {}};
           Value terms = fromStorage(k.builder, k.loc, k.load(0, offset), x.getElementType());
           Value sums = sumsOfLanes(k, terms);
           Value before = k.splat(carried[0], kLinesOfTile);
           k.store(arith::AddIOp::create(k.builder, k.loc, before, sums), offset);
           k.vector.reset();
           // Not taken from the result: the next vector waits for one addition alone.
           Value last = vector::ExtractOp::create(k.builder, k.loc, sums, kLinesOfTile - 1);
           return SmallVector<Value>{arith::AddIOp::create(k.builder, k.loc, carried[0], last)};
         }).front();
  first = end;
}

CpuLaunch SumSchedule::run() {
  Type element = x.getElementType(), compute = computeType(element);
  bool isLast = !haveNeighbours();
  int64_t lines = isLast ? 1 : kLinesOfTile;
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    bindLines(tile, lines, work.length);
    Type type = compute;
    if (!isLast) {
      type = VectorType::get({lines}, compute);
      k.vector = VectorLoop{indices.back(), lines, k.laneMask(linesLeft(lines), lines)};
    }
    AffineExpr offset = k.emitter.offset(x, indices);
    Value zero = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(type));
    Value first = k.index(0);
    if (isLast && isa<IntegerType>(compute) && k.math.strideAlong(offset, along) == Stride::unit)
      addVectors(offset, first, zero);
    k.fold(first, k.value(work.length), 1, {zero}, [&](Value i, ValueRange sum) {
      k.math.bindLoop(along, i);
      Value value = fromStorage(k.builder, k.loc, k.load(0, offset), element);
      if (!isLast && !isa<VectorType>(value.getType()))
        value = k.splat(value, lines);
      ScalarKind kind = scalarKind(element);
      Scalar next = Scalar(k.builder, k.loc, sum[0], kind) + Scalar(k.builder, k.loc, value, kind);
      k.store(next.value(), offset);
      return SmallVector<Value>{next.value()};
    });
    k.vector.reset();
  });
  return launch(lines, dl::constantDim(0, k.builder.getContext()));
}

CpuLaunch scheduleLines(CpuKernel &kernel) {
  switch (lineOpOf(kernel.emitter.getKernel()).getLineWork().kind) {
  case LineWork::Kind::order:
    return scheduleOrder(kernel);
  case LineWork::Kind::sum:
    return SumSchedule(kernel).run();
  case LineWork::Kind::scatter:
    return scheduleScatter(kernel);
  case LineWork::Kind::suppress:
    return scheduleSuppress(kernel);
  }
  llvm_unreachable("all kinds of line work have a schedule");
}

} // namespace dlc::codegen
