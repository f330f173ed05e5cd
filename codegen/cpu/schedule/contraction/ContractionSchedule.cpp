//===- ContractionSchedule.cpp - Tiles, blocks and epilogues of contractions --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/ContractionSchedule.h"

#include "codegen/cpu/schedule/Schedule.h"
#include "codegen/plan/Combine.h"
#include "ir/machine/CpuModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

ContractionSchedule::ContractionSchedule(CpuKernel &kernel, PanelContraction found,
                                         const PanelPlan &plan)
    : k(kernel), parts(std::move(found)), nest(kernel.emitter.getNest()), plan(plan),
      chunkRows(plan.chunkRows), groupPanels(plan.groupPanels) {
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

  PanelSizes sizes(k.emitter, k.math, parts);
  numRows = sizes.numRows;
  numBatches = sizes.numBatches;
  numColumns = sizes.numColumns;
  panelCount = sizes.panelCount;
  for (unsigned dim : parts.batch)
    batch.push_back(k.math.addLoop(nest.parallel[dim]));
  for (AffineExpr dim : nest.reduction)
    reduction.push_back(k.math.addLoop(dim));
  panel = k.math.addLoop(numColumns.ceilDiv(kPanel));
  column = k.math.addLoop(numColumns);
  lane = k.math.addLoop(k.math.constant(lanes), k.index(0));
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
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    if (plan.byGroups)
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

//===- The schedule ---------------------------------------------------------------------------===//

static std::optional<PanelContraction> panelsOf(CpuPlanQuestion &question) {
  if (!question.hasLoops() || !question.emitter.getRoot() ||
      question.kind() == dlx::KernelKind::block_sparse)
    return std::nullopt;
  return PanelContraction::match(question.emitter, question.math);
}

/// Nanoseconds of one core that multiplies all the time.
static double nanosecondsOf(CpuPlanQuestion &question) {
  return question.operations() / (2 * kAvx512Vnni.floatProducts);
}

static dlx::PlanAttr match(CpuPlanQuestion &question) {
  auto parts = panelsOf(question);
  if (!parts)
    return {};
  PanelPlan plan = PanelSizes(question.emitter, question.math, *parts).usualPlan();
  return plan.attribute(question.kernel.getContext(), nanosecondsOf(question));
}

/// The usual plan as match() gives it, the others by how much more they multiply or read.
static SmallVector<dlx::PlanAttr> all(CpuPlanQuestion &question) {
  auto parts = panelsOf(question);
  if (!parts)
    return {};
  PanelSizes sizes(question.emitter, question.math, *parts);
  double computing = nanosecondsOf(question);
  auto takes = [&](const PanelPlan &plan) {
    double reading = sizes.bytesOfThread(plan).value_or(0) / kAvx512Vnni.memory;
    return std::max(computing * sizes.waste(plan), reading);
  };
  SmallVector<PanelPlan> plans = sizes.plans();
  return llvm::map_to_vector(plans, [&](const PanelPlan &plan) {
    double ns = computing * takes(plan) / std::max(1.0, takes(plans.front()));
    return plan.attribute(question.kernel.getContext(), plan == plans.front() ? computing : ns);
  });
}

static CpuLaunch build(CpuKernel &kernel, dlx::PlanAttr plan) {
  auto parts = PanelContraction::match(kernel.emitter, kernel.math);
  assert(parts && "asked for only where the schedule matches");
  return ContractionSchedule(kernel, std::move(*parts), PanelPlan::of(plan)).run();
}

constinit const CpuSchedule kPanelSchedule = {"panels", match, build, all};

} // namespace dlc::codegen
