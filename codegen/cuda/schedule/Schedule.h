//===- Schedule.h - A way to run kernels on a GPU -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule is a record of one table (Schedules.cpp). `dl-select-schedules-cuda` asks them all
// about each kernel and writes on it the plan that is estimated to be the fastest;
// `dl-build-kernels-cuda` carries plans out and decides nothing.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_SCHEDULE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_SCHEDULE_H

#include "codegen/cuda/schedule/PlanQuestion.h"
#include "codegen/plan/PackOperand.h"

#include <limits>

namespace dlc::codegen {

/// The cost of a plan at shapes that it cannot serve.
inline constexpr double kNeverServes = std::numeric_limits<double>::infinity();

/// A plan needs these of the program around its kernel.
struct Requirements {
  /// Operands that had better lie in another layout.
  llvm::SmallVector<PackedOperand> operands;
  /// Memory that each launch finds zeroed: the kernel's last inputs, in this order.
  llvm::SmallVector<mlir::RankedTensorType> workspaces;
};

struct Schedule {
  /// As `--force-plan` and `dlc inspect` call it.
  llvm::StringRef name;
  /// The plan by which the kernel would run, with its estimate for the usual sizes of the symbols;
  /// null where the schedule cannot run it.
  dlx::PlanAttr (*match)(PlanQuestion &question);
  /// Fills a kernel whose function has begun and finishes it. It is null for a
  /// call that the runtime makes in a kernel's place.
  llvm::LogicalResult (*build)(KernelBuilder &k, dlx::PlanAttr plan);
  /// Null where there are none.
  Requirements (*requirements)(PlanQuestion &question, dlx::PlanAttr plan) = nullptr;
  /// Nanoseconds at the usual sizes of the question's symbols by `plan`, which match() gave for
  /// these shapes and others; kNeverServes where its code is wrong for some of these. Null: what
  /// match() says of these shapes alone.
  double (*cost)(PlanQuestion &question, dlx::PlanAttr plan) = nullptr;
  /// All plans of the schedule, which differ in numbers such as the sides of a tile; the plan of
  /// match() is one of them. The function is null for a schedule that has no other plan.
  llvm::SmallVector<dlx::PlanAttr> (*all)(PlanQuestion &question) = nullptr;
  /// 90 where the code is for sm_90a alone, and takes the place of another plan there; 0 for every
  /// GPU.
  int64_t gpu = 0;
};

/// The table. A schedule is preferred to those after it unless one of them is estimated to be
/// faster by more than the estimates are wrong (EstimateMargins::change).
llvm::ArrayRef<const Schedule *> schedules();
/// The schedule of this name; null where there is none.
const Schedule *scheduleNamed(llvm::StringRef name);
/// Nanoseconds at the usual sizes of the question's symbols by `plan`, which was made for these
/// shapes or others; kNeverServes where it cannot serve some of these.
double nanosecondsBy(dlx::PlanAttr plan, PlanQuestion &question);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_SCHEDULE_H
