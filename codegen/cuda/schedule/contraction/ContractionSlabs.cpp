//===- ContractionSlabs.cpp - Matrix products out of slabs in shared memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls contract_mma (dlc_contract.cuh) or contract_simt (dlc_simt.cuh); where tiles are few and
// the sum is long, with several blocks for each tile (dlc_split.cuh).
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/ContractionTemplate.h"
#include "runtime/schema/KernelAbi.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
class SlabSchedule : ContractionTemplate {
public:
  /// The columns are the dims whose results are neighbours in memory.
  SlabSchedule(KernelBuilder &k, Contraction &c, ProductUnit unit)
      : ContractionTemplate(k, c, c.storesAlongM(),
                            unit == ProductUnit::tensorCores ? bytesOf(k.body.getRoot(), c.nest)
                                                             : std::nullopt),
        unit(unit) {
    tellsLoops = true;
  }
  dlx::PlanAttr plan(const std::optional<ProductTile> &wanted) const;
  /// The plans of all tiles.
  SmallVector<dlx::PlanAttr> plans() const;
  void run(const ProductTile &tile);

private:
  Operand operand(unsigned term, const Side &side) const;
  /// The operand that is weights, as of ProductTile::early.
  int64_t weights() const;
  /// Neighbouring threads copy elements of neighbouring rows.
  bool isAcross(const Operand &operand) const;
  /// As of ContractionTemplate, where elements are copied, and not read one by one.
  int64_t tapsOf(const Operand &operand) const {
    return operand.width * elementBytes < 4 ? 0 : ContractionTemplate::tapsOf(operand);
  }

  ProductUnit unit;
};
} // namespace

SlabSchedule::Operand SlabSchedule::operand(unsigned term, const Side &side) const {
  int64_t along = widthAlong(term, c.depth);
  if (unit == ProductUnit::floats) {
    // Nothing is transposed on the way. Single elements that lie together both ways (an image: the
    // places of a row, the places of a filter) are taken across: there the neighbours go on for
    // longer.
    int64_t across = widthAlong(term, side);
    bool alongK = along || across ? along >= across : !liesAcross(term, side);
    return {term, side, alongK, std::max<int64_t>({1, along, across})};
  }
  // Elements of 4 bytes cannot be transposed on the way out of shared memory, so that they are on
  // the way in. A copy has at least 4 bytes.
  if (elementBytes == 4)
    return {term, side, true, std::max<int64_t>(along, 1)};
  if (elementBytes == 1)
    return {term, side, true, along < 4 ? 1 : along};
  int64_t across = widthAlong(term, side);
  bool alongK = along || across ? along >= across : c.liesAlongReduction(term);
  return {term, side, alongK, std::max<int64_t>({1, along, across})};
}

int64_t SlabSchedule::weights() const {
  auto areWeights = [&](unsigned term, const Side &side) {
    auto input = plainInput(term, side);
    return input && k.isWeight(*input);
  };
  return areWeights(swapped ? 0 : 1, columns) ? 2 : areWeights(swapped ? 1 : 0, rows) ? 1 : 0;
}

bool SlabSchedule::isAcross(const Operand &operand) const {
  // Neighbours along k of an image are soon apart, and neighbouring rows are not.
  bool isSmall = operand.width * elementBytes < 4;
  return operand.width == 1 &&
         (!isSmall || (c.nest.terms[operand.term].checked && loopsOfK() == 1));
}

dlx::PlanAttr SlabSchedule::plan(const std::optional<ProductTile> &wanted) const {
  ProductTile tile = tileFor(unit, wanted);
  bool isOfFloats = unit == ProductUnit::floats;
  const ScheduleRates &rates = k.gpu().schedules;
  double clocks = estimatedClocks(tile, shape(kLongestSide), k.gpu()) *
                  (isOfFloats ? rates.floatUnits : 1) * (c.nest.isWindow() ? rates.windows : 1);
  SmallVector<std::pair<StringRef, int64_t>> numbers = {
      {"tile_m", tile.m},       {"tile_n", tile.n},       {"tile_k", tile.k},
      {"warps_m", tile.warpsM}, {"warps_n", tile.warpsN}, {"warps_k", tile.warpsK},
      {"stages", tile.stages},  {"parts", tile.parts},    {"early", weights()}};
  return dlx::PlanAttr::get(k.b.getContext(),
                            isOfFloats ? kFloatUnitsSchedule.name : kTensorCoresSchedule.name,
                            clocks / k.gpu().gigahertz, numbers);
}

SmallVector<dlx::PlanAttr> SlabSchedule::plans() const {
  SmallVector<dlx::PlanAttr> all;
  for (const ProductTile &tile : tilesFor(unit, shape(), k.gpu(), mayShareTiles()))
    if (dlx::PlanAttr one = plan(tile))
      all.push_back(one);
  return all;
}

/// Registers of a thread that a ring needs at most where a lane has so many totals; with more it
/// spills in so few.
static constexpr int64_t kMostRegisters = 128, kFewTotals = 32;

void SlabSchedule::run(const ProductTile &tile) {
  if (!c.batch.groups.empty())
    k.bindFlat(k.block(gpu::Dimension::z, "batch"), c.batch.groups);
  Operand a = operand(swapped ? 1 : 0, rows), b = operand(swapped ? 0 : 1, columns);
  int64_t width = lanes();
  bool isPooled = bool(k.body.getPool());
  std::string callee = unit == ProductUnit::floats ? "contract_simt" : "contract_mma";
  int64_t tapsA = tapsOf(a), tapsB = tapsA > 0 ? 0 : tapsOf(b);
  // Where each element's place is found anew, a walk that adds takes more registers than divisions
  // by constants.
  tellsLoops = tapsA + tapsB > 0;
  dlk::CallOp call =
      createCall(callee + (isPooled ? "_pooled" : "") + (tile.parts > 1 ? "_split" : ""),
                 unit == ProductUnit::floats ? "dlc_simt.cuh" : "dlc_contract.cuh",
                 {operandRoles("m"), operandRoles("n")},
                 /*hasPlace=*/tapsA + tapsB > 0);
  read(call, 0, a, /*rounded=*/true);
  read(call, 1, b, /*rounded=*/true);
  SmallVector<std::pair<StringRef, int64_t>> numbers = {
      {"tile_m", tile.m},       {"tile_n", tile.n},       {"tile_k", tile.k},
      {"warps_m", tile.warpsM}, {"warps_n", tile.warpsN}, {"warps_k", tile.warpsK},
      {"stages", tile.stages},  {"width_a", a.width},     {"width_b", b.width},
      {"along_k_a", a.alongK},  {"along_k_b", b.alongK},  {"vector", width}};
  if (isPooled) {
    finishPooled(call, 2, width);
    numbers.push_back({"window", k.body.getWindow()});
  } else {
    finish(call, 2, width);
  }
  if (tapsA + tapsB > 0)
    place(call, 3, tapsA > 0 ? a : b);
  if (!tellsLoops)
    numbers.push_back({"k_loops", 1});
  describeBytes(numbers);
  if (unit == ProductUnit::tensorCores) {
    numbers.push_back({"across_a", isAcross(a)});
    numbers.push_back({"across_b", isAcross(b)});
  }
  // Single elements of less than four bytes, and what is computed, is not copied.
  int64_t widthOfEarly = tile.early == 1 ? a.width : b.width;
  numbers.push_back({"early", widthOfEarly * elementBytes >= 4 ? tile.early : 0});
  k.beginGridInTemplate();
  numbers.push_back({"taps_a", tapsA});
  numbers.push_back({"taps_b", tapsB});
  int64_t rowTiles = 0;
  if (!c.fitsGrid(k.ceilDiv(columns.extent, tile.n)))
    rowTiles = llvm::divideCeilSigned(*dl::asConstant(rows.extent), tile.m);
  numbers.push_back({"row_tiles", rowTiles});
  if (tile.parts > 1)
    numbers.push_back({"parts", tile.parts});
  complete(call, {a, b}, numbers);
  if (tile.parts > 1) {
    AffineExpr floats = dl::normalize(tiles(tile) * (tile.parts * tile.partFloats()) +
                                      k.math.constant(abi::kExchangeCounters));
    call.getExchangeMutable().assign(k.exchange(floats, k.b.getF32Type()));
  }
  AffineExpr inX = k.ceilDiv(rows.extent, tile.usedRows(k.body.getWindow())) * tile.parts,
             inY = k.ceilDiv(columns.extent, tile.n);
  if (rowTiles > 0)
    std::tie(inX, inY) = std::pair(inX * inY, k.math.constant(1));
  // Without a number of blocks, ptxas saves registers for more than shared memory has room for,
  // and spills.
  int64_t blocks = k.gpu().sharedBytes / tile.sharedBytes(elementBytes);
  int64_t totals = tile.m * tile.n * tile.warpsK / tile.threads();
  if (totals <= kFewTotals && blocks * tile.threads() * kMostRegisters <= k.gpu().registers)
    call->getParentOfType<gpu::GPUFuncOp>()->setAttr("dlc.resident_blocks",
                                                     k.b.getI32IntegerAttr(int32_t(blocks)));
  k.finish(tile.threads(), {dl::normalize(inX), inY, c.batch.extent},
           tile.sharedBytes(elementBytes));
}

bool hasTensorCoreOperands(const Contraction &c, bool allowsTf32) {
  auto elementOf = [&](unsigned term) {
    return getElementTypeOrSelf(
        c.k.body.getRoot()->getOperand(c.nest.terms[term].operand).getType());
  };
  Type type = elementOf(0);
  bool areFloats = (type.isF16() || type.isBF16() || (allowsTf32 && type.isF32())) &&
                   elementOf(1) == type && c.k.body.accumulatorType(0).isF32();
  return areFloats || bytesOf(c.k.body.getRoot(), c.nest);
}

/// True where a grid can count the tiles, however small they are.
static bool fitsGrid(const Contraction &c, ProductUnit unit) {
  const bool isOfFloats = unit == ProductUnit::floats;
  const int64_t leastRows = isOfFloats ? 32 : 16, leastColumns = isOfFloats ? 8 : 16;
  const auto &[rows, columns] = c.storesAlongM() ? std::tie(c.n, c.m) : std::tie(c.m, c.n);
  AffineExpr inY = c.k.ceilDiv(columns.extent, leastColumns);
  if (c.fitsGrid(inY))
    return true;
  std::optional<int64_t> constant = dl::asConstant(rows.extent), most = c.k.largest(inY);
  return constant && most && !c.k.body.getPool() && c.fitsGrid(c.k.math.constant(1)) &&
         *most <= kMaxGridX / llvm::divideCeilSigned(*constant, leastRows);
}

bool suitsTensorCores(const Contraction &c, bool allowsTf32) {
  return hasTensorCoreOperands(c, allowsTf32) && fitsGrid(c, ProductUnit::tensorCores);
}

bool suitsFloatUnits(const Contraction &c) {
  auto isFloat = [&](unsigned term) {
    return getElementTypeOrSelf(
               c.k.body.getRoot()->getOperand(c.nest.terms[term].operand).getType())
        .isF32();
  };
  return isFloat(0) && isFloat(1) && c.k.body.accumulatorType(0).isF32() &&
         fitsGrid(c, ProductUnit::floats);
}

/// Whether the schedule of `unit` runs the kernel.
static bool suits(PlanQuestion &question, ProductUnit unit) {
  Contraction *c = question.product();
  if (question.kind() != dlx::KernelKind::contraction || !c)
    return false;
  return unit == ProductUnit::floats ? suitsFloatUnits(*c)
                                     : suitsTensorCores(*c, question.allowsTf32);
}

dlx::PlanAttr planOfTiles(PlanQuestion &question, ProductUnit unit,
                          const std::optional<ProductTile> &tile) {
  return suits(question, unit) ? SlabSchedule(question.k, *question.product(), unit).plan(tile)
                               : dlx::PlanAttr();
}

static ProductTile tileOf(dlx::PlanAttr plan, ProductUnit unit) {
  return {
      plan.number("tile_m"),  plan.number("tile_n"),  plan.number("tile_k"), plan.number("warps_m"),
      plan.number("warps_n"), plan.number("warps_k"), plan.number("stages"), unit,
      plan.number("parts"),   plan.number("early")};
}

static LogicalResult buildTiles(KernelBuilder &k, dlx::PlanAttr plan, ProductUnit unit) {
  auto c = Contraction::of(k);
  if (!c)
    return failure();
  SlabSchedule(k, *c, unit).run(tileOf(plan, unit));
  return success();
}

template <ProductUnit unit> static dlx::PlanAttr match(PlanQuestion &question) {
  return planOfTiles(question, unit, {});
}
template <ProductUnit unit> static SmallVector<dlx::PlanAttr> all(PlanQuestion &question) {
  if (!suits(question, unit))
    return {};
  return SlabSchedule(question.k, *question.product(), unit).plans();
}
template <ProductUnit unit> static double cost(PlanQuestion &question, dlx::PlanAttr plan) {
  dlx::PlanAttr same = planOfTiles(question, unit, tileOf(plan, unit));
  return same ? double(same.getNs()) : kNeverServes;
}
template <ProductUnit unit> static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  return buildTiles(k, plan, unit);
}

constinit const Schedule kTensorCoresSchedule = {
    "tensor_cores",    match<ProductUnit::tensorCores>, build<ProductUnit::tensorCores>,
    operandsOfProduct, cost<ProductUnit::tensorCores>,  all<ProductUnit::tensorCores>};
constinit const Schedule kFloatUnitsSchedule = {
    "float_units",     match<ProductUnit::floats>, build<ProductUnit::floats>,
    operandsOfProduct, cost<ProductUnit::floats>,  all<ProductUnit::floats>};

} // namespace dlc::codegen
