//===- ContractionSchedule.cpp - Tiles, blocks and epilogues of contractions --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/ContractionSchedule.h"

#include "codegen/plan/Combine.h"
#include "ir/machine/CpuModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Rows of a tile where the number of rows is large or unknown: whole blocks of 8, 6 and 12 rows.
static constexpr int64_t kChunkRows = 48;
static constexpr int64_t kMostByteRows = 64;
/// Where there are so many chunks, it does not matter that the last one is smaller.
static constexpr int64_t kManyChunks = 32;
/// The same where panels are put together in scratch memory for each chunk, since few steps fill
/// the bytes of a lane.
static constexpr int64_t kMostShortRows = 256;
/// Of a chunk whose rows are a symbol, however few of them are usual.
static constexpr int64_t kLeastSymbolicRows = 8;
/// The most rows that divide `count`, in whole blocks of 8 if there are any; kChunkRows where none
/// do.
static int64_t wholeChunkOf(int64_t count, AffineExpr innermostSteps) {
  auto steps = dl::asConstant(innermostSteps);
  int64_t most = steps && *steps < 4 ? kMostShortRows : kMostByteRows;
  for (int64_t multiple : {8, 1})
    for (int64_t rows = most; rows > kMostByteRows / 2; --rows)
      if (rows % multiple == 0 && count % rows == 0)
        return rows;
  return kChunkRows;
}

/// Returns how many rows a chunk has where `count` rows are shared by few chunks. Blocks have about
/// 8 rows with AVX-512 and 6 with AVX2: few rows are computed twice at the end of a chunk. The last
/// chunk has nearly as much work as the others, so that threads share the work evenly.
static int64_t evenChunkOf(int64_t count) {
  auto computed = [&](int64_t rows, int64_t mostOfBlock) {
    int64_t block = llvm::divideCeil(rows, llvm::divideCeil(rows, mostOfBlock)),
            rest = count % rows;
    return count / rows * llvm::alignTo(rows, block) + llvm::alignTo(rest, block);
  };
  int64_t best = kChunkRows, least = INT64_MAX;
  for (int64_t rows = kChunkRows; rows > kChunkRows / 2; --rows) {
    int64_t missing = llvm::alignTo(count, rows) - count;
    int64_t cost = computed(rows, 8) + computed(rows, 6) + missing / 2;
    if (cost < least)
      best = rows, least = cost;
  }
  return best;
}

ContractionSchedule::ContractionSchedule(CpuKernel &kernel, PanelContraction found)
    : k(kernel), parts(std::move(found)), nest(kernel.emitter.getNest()) {
  MLIRContext *context = k.builder.getContext();
  aTensor = parts.a;
  if (!parts.b)
    bType = cast<RankedTensorType>(
        k.emitter.getKernel().getBodyBlock().getArgument(parts.bInput).getType());
  accType = k.emitter.accumulatorType(0);
  accKind = k.emitter.accumulatorKind(0);
  lanes = k.lanes();
  neighbours = parts.neighboursAtOnce(k.isa);
  // 32 registers hold 24 accumulators, three vectors of b and what the epilogue needs; 16 hold 12.
  // Wider elements take two.
  maxVectors = k.isa >= IsaVariant::avx512 ? 24 : 12;
  if (accType.getIntOrFloatBitWidth() > 32)
    maxVectors /= 2;
  // With narrow groups a vector of channels is live beside each accumulator, and each of the 8
  // steps of a group of 8 also keeps the indices of its shuffle in a register.
  if (parts.narrowGroup)
    maxVectors = k.isa < IsaVariant::avx512 ? 6 : parts.narrowGroup == 8 ? 8 : 12;

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

  usualRows = k.math.usual(numRows);
  chunkRows = kChunkRows;
  if (usualRows && *usualRows > 0 && *usualRows < 4 * kChunkRows) {
    int64_t most = parts.bytes ? 2 * kMostByteRows : 64;
    chunkRows =
        std::max<int64_t>(1, llvm::divideCeil(*usualRows, llvm::divideCeil(*usualRows, most)));
  }
  if (usualRows == 0)
    chunkRows = 1;
  // Bytes are multiplied so fast that blocks which are not whole tell: a chunk of a divisor of the
  // rows has none.
  if (auto count = dl::asConstant(numRows); count && *count >= 4 * kChunkRows) {
    if (parts.bytes)
      chunkRows = wholeChunkOf(*count, nest.reduction[parts.reduction.back()]);
    else if (*count < kManyChunks * kChunkRows)
      chunkRows = evenChunkOf(*count);
  }
  // Other sizes than the usual one will come: a chunk of a row would read all of w for each of
  // theirs.
  if (!dl::asConstant(numRows))
    chunkRows = std::max(chunkRows, kLeastSymbolicRows);
  if (auto columns = dl::asConstant(numColumns))
    panelCount = llvm::divideCeil(*columns, kPanel);
  // Few rows keep few accumulators busy: more panels hide the latency.
  auto range = k.math.range(numRows);
  const bool mayBeFew = usualRows ? *usualRows <= 2 : range && range->min <= 2;
  groupPanels = !panelCount ? 1 : mayBeFew ? 4 : 2;
  while (parts.columnsOfGroup && parts.columnsOfGroup / kPanel % groupPanels != 0)
    --groupPanels;
}

int64_t ContractionSchedule::rowsFor(int64_t panels) const {
  int64_t most = std::min<int64_t>(maxVectors / (panels * vectorsPerPanel()),
                                   panels * vectorsPerPanel() == 1 ? kMostBlockRows : 8);
  int64_t blocks = llvm::divideCeil(chunkRows, most);
  return llvm::divideCeil(chunkRows, blocks);
}

bool ContractionSchedule::rowsAreWhole(int64_t blockRows) const {
  if (blockRows == 1)
    return true;
  auto count = dl::asConstant(numRows);
  return count && *count % blockRows == 0 && chunkRows % blockRows == 0;
}

bool ContractionSchedule::rowsAreNeighbours(int64_t blockRows) const {
  auto inner = parts.rows.empty() ? std::nullopt : dl::asConstant(nest.parallel[parts.rows.back()]);
  return inner && *inner % blockRows == 0 && rowsAreWhole(blockRows);
}

//===- Tiles ----------------------------------------------------------------------------------===//

/// Returns true if all chunks of a group of panels come before the next group. The order is chosen
/// by the bytes that a thread reads and its own cache does not hold. Chunk by chunk, a thread reads
/// its part of the rows once, and all panels once, or once a chunk if they are too many. Group by
/// group, it reads its part of the panels once, and all rows once, or once a group, most of them
/// from the caches of other threads.
bool ContractionSchedule::goesByGroups(AffineExpr groups) const {
  auto panels = k.math.usual(groups), batches = k.math.usual(numBatches);
  std::optional<int64_t> steps = 1;
  for (AffineExpr extent : nest.reduction)
    if (auto size = k.math.usual(extent); steps)
      steps = size ? std::optional(*steps * *size) : std::nullopt;
  auto columns = dl::asConstant(numColumns);
  auto elements = k.math.usual(
      dl::product(dl::getDims(cast<RankedTensorType>(aTensor.getType())), k.builder.getContext()));
  if (parts.bytes || !bType || !panels || !batches || !steps || !columns || !elements ||
      !usualRows || *usualRows <= chunkRows || *batches < 1)
    return false;
  auto bytes = [](Type element) { return element.getIntOrFloatBitWidth() / 8.0; };
  double chunks = double(llvm::divideCeil(*usualRows, chunkRows));
  double weights = double(*columns) * double(*steps) * bytes(bType.getElementType());
  double image =
      double(*elements) / double(*batches) * bytes(getElementTypeOrSelf(aTensor.getType()));
  auto passes = [&](double once, double others, double turns) {
    return once + others <= kAvx512Vnni.ownCache ? 1
                                                 : std::max(1.0, turns / kAvx512Vnni.usualThreads);
  };
  double byChunks =
      weights * passes(weights, image / chunks, chunks) + image / kAvx512Vnni.usualThreads;
  double byGroups = weights / kAvx512Vnni.usualThreads +
                    image * (1 + passes(image, weights / double(*panels), double(*panels)));
  return byGroups < byChunks;
}

CpuLaunch ContractionSchedule::run() {
  AffineExpr groups =
      !panelCount
          ? numColumns.ceilDiv(kPanel)
          : k.math.constant(*panelCount == 0 ? 0 : std::max<int64_t>(1, *panelCount / groupPanels));
  AffineExpr chunks = numRows.ceilDiv(chunkRows);
  makeZeroRow();
  planWidePanels();
  planWideRows();
  planZeroPointSums();
  AffineExpr group = k.math.addLoop(groups), chunk = k.math.addLoop(chunks),
             batchAt = k.math.addLoop(numBatches);
  bool byGroups = goesByGroups(groups);
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    if (byGroups)
      k.delinearize(tile, {batchAt, group, chunk}, {numBatches, groups, chunks});
    else
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

/// As many of `panels` as leave a block of about 6 rows (or all rows there are) in registers.
int64_t ContractionSchedule::panelsAtOnce(int64_t panels) const {
  int64_t wanted = std::min<int64_t>(chunkRows, 6);
  return std::max<int64_t>(1, std::min(panels, maxVectors / (wanted * vectorsPerPanel())));
}

/// The most panels that are ever at hand: the last group has those that fill no whole one, too.
int64_t ContractionSchedule::mostPanelsAtOnce() const {
  return panelsAtOnce(std::min(panelCount.value_or(1), 2 * groupPanels - 1));
}

void ContractionSchedule::emitPanels(Value first, int64_t panels, Value firstRow) {
  int64_t atOnce = panelsAtOnce(panels);
  auto blocks = [&](Value firstPanel, int64_t count) {
    int64_t blockRows = rowsFor(count);
    if (widePanels)
      widenPanels(firstPanel, count);
    if (zeroPointSums)
      sumZeroPoint(firstPanel, count);
    auto inBlocksOf = [&](Value from, Value to, int64_t blockRows) {
      k.forEach(from, to, blockRows, [&](Value row) {
        k.math.bindLoop(panel, firstPanel);
        planPrefetch(firstRow, row, count, blockRows);
        emitBlock(row, firstPanel, count, blockRows);
        prefetchFrom = {};
      });
    };
    if (blockRows == 1 || dl::asConstant(numRows)) {
      inBlocksOf(firstRow, rowEnd, blockRows);
      return;
    }
    // Few rows may be left after whole blocks where their number is not known, or there are no
    // more: another whole block would compute the last of them again and again.
    const int64_t half = llvm::divideCeil(blockRows, 2);
    auto compare = [&](arith::CmpIPredicate predicate, Value left, int64_t right) {
      return arith::CmpIOp::create(k.builder, k.loc, predicate, left, k.index(right));
    };
    Value rest = arith::RemUIOp::create(k.builder, k.loc,
                                        arith::SubIOp::create(k.builder, k.loc, rowEnd, firstRow),
                                        k.index(blockRows));
    Value few = arith::SelectOp::create(
        k.builder, k.loc, compare(arith::CmpIPredicate::ule, rest, half), rest, k.index(0));
    Value firstFew = arith::SubIOp::create(k.builder, k.loc, rowEnd, few);
    inBlocksOf(firstRow, firstFew, blockRows);
    k.when(compare(arith::CmpIPredicate::eq, few, 1), [&] { inBlocksOf(firstFew, rowEnd, 1); });
    if (half > 1)
      k.when(compare(arith::CmpIPredicate::ugt, few, 1),
             [&] { inBlocksOf(firstFew, rowEnd, half); });
  };
  int64_t whole = panels / atOnce * atOnce;
  if (whole == atOnce)
    blocks(first, atOnce);
  else
    k.forEach(first, k.add(first, k.index(whole)), atOnce, [&](Value at) { blocks(at, atOnce); });
  if (whole < panels)
    blocks(k.add(first, k.index(whole)), panels - whole);
}

//===- A block of rows ------------------------------------------------------------------------===//

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
    if (i > 0 && rowsAreNeighbours(blockRows)) {
      Row next = rows.front();
      next.parallel[parts.rows.back()] = next.variables.back() + i;
      rows.push_back(std::move(next));
      continue;
    }
    Row row;
    row.parallel.resize(nest.parallel.size());
    row.position = k.math.addLoop(numRows);
    for (unsigned dim : parts.rows) {
      AffineExpr extent = nest.parallel[dim];
      if (dim == parts.rows.back() && rowsAreNeighbours(blockRows))
        extent = extent - (blockRows - 1); // where a block begins
      row.variables.push_back(k.math.addLoop(extent));
      row.parallel[dim] = row.variables.back();
    }
    for (auto [dim, variable] : llvm::zip(parts.batch, batch))
      row.parallel[dim] = variable;
    row.parallel[parts.column] = column;
    Value at = k.add(firstRow, k.index(i));
    if (!whole)
      at = k.smaller(at, last);
    k.math.bindLoop(row.position, at);
    k.delinearize(at, row.variables, rowExtents);
    rows.push_back(std::move(row));
  }

  Value zero = neutral(k.builder, k.loc, Combiner::add, VectorType::get({lanes}, accType), accKind);
  SmallVector<Value> accs(blockRows * numVectors, zero);
  for (int64_t j = 0; zeroPointSums && j < numVectors; ++j) {
    Value sums = vector::LoadOp::create(k.builder, k.loc, VectorType::get({lanes}, accType),
                                        zeroPointSums, k.index(j * lanes));
    for (int64_t i = 0; i < blockRows; ++i)
      accs[i * numVectors + j] = sums;
  }
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
  AffineExpr offset = k.emitter.resultOffset(row.parallel);
  k.rewriteOffset = [&](AffineExpr own) { return alongRows(row, own); };
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
  k.rewriteOffset = nullptr;
}

AffineExpr ContractionSchedule::alongRows(const Row &row, AffineExpr offset) const {
  SmallVector<AffineExpr> extents;
  for (unsigned dim : parts.rows)
    extents.push_back(nest.parallel[dim]);
  return k.alongLinear(row.variables, extents, row.position, offset);
}

CpuLaunch scheduleContraction(CpuKernel &kernel) {
  auto parts = PanelContraction::match(kernel.emitter, kernel.math);
  assert(parts && "asked for only where isPanelContraction holds");
  return ContractionSchedule(kernel, std::move(*parts)).run();
}

} // namespace dlc::codegen
