//===- FusePooling.cpp - Pooling in the kernel of the convolution before it -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/PooledProduct.h"
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"
#include "passes/Passes.h"
#include "passes/fuse/LaunchMerger.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#define DEBUG_TYPE "fuse-pooling"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FUSEPOOLING
#include "passes/Passes.h.inc"

namespace {

class FusePooling : public impl::FusePoolingBase<FusePooling> {
  void runOnOperation() override;
  bool fuse(LaunchMerger &merger, dlx::LaunchOp pool);
};

} // namespace

bool FusePooling::fuse(LaunchMerger &merger, dlx::LaunchOp pool) {
  dlx::KernelOp pooling = merger.kernelOf(pool);
  if (pool.getInit() || (pooling.getKind() != dlx::KernelKind::window &&
                         pooling.getKind() != dlx::KernelKind::reduce))
    return false;
  for (Value input : pool.getInputs()) {
    dlx::LaunchOp product = LaunchMerger::onlyFor(input, pool);
    if (!product || merger.kernelOf(product).getKind() != dlx::KernelKind::contraction)
      continue;
    SmallVector<Value> inputs;
    dlx::LaunchOp launches[] = {product, pool};
    std::string name = (LaunchMerger::withoutNumber(product.getKernel()) + "_" +
                        LaunchMerger::withoutNumber(pool.getKernel()))
                           .str();
    dlx::KernelOp kernel = merger.merged(launches, name, dlx::KernelKind::contraction, inputs);
    if (!findPooledProduct(kernel.getBodyBlock())) {
      kernel.erase();
      continue;
    }
    merger.replace(launches, kernel, inputs, pool);
    ++numFused;
    return true;
  }
  return false;
}

void FusePooling::runOnOperation() {
  // Of the targets, the one whose schedules have such a kernel.
  if (getOperation().getName() != "cuda")
    return;
  LaunchMerger merger(getOperation());
  merger.fuseEach([&](dlx::LaunchOp launch) { return fuse(merger, launch); });
}

} // namespace dlc
