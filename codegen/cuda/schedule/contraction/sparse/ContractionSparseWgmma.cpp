//===- ContractionSparseWgmma.cpp - Products with 2:4 weights on Hopper -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls contract_wgmma_sparse (dlc_contract_sparse90.cuh) where TMA can read the rows and the
// numbers of the columns as they lie.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/MappedTemplate.h"
#include "codegen/cuda/schedule/contraction/sparse/ContractionSparse.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
class SparseWgmmaSchedule : MappedTemplate {
public:
  SparseWgmmaSchedule(KernelBuilder &k, Contraction &c, SparseColumns inputs)
      : MappedTemplate(k, c, c.storesAlongM()), inputs(inputs) {
    tellsInside = true;
  }

  /// Null where TMA cannot bring the operands.
  dlx::PlanAttr plan(const std::optional<SparseWgmmaTile> &wanted) const;
  void run(const SparseWgmmaTile &tile);

private:
  std::optional<Matrix> matrixOfRows() const { return matrixOf(swapped ? 1 : 0, rows); }
  AffineExpr grid(const SparseWgmmaTile &tile) const {
    return dl::normalize(k.ceilDiv(rows.extent, tile.m) * k.ceilDiv(columns.extent, tile.n));
  }

  SparseColumns inputs;
};
} // namespace

dlx::PlanAttr SparseWgmmaSchedule::plan(const std::optional<SparseWgmmaTile> &wanted) const {
  if (!hasSides() || !c.depth.extent.isMultipleOf(SparseWgmmaTile::depth))
    return {};
  auto matrix = matrixOfRows();
  if (!matrix || matrix->alongRows)
    return {};
  const ProductShape shape = this->shape(kLongestSide);
  SparseWgmmaTile tile = wanted ? *wanted : chooseSparseWgmmaTile(shape);
  if (k.largest(grid(tile)).value_or(INT64_MAX) > kMaxGridX)
    return {};
  const bool areWeights = k.isWeight(inputs.values) && k.isWeight(inputs.places);
  return dlx::PlanAttr::get(
      k.b.getContext(), kSparseWgmmaSchedule.name, estimatedClocks(tile, shape) / kHopper.gigahertz,
      {{"tile_m", tile.m}, {"stages", tile.stages}, {"early", areWeights ? 1 : 0}});
}

void SparseWgmmaSchedule::run(const SparseWgmmaTile &tile) {
  auto matrix = matrixOfRows();
  assert(matrix && "the plan was made where TMA can read it");
  const int64_t width = lanes();
  Value maps[] = {k.tensorMap("x_map"), k.tensorMap("values_map")};
  SmallVector<Value> values = {
      k.index(rows.extent),  k.index(columns.extent), k.index(c.depth.extent), maps[0], maps[1],
      k.input(inputs.places)};
  SmallVector<NamedAttribute> config;
  for (auto [name, value] : {std::pair("tile_m", tile.m), std::pair("stages", tile.stages),
                             std::pair("vector", width), std::pair("early", int64_t(tile.early))})
    config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(value)));
  auto call = dlk::CallOp::create(
      k.b, k.loc, "contract_wgmma_sparse", "dlc_contract_sparse90.cuh", storageType(elementType()),
      k.b.getDictionaryAttr(config),
      k.b.getArrayAttr({k.b.getStrArrayAttr({"m", "n", "total", "inside"})}), values,
      /*exchange=*/Value(), /*bodiesCount=*/1);
  finish(call, 0, width);
  // Rows of the numbers that are stored: half as many as there are steps of k.
  const int64_t stored = *dl::asConstant(c.depth.extent) / 2;
  MLIRContext *context = k.b.getContext();
  AffineExpr along = k.math.constant(stored);
  auto ofValues = dlx::TensorMapAttr::get(
      context, inputs.values,
      AffineMapAttr::get(dl::dimsMap({along, columns.extent, along}, context)),
      k.b.getDenseI64ArrayAttr({SparseWgmmaTile::depth / 2, SparseWgmmaTile::n}));
  k.makePersistentForHopper({mapOf(*matrix, rows, tile.m), ofValues});
  k.finish(SparseWgmmaTile::threads, {grid(tile)}, tile.sharedBytes());
}

dlx::PlanAttr planOfSparseWgmma(PlanQuestion &question,
                                const std::optional<SparseWgmmaTile> &tile) {
  Contraction *c = question.product();
  if (question.kind() != dlx::KernelKind::contraction || !c)
    return {};
  std::optional<SparseColumns> inputs = sparseColumnsOf(*c);
  return inputs ? SparseWgmmaSchedule(question.k, *c, *inputs).plan(tile) : dlx::PlanAttr();
}

static SparseWgmmaTile tileOf(dlx::PlanAttr plan) {
  return {plan.number("tile_m"), plan.number("stages"), plan.number("early") != 0};
}

static dlx::PlanAttr match(PlanQuestion &question) { return planOfSparseWgmma(question, {}); }

static SmallVector<dlx::PlanAttr> all(PlanQuestion &question) {
  SmallVector<dlx::PlanAttr> plans;
  for (const SparseWgmmaTile &tile : sparseWgmmaTiles())
    if (dlx::PlanAttr plan = planOfSparseWgmma(question, tile))
      plans.push_back(plan);
  return plans;
}

static double cost(PlanQuestion &question, dlx::PlanAttr plan) {
  dlx::PlanAttr same = planOfSparseWgmma(question, tileOf(plan));
  return same ? double(same.getNs()) : kNeverServes;
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  auto c = Contraction::of(k);
  std::optional<SparseColumns> inputs = c ? sparseColumnsOf(*c) : std::nullopt;
  if (!inputs)
    return failure();
  SparseWgmmaSchedule(k, *c, *inputs).run(tileOf(plan));
  return success();
}

constinit const Schedule kSparseWgmmaSchedule = {
    .name = "sparse_wgmma", .match = match, .build = build, .cost = cost, .all = all, .gpu = 90};

} // namespace dlc::codegen
