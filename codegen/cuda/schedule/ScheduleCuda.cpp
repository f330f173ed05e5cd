//===- ScheduleCuda.cpp - Kernel IR of every kernel of module @cuda --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/attention/AttentionChoice.h"
#include "codegen/cuda/schedule/contraction/ContractionParts.h"
#include "codegen/cuda/schedule/variants/Variants.h"
#include "codegen/plan/SortKey.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/interfaces/LoopNest.h"
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

#define DEBUG_TYPE "dl-schedule-cuda"

using namespace mlir;

namespace dlc::codegen {

#define GEN_PASS_DEF_SCHEDULECUDAPASS
#include "codegen/Passes.h.inc"

namespace {
struct ScheduleCudaPass : impl::ScheduleCudaPassBase<ScheduleCudaPass> {
  using ScheduleCudaPassBase::ScheduleCudaPassBase;

  void runOnOperation() override {
    if (hopper != "auto" && hopper != "always" && hopper != "never") {
      getOperation().emitError("hopper is auto, always or never, got '") << hopper << "'";
      return signalPassFailure();
    }
    // The pass may be given @cuda itself or the module around it.
    ModuleOp target = getOperation();
    if (target.getName() != "cuda")
      target = getOperation().lookupSymbol<ModuleOp>("cuda");
    if (target && failed(scheduleAll(target)))
      signalPassFailure();
  }

  /// Whether all products of the kernel let their factors be rounded.
  static bool allowsTf32(dlx::KernelOp kernel) {
    bool some = false, all = true;
    kernel.walk([&](LoopNestOpInterface op) {
      if (!op.getLoopNest().isProduct)
        return;
      some = true;
      all &= op->hasAttr(dl::kTf32);
    });
    return some && all;
  }

  static bool isOrder(dlx::KernelOp kernel) {
    return kernel.getKind() == dlx::KernelKind::lines &&
           lineOpOf(kernel).getLineWork().kind == LineWork::Kind::order;
  }

  LogicalResult scheduleAll(ModuleOp target) {
    // The ranges stand on the module that has them: @cuda may lie in the model's.
    ModuleOp model = target;
    while (!model->hasAttr("dl.symbols") && model->getParentOfType<ModuleOp>())
      model = model->getParentOfType<ModuleOp>();
    SmallVector<dl::Range> symbols = dl::symbolRanges(model);
    if (target.getOps<dlx::KernelOp>().empty())
      return success();
    OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
    auto module = gpu::GPUModuleOp::create(builder, target.getLoc(), "kernels");
    for (auto kernel : llvm::make_early_inc_range(target.getOps<dlx::KernelOp>())) {
      if (kernel.getEntry())
        continue;
      SmallVector<PackedOperand> operands;
      if (kernel.getKind() == dlx::KernelKind::recurrent && sharesUnits(kernel, symbols))
        addRecurrentWorkspace(kernel);
      else if (kernel.getKind() == dlx::KernelKind::reduce && splitsRows(kernel, symbols))
        addReduceWorkspace(kernel, symbols);
      else if (isOrder(kernel))
        addOrderWorkspace(kernel, symbols);
      else if (kernel.getKind() == dlx::KernelKind::recurrent)
        operands = recurrentOperandsToPackForCuda(kernel);
      if (kernel.getKind() == dlx::KernelKind::contraction)
        operands = contractionOperandsToPackForCuda(kernel, module, symbols);
      for (const PackedOperand &operand : operands)
        packOperand(kernel, operand);
    }
    auto kernels = llvm::to_vector(target.getOps<dlx::KernelOp>());
    for (dlx::KernelOp kernel : kernels) {
      if (kernel.getEntry())
        continue;
      if (kernel.getKind() == dlx::KernelKind::contraction) {
        scheduleForHopper(kernel, module, symbols);
        if (parts)
          scheduleParts(kernel, module, symbols);
      }
      if (failed(schedule(kernel, module, symbols)))
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

  /// Adds kernels that compute the same with instructions of sm_90a, where there are some and they
  /// pay.
  void scheduleForHopper(dlx::KernelOp kernel, gpu::GPUModuleOp module,
                         ArrayRef<dl::Range> symbols) {
    if (hopper == "never")
      return;
    bool tf32 = allowsTf32(kernel);
    for (const WgmmaPart &part :
         wgmmaPartsOfProduct(kernel, module, symbols, tf32, hopper == "always")) {
      dlx::KernelOp other = addVariant(kernel, kernel, part.shapes, 90);
      KernelBuilder k(other, module, symbols, part.shapes);
      if (scheduleHopperContraction(k, tf32, part.tile)) {
        recordVariant(kernel, other, part.shapes, 90);
      } else {
        k.abandon();
        other.erase();
      }
    }
  }

  /// Adds kernels for parts of the shapes, where one for all of them would be slow.
  void scheduleParts(dlx::KernelOp kernel, gpu::GPUModuleOp module, ArrayRef<dl::Range> symbols) {
    bool tf32 = allowsTf32(kernel);
    for (const ProductPart &part : partsOfProduct(kernel, module, symbols, tf32)) {
      dlx::KernelOp other = addVariant(kernel, kernel, part.shapes, 0);
      KernelBuilder k(other, module, symbols, part.shapes);
      scheduleContraction(k, tf32, part.tile);
      recordVariant(kernel, other, part.shapes, 0);
    }
  }

  static void scheduleLines(KernelBuilder &k) {
    switch (lineOpOf(k.body.getKernel()).getLineWork().kind) {
    case LineWork::Kind::order:
      return scheduleOrder(k);
    case LineWork::Kind::sum:
      return scheduleSum(k);
    case LineWork::Kind::scatter:
      return scheduleScatter(k);
    case LineWork::Kind::suppress:
      return scheduleSuppress(k);
    }
    llvm_unreachable("all kinds of line work have a schedule");
  }

  /// Puts the parts of the attention of `kernel` into its body, in place of the op.
  static FailureOr<dl::AttentionParts> expandAttention(dlx::KernelOp kernel) {
    auto attentions = llvm::to_vector(kernel.getBodyBlock().getOps<dl::AttentionOp>());
    if (attentions.size() != 1)
      return kernel.emitOpError("is of kind 'attention' and has ")
             << attentions.size() << " dl.attention in its body; expected one";
    dl::AttentionOp attention = attentions.front();
    OpBuilder builder(attention);
    dl::ExpandedAttention expanded = dl::expand(attention, builder);
    attention.replaceAllUsesWith(expanded.y);
    attention.erase();
    return expanded.parts;
  }

  /// Gives the rows of queries that share a head's keys.
  FailureOr<AffineExpr> scheduleOneAttention(dlx::KernelOp kernel, gpu::GPUModuleOp module,
                                             ArrayRef<dl::Range> symbols,
                                             const std::optional<ShapePart> &shapes) {
    FailureOr<dl::AttentionParts> attention = expandAttention(kernel);
    if (failed(attention))
      return failure();
    KernelBuilder k(kernel, module, symbols, shapes);
    return dlc::codegen::scheduleAttention(k, *attention, allowsTf32(kernel));
  }

  /// A kernel for all shapes, and variants for few queries where there may be many.
  LogicalResult scheduleAttention(dlx::KernelOp kernel, gpu::GPUModuleOp module,
                                  ArrayRef<dl::Range> symbols) {
    OwningOpRef<dlx::KernelOp> source(kernel.clone());
    FailureOr<AffineExpr> rows = scheduleOneAttention(kernel, module, symbols, {});
    if (failed(rows))
      return failure();
    auto range = dl::rangeOf(*rows, symbols);
    if (!parts || !range || !growsWithSymbols(*rows, symbols))
      return success();
    int64_t least = range->min;
    for (int64_t most : kFewAttentionRows) {
      if (most < least || most >= range->max)
        continue;
      ShapePart few = {*rows, {least, most}};
      dlx::KernelOp other = addVariant(kernel, *source, few, 0);
      if (failed(scheduleOneAttention(other, module, symbols, few)))
        return failure();
      recordVariant(kernel, other, few, 0);
      least = most + 1;
    }
    return success();
  }

  LogicalResult schedule(dlx::KernelOp kernel, gpu::GPUModuleOp module,
                         ArrayRef<dl::Range> symbols) {
    auto result = cast<RankedTensorType>(kernel.getResultTensors().front().getType());
    if (dl::getLayout(result).isTiled())
      return kernel.emitOpError("writes ")
             << dl::text(result) << " in tiles; cuda kernels write plain layouts and read any";
    if (kernel.getKind() == dlx::KernelKind::attention)
      return scheduleAttention(kernel, module, symbols);
    KernelBuilder k(kernel, module, symbols);
    switch (kernel.getKind()) {
    case dlx::KernelKind::map:
      scheduleMap(k);
      break;
    case dlx::KernelKind::block_sparse: // from IR alone: weights stay dense on GPUs
      scheduleReduce(k);
      break;
    case dlx::KernelKind::reduce:
      if (splitsRows(kernel, symbols))
        scheduleSplitReduce(k, symbols);
      else
        scheduleReduce(k);
      break;
    case dlx::KernelKind::window:
      scheduleDirect(k);
      break;
    case dlx::KernelKind::contraction:
      scheduleContraction(k, allowsTf32(kernel));
      break;
    case dlx::KernelKind::attention:
      llvm_unreachable("it has its own");
    case dlx::KernelKind::recurrent:
      if (!sharesUnits(kernel, symbols))
        return scheduleRecurrent(k);
      scheduleSharedRecurrent(k, symbols);
      break;
    case dlx::KernelKind::lines:
      scheduleLines(k);
      break;
    }
    return success();
  }
};
} // namespace

} // namespace dlc::codegen
