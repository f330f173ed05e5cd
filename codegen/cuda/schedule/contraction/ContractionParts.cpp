//===- ContractionParts.cpp - The kernels that one matrix product gets -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionParts.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/ContractionTemplate.h"
#include "codegen/cuda/schedule/variants/PlanPartition.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc::codegen {

/// Values of a symbol beyond this say nothing new: such products keep the GPU busy with any large
/// tile.
static constexpr int64_t kLargestSampled = 4096;
static constexpr size_t kMostParts = 4, kMostWgmmaParts = 3;
static constexpr double kNever = std::numeric_limits<double>::infinity();

namespace {
/// A product at some values of the symbols.
struct SampledShape {
  SmallVector<dl::Range> symbols; // each with one value
  ProductShape shape;
};

class ProductSampler : ContractionTemplate {
public:
  explicit ProductSampler(Contraction &c, bool onTensorCores)
      : ContractionTemplate(c, c.storesAlongM(),
                            onTensorCores ? bytesOf(c.k.body.getRoot(), c.nest) : std::nullopt),
        unit(onTensorCores ? ProductUnit::tensorCores : ProductUnit::floats) {
    sample();
  }

  /// `fewRows`: shapes that other kernels serve.
  SmallVector<std::pair<ShapePart, ProductTile>> parts(const std::optional<ShapePart> &fewRows,
                                                       size_t most);
  /// The parts of the shapes with their tiles; an entry without a part serves all shapes.
  SmallVector<std::pair<std::optional<ShapePart>, WgmmaTile>>
  wgmmaParts(const std::optional<ShapePart> &fewRows);

private:
  void sample();
  /// The extents by which parts may be told apart.
  SmallVector<AffineExpr> dividers(const std::optional<ShapePart> &fewRows) const;
  int64_t valueAt(AffineExpr extent, const SampledShape &at) const {
    auto value = dl::rangeOf(extent, at.symbols);
    return value ? value->min : std::numeric_limits<int64_t>::max();
  }
  /// Clocks of a tile, as long as no block waits for another: infinite where the parts of a tile
  /// would.
  double clocksOf(const ProductTile &tile, const ProductShape &shape, const GpuModel &gpu) const;
  /// The best division by any of the extents: which one, and the parts from end to end of its
  /// range.
  std::pair<AffineExpr, std::vector<PlanPart>> divide(const std::vector<std::vector<double>> &costs,
                                                      const std::optional<ShapePart> &fewRows,
                                                      size_t most) const;

  ProductUnit unit;
  std::vector<SampledShape> samples;
};
} // namespace

//===- Samples --------------------------------------------------------------------------------------===//

void ProductSampler::sample() {
  llvm::SetVector<unsigned> named;
  for (AffineExpr extent : {rows.extent, columns.extent, c.depth.extent, c.batch.extent})
    extent.walk([&](AffineExpr expr) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
        named.insert(symbol.getPosition());
    });
  if (named.empty()) {
    samples.push_back({SmallVector<dl::Range>(k.ranges()), shape()});
    return;
  }
  // Some 60 shapes, each of which costs microseconds: times jump where one more tile needs another
  // turn of the GPU.
  const size_t count = named.size() <= 1 ? 61 : named.size() == 2 ? 8 : named.size() == 3 ? 4 : 0;
  SmallVector<dl::Range> symbols(k.ranges());
  if (llvm::any_of(named, [&](unsigned symbol) { return symbol >= symbols.size(); }))
    return;
  SmallVector<SmallVector<int64_t>> values;
  for (unsigned symbol : named) {
    dl::Range range = symbols[symbol];
    double least = double(std::max<int64_t>(range.min, 1)),
           most = double(std::clamp<int64_t>(range.max, int64_t(least),
                                             std::max(kLargestSampled, range.min)));
    llvm::SetVector<int64_t> some;
    for (size_t i = 0; i < count; ++i)
      some.insert(std::llround(least * std::pow(most / least, double(i) / double(count - 1))));
    values.push_back(some.takeVector());
  }
  if (count == 0)
    return;
  SmallVector<size_t> at(named.size());
  while (true) {
    for (auto [position, symbol] : llvm::enumerate(named)) {
      int64_t value = values[position][at[position]];
      symbols[symbol] = {value, value};
    }
    auto extentOf = [&](const Side &side) {
      auto range = dl::rangeOf(side.extent, symbols);
      return range ? std::max<int64_t>(1, range->min) : kLargestSampled;
    };
    samples.push_back({symbols,
                       {extentOf(rows), extentOf(columns), extentOf(c.depth), extentOf(c.batch),
                        elementBytes, k.body.getWindow()}});
    size_t position = 0;
    while (position < at.size() && ++at[position] == values[position].size())
      at[position++] = 0;
    if (position == at.size())
      break;
  }
}

SmallVector<AffineExpr> ProductSampler::dividers(const std::optional<ShapePart> &fewRows) const {
  if (fewRows)
    return {fewRows->extent};
  SmallVector<AffineExpr> found;
  for (AffineExpr extent : {rows.extent, columns.extent, c.batch.extent, c.depth.extent})
    if (!dl::asConstant(extent) && growsWithSymbols(extent, k.ranges()) &&
        !llvm::is_contained(found, extent))
      found.push_back(extent);
  return found;
}

double ProductSampler::clocksOf(const ProductTile &tile, const ProductShape &shape,
                                const GpuModel &gpu) const {
  int64_t blocks = llvm::divideCeilSigned(shape.m, tile.usedRows(shape.window)) *
                   llvm::divideCeilSigned(shape.n, tile.n) * shape.batch;
  if (tile.parts > 1 && blocks > gpu.multiprocessors / tile.parts)
    return kNever;
  return estimatedClocks(tile, shape, gpu);
}

//===- Parts ----------------------------------------------------------------------------------------===//

std::pair<AffineExpr, std::vector<PlanPart>>
ProductSampler::divide(const std::vector<std::vector<double>> &costs,
                       const std::optional<ShapePart> &fewRows, size_t most) const {
  std::pair<AffineExpr, std::vector<PlanPart>> best;
  double leastLoss = kNever;
  for (AffineExpr extent : dividers(fewRows)) {
    std::vector<PlanSample> some;
    for (auto [sample, ofSample] : llvm::zip_equal(samples, costs))
      if (int64_t value = valueAt(extent, sample); !fewRows || value > fewRows->range.max)
        some.push_back({value, ofSample});
    if (some.empty())
      continue;
    PlanPartition division = partitionPlans(std::move(some), most);
    if (division.loss < leastLoss) {
      leastLoss = division.loss;
      best = {extent, std::move(division.parts)};
    }
  }
  if (!best.first)
    return best;
  // From end to end: values between two parts go to the nearer one.
  std::vector<PlanPart> &parts = best.second;
  auto whole = k.range(best.first);
  parts.front().least = fewRows ? fewRows->range.max + 1 : whole ? whole->min : 0;
  parts.back().most = whole ? whole->max : std::numeric_limits<int64_t>::max();
  // A part ends at its last sample where its plan cannot serve the next one.
  auto isPossible = [&](size_t plan, int64_t value) {
    for (auto [sample, ofSample] : llvm::zip_equal(samples, costs))
      if (valueAt(best.first, sample) == value && ofSample[plan] == kNever)
        return false;
    return true;
  };
  for (size_t i = 1; i < parts.size(); ++i) {
    double middle = std::sqrt(double(parts[i - 1].most) * double(parts[i].least));
    if (isPossible(parts[i - 1].plan, parts[i].least))
      parts[i - 1].most =
          std::clamp<int64_t>(int64_t(middle), parts[i - 1].most, parts[i].least - 1);
    parts[i].least = parts[i - 1].most + 1;
  }
  return best;
}

SmallVector<std::pair<ShapePart, ProductTile>>
ProductSampler::parts(const std::optional<ShapePart> &fewRows, size_t most) {
  if (samples.size() < 2)
    return {};
  const GpuModel &gpu = k.gpu();
  // Plan 0 is that of the kernel for all shapes.
  std::vector<ProductTile> tiles = {tileFor(unit)};
  bool maySplit = mayShareTiles();
  for (const SampledShape &sample : samples)
    if (ProductTile tile = chooseTile(unit, sample.shape, gpu, maySplit);
        !llvm::is_contained(tiles, tile))
      tiles.push_back(tile);
  std::vector<std::vector<double>> costs;
  for (const SampledShape &sample : samples) {
    costs.emplace_back();
    for (const ProductTile &tile : tiles)
      costs.back().push_back(clocksOf(tile, sample.shape, gpu));
  }
  auto [extent, divided] = divide(costs, fewRows, most);
  SmallVector<std::pair<ShapePart, ProductTile>> found;
  for (const PlanPart &part : divided)
    if (part.plan != 0)
      found.push_back({{extent, {part.least, part.most}}, tiles[part.plan]});
  return found;
}

SmallVector<std::pair<std::optional<ShapePart>, WgmmaTile>>
ProductSampler::wgmmaParts(const std::optional<ShapePart> &fewRows) {
  std::span<const WgmmaTile> tiles = wgmmaTiles();
  std::vector<std::vector<double>> costs;
  for (const SampledShape &sample : samples) {
    // Plan 0 is what there is without wgmma.
    ProductTile other = chooseTile(ProductUnit::tensorCores, sample.shape, kHopper, true);
    costs.push_back({estimatedClocks(other, sample.shape, kHopper)});
    for (const WgmmaTile &tile : tiles)
      costs.back().push_back(estimatedClocks(tile, sample.shape));
  }
  if (samples.empty())
    return {};
  if (samples.size() == 1) {
    const std::vector<double> &all = costs.front();
    size_t least = std::min_element(all.begin(), all.end()) - all.begin();
    if (least == 0)
      return {};
    return {{std::nullopt, tiles[least - 1]}};
  }
  auto [extent, divided] = divide(costs, fewRows, kMostWgmmaParts);
  SmallVector<std::pair<std::optional<ShapePart>, WgmmaTile>> found;
  for (const PlanPart &part : divided)
    if (part.plan != 0)
      found.push_back({ShapePart{extent, {part.least, part.most}}, tiles[part.plan - 1]});
  return found;
}

//===- Kernels --------------------------------------------------------------------------------------===//

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

SmallVector<PlannedPart> partsOfProduct(PlanQuestion &question) {
  SmallVector<PlannedPart> parts;
  if (!isDynamic(question.kernel()))
    return parts;
  auto add = [&](const ShapePart &shapes, llvm::function_ref<dlx::PlanAttr(PlanQuestion &)> match) {
    PlanQuestion part(question, shapes);
    if (dlx::PlanAttr plan = match(part))
      parts.push_back({shapes, plan});
  };
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
  ProductUnit unit = onTensorCores ? ProductUnit::tensorCores : ProductUnit::floats;
  if (onTensorCores || suitsFloatUnits(*c))
    for (auto &[shapes, tile] :
         ProductSampler(*c, onTensorCores).parts(fewRows, kMostParts + 1 - parts.size()))
      add(shapes, [&](PlanQuestion &part) { return planOfTiles(part, unit, tile); });
  return parts;
}

SmallVector<PlannedPart> wgmmaPartsOfProduct(PlanQuestion &question, bool always) {
  SmallVector<PlannedPart> parts;
  dlx::PlanAttr ofAll = kWgmmaSchedule.match(question);
  if (!ofAll)
    return parts;
  if (always) {
    parts.push_back({std::nullopt, ofAll});
    return parts;
  }
  if (hasFewRows(*question.product()))
    return parts;
  for (auto &[shapes, tile] : ProductSampler(*question.product(), /*onTensorCores=*/true)
                                  .wgmmaParts(partOfFewRows(question))) {
    dlx::PlanAttr plan;
    if (shapes) {
      PlanQuestion part(question, *shapes);
      plan = planOfWgmma(part, tile);
    } else {
      plan = planOfWgmma(question, tile);
    }
    if (plan)
      parts.push_back({shapes, plan});
  }
  return parts;
}

} // namespace dlc::codegen
