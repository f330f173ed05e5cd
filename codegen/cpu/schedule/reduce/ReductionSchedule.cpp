//===- ReductionSchedule.cpp - Reductions and windows on the CPU --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three ways to the same loops, by how the operands lie in memory:
//   columns  neighbours of the result along its innermost dim are the lanes of a vector (pooling,
//            depthwise convolution, sums over leading dims); where windows reach over the borders,
//            the columns between these;
//   lanes    neighbours along a reduction dim are (sums over the last dim, softmax of rows):
//            kAccumulators vectors, combined in a fixed order at the end;
//   scalars  neither.
// How a row is cut up depends on shapes alone, so that the number of threads never changes bits.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/CpuKernel.h"
#include "codegen/plan/Combine.h"
#include "ir/analysis/view/ViewLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// Vectors in flight along a reduction dim: hides the latency of an addition.
static constexpr int64_t kAccumulators = 4;
/// A sum of reals is divided into sums of at most this many terms, because rounding errors grow
/// with the number of terms. The sums of many parts are divided in the same way, until few are
/// left. If the number of terms is unknown, the sum is divided kSumLevels times.
static constexpr int64_t kLongestSum = 128, kSumLevels = 2;
/// Columns of a tile; of one whose results lie apart, and its elements of each line of them.
static constexpr int64_t kTileColumns = 512, kTileColumnsApart = 64, kTileLine = 32;
/// Windows of at most this many elements are written out.
static constexpr int64_t kUnrolledWindow = 16;
/// Columns between the borders that are worth a way of their own.
static constexpr int64_t kFewestColumns = 4;

namespace {

/// The accumulator of one stage: a value, and its position for argmax. Scalars or vectors.
using Accumulator = SmallVector<Value, 2>;

class ReductionSchedule {
public:
  explicit ReductionSchedule(CpuKernel &kernel);
  CpuLaunch run();

private:
  CpuLaunch runBlocks();
  enum class Way { columns, lanes, scalars };

  void chooseWay();
  using IsAccess = bool (*)(const IndexMath &, AffineExpr, AffineExpr);
  bool canVectorize(AffineExpr variable, IsAccess isAccess) const;
  bool hasUnitTerm(AffineExpr variable) const;
  bool chooseColumns();
  bool chooseColumnsInside(int64_t fewest);
  bool storesNeighbours(AffineExpr variable, std::optional<bool> ofRow = {}) const;
  bool hasTestsAlong(AffineExpr variable) const;
  void emitRow();
  void emitBorders();
  /// Calls `visit` with each result selected; with `ofRow` those alone that have one element a row,
  /// or the others alone.
  void forEachResult(llvm::function_ref<void()> visit, std::optional<bool> ofRow = {}) const;
  void emitResultLoops(ArrayRef<int64_t> dims, ArrayRef<Value> accs);
  /// Stores the results that have one element a row, or the others.
  void emitResult(ArrayRef<Value> accs, bool ofRow);
  bool usesSpans() const;
  Span rangeOf(unsigned loop);
  Value reduceStage(unsigned stage, ValueRange earlier);
  Accumulator reduceLoops(unsigned stage, unsigned depth, Accumulator acc, ValueRange earlier);
  Accumulator reduceAlongLanes(unsigned stage, Accumulator acc, ValueRange earlier);
  Accumulator step(unsigned stage, ArrayRef<AffineExpr> at, Accumulator acc, ValueRange earlier);
  Accumulator neutralAccumulator(unsigned stage);
  Accumulator combineAccumulators(unsigned stage, Accumulator a, Accumulator b);
  Accumulator acrossLanes(unsigned stage, Accumulator acc);
  SmallVector<Value> foldRow(unsigned stage, Value from, Value to, int64_t step, ValueRange init,
                             AffineExpr extent, CpuKernel::Fold body);
  /// How many indices a step of a loop takes, and how many a part of it that is summed separately.
  struct PartLengths {
    int64_t step, part;
  };
  SmallVector<Value> foldParts(unsigned stage, Value from, Value to, PartLengths lengths,
                               ValueRange init, CpuKernel::Fold body);
  bool addsReals(unsigned stage) const {
    return nest.stages[stage] == Combiner::add &&
           k.emitter.accumulatorKind(stage) == ScalarKind::floating;
  }
  bool hasPosition(unsigned stage) const { return givesPosition(nest.stages[stage]); }

  CpuKernel &k;
  const LoopNest &nest;
  SmallVector<AffineExpr> parallel, reduction;
  SmallVector<int64_t> outer,
      inner; // parallel dims in memory order: one row each, and those that stages do not see
  SmallVector<unsigned> loopOrder; // of the reduction dims, outermost first
  Way way = Way::scalars;
  int64_t column = -1; // the parallel dim that is a vector (Way::columns)
  // Its indices at which no read leaves its operand; the others are done one by one. Without
  // numbers: all.
  std::optional<std::pair<int64_t, int64_t>> inside;
  AffineExpr columnVariable;      // moves over these
  bool bordersAreVectors = false; // the others in vectors whose lanes are tested
  bool isApart = false;           // neighbours along the column lie apart in the result
  Value block;                    // where results go first then, lines of columns
  AffineExpr blockOffset;
};

} // namespace

ReductionSchedule::ReductionSchedule(CpuKernel &kernel)
    : k(kernel), nest(kernel.emitter.getNest()) {
  for (AffineExpr dim : nest.parallel)
    parallel.push_back(k.math.addLoop(dim));
  for (AffineExpr dim : nest.reduction)
    reduction.push_back(k.math.addLoop(dim));
  llvm::SmallBitVector unseen = nest.innerDims();
  for (unsigned dim : k.emitter.memoryOrder())
    (unseen.test(dim) ? inner : outer).push_back(dim);
  for (unsigned dim = 0; dim < reduction.size(); ++dim)
    loopOrder.push_back(dim);
}

//===- What can be a vector -------------------------------------------------------------------===//

bool ReductionSchedule::canVectorize(AffineExpr variable, IsAccess isAccess) const {
  if (k.emitter.needsScalarAlong(variable, parallel, reduction))
    return false;
  auto vector = [&](unsigned, AffineExpr offset, bool) {
    return isAccess(k.math, offset, variable);
  };
  return k.emitter.visitTermReads(parallel, reduction, vector) &&
         k.emitter.visitResultReads(parallel, vector);
}

bool ReductionSchedule::hasUnitTerm(AffineExpr variable) const {
  return !k.emitter.visitTermReads(parallel, reduction, [&](unsigned, AffineExpr offset, bool) {
    return k.math.strideAlong(offset, variable) != Stride::unit;
  });
}

/// Neighbours along `variable` are neighbours of all results, or of those that forEachResult
/// visits.
bool ReductionSchedule::storesNeighbours(AffineExpr variable, std::optional<bool> ofRow) const {
  bool are = true;
  auto visit = [&] {
    are &= k.math.strideAlong(k.emitter.resultOffset(parallel), variable) == Stride::unit;
  };
  forEachResult(visit, ofRow);
  return are;
}

bool ReductionSchedule::hasTestsAlong(AffineExpr variable) const {
  bool any = false;
  k.emitter.visitTermTests(parallel, reduction, [&](AffineExpr index, AffineExpr) {
    any |= k.math.strideAlong(index, variable) != Stride::uniform;
  });
  return any;
}

bool ReductionSchedule::chooseColumns() {
  if (outer.empty())
    return false;
  AffineExpr variable = parallel[outer.back()];
  if (!storesNeighbours(variable))
    return false;
  bool canBeVectors = hasUnitTerm(variable) && canVectorize(variable, isVectorAccess);
  // Whole vectors between the borders need no tests.
  if (canBeVectors && hasTestsAlong(variable) && chooseColumnsInside(k.rowLanes())) {
    bordersAreVectors = true;
    return true;
  }
  if (canBeVectors) {
    way = Way::columns;
    column = outer.pop_back_val();
    columnVariable = variable;
    return true;
  }
  if (chooseColumnsInside(kFewestColumns))
    return true;
  // Operands that lie along another dim than the result does: its elements are stored one by one.
  for (int64_t dim : ArrayRef(outer).drop_back()) {
    if (k.emitter.getResults().size() > 1 || !hasUnitTerm(parallel[dim]) ||
        !canVectorize(parallel[dim], isVectorAccess))
      continue;
    way = Way::columns;
    column = dim;
    columnVariable = parallel[dim];
    isApart = true;
    llvm::erase(outer, dim);
    return true;
  }
  return false;
}

/// Windows of neighbours overlap or lie close together: columns, as far as the borders let them.
bool ReductionSchedule::chooseColumnsInside(int64_t fewest) {
  int64_t dim = outer.back();
  AffineExpr variable = parallel[dim];
  auto extent = dl::asConstant(nest.parallel[dim]);
  if (!extent || !nest.isWindow())
    return false;
  int64_t low = 0, high = *extent;
  bool isKnown = true;
  k.emitter.visitTermTests(parallel, reduction, [&](AffineExpr index, AffineExpr size) {
    auto step = k.math.stepAlong(index, variable);
    if (step == 0)
      return;
    auto end = dl::asConstant(size);
    // The rest of step * column + rest.
    auto rest = step ? k.math.range(k.math.simplify(index - variable * *step)) : std::nullopt;
    if (!step || *step < 0 || !rest || !end) {
      isKnown = false;
      return;
    }
    low = std::max(low, llvm::divideCeilSigned(-rest->min, *step));
    high = std::min(high, llvm::divideFloorSigned(*end - 1 - rest->max, *step) + 1);
  });
  if (!isKnown || high - low < fewest)
    return false;
  columnVariable = k.math.addLoop(k.math.constant(high - low));
  parallel[dim] = columnVariable + low;
  if (!canVectorize(columnVariable, isDenseAccess)) {
    parallel[dim] = variable;
    return false;
  }
  way = Way::columns;
  column = outer.pop_back_val();
  inside = {low, high};
  return true;
}

void ReductionSchedule::chooseWay() {
  if (chooseColumns())
    return;
  for (unsigned dim = 0; dim < reduction.size(); ++dim) {
    if (!hasUnitTerm(reduction[dim]) || !canVectorize(reduction[dim], isVectorAccess))
      continue;
    way = Way::lanes;
    std::swap(loopOrder[dim], loopOrder.back());
    return;
  }
}

//===- Accumulators ---------------------------------------------------------------------------===//

Accumulator ReductionSchedule::neutralAccumulator(unsigned stage) {
  Type element = k.emitter.accumulatorType(stage), i64 = k.builder.getI64Type();
  auto shaped = [&](Type type) -> Type {
    return k.vector ? VectorType::get({k.vector->lanes}, type) : type;
  };
  Accumulator acc = {neutral(k.builder, k.loc, nest.stages[stage], shaped(element),
                             k.emitter.accumulatorKind(stage))};
  if (hasPosition(stage)) {
    Value none =
        arith::ConstantOp::create(k.builder, k.loc, k.builder.getIntegerAttr(i64, kNoPosition));
    acc.push_back(k.vector ? k.splat(none, k.vector->lanes) : none);
  }
  return acc;
}

Accumulator ReductionSchedule::combineAccumulators(unsigned stage, Accumulator a, Accumulator b) {
  ScalarKind kind = k.emitter.accumulatorKind(stage);
  if (!hasPosition(stage))
    return {combine(k.builder, k.loc, nest.stages[stage], kind, a[0], b[0])};
  Best best = combineBest(k.builder, k.loc, nest.stages[stage], kind, {a[0], a[1]}, {b[0], b[1]});
  return {best.value, best.position};
}

Accumulator ReductionSchedule::step(unsigned stage, ArrayRef<AffineExpr> at, Accumulator acc,
                                    ValueRange earlier) {
  Value term = k.emitter.emitTerm(k.builder, stage, parallel, at, earlier);
  if (k.vector && !isa<VectorType>(term.getType()))
    term = k.splat(term, k.vector->lanes);
  Accumulator next = {term};
  if (hasPosition(stage)) {
    // Row-major over the reduction dims, whatever order the loops run in.
    AffineExpr position = k.math.constant(0);
    for (auto [index, extent] : llvm::zip(at, nest.reduction))
      position = position * extent + index;
    position = k.math.simplify(position);
    Type i64 = k.builder.getI64Type();
    Value first = arith::IndexCastOp::create(k.builder, k.loc, i64, k.value(position));
    if (k.vector) {
      int64_t stride = k.math.stepAlong(position, k.vector->variable).value_or(0);
      SmallVector<int64_t> lanes;
      for (int64_t lane = 0; lane < k.vector->lanes; ++lane)
        lanes.push_back(lane * stride);
      Value steps =
          arith::ConstantOp::create(k.builder, k.loc,
                                    DenseElementsAttr::get(VectorType::get({k.vector->lanes}, i64),
                                                           ArrayRef<int64_t>(lanes)));
      first = arith::AddIOp::create(k.builder, k.loc, k.splat(first, k.vector->lanes), steps);
    }
    next.push_back(first);
  }
  return combineAccumulators(stage, acc, next);
}

/// Halves the vector until one lane is left.
Accumulator ReductionSchedule::acrossLanes(unsigned stage, Accumulator acc) {
  for (int64_t lanes = k.rowLanes(); lanes > 1; lanes /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes / 2; ++lane) {
      low.push_back(lane);
      high.push_back(lane + lanes / 2);
    }
    Accumulator a, b;
    for (Value part : acc) {
      a.push_back(vector::ShuffleOp::create(k.builder, k.loc, part, part, low));
      b.push_back(vector::ShuffleOp::create(k.builder, k.loc, part, part, high));
    }
    acc = combineAccumulators(stage, a, b);
  }
  for (Value &part : acc)
    part = vector::ExtractOp::create(k.builder, k.loc, part, 0);
  return acc;
}

//===- Stages ---------------------------------------------------------------------------------===//

/// Folds a loop into accumulators `init`, several of one kind. If its `extent` makes a sum long,
/// the loop is divided into parts that are summed separately.
SmallVector<Value> ReductionSchedule::foldRow(unsigned stage, Value from, Value to, int64_t step,
                                              ValueRange init, AffineExpr extent,
                                              CpuKernel::Fold body) {
  if (!addsReals(stage))
    return k.fold(from, to, step, init, body);
  auto count = dl::asConstant(extent);
  int64_t part = step;
  for (int64_t level = 0; count ? *count > kLongestSum * part : level < kSumLevels; ++level)
    part *= kLongestSum;
  return foldParts(stage, from, to, {step, part}, init, body);
}

/// Folds a loop in parts of `lengths.part` indices. Each part starts from 0 and is divided again,
/// down to single steps; its sum is then added to `init`.
SmallVector<Value> ReductionSchedule::foldParts(unsigned stage, Value from, Value to,
                                                PartLengths lengths, ValueRange init,
                                                CpuKernel::Fold body) {
  if (lengths.part == lengths.step)
    return k.fold(from, to, lengths.step, init, body);
  SmallVector<Value> zeros(init.size(), neutralAccumulator(stage).front());
  return k.fold(from, to, lengths.part, init, [&](Value at, ValueRange accs) {
    Value end = k.smaller(k.add(at, k.index(lengths.part)), to);
    PartLengths inner{lengths.step, lengths.part / kLongestSum};
    SmallVector<Value> sums = foldParts(stage, at, end, inner, zeros, body), next;
    for (auto [acc, sum] : llvm::zip(accs, sums))
      next.push_back(combineAccumulators(stage, {acc}, {sum}).front());
    return next;
  });
}

Accumulator ReductionSchedule::reduceAlongLanes(unsigned stage, Accumulator scalar,
                                                ValueRange earlier) {
  unsigned dim = loopOrder.back();
  AffineExpr variable = reduction[dim];
  int64_t lanes = k.rowLanes(), wide = kAccumulators * lanes;
  Value extent = k.value(nest.reduction[dim]);
  Value wideEnd = k.mul(k.divide(extent, k.index(wide)), k.index(wide));
  Value vectorEnd = k.mul(k.divide(extent, k.index(lanes)), k.index(lanes));

  k.vector = VectorLoop{variable, lanes, {}};
  Accumulator neutral = neutralAccumulator(stage);
  SmallVector<Value> init;
  for (int64_t i = 0; i < kAccumulators; ++i)
    llvm::append_range(init, neutral);
  size_t parts = neutral.size();
  auto part = [&](ValueRange values, int64_t i) {
    return Accumulator(values.begin() + i * parts, values.begin() + (i + 1) * parts);
  };
  auto body = [&](Value at, ValueRange accs) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < kAccumulators; ++i) {
      k.math.bindLoop(variable, k.add(at, k.index(i * lanes)));
      llvm::append_range(next, step(stage, reduction, part(accs, i), earlier));
    }
    return next;
  };
  SmallVector<Value> many =
      foldRow(stage, k.index(0), wideEnd, wide, init, nest.reduction[dim], body);
  Accumulator acc =
      combineAccumulators(stage, combineAccumulators(stage, part(many, 0), part(many, 1)),
                          combineAccumulators(stage, part(many, 2), part(many, 3)));
  auto one = [&](Value at, ValueRange accs) {
    k.math.bindLoop(variable, at);
    return step(stage, reduction, Accumulator(accs.begin(), accs.end()), earlier);
  };
  acc = k.fold(wideEnd, vectorEnd, lanes, acc, one);
  acc = acrossLanes(stage, acc);
  k.vector.reset();
  scalar = combineAccumulators(stage, scalar, acc);
  return k.fold(vectorEnd, extent, 1, scalar, one);
}

/// Terms that the op knows to be neutral are left out, where a vector has them in common.
bool ReductionSchedule::usesSpans() const {
  return nest.spanned.any() &&
         (way != Way::columns || k.emitter.sharesSpans(columnVariable, parallel));
}

Span ReductionSchedule::rangeOf(unsigned loop) {
  if (nest.isSpanned(loop) && usesSpans())
    return k.emitter.emitSpan(k.builder, loop, parallel);
  return {k.index(0), k.value(nest.reduction[loop])};
}

Accumulator ReductionSchedule::reduceLoops(unsigned stage, unsigned depth, Accumulator acc,
                                           ValueRange earlier) {
  if (depth == loopOrder.size())
    return step(stage, reduction, acc, earlier);
  if (way == Way::lanes && depth + 1 == loopOrder.size())
    return reduceAlongLanes(stage, acc, earlier);
  unsigned dim = loopOrder[depth];
  bool isInnermost = depth + 1 == loopOrder.size();
  auto body = [&](Value at, ValueRange accs) -> SmallVector<Value> {
    k.math.bindLoop(reduction[dim], at);
    Accumulator before(accs.begin(), accs.end());
    if (isInnermost || !addsReals(stage))
      return reduceLoops(stage, depth + 1, before, earlier);
    return combineAccumulators(stage, before,
                               reduceLoops(stage, depth + 1, neutralAccumulator(stage), earlier));
  };
  Span range = rangeOf(dim);
  return foldRow(stage, range.begin, range.end, 1, acc, nest.reduction[dim], body);
}

Value ReductionSchedule::reduceStage(unsigned stage, ValueRange earlier) {
  Accumulator acc = neutralAccumulator(stage);
  auto count = dl::asConstant(dl::product(nest.reduction, k.builder.getContext()));
  if (way != Way::lanes && count && *count <= kUnrolledWindow && !usesSpans()) {
    // Constant window indices make most border tests vanish.
    for (int64_t position = 0; position < *count; ++position) {
      SmallVector<AffineExpr> at(reduction.size());
      int64_t rest = position;
      for (size_t dim = at.size(); dim-- > 0;) {
        int64_t extent = *dl::asConstant(nest.reduction[dim]);
        at[dim] = k.math.constant(rest % extent);
        rest /= extent;
      }
      acc = step(stage, at, acc, earlier);
    }
  } else {
    acc = reduceLoops(stage, 0, acc, earlier);
  }
  return acc.back(); // argmax: the position
}

//===- Results --------------------------------------------------------------------------------===//

void ReductionSchedule::forEachResult(llvm::function_ref<void()> visit,
                                      std::optional<bool> ofRow) const {
  for (unsigned number = 0; number < k.emitter.getResults().size(); ++number) {
    if (ofRow && k.emitter.isOfRow(number) != *ofRow)
      continue;
    k.emitter.select(number);
    visit();
  }
  k.emitter.select(0);
}

void ReductionSchedule::emitResult(ArrayRef<Value> accs, bool ofRow) {
  auto value = [&] { return k.emitter.emitResult(k.builder, parallel, accs); };
  if (block && !ofRow)
    k.store(value(), blockOffset, block);
  else if (!block)
    k.storeEach(value, [&] { return k.emitter.resultOffset(parallel); }, ofRow);
}

void ReductionSchedule::emitResultLoops(ArrayRef<int64_t> dims, ArrayRef<Value> accs) {
  if (dims.empty()) {
    emitResult(accs, /*ofRow=*/false);
    return;
  }
  AffineExpr variable = parallel[dims.front()];
  Value zero = k.index(0), extent = k.value(nest.parallel[dims.front()]);
  auto vector = [&](unsigned, AffineExpr offset, bool) {
    return isVectorAccess(k.math, offset, variable);
  };
  if (dims.size() == 1 && way != Way::columns && storesNeighbours(variable, /*ofRow=*/false) &&
      !k.emitter.needsScalarAlong(variable, parallel, reduction) &&
      k.emitter.visitResultReads(parallel, vector)) {
    k.forVector(variable, zero, extent, [&] { emitResultLoops({}, accs); });
    return;
  }
  k.forEach(zero, extent, 1, [&](Value at) {
    k.math.bindLoop(variable, at);
    emitResultLoops(dims.drop_front(), accs);
  });
}

void ReductionSchedule::emitRow() {
  SmallVector<Value> accs;
  for (unsigned stage = 0; stage < nest.stages.size(); ++stage)
    accs.push_back(reduceStage(stage, accs));
  emitResult(accs, /*ofRow=*/true);
  bool hasElements = false;
  forEachResult([&] { hasElements = true; }, /*ofRow=*/false);
  if (hasElements)
    emitResultLoops(inner, accs);
}

/// The columns before and behind those inside.
void ReductionSchedule::emitBorders() {
  auto [low, high] = *inside;
  int64_t count = low + *dl::asConstant(nest.parallel[column]) - high, first = low,
          skipped = high - low;
  AffineExpr middle = parallel[column];
  parallel[column] = k.math.addLoop(nest.parallel[column]);
  if (bordersAreVectors) {
    AffineExpr variable = parallel[column];
    k.forVector(variable, k.index(0), k.index(low), [&] { emitRow(); });
    k.forVector(variable, k.index(high), k.value(nest.parallel[column]), [&] { emitRow(); });
    parallel[column] = middle;
    return;
  }
  way = Way::scalars;
  k.forEach(k.index(0), k.index(count), 1, [&](Value i) {
    Value behind = k.add(i, k.index(skipped));
    k.math.bindLoop(parallel[column], arith::SelectOp::create(
                                          k.builder, k.loc, k.less(i, k.index(first)), i, behind));
    emitRow();
  });
  way = Way::columns;
  parallel[column] = middle;
}

/// Results whose neighbours along the column lie apart go to their places block by block: stored as
/// they come, each would touch a line of the cache of its own. What lies behind the column in
/// memory is one line of the result.
CpuLaunch ReductionSchedule::runBlocks() {
  RankedTensorType type = k.emitter.getResultType();
  SmallVector<AffineExpr> variables, extents, lineVariables, lineExtents;
  bool isBehind = false;
  for (int64_t dim : memoryOrder(dl::getLayout(type), type.getRank())) {
    if (dim == column) {
      isBehind = true;
      continue;
    }
    (isBehind ? lineVariables : variables).push_back(parallel[dim]);
    (isBehind ? lineExtents : extents).push_back(nest.parallel[dim]);
  }
  AffineExpr columns = nest.parallel[column],
             length = dl::product(lineExtents, k.builder.getContext());
  for (AffineExpr count : {columns.ceilDiv(kTileColumnsApart), length.ceilDiv(kTileLine)}) {
    extents.push_back(count);
    variables.push_back(k.math.addLoop(count));
  }
  AffineExpr left = variables.end()[-2] * kTileColumnsApart, top = variables.back() * kTileLine;
  AffineExpr place = k.math.addLoop(length); // in a line
  Type element = storageType(type.getElementType());
  block = k.scratchView(element, kTileColumnsApart * kTileLine);
  blockOffset = (place - top) * kTileColumnsApart + columnVariable - left;
  auto moveTo = [&](Value at) {
    k.math.bindLoop(place, at);
    k.delinearize(at, lineVariables, lineExtents);
  };
  auto difference = [&](Value a, Value b) {
    return k.builder.createOrFold<arith::SubIOp>(k.loc, a, b);
  };
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    k.delinearize(tile, variables, extents);
    Value firstColumn = k.value(left), first = k.value(top);
    Value endColumn = k.smaller(k.add(firstColumn, k.index(kTileColumnsApart)), k.value(columns));
    Value end = k.smaller(k.add(first, k.index(kTileLine)), k.value(length));
    k.forEach(first, end, 1, [&](Value at) {
      moveTo(at);
      k.forVector(columnVariable, firstColumn, endColumn, [&] { emitRow(); });
    });
    moveTo(first);
    k.math.bindLoop(columnVariable, firstColumn);
    k.copyTurned({block, k.index(0), k.index(kTileColumnsApart)},
                 {k.output(0), k.value(k.emitter.resultOffset(parallel)), k.value(length)},
                 difference(end, first), difference(endColumn, firstColumn));
  });
  return {dl::normalize(dl::product(extents, k.builder.getContext())),
          kTileColumnsApart * kTileLine * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)};
}

CpuLaunch ReductionSchedule::run() {
  chooseWay();
  if (isApart && inner.empty() && !k.emitter.storesPart() &&
      !dl::getLayout(k.emitter.getResultType()).isTiled())
    return runBlocks();
  SmallVector<AffineExpr> variables, extents;
  for (int64_t dim : outer) {
    variables.push_back(parallel[dim]);
    extents.push_back(nest.parallel[dim]);
  }
  AffineExpr tiles = dl::product(extents, k.builder.getContext());
  AffineExpr chunk, columns;
  int64_t tileColumns = isApart ? kTileColumnsApart : kTileColumns;
  if (way == Way::columns) {
    columns = inside ? k.math.constant(inside->second - inside->first) : nest.parallel[column];
    AffineExpr chunks = columns.ceilDiv(tileColumns);
    chunk = k.math.addLoop(chunks);
    variables.insert(variables.end() - isApart, chunk);
    extents.insert(extents.end() - isApart, chunks);
    tiles = dl::normalize(tiles * chunks);
  }
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    k.delinearize(tile, variables, extents);
    if (way != Way::columns) {
      emitRow();
      return;
    }
    Value from = k.value(chunk * tileColumns);
    Value to = k.smaller(k.add(from, k.index(tileColumns)), k.value(columns));
    k.forVector(columnVariable, from, to, [&] { emitRow(); });
    if (inside && columns != nest.parallel[column])
      k.when(k.less(from, k.index(1)), [&] { emitBorders(); });
  });
  return {tiles};
}

CpuLaunch scheduleReduction(CpuKernel &kernel) { return ReductionSchedule(kernel).run(); }

} // namespace dlc::codegen
