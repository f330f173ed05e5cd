//===- ContractionSchedule.cpp - GEMM and convolution micro-kernels on the CPU ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of rows times some panels is kept in registers: for each k, one vector load for each panel register and one
// broadcast for each row. The operand b lies in panels [N/16][K][16] (PanelContraction::layout), a and the result as the
// model has them; a convolution reads its input in place, tap by tap. Taps outside of it read a row of zeros in scratch
// memory, or, where maps stand before the contraction, offset 0, and the value is replaced. The epilogue runs on the
// accumulators.
//
// A tile of the launch is kChunkRows rows by a group of panels, equal for all instruction sets; registers decide how it
// is cut into blocks. The last block of a chunk repeats its last row rather than having code of its own.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/Combine.h"
#include "codegen/schedule/cpu/CpuKernel.h"
#include "codegen/schedule/cpu/PanelContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Rows of a tile where the number of rows is large or unknown: whole blocks of 8, 6 and 12 rows.
static constexpr int64_t kChunkRows = 48;
/// Innermost loops of at most this many steps are written out.
static constexpr int64_t kUnrolledSteps = 4;
/// With innermost loops of at most this many steps, blocks away from the border are worth code of their own.
static constexpr int64_t kInteriorSteps = 64;

namespace {

class ContractionSchedule {
public:
  ContractionSchedule(CpuKernel &kernel, PanelContraction parts);
  CpuLaunch run();

private:
  /// One row of the block: its indices, and for the tap at hand whether it lies inside (null: always) and where it is
  /// read, if from a buffer that was chosen for that.
  struct Row {
    SmallVector<AffineExpr> parallel; // with the shared column variable
    Value inside, source, first;
  };
  /// A test that a read of the first operand needs: 0 <= index < extent.
  struct BoundsTest {
    AffineExpr index, extent;
    bool low, high;
  };

  void emitTile(Value group, Value batchAt, Value chunk);
  void emitPanels(Value first, int64_t panels, Value firstRow);
  void emitBlock(Value firstRow, Value firstPanel, int64_t panels, int64_t blockRows);
  SmallVector<Value> reduce(unsigned depth, SmallVector<Value> accs, bool guarded);
  SmallVector<Value> reduceStep(ArrayRef<Value> accs);
  SmallVector<Value> reduceChecked(ArrayRef<Value> init);
  void computeGuards();
  void makeZeroRow();
  bool readsZeroRow() const { return zeroRow != nullptr; }
  Value multiplyAdd(Value a, Value b, Value acc);
  Value readA(const Row &row);
  Value readB(int64_t vector);
  void emitRow(const Row &row, ArrayRef<Value> accs);

  SmallVector<AffineExpr> aIndices(ArrayRef<AffineExpr> parallel) const;
  SmallVector<BoundsTest> testsOf(ArrayRef<AffineExpr> indices) const;
  Value holds(const BoundsTest &test);
  Value both(Value a, Value b) {
    return a ? arith::AndIOp::create(k.builder, k.loc, a, b).getResult() : b;
  }
  AffineExpr atEnd(AffineExpr index, bool largest) const;

  int64_t vectorsPerPanel() const { return kPanel / lanes; }
  int64_t rowsFor(int64_t panels) const;
  /// Rows that differ from block to block need no test where every block is whole.
  bool rowsAreWhole(int64_t blockRows) const;

  CpuKernel &k;
  PanelContraction parts;
  const LoopNest &nest;
  Value aTensor;
  RankedTensorType bType;
  Type accType;
  ScalarKind accKind;
  int64_t lanes;      // of an accumulator
  int64_t maxVectors; // accumulators that fit the register file
  AffineExpr numRows, numColumns, numBatches;
  int64_t chunkRows;
  int64_t groupPanels;
  std::optional<int64_t> panelCount;

  // Loop variables; those of rows are made for each block.
  SmallVector<AffineExpr> batch, reduction, reductionAt;
  AffineExpr panel, column;
  AffineExpr lane; // 0: the variable of vectors that are read whole
  Value rowEnd;    // of the tile
  Value zeroRow;   // what taps outside of the operand read
  int64_t scratchBytes = 0;
  SmallVector<Row> rows;
  int64_t numVectors = 0; // of a row in the block at hand
};

} // namespace

ContractionSchedule::ContractionSchedule(CpuKernel &kernel, PanelContraction found)
    : k(kernel), parts(std::move(found)), nest(kernel.emitter.getNest()) {
  MLIRContext *context = k.builder.getContext();
  aTensor = k.emitter.getRoot()->getOperand(nest.terms[0].operand);
  bType = cast<RankedTensorType>(
      k.emitter.getKernel().getBodyBlock().getArgument(parts.bInput).getType());
  accType = k.emitter.accumulatorType(0);
  accKind = k.emitter.accumulatorKind(0);
  lanes = k.lanes();
  // 32 registers hold 24 accumulators, three vectors of b and what the epilogue needs; 16 hold 12. Wider elements take two.
  maxVectors = k.isa == IsaVariant::avx512 ? 24 : 12;
  if (accType.getIntOrFloatBitWidth() > 32)
    maxVectors /= 2;

  auto extents = [&](ArrayRef<unsigned> dims) {
    SmallVector<AffineExpr> list;
    for (unsigned dim : dims)
      list.push_back(nest.parallel[dim]);
    return dl::product(list, context);
  };
  numRows = extents(parts.rows);
  numBatches = extents(parts.batch);
  numColumns = nest.parallel[parts.column];
  for (unsigned dim : parts.batch)
    batch.push_back(k.math.addLoop(nest.parallel[dim]));
  for (AffineExpr dim : nest.reduction)
    reduction.push_back(k.math.addLoop(dim));
  panel = k.math.addLoop(numColumns.ceilDiv(kPanel));
  column = k.math.addLoop(numColumns);
  lane = k.math.addLoop(k.math.constant(lanes), k.index(0));

  auto constantRows = dl::asConstant(numRows);
  chunkRows = kChunkRows;
  if (constantRows && *constantRows < 4 * kChunkRows)
    chunkRows =
        std::max<int64_t>(1, llvm::divideCeil(*constantRows, llvm::divideCeil(*constantRows, 64)));
  if (constantRows == 0)
    chunkRows = 1;
  if (auto columns = dl::asConstant(numColumns))
    panelCount = llvm::divideCeil(*columns, kPanel);
  // Few rows keep few accumulators busy: more panels hide the latency.
  groupPanels = !panelCount ? 1 : constantRows && *constantRows <= 2 ? 4 : 2;
}

int64_t ContractionSchedule::rowsFor(int64_t panels) const {
  int64_t most = std::min<int64_t>(maxVectors / (panels * vectorsPerPanel()),
                                   panels * vectorsPerPanel() == 1 ? 12 : 8);
  int64_t blocks = llvm::divideCeil(chunkRows, most);
  return llvm::divideCeil(chunkRows, blocks);
}

bool ContractionSchedule::rowsAreWhole(int64_t blockRows) const {
  auto count = dl::asConstant(numRows);
  return count && *count % chunkRows == 0 && chunkRows % blockRows == 0;
}

//===- Tiles ----------------------------------------------------------------------------------------===//

CpuLaunch ContractionSchedule::run() {
  AffineExpr groups =
      !panelCount
          ? numColumns.ceilDiv(kPanel)
          : k.math.constant(*panelCount == 0 ? 0 : std::max<int64_t>(1, *panelCount / groupPanels));
  AffineExpr chunks = numRows.ceilDiv(chunkRows);
  makeZeroRow();
  AffineExpr group = k.math.addLoop(groups), chunk = k.math.addLoop(chunks),
             batchAt = k.math.addLoop(numBatches);
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    // Panels change fastest: the rows of a chunk stay in the cache.
    k.delinearize(tile, {batchAt, chunk, group}, {numBatches, chunks, groups});
    emitTile(k.value(group), k.value(batchAt), k.value(chunk));
  });
  return {dl::normalize(numBatches * chunks * groups), scratchBytes};
}

void ContractionSchedule::emitTile(Value group, Value batchAt, Value chunk) {
  SmallVector<AffineExpr> extents;
  for (unsigned dim : parts.batch)
    extents.push_back(nest.parallel[dim]);
  if (!batch.empty())
    k.delinearize(batchAt, batch, extents);
  Value firstRow = k.mul(chunk, k.index(chunkRows));
  rowEnd = k.smaller(k.add(firstRow, k.index(chunkRows)), k.value(numRows));
  Value first = k.mul(group, k.index(groupPanels));
  if (!panelCount || *panelCount <= groupPanels) {
    emitPanels(first, panelCount.value_or(1), firstRow);
    return;
  }
  int64_t groups = *panelCount / groupPanels, inLast = *panelCount - (groups - 1) * groupPanels;
  if (inLast == groupPanels || groups == 1) {
    emitPanels(first, inLast, firstRow);
    return;
  }
  Value isLast =
      arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq, group, k.index(groups - 1));
  k.when(isLast, [&] { emitPanels(first, inLast, firstRow); });
  Value isOther =
      arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ne, group, k.index(groups - 1));
  k.when(isOther, [&] { emitPanels(first, groupPanels, firstRow); });
}

void ContractionSchedule::emitPanels(Value first, int64_t panels, Value firstRow) {
  // As many panels at once as leave a block of about 6 rows (or all rows there are) in registers.
  int64_t wanted = std::min<int64_t>(chunkRows, 6);
  int64_t atOnce =
      std::max<int64_t>(1, std::min(panels, maxVectors / (wanted * vectorsPerPanel())));
  auto blocks = [&](Value firstPanel, int64_t count) {
    int64_t blockRows = rowsFor(count);
    k.forEach(firstRow, rowEnd, blockRows,
              [&](Value row) { emitBlock(row, firstPanel, count, blockRows); });
  };
  int64_t whole = panels / atOnce * atOnce;
  if (whole == atOnce)
    blocks(first, atOnce);
  else
    k.forEach(first, k.add(first, k.index(whole)), atOnce, [&](Value at) { blocks(at, atOnce); });
  if (whole < panels)
    blocks(k.add(first, k.index(whole)), panels - whole);
}

//===- A block of rows ------------------------------------------------------------------------------===//

void ContractionSchedule::emitBlock(Value firstRow, Value firstPanel, int64_t panels,
                                    int64_t blockRows) {
  numVectors = panels * vectorsPerPanel();
  k.math.bindLoop(panel, firstPanel);
  bool whole = rowsAreWhole(blockRows);
  Value last = whole ? Value() : k.builder.createOrFold<arith::SubIOp>(k.loc, rowEnd, k.index(1));
  SmallVector<AffineExpr> rowExtents;
  for (unsigned dim : parts.rows)
    rowExtents.push_back(nest.parallel[dim]);
  rows.clear();
  for (int64_t i = 0; i < blockRows; ++i) {
    Row row;
    row.parallel.resize(nest.parallel.size());
    SmallVector<AffineExpr> variables;
    for (unsigned dim : parts.rows) {
      variables.push_back(k.math.addLoop(nest.parallel[dim]));
      row.parallel[dim] = variables.back();
    }
    for (auto [dim, variable] : llvm::zip(parts.batch, batch))
      row.parallel[dim] = variable;
    row.parallel[parts.column] = column;
    Value at = k.add(firstRow, k.index(i));
    if (!whole)
      at = k.smaller(at, last);
    k.delinearize(at, variables, rowExtents);
    rows.push_back(std::move(row));
  }

  Value zero = neutral(k.builder, k.loc, Combiner::add, VectorType::get({lanes}, accType), accKind);
  SmallVector<Value> accs(blockRows * numVectors, zero);
  reductionAt = reduction;
  accs = nest.terms[0].checked ? reduceChecked(accs) : reduce(0, accs, /*guarded=*/false);

  for (int64_t i = 0; i < blockRows; ++i) {
    auto emit = [&] { emitRow(rows[i], ArrayRef(accs).slice(i * numVectors, numVectors)); };
    if (whole)
      emit();
    else
      k.when(k.less(k.add(firstRow, k.index(i)), rowEnd), emit);
  }
}

/// Epilogue and stores of one row.
void ContractionSchedule::emitRow(const Row &row, ArrayRef<Value> accs) {
  AffineExpr offset = k.emitter.offset(k.emitter.getResultType(), row.parallel);
  auto columns = dl::asConstant(numColumns);
  bool masked = !columns || *columns % kPanel != 0;
  Value firstColumn = k.mul(k.value(panel), k.index(kPanel));
  for (auto [j, acc] : llvm::enumerate(accs)) {
    auto emit = [&, acc = acc](Value at) {
      Value mask;
      if (masked)
        mask = k.laneMask(k.builder.createOrFold<arith::SubIOp>(k.loc, k.value(numColumns), at),
                          lanes);
      k.math.bindLoop(column, at);
      k.vector = VectorLoop{column, lanes, mask};
      Value vector = acc;
      k.store(k.emitter.emitResult(k.builder, row.parallel, vector), offset);
      k.vector.reset();
    };
    Value at = k.add(firstColumn, k.index(j * lanes));
    // A vector with no column in use may lie wholly outside the result: nothing of it may be read.
    bool mayBeUnused =
        masked && (!columns || (*columns % kPanel != 0 && *columns % kPanel <= kPanel - lanes));
    if (mayBeUnused)
      k.when(k.less(at, k.value(numColumns)), [&] { emit(at); });
    else
      emit(at);
  }
}

//===- Sums of products -----------------------------------------------------------------------------===//

SmallVector<AffineExpr> ContractionSchedule::aIndices(ArrayRef<AffineExpr> parallel) const {
  SmallVector<AffineExpr> loops(parallel), indices;
  llvm::append_range(loops, reductionAt);
  for (AffineExpr index : nest.terms[0].map.getResults())
    indices.push_back(k.math.simplify(index.replaceDims(loops)));
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

/// `index` where the reduction loops make it smallest or largest; null where they do not move it evenly.
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
  for (const Row &row : rows)
    for (const BoundsTest &test : testsOf(aIndices(row.parallel))) {
      tested = true;
      AffineExpr low = atEnd(test.index, false), high = atEnd(test.index, true);
      known &= low && high;
      if (!known)
        break;
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
  return k.branch(
      interior, types, [&] { return reduce(0, start, false); },
      [&] { return reduce(0, start, true); });
}

/// A row of zeros for taps outside, where the first operand is read as it is and along its memory.
void ContractionSchedule::makeZeroRow() {
  auto argument = dyn_cast<BlockArgument>(aTensor);
  const Access &access = nest.terms[0];
  if (!argument || !access.checked || access.fill != 0.0)
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
  // Equal for all instruction sets.
  scratchBytes = llvm::alignTo(*steps, kPanel) * ((element.getIntOrFloatBitWidth() + 7) / 8);
  zeroRow = k.scratchView(element, elements);
  auto vector = VectorType::get({lanes}, element);
  Value zeros = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(vector));
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
    // The innermost loop is one that no border depends on (PanelContraction): the tests stay outside of it.
    reductionAt[dim] = reduction[dim];
    computeGuards();
  }
  auto extent = dl::asConstant(nest.reduction[dim]);
  SmallVector<Value> result;
  if (extent && *extent <= (innermost ? kUnrolledSteps : 1)) {
    for (int64_t at = 0; at < *extent; ++at) {
      reductionAt[dim] = k.math.constant(at);
      accs = reduce(depth + 1, accs, guarded);
    }
    result = accs;
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
  SmallVector<Value> b, next;
  for (int64_t j = 0; j < numVectors; ++j)
    b.push_back(readB(j));
  for (auto [i, row] : llvm::enumerate(rows)) {
    Value a = k.splat(readA(row), lanes);
    for (int64_t j = 0; j < numVectors; ++j)
      next.push_back(multiplyAdd(a, b[j], accs[i * numVectors + j]));
  }
  return next;
}

Value ContractionSchedule::multiplyAdd(Value a, Value b, Value acc) {
  if (accKind == ScalarKind::floating)
    return math::FmaOp::create(k.builder, k.loc, a, b, acc);
  return arith::AddIOp::create(k.builder, k.loc, acc,
                               arith::MulIOp::create(k.builder, k.loc, a, b));
}

Value ContractionSchedule::readA(const Row &row) {
  SmallVector<AffineExpr> indices = aIndices(row.parallel);
  if (row.source) {
    Value at = k.add(row.first, k.value(reductionAt[parts.reduction.back()]));
    Value stored = memref::LoadOp::create(k.builder, k.loc, row.source, at);
    return fromStorage(k.builder, k.loc, stored, getElementTypeOrSelf(aTensor.getType()));
  }
  if (!row.inside)
    return k.emitter.emit(k.builder, aTensor, indices);
  k.guard = row.inside;
  Value value = k.emitter.emit(k.builder, aTensor, indices);
  k.guard = {};
  Value fill = Scalar(k.builder, k.loc, value, accKind).constant(nest.terms[0].fill).value();
  return arith::SelectOp::create(k.builder, k.loc, row.inside, value, fill);
}

Value ContractionSchedule::readB(int64_t vector) {
  // The first column of the panel is a multiple of its width, so the address is affine.
  SmallVector<AffineExpr> loops(rows.front().parallel), indices;
  llvm::append_range(loops, reductionAt);
  int64_t first = vector * lanes;
  loops[parts.column] = (panel + first / kPanel) * kPanel;
  for (AffineExpr index : nest.terms[1].map.getResults())
    indices.push_back(k.math.simplify(index.replaceDims(loops)));
  AffineExpr offset = k.emitter.offset(bType, indices) + first % kPanel;
  k.vector = VectorLoop{lane, lanes, {}};
  Value stored = k.load(parts.bInput, k.math.simplify(offset + lane));
  k.vector.reset();
  return fromStorage(k.builder, k.loc, stored, bType.getElementType());
}

CpuLaunch scheduleContraction(CpuKernel &kernel) {
  auto parts = PanelContraction::match(kernel.emitter, kernel.math);
  assert(parts && "asked for only where isPanelContraction holds");
  return ContractionSchedule(kernel, std::move(*parts)).run();
}

} // namespace dlc::codegen
