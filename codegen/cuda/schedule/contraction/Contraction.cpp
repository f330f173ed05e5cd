//===- Contraction.cpp - The roles of the dims in a matrix product ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/Contraction.h"

using namespace mlir;

namespace dlc::codegen {

SmallVector<AffineExpr> Contraction::loops() const {
  SmallVector<AffineExpr> all(parallel);
  all.append(reduction);
  return all;
}

void Contraction::visitTerm(unsigned term, ArrayRef<AffineExpr> loops,
                            llvm::function_ref<void(AffineExpr)> visitor) const {
  SmallVector<AffineExpr> at;
  for (AffineExpr expr : nest.terms[term].map.getResults())
    at.push_back(k.math.simplify(expr.replaceDims(loops)));
  k.body.visitReads(k.body.getRoot()->getOperand(nest.terms[term].operand), at,
                    [&](unsigned, AffineExpr offset, bool) {
                      visitor(offset);
                      return true;
                    });
}

bool Contraction::liesAlongReduction(unsigned term) const {
  bool found = false;
  SmallVector<AffineExpr> loops(variables);
  loops.append(reductionVariables);
  visitTerm(term, loops, [&](AffineExpr offset) {
    for (AffineExpr variable : reductionVariables)
      found |= k.math.strideAlong(offset, variable) == Stride::unit;
  });
  return found;
}

bool Contraction::storesAlongM() const {
  return !m.groups.empty() &&
         k.math.strideAlong(k.resultOffset(parallel), m.groups.back().variable) == Stride::unit;
}

bool Contraction::fitsGrid(AffineExpr tilesInY) const {
  auto y = k.largest(tilesInY), z = k.largest(batch.extent);
  return y && z && *y <= kMaxGridYZ && *z <= kMaxGridYZ;
}

/// Names of the result's dims, then of those of a pool's window.
static SmallVector<std::string> parallelRoles(const KernelView &k) {
  unsigned rank = k.body.getResultType().getRank();
  SmallVector<std::string> roles = resultRoles(rank);
  for (const std::string &role : reductionRoles(k.body.getNest().parallel.size() - rank))
    roles.push_back("p" + role.substr(1));
  return roles;
}

std::optional<Contraction> Contraction::of(KernelView &k) {
  auto sides = findSides(k.body.getNest());
  return sides && sides->groups.none() ? std::optional(Contraction(k, *sides)) : std::nullopt;
}

Contraction::Contraction(KernelView &k, const Sides &sides) : k(k), nest(k.body.getNest()) {
  for (AffineExpr extent : nest.parallel)
    variables.push_back(k.math.addLoop(extent));
  for (AffineExpr extent : nest.reduction)
    reductionVariables.push_back(k.math.addLoop(extent));
  SmallVector<AffineExpr> plain(variables);
  plain.append(reductionVariables);

  // The dims of a window, which the result does not have, come last: their rows are neighbours.
  for (unsigned dim : k.body.memoryOrder())
    (sides.batch.test(dim) ? batch : sides.columns.test(dim) ? n : m).order.push_back(dim);
  // The reduction runs along the first operand's memory: its smallest step innermost.
  for (unsigned dim = 0; dim < nest.reduction.size(); ++dim)
    depth.order.push_back(dim);
  SmallVector<int64_t> steps(nest.reduction.size(), INT64_MAX);
  visitTerm(0, plain, [&](AffineExpr offset) {
    for (auto [dim, variable] : llvm::enumerate(reductionVariables))
      if (auto step = k.math.stepAlong(offset, variable); step && steps[dim] == INT64_MAX)
        steps[dim] = std::abs(*step);
  });
  llvm::sort(depth.order, [&](unsigned a, unsigned b) {
    return std::pair(-steps[a], a) < std::pair(-steps[b], b);
  });

  SmallVector<AffineExpr> all, results = {k.resultOffset(variables)};
  for (unsigned term : {0u, 1u})
    visitTerm(term, plain, [&](AffineExpr offset) { all.push_back(offset); });
  k.body.visitResultReads(variables, [&](unsigned, AffineExpr offset, bool) {
    results.push_back(offset);
    return true;
  });
  llvm::SmallBitVector pinned = k.pinnedDims(variables, variables, reductionVariables);
  llvm::SmallBitVector pinnedReduction =
      k.pinnedDims(reductionVariables, variables, reductionVariables);
  depth.groups = mergeDims(k.math, depth.order, reductionVariables, nest.reduction, all,
                           pinnedReduction, reductionRoles(nest.reduction.size()));
  all.append(results);
  for (Side *side : {&m, &n, &batch})
    side->groups =
        mergeDims(k.math, side->order, variables, nest.parallel, all, pinned, parallelRoles(k));

  parallel.resize(nest.parallel.size());
  reduction.resize(nest.reduction.size());
  for (Side *side : {&m, &n, &batch}) {
    bindGroups(k.math, side->groups, side->order, parallel);
    side->extent = totalExtent(k.math, side->groups);
  }
  bindGroups(k.math, depth.groups, depth.order, reduction);
  depth.extent = totalExtent(k.math, depth.groups);
}

} // namespace dlc::codegen
