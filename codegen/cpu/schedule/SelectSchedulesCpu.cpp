//===- SelectSchedulesCpu.cpp - How every kernel of module @cpu runs ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cpu/schedule/Schedule.h"
#include "codegen/plan/PlanChoice.h"
#include "codegen/plan/TargetModule.h"

#define DEBUG_TYPE "dl-select-schedules-cpu"

using namespace mlir;

namespace dlc::codegen {
#define GEN_PASS_DEF_SELECTSCHEDULESCPUPASS
#include "codegen/Passes.h.inc"

/// Operands in the layouts that the fast schedules read; the others read any.
static void packOperands(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols) {
  if (isLines(kernel) || kernel.getKind() == dlx::KernelKind::attention)
    return;
  SmallVector<PackedOperand> operands;
  if (isRecurrent(kernel)) {
    operands = recurrentOperandsToPack(kernel);
  } else {
    CpuPlanQuestion question(kernel, symbols);
    operands = operandsToPack(question.emitter, question.math);
  }
  for (const PackedOperand &operand : operands)
    packOperand(kernel, operand);
}

namespace {
struct SelectSchedulesCpu : impl::SelectSchedulesCpuPassBase<SelectSchedulesCpu> {
  using SelectSchedulesCpuPassBase::SelectSchedulesCpuPassBase;

  void runOnOperation() override {
    // The pass may be given @cpu itself, under any name, or the module around it.
    ModuleOp around = getOperation(), own = targetModule(around, "cpu");
    ModuleOp module = own ? own : around;
    SmallVector<dl::Range> symbols = symbolsOf(module);
    ForcedPlans forced(std::vector<std::string>(force.begin(), force.end()));
    SmallVector<StringRef> names;
    for (const CpuSchedule &schedule : cpuSchedules())
      names.push_back(schedule.name);
    if (failed(forced.check(module, names)))
      return signalPassFailure();
    for (auto kernel : llvm::make_early_inc_range(module.getOps<dlx::KernelOp>()))
      packOperands(kernel, symbols);
    for (auto kernel : module.getOps<dlx::KernelOp>()) {
      CpuPlanQuestion question(kernel, symbols);
      SmallVector<dlx::PlanAttr> plans;
      for (const CpuSchedule &schedule : cpuSchedules())
        if (dlx::PlanAttr plan = schedule.match(question))
          plans.push_back(plan);
      SmallVector<dlx::PlanAttr> every = plans;
      if (candidates || forced.sayNumbers(kernel))
        for (const CpuSchedule &schedule : cpuSchedules())
          if (schedule.all)
            llvm::append_range(every, schedule.all(question));
      if (failed(forced.choose(kernel, forced.sayNumbers(kernel) ? every : plans)))
        return signalPassFailure();
      if (candidates)
        recordCandidates(kernel, every);
    }
  }
};
} // namespace

} // namespace dlc::codegen
