//===- BlockSparseSchedule.cpp - Products that skip the blocks of zeros of a weight -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stored blocks of a panel of kPanel features follow one another. The kernel loads the numbers
// of each as whole vectors, and multiplies them with the element that each row of x has at the
// block's column; a block of rows keeps its sums in registers from the first block of the panel to
// the last. A tile of the launch is a chunk of rows by one panel. Rows that fill no whole block are
// computed in smaller ones. Few rows have several sums for each of their features, since each
// addition waits for the one before it. How sums are cut up depends on the number of rows alone, so
// that the number of threads never changes bits.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/CpuKernel.h"
#include "codegen/plan/Combine.h"
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dlc::codegen {

static_assert(dl::BlockSparseLinearOp::kPanel == kPanel, "a block is a step of one packed panel");

/// Rows of a tile where there are many: whole blocks of rows of each size.
static constexpr int64_t kChunkRows = 48;
/// Rows of a block at most: their elements at one column often lie a power of two apart, and a
/// cache of 8 ways holds no more of these. Eight sums hide the latency of additions; of two
/// registers each, 16 registers hold 6 and what a step reads.
static constexpr int64_t kMostRows = 8, kMostRowsOfTwo = 6;
/// Sums that a step adds to at least, where there are so few rows: an addition takes as many steps.
static constexpr int64_t kSumsInTurn = 8;

namespace {
class BlockSparseSchedule {
public:
  explicit BlockSparseSchedule(CpuKernel &kernel);
  CpuLaunch run();

private:
  /// One row: its indices in the result, and its position among all rows.
  struct Row {
    SmallVector<AffineExpr> variables, parallel;
    AffineExpr position;
  };

  void bindPanel();
  void emitRows(Value from, Value to, int64_t count);
  void bindRows(Value first, int64_t count);
  SmallVector<Value> addBlock(Value step, ValueRange accs);
  void emitRow(const Row &row, ArrayRef<Value> accs);
  AffineExpr alongRows(const Row &row, AffineExpr offset) const {
    return k.alongLinear(row.variables, rowDims, row.position, offset);
  }
  unsigned inputOf(Value operand) const { return cast<BlockArgument>(operand).getArgNumber(); }
  RankedTensorType typeOf(Value operand) const { return cast<RankedTensorType>(operand.getType()); }
  int64_t vectors() const { return kPanel / lanes; }

  CpuKernel &k;
  dl::BlockSparseLinearOp op;
  const unsigned dim; // of the features in the result, and of the columns in x
  const int64_t features, lanes;
  dl::Dims rowDims; // of the result, the features aside
  AffineExpr numRows, panel, feature, block, column, lane;
  Type accType;
  ScalarKind accKind;
  Value firstBlock, endBlock; // of the panel at hand
  SmallVector<Row> rows;      // at hand
};
} // namespace

BlockSparseSchedule::BlockSparseSchedule(CpuKernel &kernel)
    : k(kernel), op(cast<dl::BlockSparseLinearOp>(kernel.emitter.getRoot().getOperation())),
      dim(op.getDim()), features(static_cast<int64_t>(op.getFeatures())), lanes(k.lanes()) {
  for (auto [place, extent] : llvm::enumerate(dl::getDims(typeOf(op.getY()))))
    if (place != dim)
      rowDims.push_back(extent);
  numRows = dl::product(rowDims, k.builder.getContext());
  accType = k.emitter.accumulatorType(0);
  accKind = k.emitter.accumulatorKind(0);
  panel = k.math.addLoop(k.math.constant(llvm::divideCeil(features, kPanel)));
  feature = k.math.addLoop(k.math.constant(features));
  block = k.math.addLoop(dl::getDims(typeOf(op.getValues()))[0]);
  column = k.math.addLoop(dl::getDims(typeOf(op.getX()))[dim]);
  lane = k.math.addLoop(k.math.constant(lanes), k.index(0));
}

/// The blocks of the panel at hand; a file that names others reads the nearest ones that there are.
void BlockSparseSchedule::bindPanel() {
  Value blocks = k.value(dl::getDims(typeOf(op.getValues()))[0]);
  auto read = [&](AffineExpr at) -> Value {
    Value stored = k.load(inputOf(op.getStarts()), k.emitter.offset(typeOf(op.getStarts()), {at}));
    Value place = arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), stored);
    return arith::MaxSIOp::create(k.builder, k.loc, k.smaller(place, blocks), k.index(0));
  };
  firstBlock = read(panel);
  endBlock = arith::MaxSIOp::create(k.builder, k.loc, read(panel + 1), firstBlock);
}

/// The sums of the rows at hand and block number `step` more.
SmallVector<Value> BlockSparseSchedule::addBlock(Value step, ValueRange accs) {
  RankedTensorType columns = typeOf(op.getColumns()), values = typeOf(op.getValues()),
                   x = typeOf(op.getX());
  k.math.bindLoop(block, step);
  Value stored = k.load(inputOf(op.getColumns()), k.emitter.offset(columns, {block}));
  Value place = arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), stored);
  // A file that says otherwise reads the nearest element that there is.
  Value last =
      k.builder.createOrFold<arith::SubIOp>(k.loc, k.value(dl::getDims(x)[dim]), k.index(1));
  place = arith::MaxSIOp::create(k.builder, k.loc, k.smaller(place, last), k.index(0));
  k.math.bindLoop(column, place);
  auto inAccumulator = [&](Value value, RankedTensorType type) {
    Type element = type.getElementType();
    return Scalar(k.builder, k.loc, fromStorage(k.builder, k.loc, value, element),
                  scalarKind(element))
        .convertTo(accType, accKind)
        .value();
  };
  SmallVector<Value> factors;
  for (int64_t first = 0; first < kPanel; first += lanes) {
    AffineExpr offset = k.emitter.offset(values, {block, k.math.constant(first)});
    k.vector = VectorLoop{lane, lanes, {}};
    factors.push_back(
        inAccumulator(k.load(inputOf(op.getValues()), k.math.simplify(offset + lane)), values));
    k.vector.reset();
  }
  SmallVector<Value> next;
  for (const Row &row : rows) {
    SmallVector<AffineExpr> indices(row.parallel);
    for (auto [at, step] : llvm::enumerate(op.getSteps()))
      indices[at] = indices[at] * step;
    indices[dim] = column;
    Value element = k.load(inputOf(op.getX()), alongRows(row, k.emitter.offset(x, indices)));
    Value repeated = k.splat(inAccumulator(element, x), lanes);
    for (Value factor : factors) {
      Value acc = accs[next.size()];
      if (accKind == ScalarKind::floating)
        next.push_back(math::FmaOp::create(k.builder, k.loc, repeated, factor, acc));
      else
        next.push_back(arith::AddIOp::create(
            k.builder, k.loc, acc, arith::MulIOp::create(k.builder, k.loc, repeated, factor)));
    }
  }
  return next;
}

/// Epilogue and stores of one row of the panel.
void BlockSparseSchedule::emitRow(const Row &row, ArrayRef<Value> accs) {
  AffineExpr offset = k.emitter.resultOffset(row.parallel);
  const int64_t inLast = features % kPanel;
  Value firstFeature = k.mul(k.value(panel), k.index(kPanel));
  k.rewriteOffset = [&](AffineExpr own) { return alongRows(row, own); };
  for (auto [j, acc] : llvm::enumerate(accs)) {
    Value at = k.add(firstFeature, k.index(static_cast<int64_t>(j) * lanes));
    auto emit = [&, acc = acc] {
      Value mask;
      if (inLast != 0)
        mask =
            k.laneMask(k.builder.createOrFold<arith::SubIOp>(k.loc, k.index(features), at), lanes);
      k.math.bindLoop(feature, at);
      k.vector = VectorLoop{feature, lanes, mask};
      Value vector = acc;
      k.store(k.emitter.emitResult(k.builder, row.parallel, vector), offset);
      k.vector.reset();
    };
    // A vector may lie wholly outside the result: nothing of it may be read.
    if (inLast != 0 && inLast <= kPanel - lanes)
      k.when(k.less(at, k.index(features)), emit);
    else
      emit();
  }
  k.rewriteOffset = nullptr;
}

void BlockSparseSchedule::bindRows(Value first, int64_t count) {
  rows.clear();
  for (int64_t i = 0; i < count; ++i) {
    Row row;
    row.position = k.math.addLoop(numRows);
    for (AffineExpr extent : rowDims)
      row.variables.push_back(k.math.addLoop(extent));
    Value at = k.add(first, k.index(i));
    k.math.bindLoop(row.position, at);
    k.delinearize(at, row.variables, rowDims);
    row.parallel = row.variables;
    row.parallel.insert(row.parallel.begin() + dim, feature);
    rows.push_back(std::move(row));
  }
}

/// Blocks of `count` rows from row `from` on, as many as end at `to` or before it.
void BlockSparseSchedule::emitRows(Value from, Value to, int64_t count) {
  k.forEach(from, to, count, [&](Value first) {
    bindRows(first, count);
    const int64_t own = count * vectors(), turns = llvm::divideCeil(kSumsInTurn, own);
    Value zero =
        neutral(k.builder, k.loc, Combiner::add, VectorType::get({lanes}, accType), accKind);
    SmallVector<Value> accs(own * turns, zero);
    Value number = k.builder.createOrFold<arith::SubIOp>(k.loc, endBlock, firstBlock);
    Value whole = k.add(firstBlock, k.mul(k.divide(number, k.index(turns)), k.index(turns)));
    accs = k.fold(firstBlock, whole, turns, accs, [&](Value step, ValueRange carried) {
      SmallVector<Value> next;
      for (int64_t turn = 0; turn < turns; ++turn)
        llvm::append_range(next,
                           addBlock(k.add(step, k.index(turn)), carried.slice(turn * own, own)));
      return next;
    });
    SmallVector<Value> sums(ArrayRef(accs).take_front(own));
    for (int64_t i = own; i < own * turns; ++i) {
      Value &sum = sums[i % own];
      sum = accKind == ScalarKind::floating
                ? arith::AddFOp::create(k.builder, k.loc, sum, accs[i]).getResult()
                : arith::AddIOp::create(k.builder, k.loc, sum, accs[i]).getResult();
    }
    if (turns > 1)
      sums = k.fold(whole, endBlock, 1, sums,
                    [&](Value step, ValueRange carried) { return addBlock(step, carried); });
    for (auto [i, row] : llvm::enumerate(rows))
      emitRow(row, ArrayRef(sums).slice(i * vectors(), vectors()));
  });
}

CpuLaunch BlockSparseSchedule::run() {
  AffineExpr panels = k.math.constant(llvm::divideCeil(features, kPanel)),
             chunks = numRows.ceilDiv(kChunkRows), chunk = k.math.addLoop(chunks);
  const int64_t most = k.isa >= IsaVariant::avx512 ? kMostRows : kMostRowsOfTwo;
  const auto known = dl::asConstant(numRows);
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    // Panels change fastest: the rows of a chunk stay in the cache.
    k.delinearize(tile, {chunk, panel}, {chunks, panels});
    bindPanel();
    Value from = k.mul(k.value(chunk), k.index(kChunkRows)),
          to = k.smaller(k.add(from, k.index(kChunkRows)), k.value(numRows));
    for (int64_t count : {most, int64_t(4), int64_t(2), int64_t(1)}) {
      if (known && *known < count)
        continue;
      Value left = k.builder.createOrFold<arith::SubIOp>(k.loc, to, from);
      Value end = k.add(from, k.mul(k.divide(left, k.index(count)), k.index(count)));
      emitRows(from, end, count);
      from = end;
      if (known && *known % count == 0 && kChunkRows % count == 0)
        break;
    }
  });
  return {dl::normalize(panels * chunks), 0};
}

CpuLaunch scheduleBlockSparse(CpuKernel &kernel) { return BlockSparseSchedule(kernel).run(); }

} // namespace dlc::codegen
