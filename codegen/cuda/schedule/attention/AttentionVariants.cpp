//===- AttentionVariants.cpp - The kernels that one attention gets ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where queries, keys or heads are symbolic, the shapes are sampled, the estimates of the tiles
// that suit them compared, and the shapes divided among a few (variants/PlanPartition.h): a
// decoder's one query over a long past, and the many of its prompt.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionPlans.h"
#include "codegen/cuda/schedule/attention/AttentionTemplate.h"
#include "codegen/cuda/schedule/variants/ShapeSamples.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr size_t kMostParts = 4; // of which one may have the plan for all
/// Shapes that are compared, each of which costs microseconds.
static constexpr size_t kSamples = 216;
/// Values of a symbol beyond this are taken to be none that a model has.
static constexpr int64_t kLargestSampled = int64_t(1) << 20;

SmallVector<PlannedPart> partsOfAttention(PlanQuestion &question, dlx::PlanAttr plan) {
  SmallVector<PlannedPart> parts;
  KernelBuilder &k = question.k;
  AttentionTile ofAll = tileOfAttention(plan);
  AttentionTemplate attention(k, *k.attention, ofAll.unit);
  SmallVector<AffineExpr> extents = attention.extents();
  ShapeSamples samples(extents, k.ranges(), kSamples, kLargestSampled);
  if (samples.size() < 2)
    return parts;
  AttentionShape usual = attention.shape();
  std::vector<AttentionShape> shapes;
  SmallVector<AttentionTile> tiles = {ofAll};
  for (size_t sample = 0; sample < samples.size(); ++sample) {
    SmallVector<int64_t> values;
    for (AffineExpr extent : extents)
      values.push_back(std::clamp<int64_t>(samples.valueAt(extent, sample), 1, kLongestSide));
    shapes.push_back(AttentionTemplate::with(usual, values));
    AttentionTile tile = attention.tileFor(shapes.back());
    if (!llvm::is_contained(tiles, tile))
      tiles.push_back(tile);
  }
  std::vector<std::vector<double>> costs;
  for (const AttentionShape &shape : shapes) {
    costs.emplace_back();
    for (const AttentionTile &tile : tiles)
      costs.back().push_back(tile.parts > 1 && tile.count(shape) > abi::kGridCounter
                                 ? kNeverServes
                                 : estimatedClocks(tile, shape, k.gpu()));
  }
  llvm::erase_if(extents, [&](AffineExpr extent) {
    return dl::asConstant(extent) || !growsWithSymbols(extent, k.ranges());
  });
  auto [extent, divided] = samples.divide(costs, extents, std::nullopt, kMostParts);
  for (const PlanPart &part : divided) {
    if (part.plan == 0)
      continue;
    ShapePart some = {extent, {part.least, part.most}};
    PlanQuestion within(question, some);
    if (dlx::PlanAttr own = planOfAttention(within, ofAll.unit, tiles[part.plan]))
      parts.push_back({some, own});
  }
  return parts;
}

} // namespace dlc::codegen
