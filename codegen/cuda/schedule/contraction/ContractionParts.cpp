//===- ContractionParts.cpp - The kernels that one matrix product gets --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionParts.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/ContractionTemplate.h"
#include "codegen/cuda/schedule/contraction/sparse/ContractionSparse.h"
#include "codegen/cuda/schedule/variants/PlanParts.h"
#include "codegen/plan/PlanChoice.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr size_t kMostParts = 4, kMostWgmmaParts = 3;
/// Shapes that are compared, each of which costs microseconds: times jump where one more tile needs
/// another turn of the GPU.
static constexpr size_t kSamples = 61;
/// Values of a symbol beyond this say nothing new: such products keep the GPU busy with any large
/// tile.
static constexpr int64_t kLargestSampled = 4096;

namespace {
class ProductSampler : ContractionTemplate {
public:
  ProductSampler(KernelBuilder &k, Contraction &c, ProductUnit unit)
      : ContractionTemplate(k, c, c.storesAlongM(),
                            unit == ProductUnit::tensorCores ? bytesOf(k.body.getRoot(), c.nest)
                                                             : std::nullopt),
        unit(unit), samples({rows.extent, columns.extent, c.depth.extent, c.batch.extent},
                            k.ranges(), kSamples, kLargestSampled) {
    for (size_t sample = 0; sample < samples.size(); ++sample) {
      if (samples.size() == 1) {
        shapes.push_back(shape(kLongestSide));
        break;
      }
      auto extentOf = [&](const Side &side) {
        auto range = dl::rangeOf(side.extent, samples.symbolsAt(sample));
        return range ? std::max<int64_t>(1, range->min) : kLargestSampled;
      };
      shapes.push_back({extentOf(rows), extentOf(columns), extentOf(c.depth), extentOf(c.batch),
                        elementBytes, k.body.getWindow()});
    }
  }

  /// The tiles that suit some shape; the first one is that of the kernel for all of them.
  SmallVector<ProductTile> tiles() const;
  /// The parts of the shapes that one of `tiles` but the first serves best. `fewRows`: shapes that
  /// other kernels serve.
  SmallVector<ServedPart> parts(ArrayRef<ProductTile> tiles,
                                const std::optional<ShapePart> &fewRows, size_t most) const;
  /// The parts in which one of `tiles`, counted from 1, beats the best tile of `unit`. The estimate
  /// for `unit` is multiplied by `times`.
  template <class Tile>
  SmallVector<ServedPart> partsOnHopper(ArrayRef<Tile> tiles, double times,
                                        const std::optional<ShapePart> &fewRows) const;

private:
  /// The extents by which parts may be told apart.
  SmallVector<AffineExpr> dividers(const std::optional<ShapePart> &fewRows) const;
  /// Clocks of a tile, as long as no block waits for another: infinite where the parts of a tile
  /// would.
  double clocksOf(const ProductTile &tile, const ProductShape &shape, const GpuModel &gpu) const;

  ProductUnit unit;
  ShapeSamples samples;
  std::vector<ProductShape> shapes; // of the samples
};
} // namespace

/// The least value of the extent that tells shapes apart.
static std::optional<int64_t> afterFew(const std::optional<ShapePart> &fewRows) {
  return fewRows ? std::optional(fewRows->range.max + 1) : std::nullopt;
}

SmallVector<AffineExpr> ProductSampler::dividers(const std::optional<ShapePart> &fewRows) const {
  if (fewRows)
    return {fewRows->extent};
  return dividersOf({rows.extent, columns.extent, c.batch.extent, c.depth.extent}, k.ranges());
}

double ProductSampler::clocksOf(const ProductTile &tile, const ProductShape &shape,
                                const GpuModel &gpu) const {
  int64_t blocks = llvm::divideCeilSigned(shape.m, tile.usedRows(shape.window)) *
                   llvm::divideCeilSigned(shape.n, tile.n) * shape.batch;
  if (tile.parts > 1 && blocks > gpu.multiprocessors / tile.parts)
    return kNeverServes;
  return estimatedClocks(tile, shape, gpu);
}

//===- Parts ----------------------------------------------------------------------------------===//

SmallVector<ProductTile> ProductSampler::tiles() const {
  SmallVector<ProductTile> tiles = {tileFor(unit)};
  bool maySplit = mayShareTiles();
  for (const ProductShape &shape : shapes)
    if (ProductTile tile = chooseTile(unit, shape, k.gpu(), maySplit);
        !llvm::is_contained(tiles, tile))
      tiles.push_back(tile);
  return tiles;
}

SmallVector<ServedPart> ProductSampler::parts(ArrayRef<ProductTile> tiles,
                                              const std::optional<ShapePart> &fewRows,
                                              size_t most) const {
  if (samples.size() < 2)
    return {};
  auto costsAt = [&](size_t sample) {
    std::vector<double> costs;
    for (const ProductTile &tile : tiles)
      costs.push_back(clocksOf(tile, shapes[sample], k.gpu()));
    return costs;
  };
  return samples.divide(costsAt, dividers(fewRows), most, afterFew(fewRows));
}

template <class Tile>
SmallVector<ServedPart>
ProductSampler::partsOnHopper(ArrayRef<Tile> tiles, double times,
                              const std::optional<ShapePart> &fewRows) const {
  auto costsAt = [&](size_t sample) {
    // Plan 0 is what there is without wgmma.
    const ProductShape &shape = shapes[sample];
    ProductTile other = chooseTile(unit, shape, kHopper, true);
    std::vector<double> costs = {estimatedClocks(other, shape, kHopper) * times};
    for (const Tile &tile : tiles)
      costs.push_back(estimatedClocks(tile, shape));
    return costs;
  };
  if (shapes.size() == 1)
    return undivided(costsAt(0));
  return samples.divide(costsAt, dividers(fewRows), kMostWgmmaParts, afterFew(fewRows));
}

//===- Kernels --------------------------------------------------------------------------------===//

static bool isDynamic(dlx::KernelOp kernel) {
  return llvm::any_of(kernel.getResultTensors().getTypes(),
                      [](Type type) { return !cast<RankedTensorType>(type).hasStaticShape(); });
}

std::optional<ShapePart> partOfFewRows(PlanQuestion &question) {
  Contraction *c = question.product();
  KernelBuilder &k = question.k;
  if (!isDynamic(question.kernel()) || k.body.getPool() || !c ||
      bytesOf(k.body.getRoot(), c->nest) || hasFewRows(*c))
    return std::nullopt;
  for (AffineExpr side : {c->m.extent, c->n.extent}) {
    auto range = k.range(side);
    if (dl::asConstant(side) || !range || range->min > kMostFewRows ||
        !growsWithSymbols(side, k.ranges()))
      continue;
    ShapePart part = {side, {range->min, kMostFewRows}};
    PlanQuestion few(question, part);
    if (few.product() && hasFewRows(*few.product()))
      return part;
  }
  return std::nullopt;
}

/// The shapes with as many products as a grid counts along z, where there are others: an ONNX file
/// rarely bounds its batch.
static std::optional<ShapePart> partOfGrid(PlanQuestion &question) {
  Contraction *c = question.product();
  KernelBuilder &k = question.k;
  if (!c || dl::asConstant(c->batch.extent) || !growsWithSymbols(c->batch.extent, k.ranges()))
    return std::nullopt;
  int64_t least = k.smallest(c->batch.extent).value_or(kMaxGridYZ + 1);
  if (least > kMaxGridYZ || k.largest(c->batch.extent).value_or(INT64_MAX) <= kMaxGridYZ)
    return std::nullopt;
  return ShapePart{c->batch.extent, {least, kMaxGridYZ}};
}

/// The plan of the fastest kernel that has a product's batch along z; null where there is none.
static dlx::PlanAttr planWithinGrid(PlanQuestion &question) {
  SmallVector<dlx::PlanAttr> plans;
  for (const Schedule *schedule :
       {&kRowsSchedule, &kTensorCoresSchedule, &kFloatUnitsSchedule, &kTilesSchedule})
    if (dlx::PlanAttr plan = schedule->match(question))
      plans.push_back(plan);
  return plans.empty() ? dlx::PlanAttr() : *bestOf(plans);
}

SmallVector<PlannedPart> partsOfProduct(PlanQuestion &question) {
  SmallVector<PlannedPart> parts;
  if (!isDynamic(question.kernel()))
    return parts;
  auto add = [&](const ShapePart &shapes, llvm::function_ref<dlx::PlanAttr(PlanQuestion &)> match) {
    PlanQuestion part(question, shapes);
    if (dlx::PlanAttr plan = match(part))
      parts.push_back({shapes, plan});
  };
  if (std::optional<ShapePart> few = partOfGrid(question)) {
    add(*few, planWithinGrid);
    return parts;
  }
  std::optional<ShapePart> fewRows = partOfFewRows(question);
  if (fewRows) {
    // A decoder has one row at each step, which should not pay for seven others.
    int64_t least = fewRows->range.min;
    if (least <= 1)
      add({fewRows->extent, {least, 1}}, kRowsSchedule.match);
    add({fewRows->extent, {std::max<int64_t>(least, 2), fewRows->range.max}}, kRowsSchedule.match);
  }
  Contraction *c = question.product();
  if (!c || hasFewRows(*c))
    return parts;
  bool onTensorCores = suitsTensorCores(*c, question.allowsTf32);
  if (!onTensorCores && !suitsFloatUnits(*c))
    return parts;
  const ProductUnit unit = sparseColumnsOf(*c) ? ProductUnit::sparseTensorCores
                           : onTensorCores     ? ProductUnit::tensorCores
                                               : ProductUnit::floats;
  ProductSampler sampler(question.k, *c, unit);
  SmallVector<ProductTile> tiles = sampler.tiles();
  llvm::append_range(parts,
                     planned(question, sampler.parts(tiles, fewRows, kMostParts + 1 - parts.size()),
                             [&](PlanQuestion &part, size_t tile) {
                               return unit == ProductUnit::sparseTensorCores
                                          ? planOfSparseTiles(part, tiles[tile])
                                          : planOfTiles(part, unit, tiles[tile]);
                             }));
  return parts;
}

SmallVector<PlannedPart> wgmmaPartsOfProduct(PlanQuestion &question, bool always) {
  dlx::PlanAttr ofSparse = kSparseWgmmaSchedule.match(question),
                ofAll = ofSparse ? ofSparse : kWgmmaSchedule.match(question);
  if (!ofAll)
    return {};
  if (always)
    return {{std::nullopt, ofAll}};
  Contraction &c = *question.product();
  if (hasFewRows(c))
    return {};
  if (ofSparse) {
    SmallVector<SparseWgmmaTile> tiles = llvm::to_vector(sparseWgmmaTiles());
    ProductSampler sampler(question.k, c, ProductUnit::sparseTensorCores);
    return planned(
        question, sampler.partsOnHopper<SparseWgmmaTile>(tiles, 1, {}),
        [&](PlanQuestion &part, size_t plan) { return planOfSparseWgmma(part, tiles[plan - 1]); });
  }
  SmallVector<WgmmaTile> tiles;
  for (const WgmmaTile &tile : wgmmaTiles())
    if (tile.parts == 1 || c.batch.groups.empty())
      tiles.push_back(tile.fedAs(wgmmaTileOf(ofAll)));
  ProductSampler sampler(question.k, c, ProductUnit::tensorCores);
  double times = c.nest.isWindow() ? kHopper.schedules.windows : 1;
  return planned(
      question, sampler.partsOnHopper<WgmmaTile>(tiles, times, partOfFewRows(question)),
      [&](PlanQuestion &part, size_t plan) { return planOfWgmma(part, tiles[plan - 1]); });
}

} // namespace dlc::codegen
