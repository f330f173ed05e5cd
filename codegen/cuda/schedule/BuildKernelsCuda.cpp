//===- BuildKernelsCuda.cpp - Kernel IR by the plan of every kernel of module @cuda ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/attention/AttentionPlans.h"
#include "codegen/plan/TargetModule.h"
#include "ir/scalar/SmallFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

#define DEBUG_TYPE "dl-build-kernels-cuda"

using namespace mlir;

namespace dlc::codegen {

#define GEN_PASS_DEF_BUILDKERNELSCUDAPASS
#include "codegen/Passes.h.inc"

namespace {
struct BuildKernelsCuda : impl::BuildKernelsCudaPassBase<BuildKernelsCuda> {
  void runOnOperation() override {
    ModuleOp target = targetModule(getOperation(), "cuda");
    if (target && failed(buildAll(target)))
      signalPassFailure();
  }

  LogicalResult build(dlx::KernelOp kernel, gpu::GPUModuleOp module, ArrayRef<dl::Range> symbols,
                      const std::optional<ShapePart> &part) {
    if (!kernel.getPlan())
      return kernel.emitOpError("has no plan; run dl-select-schedules-cuda first");
    const Schedule *schedule = scheduleNamed(kernel.getPlan()->getSchedule());
    if (!schedule)
      return kernel.emitOpError("has a plan of schedule '")
             << kernel.getPlan()->getSchedule() << "', which there is not";
    std::optional<dl::AttentionParts> attention;
    if (kernel.getKind() == dlx::KernelKind::attention) {
      FailureOr<dl::AttentionParts> expanded = expandAttention(kernel);
      if (failed(expanded))
        return failure();
      attention = *expanded;
    }
    KernelBuilder k(kernel, module, symbols, part);
    k.attention = attention;
    return schedule->build(k, *kernel.getPlan());
  }

  LogicalResult buildAll(ModuleOp target) {
    if (target.getOps<dlx::KernelOp>().empty())
      return success();
    SmallVector<dl::Range> symbols = symbolsOf(target);
    // The shapes that each variant serves stand at the kernel whose place it takes.
    llvm::StringMap<ShapePart> parts;
    for (auto kernel : target.getOps<dlx::KernelOp>())
      if (ArrayAttr variants = kernel.getVariantsAttr())
        for (auto variant : variants.getAsRange<dlx::VariantAttr>())
          if (variant.getOf())
            parts[variant.getKernel().getValue()] = {
                variant.getOf().getValue().getResult(0),
                {variant.getLimits()[0], variant.getLimits()[1]}};
    OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
    auto module = gpu::GPUModuleOp::create(builder, target.getLoc(), "kernels");
    for (auto kernel : target.getOps<dlx::KernelOp>()) {
      if (kernel.getEntry())
        continue;
      auto part = parts.find(kernel.getSymName());
      if (failed(build(kernel, module, symbols,
                       part == parts.end() ? std::nullopt : std::optional(part->second))))
        return failure();
    }
    expandSmallFloats(module);
    // The same address is asked for many times over.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance;
    module.walk([&](gpu::GPUFuncOp function) {
      eliminateCommonSubExpressions(rewriter, dominance, function);
      // A row is kept for each stage that may read it; the stages' terms, simplified, may not.
      memref::eraseDeadAllocAndStores(rewriter, function);
    });
    return success();
  }
};
} // namespace

} // namespace dlc::codegen
