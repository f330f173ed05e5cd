//===- ScaleGroups.cpp - Activations and weights that share scales of their channels ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/channels/ScaleGroups.h"

#include "ir/dl/base/PrecisionMarks.h"
#include "tools/driver/calibrate/channels/ChannelFactors.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace dlc {

/// Whether the numbers of `weight` may change on each target, as nothing but products of few bits
/// reads them.
static bool canBeScaled(const PackableWeight &weight) {
  return weight.whyKept.empty() && weight.tables.empty() &&
         llvm::none_of(weight.products,
                       [](OpOperand *use) { return use->getOwner()->hasAttr(dl::kKeptOn); });
}

static void addOnce(SmallVector<Value> &values, Value value) {
  if (!llvm::is_contained(values, value))
    values.push_back(value);
}

std::vector<ScaleGroup> scaleGroupsOf(ArrayRef<PackableWeight> found) {
  std::vector<ScaleGroup> groups;
  for (auto [place, weight] : llvm::enumerate(found)) {
    if (!canBeScaled(weight))
      continue;
    ScaleGroup own;
    for (size_t product = 0; product < weight.products.size(); ++product)
      addOnce(own.activations, weight.getActivation(product));
    // Groups that this weight joins become the first of them.
    auto sharesOne = [&](const ScaleGroup &group) {
      return llvm::any_of(group.activations,
                          [&](Value value) { return llvm::is_contained(own.activations, value); });
    };
    auto first = llvm::find_if(groups, sharesOne);
    if (first == groups.end())
      first = groups.insert(groups.end(), ScaleGroup());
    for (Value activation : own.activations)
      addOnce(first->activations, activation);
    for (const ScaleGroup &other : llvm::make_range(std::next(first), groups.end())) {
      if (!sharesOne(other))
        continue;
      for (Value activation : other.activations)
        addOnce(first->activations, activation);
      first->weights.append(other.weights);
    }
    groups.erase(std::remove_if(std::next(first), groups.end(), sharesOne), groups.end());
    first->weights.push_back(place);
  }
  return groups;
}

void divideActivations(func::FuncOp function, ArrayRef<PackableWeight> found,
                       const ScaleGroup &group) {
  if (group.inverse.empty())
    return;
  std::vector<ChannelReads> reads;
  for (Value activation : group.activations)
    reads.push_back({activation, cast<RankedTensorType>(activation.getType()).getRank() - 1, {}});
  for (size_t place : group.weights)
    for (auto [product, use] : llvm::enumerate(found[place].products)) {
      const Value *own = llvm::find(group.activations, found[place].getActivation(product));
      reads[own - group.activations.begin()].uses.push_back(&use->getOwner()->getOpOperand(0));
    }
  auto first = found[group.weights.front()].op;
  Value factors = holdChannelFactors(function, first.getLoc(), first.getName(), group.inverse);
  for (const ChannelReads &read : reads)
    multiplyChannels(read, factors);
}

} // namespace dlc
