//===- FuseAttention.cpp - Attention as one kernel -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/Attention.h"
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "passes/Passes.h"
#include "passes/fuse/LaunchMerger.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#define DEBUG_TYPE "fuse-attention"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/Passes.h.inc"

namespace {

class FuseAttention : public impl::FuseAttentionBase<FuseAttention> {
  void runOnOperation() override;

  bool fuse(dlx::LaunchOp sum);
  void dropUnusedMasks();

  std::optional<LaunchMerger> merger;
};

} // namespace

/// The kernel's only op, null where it has others or is another.
template <typename Op> static Op onlyOp(dlx::KernelOp kernel) {
  Block &block = kernel.getBodyBlock();
  if (!llvm::hasNItems(block, 2))
    return {};
  return dyn_cast<Op>(block.front());
}

bool FuseAttention::fuse(dlx::LaunchOp sum) {
  if (sum.getInit() || merger->kernelOf(sum).getKind() != dlx::KernelKind::contraction)
    return false;
  // A causal mask that some other kernel makes is made here: it is cheaper to compute than to load, and the schedule sees what
  // it hides.
  auto remake = [&](OpBuilder &builder, Value buffer) -> Value {
    if (dlx::LaunchOp writer = LaunchMerger::writerOf(buffer))
      if (auto mask = onlyOp<dl::CausalMaskOp>(merger->kernelOf(writer)))
        return builder.clone(*mask)->getResult(0);
    return {};
  };
  for (Value weights : sum.getInputs()) {
    dlx::LaunchOp softmax = LaunchMerger::onlyFor(weights, sum);
    if (!softmax || merger->kernelOf(softmax).getKind() != dlx::KernelKind::reduce)
      continue;
    for (Value scores : softmax.getInputs()) {
      dlx::LaunchOp product = LaunchMerger::onlyFor(scores, softmax);
      if (!product || merger->kernelOf(product).getKind() != dlx::KernelKind::contraction)
        continue;
      SmallVector<Value> inputs;
      dlx::LaunchOp launches[] = {product, softmax, sum};
      dlx::KernelOp kernel =
          merger->merged(launches, "attention", dlx::KernelKind::attention, inputs, remake);
      if (!findAttention(kernel.getBodyBlock())) {
        kernel.erase();
        continue;
      }
      merger->replace(launches, kernel, inputs, sum);
      ++numFused;
      return true;
    }
  }
  return false;
}

/// Masks that nothing reads any more.
void FuseAttention::dropUnusedMasks() {
  SmallVector<dlx::LaunchOp> unread;
  getOperation().walk([&](dlx::LaunchOp launch) {
    if (onlyOp<dl::CausalMaskOp>(merger->kernelOf(launch)) &&
        launch.getOutputs().front().hasOneUse())
      unread.push_back(launch);
  });
  for (dlx::LaunchOp launch : unread) {
    Operation *alloc = launch.getOutputs().front().getDefiningOp();
    launch.erase();
    alloc->erase();
  }
}

void FuseAttention::runOnOperation() {
  // Of the targets, the one whose schedules have such a kernel.
  if (getOperation().getName() != "cuda")
    return;
  merger.emplace(getOperation());
  merger->fuseEach([&](dlx::LaunchOp launch) { return fuse(launch); });
  dropUnusedMasks();
  merger->dropUnused();
}

} // namespace dlc
