//===- BuildKernelsCuda.cpp - Kernel IR by the plan of every kernel of module @cuda -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/chain/ChainKernel.h"
#include "codegen/plan/ExpandAttention.h"
#include "codegen/plan/ParallelKernels.h"
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

/// A kernel on its way to a function.
struct KernelToBuild {
  dlx::KernelOp kernel;
  const Schedule *schedule;
  std::optional<dl::AttentionParts> attention;
  std::optional<ShapePart> part; // the shapes that it serves, where they are not all
  OwningOpRef<gpu::GPUModuleOp> functions = {};
};

struct BuildKernelsCuda : impl::BuildKernelsCudaPassBase<BuildKernelsCuda> {
  void runOnOperation() override {
    ModuleOp target = targetModule(getOperation(), "cuda");
    if (target && failed(buildAll(target)))
      signalPassFailure();
  }

  /// Finds what the plan of `kernel` names, and puts the parts of an attention into its body.
  FailureOr<KernelToBuild> prepare(dlx::KernelOp kernel, const std::optional<ShapePart> &part) {
    if (!kernel.getPlan())
      return kernel.emitOpError("has no plan; run dl-select-schedules-cuda first");
    const Schedule *schedule = scheduleNamed(kernel.getPlan()->getSchedule());
    if (!schedule)
      return kernel.emitOpError("has a plan of schedule '")
             << kernel.getPlan()->getSchedule() << "', which there is not";
    FailureOr<std::optional<dl::AttentionParts>> attention = expandIfAttention(kernel);
    if (failed(attention))
      return failure();
    return KernelToBuild{kernel, schedule, *attention, part};
  }

  /// Builds into a module of its own.
  LogicalResult build(KernelToBuild &one, Location loc, ArrayRef<dl::Range> symbols) {
    OpBuilder builder(&getContext());
    one.functions = gpu::GPUModuleOp::create(builder, loc, "kernels");
    KernelBuilder k(one.kernel, symbols, one.part);
    k.begin(*one.functions);
    k.attention = one.attention;
    if (failed(one.schedule->build(k, *one.kernel.getPlan())))
      return failure();
    expandSmallFloats(*one.functions);
    // The same address is asked for many times over.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance;
    one.functions->walk([&](gpu::GPUFuncOp function) {
      eliminateCommonSubExpressions(rewriter, dominance, function);
      // A row is kept for each stage that may read it; the stages' terms, simplified, may not.
      memref::eraseDeadAllocAndStores(rewriter, function);
    });
    return success();
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
    std::vector<KernelToBuild> kernels;
    for (auto kernel : target.getOps<dlx::KernelOp>()) {
      if (kernel.getEntry() || kernel.getStages())
        continue;
      auto part = parts.find(kernel.getSymName());
      FailureOr<KernelToBuild> one =
          prepare(kernel, part == parts.end() ? std::nullopt : std::optional(part->second));
      if (failed(one))
        return failure();
      kernels.push_back(std::move(*one));
    }
    if (failed(forEachKernel(&getContext(), kernels.size(), [&](size_t number) {
          return build(kernels[number], target.getLoc(), symbols);
        })))
      return failure();
    OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
    Block *all = gpu::GPUModuleOp::create(builder, target.getLoc(), "kernels").getBody();
    for (KernelToBuild &one : kernels)
      all->getOperations().splice(all->end(), one.functions->getBody()->getOperations());
    // Chains are made of what the others have become.
    for (auto kernel : target.getOps<dlx::KernelOp>())
      if (kernel.getStages() &&
          failed(buildChain(kernel, cast<gpu::GPUModuleOp>(all->getParentOp()))))
        return failure();
    return success();
  }
};
} // namespace

} // namespace dlc::codegen
