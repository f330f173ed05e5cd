//===- PoolingEpilogue.cpp - Pooling in the kernel of the convolution before it --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/PooledProduct.h"
#include "passes/fuse/FusionSteps.h"

using namespace mlir;

namespace dlc {

/// The group's root, if that has the loops of a kernel that runs with each call.
static LoopNestOpInterface rootOf(const PlannedFusion &group) {
  return group.weightOnly ? LoopNestOpInterface()
                          : dyn_cast_or_null<LoopNestOpInterface>(group.root);
}

static bool joinPooling(FusionPlan &plan, PlannedFusion &pool) {
  LoopNestOpInterface root = rootOf(pool);
  if (!root || root.getLoopNest().isProduct)
    return false;
  for (Value value : pool.inputs()) {
    PlannedFusion *product = plan.groupOf(value);
    LoopNestOpInterface productOp = product ? rootOf(*product) : LoopNestOpInterface();
    if (!productOp || !productOp.getLoopNest().isProduct || plan.isReadByOthers(value, {&pool}))
      continue;
    SmallVector<Operation *> ops = product->ops;
    ops.append(pool.ops);
    if (!findPooledProduct(ops, pool.results.front()))
      continue;
    plan.join(*product, pool, pool.results);
    return true;
  }
  return false;
}

unsigned joinPoolings(FusionPlan &plan) {
  unsigned joined = 0;
  for (PlannedFusion *group : llvm::to_vector(plan.getOrder()))
    joined += group->isKernel && !group->ops.empty() && joinPooling(plan, *group);
  return joined;
}

} // namespace dlc
