//===- AttentionKernel.cpp - Attention without the scores in memory -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls attention_mma (dlc_attention.cuh) or attention_simt (dlc_attention_simt.cuh); where few
// rows see many keys, with several blocks for each tile (dlc_attention_rows.cuh).
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionPlans.h"
#include "codegen/cuda/schedule/attention/AttentionTemplate.h"

using namespace mlir;

namespace dlc::codegen {

static const Schedule &scheduleOf(ProductUnit unit) {
  return unit == ProductUnit::floats ? kAttentionFloatUnitsSchedule : kAttentionTensorCoresSchedule;
}

/// Tensor cores multiply elements of 16 bits, and floats that may be rounded.
static bool suits(PlanQuestion &question, ProductUnit unit) {
  const dl::AttentionParts &a = *question.k.attention;
  Type element = getElementTypeOrSelf(dl::AttentionParts::operandOf(a.scoresOp, 0).getType());
  bool suitsTensorCores =
      element.getIntOrFloatBitWidth() == 16 || question.allowsTf32 || a.float8Operands();
  return suitsTensorCores == (unit == ProductUnit::tensorCores);
}

dlx::PlanAttr planOfAttention(PlanQuestion &question, ProductUnit unit,
                              const std::optional<AttentionTile> &wanted) {
  KernelBuilder &k = question.k;
  if (!k.attention || !suits(question, unit))
    return {};
  AttentionTemplate attention(k, *k.attention, unit);
  AttentionShape shape = attention.shape();
  AttentionTile tile = wanted ? *wanted : attention.tileFor(shape);
  if (!attention.mayServe(tile)) {
    if (wanted)
      return {};
    tile.parts = 1;
  }
  return dlx::PlanAttr::get(k.b.getContext(), scheduleOf(unit).name,
                            question.nanoseconds(estimatedClocks(tile, shape, k.gpu())),
                            {{"rows", tile.rows},
                             {"keys", tile.keys},
                             {"warps_n", tile.warpsN},
                             {"tiles_m", tile.tilesM},
                             {"parts", tile.parts}});
}

AttentionTile tileOfAttention(dlx::PlanAttr plan) {
  ProductUnit unit = plan.getSchedule() == kAttentionFloatUnitsSchedule.name
                         ? ProductUnit::floats
                         : ProductUnit::tensorCores;
  return {plan.number("rows"),
          plan.number("keys"),
          plan.number("warps_n"),
          plan.number("tiles_m"),
          unit,
          plan.number("parts")};
}

template <ProductUnit unit> static dlx::PlanAttr match(PlanQuestion &question) {
  return planOfAttention(question, unit, {});
}

template <ProductUnit unit> static double cost(PlanQuestion &question, dlx::PlanAttr plan) {
  dlx::PlanAttr same = planOfAttention(question, unit, tileOfAttention(plan));
  return same ? double(same.getNs()) : kNeverServes;
}

template <ProductUnit unit> static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  AttentionTemplate(k, *k.attention, unit).run(tileOfAttention(plan));
  return success();
}

constinit const Schedule kAttentionTensorCoresSchedule = {
    "attention_tensor_cores", match<ProductUnit::tensorCores>, build<ProductUnit::tensorCores>,
    nullptr, cost<ProductUnit::tensorCores>};
constinit const Schedule kAttentionFloatUnitsSchedule = {
    "attention_float_units", match<ProductUnit::floats>, build<ProductUnit::floats>, nullptr,
    cost<ProductUnit::floats>};

} // namespace dlc::codegen
