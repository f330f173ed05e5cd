//===- ConcatInPlace.cpp - Concatenations whose parts are written in place -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/CostModel.h"
#include "ir/dl/shape/ConcatParts.h"
#include "passes/fuse/FusionSteps.h"

using namespace mlir;

namespace dlc {

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

/// Returns true if `indices` along `dim` of a tensor of `type` take up a multiple of `alignment`
/// bytes.
static bool isAligned(RankedTensorType type, unsigned dim, AffineExpr indices, int64_t alignment) {
  SmallVector<AffineExpr> at(type.getRank(), dl::constantDim(0, type.getContext()));
  at[dim] = indices;
  AffineExpr bytes = dl::normalize(dl::physicalOffset(type, at) * bytesPerElement(type));
  return bytes.isMultipleOf(alignment);
}

/// The group computes `value`, one tensor in memory of its own, with each run.
static bool mayWriteElsewhere(const PlannedFusion &group, Value value) {
  return group.isKernel && !group.isAlone && !group.weightOnly && !group.updated &&
         group.results.size() == 1 && group.results.front() == value;
}

/// The kernels that compute the tensors of `cat` can write each where it lies in the result: no
/// other op reads them, and all of them lie as the result does.
static bool canWriteParts(const FusionPlan &plan, dl::CatOp cat, int64_t alignment) {
  RankedTensorType whole = typeOf(cat.getY());
  dl::Layout layout = dl::getLayout(whole);
  unsigned dim = dl::joinedDim(cat);
  if (layout.isTiled() || !isAligned(whole, dim, dl::getDims(whole)[dim], alignment))
    return false;
  return llvm::all_of(llvm::zip_equal(cat.getTensors(), dl::startsOf(cat)), [&](auto part) {
    auto [tensor, start] = part;
    PlannedFusion *group = plan.groupOf(tensor);
    return group && mayWriteElsewhere(*group, tensor) && tensor.hasOneUse() &&
           dl::getLayout(typeOf(tensor)) == layout && isAligned(whole, dim, start, alignment);
  });
}

unsigned joinInPlace(FusionPlan &plan, const ScheduleOracle &oracle) {
  unsigned joined = 0;
  for (PlannedFusion *group : plan.getOrder()) {
    auto cat = group->ops.size() == 1 ? dyn_cast<dl::CatOp>(group->ops.front()) : dl::CatOp();
    if (!cat || !mayWriteElsewhere(*group, cat.getY()) || cat->hasAttr("dl.no_fuse") ||
        !canWriteParts(plan, cat, oracle.alignmentOfParts()))
      continue;
    group->isKernel = false;
    ++joined;
  }
  return joined;
}

} // namespace dlc
