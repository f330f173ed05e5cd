//===- ContractionSparse.cpp - Products with 2:4 weights on tensor cores ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls contract_sparse (dlc_contract_sparse.cuh) for a product whose columns dl.expand_two_of_four
// makes, whatever their number of rows: where these are few, what counts is that memory moves 9/16
// of the bytes.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/sparse/ContractionSparse.h"

#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/ContractionTemplate.h"
#include "codegen/cuda/schedule/contraction/RowsChoice.h"
#include "runtime/schema/KernelAbi.h"

using namespace mlir;

namespace dlc::codegen {

/// Steps of k that one copy of places brings.
static constexpr int64_t kDepthOfCopy = 64;

std::optional<SparseColumns> sparseColumnsOf(const Contraction &c) {
  LoopNestOpInterface root = c.k.body.getRoot();
  const bool swapped = c.storesAlongM();
  if (c.nest.terms.size() != 2 || c.k.body.getPool() || !c.batch.groups.empty())
    return std::nullopt;
  const Access &columns = c.nest.terms[swapped ? 0 : 1], &rows = c.nest.terms[swapped ? 1 : 0];
  auto expand = root->getOperand(columns.operand).getDefiningOp<dl::ExpandTwoOfFourOp>();
  const Side &side = swapped ? c.m : c.n;
  if (!expand || columns.checked || columns.isComputed() || side.order.size() != 1 ||
      c.depth.order.size() != 1)
    return std::nullopt;
  MLIRContext *context = root.getContext();
  const AffineExpr column = getAffineDimExpr(side.order.front(), context),
                   depth = getAffineDimExpr(c.nest.parallel.size(), context);
  auto input = [](Value tensor) -> std::optional<unsigned> {
    auto argument = dyn_cast<BlockArgument>(tensor);
    if (!argument || !dl::getLayout(cast<RankedTensorType>(tensor.getType())).isRowMajor())
      return std::nullopt;
    return argument.getArgNumber();
  };
  auto values = input(expand.getValues()), places = input(expand.getPlaces());
  Type type = getElementTypeOrSelf(expand.getType());
  auto steps = dl::asConstant(c.depth.extent);
  if (!values || !places || columns.map.getResults() != ArrayRef<AffineExpr>{column, depth} ||
      !(type.isF16() || type.isBF16()) ||
      getElementTypeOrSelf(root->getOperand(rows.operand).getType()) != type ||
      !c.k.body.accumulatorType(0).isF32() || !steps || *steps == 0 || *steps % kDepthOfCopy != 0)
    return std::nullopt;
  return SparseColumns{*values, *places};
}

std::pair<double, double> clocksOfTwoOfFour(const ProductShape &shape, const GpuModel &gpu) {
  auto leastOf = [&](ProductUnit unit) {
    return estimatedClocks(chooseTile(unit, shape, gpu, /*maySplit=*/true), shape, gpu);
  };
  double whole = leastOf(ProductUnit::tensorCores);
  if (gpu.wgmma.products > 0)
    whole =
        std::min(whole, estimatedClocks(chooseWgmmaTile(shape, {}, /*maySplit=*/true), shape, gpu));
  if (shape.m <= kMostFewRows)
    whole = std::min(whole, estimatedClocks(RowsShape{.rows = shape.m,
                                                      .columns = shape.n,
                                                      .depth = shape.k,
                                                      .batch = shape.batch,
                                                      .elementBytes = shape.elementBytes,
                                                      .alongK = true,
                                                      .width = 16 / shape.elementBytes},
                                            gpu));
  if (shape.k == 0 || shape.k % kDepthOfCopy != 0)
    return {whole, 0};
  double stored = leastOf(ProductUnit::sparseTensorCores);
  if (gpu.wgmma.products > 0 && shape.k % SparseWgmmaTile::depth == 0)
    stored = std::min(stored, estimatedClocks(chooseSparseWgmmaTile(shape), shape, gpu));
  return {whole, stored};
}

namespace {
class SparseSchedule : ContractionTemplate {
public:
  SparseSchedule(KernelBuilder &k, Contraction &c, SparseColumns inputs)
      : ContractionTemplate(k, c, c.storesAlongM()), inputs(inputs) {}

  dlx::PlanAttr plan(const std::optional<ProductTile> &wanted) const;
  SmallVector<dlx::PlanAttr> plans() const;
  void run(const ProductTile &tile);

private:
  SparseColumns inputs;
};
} // namespace

dlx::PlanAttr SparseSchedule::plan(const std::optional<ProductTile> &wanted) const {
  ProductTile tile = tileFor(ProductUnit::sparseTensorCores, wanted);
  bool areWeights = k.isWeight(inputs.values) && k.isWeight(inputs.places);
  double clocks = estimatedClocks(tile, shape(kLongestSide), k.gpu());
  return dlx::PlanAttr::get(k.b.getContext(), kSparseTensorCoresSchedule.name,
                            clocks / k.gpu().gigahertz,
                            {{"tile_m", tile.m},
                             {"tile_n", tile.n},
                             {"tile_k", tile.k},
                             {"warps_m", tile.warpsM},
                             {"warps_n", tile.warpsN},
                             {"warps_k", tile.warpsK},
                             {"stages", tile.stages},
                             {"parts", tile.parts},
                             {"early", areWeights ? 2 : 0}});
}

SmallVector<dlx::PlanAttr> SparseSchedule::plans() const {
  SmallVector<dlx::PlanAttr> all;
  for (const ProductTile &tile :
       tilesFor(ProductUnit::sparseTensorCores, shape(), k.gpu(), mayShareTiles()))
    all.push_back(plan(tile));
  return all;
}

void SparseSchedule::run(const ProductTile &tile) {
  Operand a = {swapped ? 1u : 0u, rows, true,
               std::max<int64_t>(1, widthAlong(swapped ? 1 : 0, c.depth))};
  int64_t width = lanes();
  dlk::CallOp call = createCall(tile.parts > 1 ? "contract_sparse_split" : "contract_sparse",
                                "dlc_contract_sparse.cuh", {operandRoles("m")});
  read(call, 0, a, /*rounded=*/true);
  finish(call, 1, width);
  // Single elements are copied by neighbours of one row, others and what is computed by any.
  SmallVector<std::pair<StringRef, int64_t>> numbers = {
      {"tile_m", tile.m},       {"tile_n", tile.n},       {"tile_k", tile.k},
      {"warps_m", tile.warpsM}, {"warps_n", tile.warpsN}, {"warps_k", tile.warpsK},
      {"stages", tile.stages},  {"width_a", a.width},     {"vector", width},
      {"k_loops", 1},           {"across_a", 0},          {"early", tile.early},
      {"row_tiles", 0}};
  if (tile.parts > 1)
    numbers.push_back({"parts", tile.parts});
  k.beginGridInTemplate();
  complete(call, {a}, numbers);
  {
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPoint(call);
    call.getValuesMutable().append({k.input(inputs.values), k.input(inputs.places)});
  }
  if (tile.parts > 1) {
    AffineExpr floats = dl::normalize(tiles(tile) * (tile.parts * tile.partFloats()) +
                                      k.math.constant(abi::kExchangeCounters));
    call.getExchangeMutable().assign(k.exchange(floats, k.b.getF32Type()));
  }
  k.finish(tile.threads(),
           {dl::normalize(k.ceilDiv(rows.extent, tile.m) * tile.parts),
            k.ceilDiv(columns.extent, tile.n), k.math.constant(1)},
           tile.sharedBytes(elementBytes));
}

/// The inputs of a product that the schedule runs; nullopt where it does not.
static std::optional<SparseColumns> suits(PlanQuestion &question) {
  Contraction *c = question.product();
  if (question.kind() != dlx::KernelKind::contraction || !c ||
      !c->fitsGrid(c->k.ceilDiv(c->storesAlongM() ? c->m.extent : c->n.extent, 16)))
    return std::nullopt;
  return sparseColumnsOf(*c);
}

dlx::PlanAttr planOfSparseTiles(PlanQuestion &question, const std::optional<ProductTile> &tile) {
  std::optional<SparseColumns> inputs = suits(question);
  return inputs ? SparseSchedule(question.k, *question.product(), *inputs).plan(tile)
                : dlx::PlanAttr();
}

static ProductTile tileOf(dlx::PlanAttr plan) {
  return {plan.number("tile_m"),  plan.number("tile_n"),          plan.number("tile_k"),
          plan.number("warps_m"), plan.number("warps_n"),         plan.number("warps_k"),
          plan.number("stages"),  ProductUnit::sparseTensorCores, plan.number("parts"),
          plan.number("early")};
}

static dlx::PlanAttr match(PlanQuestion &question) { return planOfSparseTiles(question, {}); }

static SmallVector<dlx::PlanAttr> all(PlanQuestion &question) {
  std::optional<SparseColumns> inputs = suits(question);
  if (!inputs)
    return {};
  return SparseSchedule(question.k, *question.product(), *inputs).plans();
}

static double cost(PlanQuestion &question, dlx::PlanAttr plan) {
  dlx::PlanAttr same = planOfSparseTiles(question, tileOf(plan));
  return same ? double(same.getNs()) : kNeverServes;
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  auto c = Contraction::of(k);
  if (!c)
    return failure();
  std::optional<SparseColumns> inputs = sparseColumnsOf(*c);
  if (!inputs)
    return failure();
  SparseSchedule(k, *c, *inputs).run(tileOf(plan));
  return success();
}

constinit const Schedule kSparseTensorCoresSchedule = {
    .name = "sparse_tensor_cores", .match = match, .build = build, .cost = cost, .all = all};

} // namespace dlc::codegen
