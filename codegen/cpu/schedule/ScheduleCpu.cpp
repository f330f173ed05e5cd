//===- ScheduleCpu.cpp - CPU kernel IR of every kernel ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cpu/schedule/CpuKernel.h"
#include "ir/scalar/SmallFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#define DEBUG_TYPE "dl-schedule-cpu"

using namespace mlir;

namespace dlc::codegen {
#define GEN_PASS_DEF_SCHEDULECPUPASS
#include "codegen/Passes.h.inc"

static CpuLaunch scheduleKernel(CpuKernel &kernel) {
  if (isRecurrent(kernel.emitter.getKernel()))
    return scheduleRecurrent(kernel);
  if (isLines(kernel.emitter.getKernel()))
    return scheduleLines(kernel);
  if (!kernel.emitter.getRoot())
    return scheduleMap(kernel);
  if (isBlockSparse(kernel.emitter.getKernel()))
    return scheduleBlockSparse(kernel);
  if (isPanelContraction(kernel.emitter, kernel.math))
    return scheduleContraction(kernel);
  return scheduleReduction(kernel);
}

/// One that emits nothing, and answers as the one of CpuKernel, which tests lanes, will.
static BodyEmitter emitterToAsk(dlx::KernelOp kernel, IndexMath &math) {
  BodyEmitter emitter(kernel, math, nullptr);
  emitter.laneTests.emplace();
  return emitter;
}

static void packOperands(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols) {
  if (isLines(kernel))
    return;
  if (isRecurrent(kernel)) {
    for (const PackedOperand &operand : recurrentOperandsToPack(kernel))
      packOperand(kernel, operand);
    return;
  }
  IndexMath math(kernel.getContext(), symbols);
  BodyEmitter questions = emitterToAsk(kernel, math);
  for (const PackedOperand &operand : operandsToPack(questions, math))
    packOperand(kernel, operand);
}

static IsaVariant bestIsaOf(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols) {
  if (isLines(kernel) || isRecurrent(kernel))
    return IsaVariant::avx512;
  IndexMath math(kernel.getContext(), symbols);
  BodyEmitter questions = emitterToAsk(kernel, math);
  return bestIsaOfContraction(questions, math);
}

namespace {

struct ScheduleCpu : impl::ScheduleCpuPassBase<ScheduleCpu> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<dl::Range> symbols = symbolRangesOf(module);
    for (auto kernel : llvm::make_early_inc_range(module.getOps<dlx::KernelOp>()))
      packOperands(kernel, symbols);
    llvm::DenseMap<Operation *, int64_t> scratchBytes;
    // Those that are the best for some kernel, and the two that every package has.
    llvm::SmallDenseSet<IsaVariant> wanted = {IsaVariant::avx2, IsaVariant::avx512};
    for (auto kernel : module.getOps<dlx::KernelOp>())
      wanted.insert(bestIsaOf(kernel, symbols));
    for (IsaVariant isa : kIsaVariants) {
      if (!wanted.contains(isa))
        continue;
      OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
      auto functions = ModuleOp::create(builder, module.getLoc(), isaName(isa));
      for (auto kernel : module.getOps<dlx::KernelOp>()) {
        CpuKernel function(kernel, isa, symbols, functions);
        CpuLaunch launch = scheduleKernel(function);
        function.finish();
        kernel.setEntry(kernel.getSymName());
        kernel.setDimsAttr(AffineMapAttr::get(function.passedDims()));
        kernel.setGridAttr(
            AffineMapAttr::get(dl::dimsMap({dl::normalize(launch.tiles)}, &getContext())));
        // The kernel's scratch memory is declared once: as much as the instruction set that needs most.
        int64_t &bytes = scratchBytes[kernel];
        bytes = std::max(bytes, launch.scratchBytes);
        AffineExpr scratch =
            launch.scratch ? launch.scratch : dl::constantDim(bytes, &getContext());
        kernel.setScratchAttr(AffineMapAttr::get(dl::dimsMap({scratch}, &getContext())));
      }
      expandSmallFloats(functions);
    }
  }

  /// The ranges stand on the outermost module that has them: `module @cpu` may lie in the model's.
  static SmallVector<dl::Range> symbolRangesOf(ModuleOp module) {
    while (!module->hasAttr("dl.symbols") && module->getParentOfType<ModuleOp>())
      module = module->getParentOfType<ModuleOp>();
    return dl::symbolRanges(module);
  }
};

} // namespace

} // namespace dlc::codegen
