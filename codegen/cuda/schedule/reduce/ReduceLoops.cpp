//===- ReduceLoops.cpp - The loops of a reduction, as its schedules take them -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/reduce/ReduceLoops.h"

#include "codegen/cuda/schedule/Lanes.h"

using namespace mlir;

namespace dlc::codegen {

ReduceLoops::ReduceLoops(KernelView &k) : nest(k.body.getNest()), inner(nest.innerDims()) {
  SmallVector<AffineExpr> variables, reductionVariables;
  for (unsigned dim : k.body.memoryOrder())
    (inner.test(dim) ? innerOrder : rowOrder).push_back(dim);
  for (AffineExpr extent : nest.parallel)
    variables.push_back(k.math.addLoop(extent));
  for (unsigned dim = 0; dim < nest.reduction.size(); ++dim) {
    // Row-major, so that a flat position is what argmax counts.
    reductionOrder.push_back(dim);
    reductionVariables.push_back(k.math.addLoop(nest.reduction[dim]));
  }
  SmallVector<AffineExpr> terms, results;
  auto note = [&] { results.push_back(k.resultOffset(variables)); };
  k.forEachResult(note);
  k.forEachResultOfRow(note);
  k.body.visitTermReads(variables, reductionVariables, [&](unsigned, AffineExpr offset, bool) {
    terms.push_back(offset);
    return true;
  });
  k.body.visitResultReads(variables, [&](unsigned, AffineExpr offset, bool) {
    results.push_back(offset);
    return true;
  });
  llvm::SmallBitVector pinned = k.pinnedDims(variables, variables, reductionVariables);
  llvm::SmallBitVector pinnedReduction =
      k.pinnedDims(reductionVariables, variables, reductionVariables);
  SmallVector<std::string> roles = resultRoles(nest.parallel.size());
  reductions = mergeDims(k.math, reductionOrder, reductionVariables, nest.reduction, terms,
                         pinnedReduction, reductionRoles(nest.reduction.size()));
  inners = mergeDims(k.math, innerOrder, variables, nest.parallel, results, pinned, roles);
  SmallVector<AffineExpr> all(terms);
  all.append(results);
  rows = mergeDims(k.math, rowOrder, variables, nest.parallel, all, pinned, roles);
  parallel.resize(nest.parallel.size());
  reduction.resize(nest.reduction.size());
  bindGroups(k.math, rows, rowOrder, parallel);
  bindGroups(k.math, inners, innerOrder, parallel);
  bindGroups(k.math, reductions, reductionOrder, reduction);
}

bool ReduceLoops::isReadAgain(const KernelView &k) const {
  if (nest.stages.size() > 1)
    return true;
  if (inner.none() ||
      llvm::all_of(inners, [](const DimGroup &group) { return dl::isConstant(group.extent, 1); }))
    return false;
  llvm::SmallDenseSet<unsigned> inputs;
  k.body.visitTermReads(parallel, reduction, [&](unsigned input, AffineExpr, bool) {
    inputs.insert(input);
    return true;
  });
  bool found = false;
  k.body.visitResultReads(parallel, [&](unsigned input, AffineExpr, bool) {
    found |= inputs.contains(input);
    return true;
  });
  return found;
}

int64_t ReduceLoops::lanesOfTerms(KernelView &k) const {
  if (reductions.empty())
    return 1;
  const DimGroup &last = reductions.back();
  unsigned narrowest = 64;
  k.body.visitTermReads(parallel, reduction, [&](unsigned input, AffineExpr, bool) {
    narrowest = std::min(narrowest, k.inputBits(input));
    return true;
  });
  for (int64_t lanes = narrowest <= 16 ? 8 : 4; lanes > 1; lanes /= 2) {
    bool isUnit = false;
    auto isTogether = [&](unsigned, AffineExpr offset, bool isChecked) {
      isUnit |= k.math.strideAlong(offset, last.variable) == Stride::unit;
      return !isChecked && isOneAccess(k, offset, last.variable, lanes);
    };
    if (last.extent.isMultipleOf(lanes) && k.body.visitTermReads(parallel, reduction, isTogether) &&
        isUnit)
      return lanes;
  }
  return 1;
}

bool ReduceLoops::storesLanes(KernelView &k, int64_t lanes) const {
  if (inners.empty())
    return false;
  const DimGroup &last = inners.back();
  bool areTogether = last.extent.isMultipleOf(lanes);
  bool any = k.forEachResult([&] {
    AffineExpr result = k.resultOffset(parallel);
    areTogether &= k.math.strideAlong(result, last.variable) == Stride::unit &&
                   isOneAccess(k, result, last.variable, lanes);
  });
  return any && areTogether &&
         k.body.visitResultReads(parallel, [&](unsigned, AffineExpr offset, bool isChecked) {
           return !isChecked && isOneAccess(k, offset, last.variable, lanes);
         });
}

bool standsAcross(const BodyEmitter &body, IndexMath &math) {
  const LoopNest &nest = body.getNest();
  if (nest.reduction.empty())
    return false;
  SmallVector<AffineExpr> parallel, reduction;
  for (AffineExpr extent : nest.parallel)
    parallel.push_back(math.addLoop(extent));
  for (AffineExpr extent : nest.reduction)
    reduction.push_back(math.addLoop(extent));
  bool isUnitInRow = false, isUnitAcross = false;
  body.visitTermReads(parallel, reduction, [&](unsigned, AffineExpr offset, bool) {
    for (auto [variable, extent] : llvm::zip(reduction, nest.reduction))
      isUnitInRow |=
          !dl::isConstant(extent, 1) && math.strideAlong(offset, variable) == Stride::unit;
    for (auto [variable, extent] : llvm::zip(parallel, nest.parallel))
      isUnitAcross |=
          !dl::isConstant(extent, 1) && math.strideAlong(offset, variable) == Stride::unit;
    return true;
  });
  return isUnitAcross && !isUnitInRow;
}

} // namespace dlc::codegen
