//===- ContractionProducts.cpp - Sums of products of a block in registers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/ContractionSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// The long loop of a matrix product takes several steps at once: 5 % at 512^3 on Sapphire Rapids.
/// Not that of a convolution, whose rows come from selected addresses (it lost 12 % on ResNet-18),
/// nor that of a few rows, which memory holds up.
static constexpr int64_t kLongLoop = 32, kManyRows = 32, kStepsAtOnce = 4;
/// With innermost loops of at most this many steps, blocks away from the border are worth code of
/// their own.
static constexpr int64_t kInteriorSteps = 64;

Value ContractionSchedule::both(Value a, Value b) {
  return a ? arith::AndIOp::create(k.builder, k.loc, a, b).getResult() : b;
}

SmallVector<AffineExpr> ContractionSchedule::aIndices(ArrayRef<AffineExpr> parallel) const {
  SmallVector<AffineExpr> loops(parallel), indices;
  llvm::append_range(loops, reductionAt);
  // The panels at hand belong to one group of columns.
  llvm::DenseMap<AffineExpr, AffineExpr> group;
  if (parts.columnsOfGroup)
    group[column.floorDiv(parts.columnsOfGroup)] = panel.floorDiv(parts.columnsOfGroup / kPanel);
  for (AffineExpr index : nest.terms[0].map.getResults()) {
    // A panel of narrow groups reads the channels that its own columns have.
    bool isChannel = parts.narrowGroup && index.isFunctionOfDim(parts.column);
    indices.push_back(isChannel ? column
                                : k.math.simplify(index.replaceDims(loops).replace(group)));
  }
  return indices;
}

SmallVector<ContractionSchedule::BoundsTest>
ContractionSchedule::testsOf(ArrayRef<AffineExpr> indices) const {
  SmallVector<BoundsTest> tests;
  for (auto [index, extent] :
       llvm::zip(indices, dl::getDims(cast<RankedTensorType>(aTensor.getType())))) {
    bool low = !k.math.isNonNegative(index), high = !k.math.isBelow(index, extent);
    if (low || high)
      tests.push_back({index, extent, low, high});
  }
  return tests;
}

Value ContractionSchedule::holds(const BoundsTest &test) {
  Value index = k.value(test.index), result;
  if (test.low)
    result = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::sge, index, k.index(0));
  if (test.high)
    result = both(result, k.less(index, k.value(test.extent)));
  return result;
}

/// `index` where the reduction loops make it smallest or largest; null where they do not move it
/// evenly.
AffineExpr ContractionSchedule::atEnd(AffineExpr index, bool largest) const {
  for (auto [variable, extent] : llvm::zip(reduction, nest.reduction)) {
    auto step = k.math.stepAlong(index, variable);
    if (!step)
      return {};
    bool last = (*step > 0) == largest;
    llvm::DenseMap<AffineExpr, AffineExpr> end = {
        {variable, last ? extent - 1 : k.math.constant(0)}};
    index = k.math.simplify(index.replace(end));
  }
  return index;
}

/// Blocks whose every tap lies inside skip all tests.
SmallVector<Value> ContractionSchedule::reduceChecked(ArrayRef<Value> init) {
  Value interior;
  bool known = true, tested = false;
  // The first of neighbours is the lowest, and the last the highest.
  const bool areNeighbours = rowsAreNeighbours(rows.size());
  for (const Row &row : rows)
    for (BoundsTest test : testsOf(aIndices(row.parallel))) {
      tested = true;
      AffineExpr low = atEnd(test.index, false), high = atEnd(test.index, true);
      known &= low && high;
      if (!known)
        break;
      test.low &= !areNeighbours || &row == &rows.front();
      test.high &= !areNeighbours || &row == &rows.back();
      if (test.low)
        interior = both(interior, holds({low, test.extent, true, false}));
      if (test.high)
        interior = both(interior, holds({high, test.extent, false, true}));
    }
  SmallVector<Value> start(init);
  if (!tested)
    return reduce(0, start, /*guarded=*/false);
  auto steps = dl::asConstant(nest.reduction[parts.reduction.back()]);
  if (!known || (readsZeroRow() && steps && *steps > kInteriorSteps))
    return reduce(0, start, /*guarded=*/true);
  SmallVector<Type> types(init.size(), init.front().getType());
  auto guardedOrNot = [&] {
    return k.branch(
        interior, types, [&] { return reduce(0, start, false); },
        [&] { return reduce(0, start, true); });
  };
  Value readOn = isShort() && readsZeroRow() ? mayReadOn() : Value();
  if (!readOn)
    return guardedOrNot();
  return k.branch(
      readOn, types,
      [&] {
        readsOn = true;
        SmallVector<Value> sums = guardedOrNot();
        readsOn = false;
        return sums;
      },
      [&] { return reduce(0, start, /*guarded=*/true); });
}

bool ContractionSchedule::isShort() const {
  auto steps = dl::asConstant(nest.reduction[parts.reduction.back()]);
  return neighbours == 4 && steps && *steps < neighbours;
}

Value ContractionSchedule::mayReadOn() {
  if (storedBitsOfA() * neighbours != 32 || !parts.areNeighbours)
    return {};
  auto type = cast<RankedTensorType>(aTensor.getType());
  Value size = k.value(dl::product(dl::getDims(type), type.getContext())), may;
  for (const Row &row : rows) {
    AffineExpr last = atEnd(k.emitter.offset(type, aIndices(row.parallel)), /*largest=*/true);
    if (!last)
      return {};
    may = both(may, k.less(k.value(k.math.simplify(last + neighbours - 1)), size));
  }
  return may;
}

/// A row of what means 0 for taps outside, where the first operand is read as it is and along its
/// memory.
void ContractionSchedule::makeZeroRow() {
  auto argument = dyn_cast<BlockArgument>(aTensor);
  const Access &access = nest.terms[0];
  if (!argument || !access.checked || access.fill != 0.0 || parts.narrowGroup)
    return;
  unsigned inner = parts.reduction.back();
  auto steps = dl::asConstant(nest.reduction[inner]);
  SmallVector<AffineExpr> loops;
  for (AffineExpr dim : nest.parallel)
    loops.push_back(k.math.addLoop(dim));
  reductionAt = reduction;
  AffineExpr offset = k.emitter.offset(cast<RankedTensorType>(aTensor.getType()), aIndices(loops));
  if (!steps || k.math.strideAlong(offset, reduction[inner]) != Stride::unit)
    return;
  Type element = storageType(getElementTypeOrSelf(aTensor.getType()));
  int64_t elements = llvm::alignTo(*steps, lanes);
  scratchBytes = llvm::alignTo(*steps, kPanel) * ((element.getIntOrFloatBitWidth() + 7) / 8);
  zeroRow = k.scratchView(element, elements);
  auto vector = VectorType::get({lanes}, element);
  Value zeros =
      arith::ConstantOp::create(k.builder, k.loc, DenseElementsAttr::get(vector, storedZeroOfA()));
  k.forEach(k.index(0), k.index(elements), lanes,
            [&](Value at) { vector::StoreOp::create(k.builder, k.loc, zeros, zeroRow, at); });
}

/// Which rows the tap at hand reads inside the tensor, and where from.
void ContractionSchedule::computeGuards() {
  for (Row &row : rows) {
    row.inside = {};
    SmallVector<AffineExpr> indices = aIndices(row.parallel);
    for (const BoundsTest &test : testsOf(indices))
      row.inside = both(row.inside, holds(test));
    if (!row.inside || !readsZeroRow())
      continue;
    AffineExpr offset = k.emitter.offset(cast<RankedTensorType>(aTensor.getType()), indices);
    llvm::DenseMap<AffineExpr, AffineExpr> start = {
        {reduction[parts.reduction.back()], k.math.constant(0)}};
    Value buffer = k.input(cast<BlockArgument>(aTensor).getArgNumber());
    row.source = arith::SelectOp::create(k.builder, k.loc, row.inside, buffer, zeroRow);
    row.first = arith::SelectOp::create(
        k.builder, k.loc, row.inside, k.value(k.math.simplify(offset.replace(start))), k.index(0));
  }
}

SmallVector<Value> ContractionSchedule::reduce(unsigned depth, SmallVector<Value> accs,
                                               bool guarded) {
  if (depth == parts.reduction.size())
    return reduceStep(accs);
  unsigned dim = parts.reduction[depth];
  bool innermost = depth + 1 == parts.reduction.size();
  if (innermost && guarded) {
    // The innermost loop is one that no border depends on (PanelContraction): the tests stay
    // outside of it.
    reductionAt[dim] = reduction[dim];
    computeGuards();
  }
  auto extent = dl::asConstant(nest.reduction[dim]);
  SmallVector<Value> result;
  if (innermost && parts.narrowGroup) {
    result = reduceNarrowGroups(std::move(accs));
  } else if (innermost && (neighbours > 1 || wideRows)) {
    result = reduceNeighbours(dim, std::move(accs));
  } else if (innermost && parts.halves) {
    result = reduceHalves(dim, std::move(accs));
  } else if (extent && *extent <= (innermost ? kUnrolledSteps : 1)) {
    for (int64_t at = 0; at < *extent; ++at) {
      reductionAt[dim] = k.math.constant(at);
      accs = reduce(depth + 1, accs, guarded);
    }
    result = accs;
  } else if (parts.reduction.size() == 1 && extent && *extent >= kLongLoop &&
             dl::asConstant(numRows).value_or(0) >= kManyRows) {
    int64_t whole = *extent / kStepsAtOnce * kStepsAtOnce;
    result =
        k.fold(k.index(0), k.index(whole), kStepsAtOnce, accs, [&](Value at, ValueRange carried) {
          k.math.bindLoop(reduction[dim], at);
          SmallVector<Value> next(carried);
          for (int64_t step = 0; step < kStepsAtOnce; ++step) {
            reductionAt[dim] = reduction[dim] + step;
            next = reduceStep(next);
          }
          return next;
        });
    for (int64_t at = whole; at < *extent; ++at) {
      reductionAt[dim] = k.math.constant(at);
      result = reduceStep(result);
    }
  } else {
    reductionAt[dim] = reduction[dim];
    result = k.fold(k.index(0), k.value(nest.reduction[dim]), 1, accs,
                    [&](Value at, ValueRange carried) {
                      k.math.bindLoop(reduction[dim], at);
                      return reduce(depth + 1, SmallVector<Value>(carried), guarded);
                    });
  }
  reductionAt[dim] = reduction[dim];
  if (innermost)
    for (Row &row : rows)
      row.inside = row.source = row.first = {};
  return result;
}

SmallVector<Value> ContractionSchedule::reduceStep(ArrayRef<Value> accs) {
  SmallVector<Value> b = readStepsOfB(1), next;
  for (int64_t i = 0, numRows = rows.size(); i < numRows; ++i) {
    Value a = k.splat(readA(i), lanes);
    for (int64_t j = 0; j < numVectors; ++j)
      next.push_back(multiplyAdd(a, b[j], accs[i * numVectors + j]));
  }
  return next;
}

SmallVector<Value> ContractionSchedule::reduceNarrowGroups(SmallVector<Value> accs) {
  unsigned dim = parts.reduction.back();
  SmallVector<Value> channels;
  for (const Row &row : rows)
    for (int64_t j = 0; j < numVectors; ++j)
      channels.push_back(readChannels(row, j));
  for (int64_t step = 0; step < parts.narrowGroup; ++step) {
    reductionAt[dim] = k.math.constant(step);
    SmallVector<Value> b = readStepsOfB(1);
    SmallVector<int64_t> ofGroup; // each lane takes this channel of its group
    for (int64_t at = 0; at < lanes; ++at)
      ofGroup.push_back(at / parts.narrowGroup * parts.narrowGroup + step);
    for (auto [position, acc] : llvm::enumerate(accs)) {
      Value a = vector::ShuffleOp::create(k.builder, k.loc, channels[position], channels[position],
                                          ofGroup);
      acc = multiplyAdd(a, b[position % numVectors], acc);
    }
  }
  return accs;
}

Value ContractionSchedule::readChannels(const Row &row, int64_t vector) {
  Value at = k.add(k.mul(k.value(panel), k.index(kPanel)), k.index(vector * lanes));
  auto columns = dl::asConstant(numColumns);
  Value mask;
  if (!columns || *columns % kPanel != 0)
    mask = k.laneMask(k.builder.createOrFold<arith::SubIOp>(k.loc, k.value(numColumns), at), lanes);
  if (row.inside) {
    auto type = VectorType::get({lanes}, k.builder.getI1Type());
    mask = both(mask, vector::BroadcastOp::create(k.builder, k.loc, type, row.inside));
  }
  k.math.bindLoop(column, at);
  k.vector = VectorLoop{column, lanes, mask};
  auto argument = cast<BlockArgument>(aTensor);
  AffineExpr offset =
      k.emitter.offset(cast<RankedTensorType>(aTensor.getType()), aIndices(row.parallel));
  Value channels = k.load(argument.getArgNumber(), offset);
  k.vector.reset();
  return channels;
}

Value ContractionSchedule::multiplyAdd(Value a, Value b, Value acc) {
  if (accKind == ScalarKind::floating)
    return math::FmaOp::create(k.builder, k.loc, a, b, acc);
  return arith::AddIOp::create(k.builder, k.loc, acc,
                               arith::MulIOp::create(k.builder, k.loc, a, b));
}

/// An element of the first operand in the type of the sums.
Value ContractionSchedule::readA(int64_t row) {
  if (wideRowsFrom)
    return memref::LoadOp::create(k.builder, k.loc, wideRows, placeInWideRows(row));
  ScalarKind kind = scalarKind(getElementTypeOrSelf(aTensor.getType()));
  return Scalar(k.builder, k.loc, readStoredA(rows[row]), kind).convertTo(accType, accKind).value();
}

/// The same in the compute type of the elements that are stored.
Value ContractionSchedule::readStoredA(const Row &row) {
  SmallVector<AffineExpr> indices = aIndices(row.parallel);
  if (row.source) {
    Value at = k.add(row.first, k.value(reductionAt[parts.reduction.back()]));
    Value stored = memref::LoadOp::create(k.builder, k.loc, row.source, at);
    return fromStorage(k.builder, k.loc, stored, getElementTypeOrSelf(aTensor.getType()));
  }
  if (!row.inside) {
    k.rewriteOffset = [&](AffineExpr offset) { return alongRows(row, offset); };
    Value value = k.emitter.emit(k.builder, aTensor, indices);
    k.rewriteOffset = nullptr;
    return value;
  }
  k.guard = row.inside;
  Value value = k.emitter.emit(k.builder, aTensor, indices);
  k.guard = {};
  ScalarKind kind = scalarKind(getElementTypeOrSelf(aTensor.getType()));
  Value fill = Scalar(k.builder, k.loc, value, kind).constant(nest.terms[0].fill).value();
  return arith::SelectOp::create(k.builder, k.loc, row.inside, value, fill);
}

Value ContractionSchedule::convertB(int64_t vector) {
  Type element = bType.getElementType();
  Value value = fromStorage(k.builder, k.loc, loadB(vector * lanes, lanes), element);
  return Scalar(k.builder, k.loc, value, scalarKind(element)).convertTo(accType, accKind).value();
}

/// `count` columns of the panels at hand, from their number `firstColumn` on, as they are stored.
Value ContractionSchedule::loadB(int64_t firstColumn, int64_t count) {
  // The first column of the panel is a multiple of its width, so the address is affine.
  SmallVector<AffineExpr> loops(rows.front().parallel), indices;
  llvm::append_range(loops, reductionAt);
  loops[parts.column] = (panel + firstColumn / kPanel) * kPanel;
  for (AffineExpr index : nest.terms[1].map.getResults())
    indices.push_back(k.math.simplify(index.replaceDims(loops)));
  AffineExpr offset = k.emitter.offset(bType, indices) + firstColumn % kPanel;
  k.vector = VectorLoop{lane, count, {}};
  Value stored = k.load(parts.bInput, k.math.simplify(offset + lane));
  k.vector.reset();
  return stored;
}

} // namespace dlc::codegen
