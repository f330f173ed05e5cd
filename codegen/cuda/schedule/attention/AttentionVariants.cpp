//===- AttentionVariants.cpp - The kernels that one attention gets ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where queries, keys or heads are symbolic, the shapes are sampled, the estimates of the tiles
// that suit them compared, and the shapes divided among a few (variants/PlanPartition.h): a
// decoder's one query over a long past, and the many of its prompt.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionPlans.h"
#include "codegen/cuda/schedule/attention/AttentionTemplate.h"
#include "codegen/cuda/schedule/variants/PlanParts.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr size_t kMostParts = 4; // of which one may have the plan for all
/// Shapes that are compared, each of which costs microseconds.
static constexpr size_t kSamples = 216;
/// Values of a symbol beyond this are taken to be none that a model has.
static constexpr int64_t kLargestSampled = int64_t(1) << 20;

SmallVector<PlannedPart> partsOfAttention(PlanQuestion &question, dlx::PlanAttr plan) {
  KernelBuilder &k = question.k;
  AttentionTile ofAll = tileOfAttention(plan);
  AttentionTemplate attention(k, *k.attention, ofAll.unit);
  SmallVector<AffineExpr> extents = attention.extents();
  ShapeSamples samples(extents, k.ranges(), kSamples, kLargestSampled);
  if (samples.size() < 2)
    return {};
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
  auto costsAt = [&](size_t sample) {
    std::vector<double> costs;
    for (const AttentionTile &tile : tiles)
      costs.push_back(tile.parts > 1 && tile.count(shapes[sample]) > abi::kGridCounter
                          ? kNeverServes
                          : estimatedClocks(tile, shapes[sample], k.gpu()));
    return costs;
  };
  return planned(question, samples.divide(costsAt, dividersOf(extents, k.ranges()), kMostParts),
                 [&](PlanQuestion &part, size_t tile) {
                   return planOfAttention(part, ofAll.unit, tiles[tile]);
                 });
}

} // namespace dlc::codegen
