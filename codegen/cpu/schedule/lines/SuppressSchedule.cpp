//===- SuppressSchedule.cpp - Boxes that overlap no better one, on the CPU ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is one line. The corners and areas of the boxes that were taken lie in scratch memory, one
// behind the other; each next box is compared with 16 of them at a time, until it overlaps one.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/CpuLines.h"
#include "codegen/plan/Overlap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// Boxes that are compared at once, whatever the instruction set.
static constexpr int64_t kBoxes = 16;
/// Operands: the order, then the corners.
static constexpr unsigned kCorners = 4, kFirstCorner = 1, kThreshold = 5, kTakesPart = 6;

namespace {
class SuppressSchedule : CpuLines {
public:
  explicit SuppressSchedule(CpuKernel &kernel)
      : CpuLines(kernel), corners(cast<RankedTensorType>(op->getOperand(kFirstCorner).getType())),
        element(corners.getElementType()), compute(computeType(element)) {}
  CpuLaunch run();

private:
  void runLine();
  Value take(Value place, Value taken);
  Value overlapsTaken(const Corners &box, Value taken);
  Scalar number(Value value) { return {k.builder, k.loc, value, ScalarKind::floating}; }
  Scalar splat(Scalar scalar) { return number(k.splat(scalar.value(), kBoxes)); }
  /// Element `at` of an operand, in compute type.
  Scalar operand(unsigned position, AffineExpr at) {
    Value stored = load(k.input(inputOf(op, position)), k.value(at));
    return number(fromStorage(k.builder, k.loc, stored, element));
  }
  void give(Value rank, Value place) {
    k.math.bindLoop(along, rank);
    store(place, k.output(0), k.value(k.emitter.offset(y, indices)));
  }
  Value truth(bool value) {
    return arith::ConstantOp::create(k.builder, k.loc, k.builder.getBoolAttr(value));
  }
  Value asI64(Value index) {
    return arith::IndexCastOp::create(k.builder, k.loc, k.builder.getI64Type(), index);
  }

  RankedTensorType corners;
  Type element, compute;
  SmallVector<Value> rows; // low0, low1, high0, high1 and the area of those taken
  Value threshold;
};
} // namespace

/// Whether the box overlaps one of the first `taken` ones.
Value SuppressSchedule::overlapsTaken(const Corners &box, Value taken) {
  auto type = VectorType::get({kBoxes}, compute);
  Corners own = {splat(box[0]), splat(box[1]), splat(box[2]), splat(box[3])};
  Scalar ownArea = splat(areaOf(box)), least = number(k.splat(threshold, kBoxes));
  auto compare = [&](Value from) {
    auto row = [&](unsigned position) {
      Value value = vector::LoadOp::create(k.builder, k.loc, type, rows[position], from);
      return number(value);
    };
    Corners others = {row(0), row(1), row(2), row(3)};
    Value isNear = overlaps(own, ownArea, others, row(kCorners), least).value();
    Value left = arith::SubIOp::create(k.builder, k.loc, taken, from);
    Value counts = arith::AndIOp::create(k.builder, k.loc, isNear, k.laneMask(left, kBoxes));
    return vector::ReductionOp::create(k.builder, k.loc, vector::CombiningKind::OR, counts)
        .getResult();
  };
  return k
      .fold(k.index(0), taken, kBoxes, {truth(false)},
            [&](Value from, ValueRange found) {
              return k.branch(
                  found[0], k.builder.getI1Type(), [&] { return SmallVector<Value>{found[0]}; },
                  [&] { return SmallVector<Value>{compare(from)}; });
            })
      .front();
}

/// How many are taken after the box at `place`, of `taken` before it.
Value SuppressSchedule::take(Value place, Value taken) {
  k.math.bindLoop(along, place);
  AffineExpr at = k.emitter.offset(corners, repeatedIndices(corners, indices));
  Corners box = {operand(kFirstCorner, at), operand(kFirstCorner + 1, at),
                 operand(kFirstCorner + 2, at), operand(kFirstCorner + 3, at)};
  return k
      .branch(
          overlapsTaken(box, taken), k.builder.getIndexType(),
          [&] { return SmallVector<Value>{taken}; },
          [&] {
            for (unsigned corner = 0; corner < kCorners; ++corner)
              store(box[corner].value(), rows[corner], taken);
            store(areaOf(box).value(), rows[kCorners], taken);
            give(taken, asI64(place));
            return SmallVector<Value>{k.add(taken, k.index(1))};
          })
      .front();
}

void SuppressSchedule::runLine() {
  Value none = k.index(0), count = k.value(work.count);
  threshold = operand(kThreshold, k.math.constant(0)).value();
  Value length = k.value(work.length);
  // Most often there are enough long before the last box.
  auto goesOn = [&](ValueRange state) -> Value {
    return arith::AndIOp::create(k.builder, k.loc, k.less(state[0], length),
                                 k.less(state[1], count));
  };
  auto next = [&](ValueRange state) {
    Value i = state[0], before = state[1];
    k.math.bindLoop(along, i);
    Value place = arith::IndexCastOp::create(
        k.builder, k.loc, k.builder.getIndexType(),
        load(k.input(inputOf(op, 0)), k.value(k.emitter.offset(x, indices))));
    Value isInside =
        arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ult, place, length);
    place = arith::SelectOp::create(k.builder, k.loc, isInside, place, none);
    k.math.bindLoop(along, place);
    Value stored = load(k.input(inputOf(op, kTakesPart)), k.value(k.emitter.offset(x, indices)));
    Value takesPart = fromStorage(k.builder, k.loc, stored, k.builder.getI1Type());
    takesPart = arith::AndIOp::create(k.builder, k.loc, takesPart, isInside);
    Value after = k.branch(
                       takesPart, k.builder.getIndexType(),
                       [&] { return SmallVector<Value>{take(place, before)}; },
                       [&] { return SmallVector<Value>{before}; })
                      .front();
    return SmallVector<Value>{k.add(i, k.index(1)), after};
  };
  Value taken = k.repeat({none, none}, goesOn, next)[1];
  Value end = arith::ConstantOp::create(k.builder, k.loc, k.builder.getI64IntegerAttr(-1));
  k.forEach(taken, count, 1, [&](Value rank) { give(rank, end); });
}

CpuLaunch SuppressSchedule::run() {
  // Vectors are read whole behind the last box.
  AffineExpr room = dl::normalize(work.count + (kBoxes - 1)), used = k.math.constant(0);
  for (unsigned row = 0; row <= kCorners; ++row) {
    rows.push_back(k.scratchView(compute, k.value(room), k.value(used)));
    used = dl::normalize(used + room * (compute.getIntOrFloatBitWidth() / 8));
  }
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    bindLines(tile, 1, work.length);
    runLine();
  });
  return launch(1, used);
}

CpuLaunch scheduleSuppress(CpuKernel &kernel) { return SuppressSchedule(kernel).run(); }

} // namespace dlc::codegen
