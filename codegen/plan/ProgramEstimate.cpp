//===- ProgramEstimate.cpp - How long a run of planned kernels takes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/ProgramEstimate.h"

#include "codegen/plan/TargetModule.h"
#include "ir/analysis/CostModel.h"
#include "ir/dlx/DLXOps.h"

using namespace mlir;

namespace dlc::codegen {

/// The variant holds for the usual sizes of the symbols.
static bool holds(dlx::VariantAttr variant, ArrayRef<dl::Range> symbols) {
  if (!variant.getOf())
    return true;
  ArrayRef<int64_t> limits = variant.getLimits().asArrayRef();
  for (auto [i, extent] : llvm::enumerate(variant.getOf().getValue().getResults())) {
    auto usual = usualOrMiddle(extent, symbols);
    if (!usual || *usual < limits[2 * i] || *usual > limits[2 * i + 1])
      return false;
  }
  return true;
}

double microsecondsOfRun(ModuleOp target, double launch, int64_t gpu) {
  SmallVector<dl::Range> symbols = symbolsOf(target);
  double microseconds = 0;
  target.walk([&](dlx::LaunchOp op) {
    if (op.getInit())
      return;
    auto kernel = target.lookupSymbol<dlx::KernelOp>(op.getKernel());
    int64_t ns = kernel.getPlan()->getNs();
    if (kernel.getVariants())
      for (auto variant : kernel.getVariants()->getAsRange<dlx::VariantAttr>())
        if ((variant.getGpu() == 0 || variant.getGpu() == gpu) && holds(variant, symbols)) {
          ns = target.lookupSymbol<dlx::KernelOp>(variant.getKernel()).getPlan()->getNs();
          break; // a launch takes the first that holds
        }
    microseconds += double(ns) / 1000 + launch;
  });
  return microseconds;
}

} // namespace dlc::codegen
