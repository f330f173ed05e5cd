//===- ShapeSamples.cpp - Shapes at which plans are compared ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/variants/ShapeSamples.h"

#include "codegen/cuda/schedule/Schedule.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace dlc::codegen {

static constexpr size_t kMostSymbols = 3;

SmallVector<ServedPart> undivided(ArrayRef<double> costs) {
  size_t least = std::min_element(costs.begin(), costs.end()) - costs.begin();
  return least == 0 ? SmallVector<ServedPart>() : SmallVector<ServedPart>{{std::nullopt, least}};
}

SmallVector<AffineExpr> dividersOf(ArrayRef<AffineExpr> extents, ArrayRef<dl::Range> symbols) {
  SmallVector<AffineExpr> found;
  for (AffineExpr extent : extents)
    if (!dl::asConstant(extent) && growsWithSymbols(extent, symbols) &&
        !llvm::is_contained(found, extent))
      found.push_back(extent);
  return found;
}

ShapeSamples::ShapeSamples(ArrayRef<AffineExpr> extents, ArrayRef<dl::Range> ranges, size_t wanted,
                           int64_t largest)
    : ranges(ranges) {
  llvm::SetVector<unsigned> named;
  for (AffineExpr extent : extents)
    extent.walk([&](AffineExpr expr) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
        named.insert(symbol.getPosition());
    });
  if (named.empty()) {
    shapes.emplace_back(ranges);
    return;
  }
  if (named.size() > kMostSymbols ||
      llvm::any_of(named, [&](unsigned symbol) { return symbol >= ranges.size(); }))
    return;
  const auto count = size_t(std::lround(std::pow(double(wanted), 1 / double(named.size()))));
  SmallVector<SmallVector<int64_t>> values;
  for (unsigned symbol : named) {
    dl::Range range = ranges[symbol];
    double least = double(std::max<int64_t>(range.min, 1)),
           most =
               double(std::clamp<int64_t>(range.max, int64_t(least), std::max(largest, range.min)));
    llvm::SetVector<int64_t> some;
    for (size_t i = 0; i < count; ++i)
      some.insert(std::llround(least * std::pow(most / least, double(i) / double(count - 1))));
    values.push_back(some.takeVector());
  }
  SmallVector<dl::Range> symbols(ranges);
  SmallVector<size_t> at(named.size());
  while (true) {
    for (auto [position, symbol] : llvm::enumerate(named)) {
      int64_t value = values[position][at[position]];
      symbols[symbol] = {value, value};
    }
    shapes.push_back(symbols);
    size_t position = 0;
    while (position < at.size() && ++at[position] == values[position].size())
      at[position++] = 0;
    if (position == at.size())
      break;
  }
}

int64_t ShapeSamples::valueAt(AffineExpr extent, size_t sample) const {
  auto value = dl::rangeOf(extent, shapes[sample]);
  return value ? value->min : std::numeric_limits<int64_t>::max();
}

SmallVector<ServedPart>
ShapeSamples::divide(llvm::function_ref<std::vector<double>(size_t sample)> costsAt,
                     ArrayRef<AffineExpr> extents, size_t most,
                     std::optional<int64_t> least) const {
  std::vector<std::vector<double>> costs;
  for (size_t sample = 0; sample < size(); ++sample)
    costs.push_back(costsAt(sample));
  auto [extent, parts] = partition(costs, extents, most, least);
  SmallVector<ServedPart> served;
  for (const PlanPart &part : parts)
    if (part.plan != 0)
      served.push_back({ShapePart{extent, {part.least, part.most}}, part.plan});
  return served;
}

std::pair<AffineExpr, std::vector<PlanPart>>
ShapeSamples::partition(ArrayRef<std::vector<double>> costs, ArrayRef<AffineExpr> extents,
                        size_t most, std::optional<int64_t> least) const {
  std::pair<AffineExpr, std::vector<PlanPart>> best;
  double leastLoss = kNeverServes;
  for (AffineExpr extent : extents) {
    std::vector<PlanSample> some;
    for (size_t sample = 0; sample < size(); ++sample)
      if (int64_t value = valueAt(extent, sample); !least || value >= *least)
        some.push_back({value, costs[sample]});
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
  auto whole = dl::rangeOf(best.first, ranges);
  parts.front().least = least ? *least : whole ? whole->min : 0;
  parts.back().most = whole ? whole->max : std::numeric_limits<int64_t>::max();
  // A part ends at its last sample where its plan cannot serve the next one.
  auto isPossible = [&](size_t plan, int64_t value) {
    for (size_t sample = 0; sample < size(); ++sample)
      if (valueAt(best.first, sample) == value && costs[sample][plan] == kNeverServes)
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

} // namespace dlc::codegen
