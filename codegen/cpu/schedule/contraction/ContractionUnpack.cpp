//===- ContractionUnpack.cpp - Weights in few bits, unpacked as they are read -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second operand of a product may be computed from several inputs: bytes of two numbers each,
// and a scale and a zero point for each group of steps. All of them lie in panels, so that a vector
// is 16 neighbours of each. A byte holds a number of the first half of the sum below one of the
// second: each step takes both, and reads it once. What a group shares is read in the loop over its
// steps, where nothing is written: LLVM takes it out of there.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/ContractionSchedule.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace dlc::codegen {

Value ContractionSchedule::computeB(int64_t vector) {
  int64_t firstColumn = vector * lanes;
  SmallVector<AffineExpr> loops(rows.front().parallel), indices;
  llvm::append_range(loops, reductionAt);
  loops[parts.column] = (panel + firstColumn / kPanel) * kPanel;
  for (AffineExpr index : nest.terms[1].map.getResults())
    indices.push_back(k.math.simplify(index.replaceDims(loops)));

  // The first column of the panel is a multiple of its width, so that the address is affine; the
  // columns are added to it.
  llvm::DenseMap<AffineExpr, AffineExpr> ofBlock;
  if (inBlock)
    ofBlock[inBlock.floorDiv(parts.halves->block)] = k.math.constant(0);
  k.redirect = [&](unsigned input, AffineExpr offset) -> CpuKernel::Place {
    offset = offset.replace(ofBlock);
    if (llvm::any_of(parts.packed, [&](const PackedOperand &one) { return one.input == input; }))
      offset = offset + firstColumn % kPanel + lane;
    return std::pair(k.input(input), k.math.simplify(offset));
  };
  // Which half the step is of is known: its tensor is read without a test.
  if (parts.halves)
    k.emitter.held = [&](Value tensor, ArrayRef<AffineExpr> at) -> Value {
      dl::CatOp cat = parts.halves->cat;
      if (tensor != cat.getY())
        return {};
      SmallVector<AffineExpr> inHalf(at);
      int64_t dim = cat.getDim();
      AffineExpr &index = inHalf[dim < 0 ? dim + int64_t(at.size()) : dim];
      if (inSecondHalf)
        index = k.math.simplify(index - parts.halves->size);
      return k.emitter.emit(k.builder, cat.getTensors()[inSecondHalf ? 1 : 0], inHalf);
    };
  k.vector = VectorLoop{lane, lanes, {}};
  llvm::scope_exit leave([&] {
    k.vector.reset();
    k.redirect = nullptr;
    k.emitter.held = nullptr;
  });
  Value value = k.emitter.emit(k.builder, parts.b, indices);
  if (!isa<VectorType>(value.getType()))
    value = k.splat(value, lanes);
  ScalarKind kind = scalarKind(getElementTypeOrSelf(parts.b.getType()));
  return Scalar(k.builder, k.loc, value, kind).convertTo(accType, accKind).value();
}

SmallVector<Value> ContractionSchedule::reduceHalves(unsigned dim, SmallVector<Value> accs) {
  const HalvedSum &halves = *parts.halves;
  int64_t second = *dl::asConstant(nest.reduction[dim]) - halves.size;
  auto step = [&](AffineExpr at, bool both, ValueRange from) {
    reductionAt[dim] = at;
    SmallVector<Value> next = reduceStep(llvm::to_vector(from));
    if (both) {
      reductionAt[dim] = k.math.simplify(at + halves.size);
      inSecondHalf = true;
      next = reduceStep(next);
      inSecondHalf = false;
    }
    return next;
  };
  auto walk = [&](int64_t from, int64_t to, bool both) {
    if (from == to)
      return;
    AffineExpr at = k.math.addLoop(k.math.constant(to));
    accs = k.fold(k.index(from), k.index(to), 1, accs, [&](Value place, ValueRange carried) {
      k.math.bindLoop(at, place);
      return step(at, both, carried);
    });
  };
  if (halves.block == 0) {
    walk(0, second, /*both=*/true);
  } else {
    AffineExpr group = k.math.addLoop(k.math.constant(second / halves.block)),
               place = k.math.addLoop(k.math.constant(halves.block));
    inBlock = place;
    accs = k.fold(k.index(0), k.index(second / halves.block), 1, accs,
                  [&](Value at, ValueRange carried) {
                    k.math.bindLoop(group, at);
                    return k.fold(k.index(0), k.index(halves.block), 1, carried,
                                  [&](Value inGroup, ValueRange inner) {
                                    k.math.bindLoop(place, inGroup);
                                    return step(group * halves.block + place, true, inner);
                                  });
                  });
    inBlock = {};
  }
  walk(second, halves.size, /*both=*/false);
  return accs;
}

} // namespace dlc::codegen
