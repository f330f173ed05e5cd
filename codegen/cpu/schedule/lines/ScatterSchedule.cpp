//===- ScatterSchedule.cpp - Updates of lines on the CPU ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile copies its part of x and then makes the updates of its lines, one after the other: one
// line, or neighbours side by side in memory, which go through the updates together. Where index is
// the same for all of these, an update is a vector.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/lines/CpuLines.h"
#include "codegen/plan/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
class ScatterSchedule : CpuLines {
public:
  explicit ScatterSchedule(CpuKernel &kernel)
      : CpuLines(kernel), index(cast<RankedTensorType>(op->getOperand(1).getType())),
        src(cast<RankedTensorType>(op->getOperand(2).getType())) {}
  CpuLaunch run();

private:
  void runTile(Value tile, int64_t lines);
  void copyLines(bool isOne);
  void update(Value i);
  Value placeAt();
  Value loadResult(AffineExpr offset);
  AffineExpr indexOffset() const;

  RankedTensorType index, src;
  SmallVector<AffineExpr> from; // as `indices`, of index and src
  AffineExpr step;
};
} // namespace

AffineExpr ScatterSchedule::indexOffset() const {
  return k.emitter.offset(index, repeatedIndices(index, from));
}

void ScatterSchedule::copyLines(bool isOne) {
  Value count = k.value(work.count);
  auto copy = [&] {
    Value stored = k.load(0, k.emitter.offset(x, indices));
    k.store(fromStorage(k.builder, k.loc, stored, x.getElementType()),
            k.emitter.offset(y, indices));
  };
  if (isOne)
    return k.forVector(along, k.index(0), count, copy);
  k.forEach(k.index(0), count, 1, [&](Value place) {
    k.math.bindLoop(along, place);
    copy();
  });
}

/// The place that the update at hand names: as an unsigned number, what lies outside is at least
/// the line's length.
Value ScatterSchedule::placeAt() {
  Value stored = load(k.input(inputOf(op, 1)), k.value(indexOffset()));
  return arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), stored);
}

Value ScatterSchedule::loadResult(AffineExpr offset) {
  Value at = k.value(offset);
  if (!k.vector)
    return load(k.output(0), at);
  auto type = VectorType::get({k.vector->lanes}, storageType(x.getElementType()));
  if (!k.vector->mask)
    return vector::LoadOp::create(k.builder, k.loc, type, k.output(0), at);
  Value zero = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(type));
  return vector::MaskedLoadOp::create(k.builder, k.loc, type, k.output(0), at, k.vector->mask,
                                      zero);
}

/// Update `i` of the line at hand, or of a vector of lines, for which it names one place.
void ScatterSchedule::update(Value i) {
  Type element = x.getElementType();
  k.math.bindLoop(step, i);
  Value place = placeAt();
  Value isInside = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ult, place,
                                         k.value(work.count));
  k.when(isInside, [&] {
    auto computed = [&](Value stored) { return fromStorage(k.builder, k.loc, stored, element); };
    Value value = computed(k.load(inputOf(op, 2), k.emitter.offset(src, from)));
    k.math.bindLoop(along, place);
    AffineExpr at = k.emitter.offset(y, indices);
    if (work.combiner) {
      Value old = computed(loadResult(at));
      if (k.vector && !isa<VectorType>(value.getType()))
        value = k.splat(value, k.vector->lanes);
      value = combine(k.builder, k.loc, *work.combiner, scalarKind(element), old, value);
    }
    k.store(value, at);
  });
}

void ScatterSchedule::runTile(Value tile, int64_t lines) {
  bindLines(tile, lines, work.count);
  step = k.math.addLoop(work.length);
  from = indices;
  from[work.dim] = step;
  bool isOne = lines == 1, isShared = isOne;
  AffineExpr last = indices.back();
  if (!isOne) {
    // Vectors all of whose lanes are in use need no mask.
    auto size = dl::asConstant(dl::getDims(x).back());
    Value mask = size && *size % lines == 0 ? Value() : k.laneMask(linesLeft(lines), lines);
    k.vector = VectorLoop{last, lines, mask};
    isShared = k.math.strideAlong(indexOffset(), last) == Stride::uniform &&
               k.math.strideAlong(k.emitter.offset(y, indices), last) == Stride::unit;
  }
  copyLines(isOne);
  Value none = k.index(0), updates = k.value(work.length);
  if (isShared) {
    k.forEach(none, updates, 1, [&](Value i) { update(i); });
    k.vector.reset();
    return;
  }
  k.vector.reset();
  Value first = k.value(last), end = k.add(first, k.smaller(linesLeft(lines), k.index(lines)));
  k.forEach(none, updates, 1, [&](Value i) {
    k.forEach(first, end, 1, [&](Value line) {
      k.math.bindLoop(last, line);
      update(i);
    });
  });
}

CpuLaunch ScatterSchedule::run() {
  int64_t lines = haveNeighbours() ? kLinesOfTile : 1;
  k.forEach(k.begin, k.end, 1, [&](Value tile) { runTile(tile, lines); });
  return launch(lines, dl::constantDim(0, k.builder.getContext()));
}

CpuLaunch scheduleScatter(CpuKernel &kernel) { return ScatterSchedule(kernel).run(); }

} // namespace dlc::codegen
