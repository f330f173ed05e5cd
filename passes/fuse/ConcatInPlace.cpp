//===- ConcatInPlace.cpp - Concatenations whose parts are written in place ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
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

/// Returns true if the kernel of `reader`, whatever else is in it, can read `tensor` where it lies
/// in a larger one: products and attentions read dense operands, and what computes nothing may
/// become part of one.
static bool canReadPart(Operation *reader, Value tensor) {
  auto loops = dyn_cast<LoopNestOpInterface>(reader);
  if (!loops || !isFusible(reader) || standsAlone(reader) || isa<dl::CatOp>(reader))
    return false;
  LoopNest nest = loops.getLoopNest();
  if (nest.isProduct || (nest.isMap() && resultCost(loops) == 0))
    return false;
  auto isPlain = [&](const Access &access) {
    return reader->getOperand(access.operand) != tensor || !access.isComputed();
  };
  return llvm::all_of(nest.terms, isPlain) && llvm::all_of(nest.results, isPlain) &&
         llvm::all_of(nest.spanReads, isPlain);
}

std::optional<dl::NotFused> whyNotWriteParts(dl::CatOp cat, int64_t alignment) {
  RankedTensorType whole = typeOf(cat.getY());
  dl::Layout layout = dl::getLayout(whole);
  unsigned dim = dl::joinedDim(cat);
  if (!isAligned(whole, dim, dl::getDims(whole)[dim], alignment))
    return dl::NotFused::part_unaligned;
  for (auto [tensor, start] : llvm::zip_equal(cat.getTensors(), dl::startsOf(cat))) {
    if (layout.isTiled() || dl::getLayout(typeOf(tensor)) != layout)
      return dl::NotFused::part_layout;
    if (llvm::count(cat.getTensors(), tensor) > 1)
      return dl::NotFused::part_twice;
    if (!isAligned(whole, dim, start, alignment))
      return dl::NotFused::part_unaligned;
    for (Operation *user : tensor.getUsers())
      if (user != cat && !canReadPart(user, tensor))
        return dl::NotFused::part_read_dense;
  }
  return std::nullopt;
}

unsigned joinInPlace(FusionPlan &plan) {
  unsigned joined = 0;
  for (PlannedFusion *group : plan.getOrder()) {
    if (!group->inPlace)
      continue;
    assert(llvm::all_of(group->ops.front()->getOperands(),
                        [&](Value part) {
                          PlannedFusion *writer = plan.groupOf(part);
                          return writer->isKernel && !writer->updated &&
                                 writer->results.size() == 1 && writer->results.front() == part;
                        }) &&
           "the kernel of a part computes nothing else");
    group->isKernel = false;
    ++joined;
  }
  return joined;
}

} // namespace dlc
