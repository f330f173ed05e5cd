//===- BuildKernelsCpu.cpp - CPU kernel IR by the plan of every kernel --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cpu/schedule/Schedule.h"
#include "codegen/plan/ExpandAttention.h"
#include "codegen/plan/ParallelKernels.h"
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
  if (isLines(kernel) || isRecurrent(kernel) || kernel.getKind() == dlx::KernelKind::attention)
    return IsaVariant::avx512;
  CpuPlanQuestion question(kernel, symbols);
  return bestIsaOfContraction(question.emitter, question.math);
}

/// Makes of `kernel` a function for each of `isas`, each in a module of its own, and records how
/// they are launched: the same for all instruction sets, but for the bytes of scratch memory, which
/// are those of the one that needs most.
static SmallVector<OwningOpRef<ModuleOp>> build(dlx::KernelOp kernel, const CpuSchedule &schedule,
                                                const std::optional<dl::AttentionParts> &attention,
                                                ArrayRef<IsaVariant> isas,
                                                ArrayRef<dl::Range> symbols) {
  MLIRContext *context = kernel.getContext();
  SmallVector<OwningOpRef<ModuleOp>> modules;
  AffineMap dims;
  CpuLaunch last;
  int64_t bytes = 0;
  for (IsaVariant isa : isas) {
    ModuleOp functions = *modules.emplace_back(ModuleOp::create(kernel.getLoc()));
    CpuKernel function(kernel, isa, symbols, functions);
    function.attention = attention;
    last = schedule.build(function, *kernel.getPlan());
    function.finish();
    expandSmallFloats(functions);
    dims = function.passedDims();
    bytes = std::max(bytes, last.scratchBytes);
  }
  AffineExpr scratch = last.scratch ? last.scratch : dl::constantDim(bytes, context);
  kernel.setEntry(kernel.getSymName());
  kernel.setDimsAttr(AffineMapAttr::get(dims));
  dl::Dims grid = {dl::normalize(last.tiles)};
  if (last.phases)
    grid.push_back(dl::normalize(last.phases));
  kernel.setGridAttr(AffineMapAttr::get(dl::dimsMap(grid, context)));
  kernel.setScratchAttr(AffineMapAttr::get(dl::dimsMap({scratch}, context)));
  return modules;
}

namespace {

struct BuildKernelsCpu : impl::BuildKernelsCpuPassBase<BuildKernelsCpu> {
  void runOnOperation() override {
    ModuleOp around = getOperation(), own = targetModule(around, "cpu");
    ModuleOp module = own ? own : around;
    SmallVector<dl::Range> symbols = symbolsOf(module);
    SmallVector<dlx::KernelOp> kernels(module.getOps<dlx::KernelOp>());
    SmallVector<const CpuSchedule *> schedules;
    std::vector<std::optional<dl::AttentionParts>> attentions;
    // Those that are the best for some kernel, and the two that every package has.
    llvm::SmallDenseSet<IsaVariant> wanted = {IsaVariant::avx2, IsaVariant::avx512};
    for (dlx::KernelOp kernel : kernels) {
      schedules.push_back(scheduleOf(kernel));
      if (!schedules.back())
        return signalPassFailure();
      // Before any is built: threads share the module around the kernels.
      FailureOr<std::optional<dl::AttentionParts>> attention = expandIfAttention(kernel);
      if (failed(attention))
        return signalPassFailure();
      attentions.push_back(*attention);
    }
    for (dlx::KernelOp kernel : kernels)
      wanted.insert(bestIsaOf(kernel, symbols));
    SmallVector<IsaVariant> isas =
        llvm::filter_to_vector(kIsaVariants, [&](IsaVariant isa) { return wanted.contains(isa); });
    std::vector<SmallVector<OwningOpRef<ModuleOp>>> built(kernels.size());
    if (failed(forEachKernel(&getContext(), kernels.size(), [&](size_t number) {
          built[number] =
              build(kernels[number], *schedules[number], attentions[number], isas, symbols);
          return success();
        })))
      return signalPassFailure();
    for (auto [position, isa] : llvm::enumerate(isas)) {
      OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
      Block *all = ModuleOp::create(builder, module.getLoc(), isaName(isa)).getBody();
      for (auto &modules : built)
        all->getOperations().splice(all->end(), modules[position]->getBody()->getOperations());
    }
  }
};

} // namespace

} // namespace dlc::codegen
