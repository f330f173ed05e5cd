//===- Schedule.h - A way to run kernels on a CPU -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule is a record of one table (Schedules.cpp). `dl-select-schedules-cpu` asks them all
// about each kernel and writes on it the plan that is estimated to be the fastest;
// `dl-build-kernels-cpu` carries plans out for every instruction set and decides nothing.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_SCHEDULE_H
#define DLC_CODEGEN_CPU_SCHEDULE_SCHEDULE_H

#include "codegen/cpu/schedule/CpuKernel.h"

namespace dlc::codegen {

/// A kernel for which plans are compared. Nothing is emitted for it.
struct CpuPlanQuestion {
  CpuPlanQuestion(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols);

  dlx::KernelKind kind() { return kernel.getKind(); }
  /// The kernel's ops are loop nests, and not parts of an attention.
  bool hasLoops() {
    return kind() != dlx::KernelKind::recurrent && kind() != dlx::KernelKind::lines &&
           kind() != dlx::KernelKind::attention;
  }
  /// Nanoseconds of one core that moves the kernel's bytes once and computes as fast as a core
  /// multiplies floats one channel at a time, at the usual sizes of the symbols.
  double nanosecondsOnce();
  /// Arithmetic of a launch, at the usual sizes of the symbols.
  double operations();

  /// `expr` at the usual sizes of the symbols, else in the middle of its range.
  double usual(mlir::AffineExpr expr) const;

  dlx::KernelOp kernel;
  IndexMath math;
  BodyEmitter emitter; // answers as the one of CpuKernel, which tests lanes, will

private:
  llvm::SmallVector<dl::Range> symbols;
};

struct CpuSchedule {
  /// As `dlc inspect` calls it.
  llvm::StringRef name;
  /// The plan by which the kernel would run, with its estimate for one core; null where the
  /// schedule cannot run it.
  dlx::PlanAttr (*match)(CpuPlanQuestion &question);
  /// Fills the function by `plan`, one of this schedule, and says how many tiles it has.
  CpuLaunch (*build)(CpuKernel &kernel, dlx::PlanAttr plan);
  /// The plans that may be the fastest, to be measured, that of `match` among them; null: there is
  /// no other than that.
  llvm::SmallVector<dlx::PlanAttr> (*all)(CpuPlanQuestion &question) = nullptr;
};

extern const CpuSchedule kPanelSchedule;

/// The table; a schedule is preferred to those after it (plan/PlanChoice.h).
llvm::ArrayRef<CpuSchedule> cpuSchedules();

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_SCHEDULE_H
