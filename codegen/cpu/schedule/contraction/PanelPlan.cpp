//===- PanelPlan.cpp - How a contraction is cut into tiles --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/PanelPlan.h"

#include "codegen/cpu/schedule/CpuKernel.h"
#include "ir/machine/CpuModel.h"

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
/// The fewest rows of a chunk if the number of rows is a symbol, whatever its usual value.
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

/// Rows of a tile, and panels, that are tried beside the usual ones.
static constexpr int64_t kOtherChunks[] = {24, 32, 64, 96, 128};
static constexpr int64_t kOtherGroups[] = {1, 2, 4};

PanelPlan PanelPlan::of(dlx::PlanAttr plan) {
  return {plan.number("rows"), plan.number("group"), plan.number("by_groups") != 0};
}

dlx::PlanAttr PanelPlan::attribute(MLIRContext *context, double ns) const {
  SmallVector<std::pair<StringRef, int64_t>> numbers = {{"group", groupPanels},
                                                        {"rows", chunkRows}};
  if (byGroups)
    numbers.push_back({"by_groups", 1});
  return dlx::PlanAttr::get(context, "panels", ns, numbers);
}

PanelSizes::PanelSizes(const BodyEmitter &emitter, const IndexMath &math,
                       const PanelContraction &parts)
    : parts(parts), nest(emitter.getNest()), math(math),
      aType(cast<RankedTensorType>(parts.a.getType())) {
  MLIRContext *context = emitter.getKernel().getContext();
  auto extents = [&](ArrayRef<unsigned> dims) {
    SmallVector<AffineExpr> list;
    for (unsigned dim : dims)
      list.push_back(nest.parallel[dim]);
    return dl::product(list, context);
  };
  if (!parts.b)
    bType = cast<RankedTensorType>(
        emitter.getKernel().getBodyBlock().getArgument(parts.bInput).getType());
  numRows = extents(parts.rows);
  numBatches = extents(parts.batch);
  numColumns = nest.parallel[parts.column];
  usualRows = math.usual(numRows);
  if (auto columns = dl::asConstant(numColumns))
    panelCount = llvm::divideCeil(*columns, kPanel);
}

int64_t PanelSizes::usualChunk() const {
  int64_t chunkRows = kChunkRows;
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
  return chunkRows;
}

bool PanelSizes::fitsGroups(int64_t panels) const {
  return !parts.columnsOfGroup || parts.columnsOfGroup / kPanel % panels == 0;
}

int64_t PanelSizes::usualGroup() const {
  // Few rows keep few accumulators busy: more panels hide the latency.
  auto range = math.range(numRows);
  const bool mayBeFew = usualRows ? *usualRows <= 2 : range && range->min <= 2;
  int64_t groupPanels = !panelCount ? 1 : mayBeFew ? 4 : 2;
  while (!fitsGroups(groupPanels))
    --groupPanels;
  return groupPanels;
}

std::optional<double> PanelSizes::bytesOfThread(const PanelPlan &plan) const {
  auto batches = math.usual(numBatches), columns = dl::asConstant(numColumns);
  std::optional<int64_t> steps = 1;
  for (AffineExpr extent : nest.reduction)
    if (auto size = math.usual(extent); steps)
      steps = size ? std::optional(*steps * *size) : std::nullopt;
  auto elements = math.usual(dl::product(dl::getDims(aType), aType.getContext()));
  if (!bType || !batches || !steps || !columns || !elements || !usualRows || *batches < 1 ||
      *usualRows < 1)
    return std::nullopt;
  auto bytes = [](Type element) { return element.getIntOrFloatBitWidth() / 8.0; };
  double chunks = double(llvm::divideCeil(*usualRows, plan.chunkRows)),
         groups = double(std::max<int64_t>(1, *panelCount / plan.groupPanels));
  double weights = double(*columns) * double(*steps) * bytes(bType.getElementType()),
         image = double(*elements) / double(*batches) * bytes(aType.getElementType());
  auto passes = [&](double once, double others, double turns) {
    return once + others <= kAvx512Vnni.ownCache ? 1
                                                 : std::max(1.0, turns / kAvx512Vnni.usualThreads);
  };
  if (!plan.byGroups)
    return weights * passes(weights, image / chunks, chunks) + image / kAvx512Vnni.usualThreads;
  return weights / kAvx512Vnni.usualThreads + image * (1 + passes(image, weights / groups, groups));
}

double PanelSizes::waste(const PanelPlan &plan) const {
  if (!usualRows || *usualRows < 1)
    return 1;
  return double(llvm::alignTo(*usualRows, std::min(plan.chunkRows, *usualRows))) /
         double(*usualRows);
}

PanelPlan PanelSizes::usualPlan() const {
  PanelPlan plan = {usualChunk(), usualGroup(), /*byGroups=*/false};
  if (parts.bytes || !usualRows || *usualRows <= plan.chunkRows)
    return plan;
  PanelPlan byGroups = plan;
  byGroups.byGroups = true;
  auto chunks = bytesOfThread(plan), groups = bytesOfThread(byGroups);
  return chunks && groups && *groups < *chunks ? byGroups : plan;
}

SmallVector<PanelPlan> PanelSizes::plans() const {
  PanelPlan usual = usualPlan();
  SmallVector<PanelPlan> plans = {usual};
  SmallVector<int64_t> chunks = {usual.chunkRows}, groups = {usual.groupPanels};
  for (int64_t rows : kOtherChunks)
    if (!usualRows || rows <= *usualRows)
      chunks.push_back(rows);
  for (int64_t panels : kOtherGroups)
    if (panelCount && panels <= *panelCount && fitsGroups(panels))
      groups.push_back(panels);
  for (int64_t rows : chunks)
    for (int64_t panels : groups)
      for (bool byGroups : {false, true})
        if (PanelPlan plan = {rows, panels, byGroups}; !llvm::is_contained(plans, plan))
          plans.push_back(plan);
  return plans;
}

} // namespace dlc::codegen
