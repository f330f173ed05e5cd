//===- DimGroups.cpp - Dims that can be walked as one -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/DimGroups.h"

using namespace mlir;

namespace dlc::codegen {

/// The change of `address` along `variable`; it may name other variables and symbols.
static AffineExpr step(const IndexMath &math, AffineExpr address, AffineExpr variable) {
  llvm::DenseMap<AffineExpr, AffineExpr> next = {{variable, variable + 1}};
  return math.simplify(address.replace(next) - address);
}

/// True where a walk over (outer, inner) is an even walk along one line for `address`.
static bool isEven(const IndexMath &math, AffineExpr address, AffineExpr outer, AffineExpr inner,
                   AffineExpr innerExtent) {
  AffineExpr big = step(math, address, outer), small = step(math, address, inner);
  for (AffineExpr delta : {big, small})
    for (AffineExpr variable : {outer, inner})
      if (delta.isFunctionOfDim(cast<AffineDimExpr>(variable).getPosition()))
        return false;
  return math.simplify(big - small * innerExtent) == math.constant(0);
}

static SmallVector<std::string> numbered(const char *prefix, unsigned count) {
  SmallVector<std::string> roles;
  for (unsigned i = 0; i < count; ++i)
    roles.push_back(prefix + std::to_string(i));
  return roles;
}

SmallVector<std::string> resultRoles(unsigned rank) {
  switch (rank) {
  case 1:
    return {"col"};
  case 2:
    return {"row", "col"};
  case 4:
    return {"n", "c", "h", "w"};
  default:
    return numbered("d", rank);
  }
}

SmallVector<std::string> reductionRoles(unsigned rank) {
  if (rank == 3)
    return {"rc", "rh", "rw"};
  if (rank == 2)
    return {"rh", "rw"};
  return numbered("r", rank);
}

SmallVector<DimGroup> mergeDims(const IndexMath &math, ArrayRef<unsigned> order,
                                ArrayRef<AffineExpr> variables, ArrayRef<AffineExpr> extents,
                                ArrayRef<AffineExpr> addresses, const llvm::SmallBitVector &pinned,
                                ArrayRef<std::string> roles) {
  SmallVector<DimGroup> groups; // innermost first while they grow
  for (unsigned dim : llvm::reverse(order)) {
    if (dl::isConstant(extents[dim], 1))
      continue;
    if (!groups.empty() && !pinned.test(dim)) {
      DimGroup &group = groups.back();
      bool mayJoin =
          !pinned.test(group.dims.front()) && llvm::all_of(addresses, [&](AffineExpr address) {
            return isEven(math, address, variables[dim], variables[group.dims.back()],
                          group.extent);
          });
      if (mayJoin) {
        group.dims.insert(group.dims.begin(), dim);
        group.extent = dl::normalize(extents[dim] * group.extent);
        group.role = roles[dim] + group.role;
        continue;
      }
    }
    groups.push_back({{dim}, extents[dim], {}, roles[dim]});
  }
  std::reverse(groups.begin(), groups.end());
  return groups;
}

void bindGroups(IndexMath &math, MutableArrayRef<DimGroup> groups, ArrayRef<unsigned> order,
                MutableArrayRef<AffineExpr> indices) {
  for (unsigned dim : order)
    indices[dim] = math.constant(0);
  for (DimGroup &group : groups) {
    group.variable = math.addLoop(group.extent);
    indices[group.dims.back()] = group.variable;
  }
}

AffineExpr totalExtent(const IndexMath &math, ArrayRef<DimGroup> groups) {
  AffineExpr total = math.constant(1);
  for (const DimGroup &group : groups)
    total = total * group.extent;
  return dl::normalize(total);
}

} // namespace dlc::codegen
