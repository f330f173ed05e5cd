//===- BuildKernelsCpu.cpp - CPU kernel IR by the plan of every kernel -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cpu/schedule/Schedule.h"
#include "codegen/plan/TargetModule.h"
#include "ir/scalar/SmallFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#define DEBUG_TYPE "dl-build-kernels-cpu"

using namespace mlir;

namespace dlc::codegen {
#define GEN_PASS_DEF_BUILDKERNELSCPUPASS
#include "codegen/Passes.h.inc"

/// The schedule of the kernel's plan; null, after an error, where there is none.
static const CpuSchedule *scheduleOf(dlx::KernelOp kernel) {
  if (!kernel.getPlan()) {
    kernel.emitOpError("has no plan; run dl-select-schedules-cpu first");
    return nullptr;
  }
  for (const CpuSchedule &schedule : cpuSchedules())
    if (schedule.name == kernel.getPlan()->getSchedule())
      return &schedule;
  kernel.emitOpError("has a plan of schedule '")
      << kernel.getPlan()->getSchedule() << "', which there is not";
  return nullptr;
}

static IsaVariant bestIsaOf(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols) {
  if (isLines(kernel) || isRecurrent(kernel))
    return IsaVariant::avx512;
  CpuPlanQuestion question(kernel, symbols);
  return bestIsaOfContraction(question.emitter, question.math);
}

namespace {

struct BuildKernelsCpu : impl::BuildKernelsCpuPassBase<BuildKernelsCpu> {
  void runOnOperation() override {
    ModuleOp around = getOperation(), own = targetModule(around, "cpu");
    ModuleOp module = own ? own : around;
    SmallVector<dl::Range> symbols = symbolsOf(module);
    for (auto kernel : module.getOps<dlx::KernelOp>())
      if (!scheduleOf(kernel))
        return signalPassFailure();
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
        CpuLaunch launch = scheduleOf(kernel)->build(function);
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
};

} // namespace

} // namespace dlc::codegen
