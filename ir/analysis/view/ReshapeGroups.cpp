//===- ReshapeGroups.cpp - Which dims a reshape splits, joins or keeps --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/view/ReshapeGroups.h"

using namespace mlir;

namespace dlc {

/// The products of the first 0, 1, 2, ... of `dims`.
static dl::Dims productsOf(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  dl::Dims products = {dl::constantDim(1, context)};
  for (AffineExpr dim : dims)
    products.push_back(dl::normalize(products.back() * dim));
  return products;
}

std::optional<SmallVector<DimGroup>> dimGroupsOf(ArrayRef<AffineExpr> from,
                                                 ArrayRef<AffineExpr> to) {
  SmallVector<DimGroup> groups;
  for (unsigned f = 0, t = 0; f < from.size() || t < to.size();) {
    MLIRContext *context = (f < from.size() ? from[f] : to[t]).getContext();
    dl::Dims old = productsOf(from.drop_front(f), context),
             changed = productsOf(to.drop_front(t), context);
    // The fewest dims first. One of size 1 pairs with another one, or is a group by itself.
    std::optional<DimGroup> found;
    unsigned most = old.size() + changed.size() - 2;
    for (unsigned count = 1; count <= most && !found; ++count)
      for (unsigned m = 0; m <= count && !found; ++m)
        if (unsigned n = count - m; m < old.size() && n < changed.size() && old[m] == changed[n])
          found = DimGroup{f, f + m, t, t + n};
    if (!found)
      return std::nullopt;
    f = found->fromEnd;
    t = found->toEnd;
    groups.push_back(*found);
  }
  return groups;
}

static bool isOne(AffineExpr dim) { return dl::isConstant(dim, 1); }

std::optional<dl::Dims> viewInDims(dl::BroadcastOp repetition, ArrayRef<AffineExpr> to) {
  MLIRContext *context = repetition.getContext();
  dl::Dims wide = dl::dimsOf(repetition), narrow = dl::dimsOf(repetition.getX());
  narrow.insert(narrow.begin(), wide.size() - narrow.size(), dl::constantDim(1, context));
  auto groups = dimGroupsOf(wide, to);
  if (!groups)
    return std::nullopt;
  dl::Dims view(to.size(), dl::constantDim(1, context));
  for (const DimGroup &group : *groups) {
    auto old =
        llvm::to_vector(llvm::make_filter_range(llvm::seq(group.fromBegin, group.fromEnd),
                                                [&](unsigned dim) { return !isOne(wide[dim]); }));
    auto changed = llvm::to_vector(llvm::make_filter_range(
        llvm::seq(group.toBegin, group.toEnd), [&](unsigned dim) { return !isOne(to[dim]); }));
    auto isRepeated = [&](unsigned dim) { return isOne(narrow[dim]); };
    if (llvm::all_of(old, isRepeated))
      continue;
    bool isKept =
        old.size() == changed.size() && llvm::all_of(llvm::zip(old, changed), [&](auto pair) {
          return wide[std::get<0>(pair)] == to[std::get<1>(pair)];
        });
    if (isKept) {
      for (auto [from, at] : llvm::zip(old, changed))
        view[at] = narrow[from];
    } else if (llvm::none_of(old, isRepeated)) {
      for (unsigned at : changed)
        view[at] = to[at];
    } else {
      return std::nullopt;
    }
  }
  // Leading dims are repeated without being there.
  while (view.size() > dl::dimsOf(repetition.getX()).size() && isOne(view.front()))
    view.erase(view.begin());
  return view;
}

bool hasCountedDim(Value value) {
  auto op = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
  auto module = op->getParentOfType<ModuleOp>();
  return module && dl::mentions(dl::dimsOf(value), dl::countedSymbols(module));
}

} // namespace dlc
