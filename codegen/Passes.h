//===- Passes.h - The passes that make kernels of outlined fusions ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PASSES_H
#define DLC_CODEGEN_PASSES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace dlc::codegen {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

/// The phase `schedule` of a target's module: plans, then kernels.
void addScheduleCpu(mlir::OpPassManager &manager,
                    const SelectSchedulesCpuPassOptions &options = {});
void addScheduleCuda(mlir::OpPassManager &manager,
                     const SelectSchedulesCudaPassOptions &options = {});
/// A user's wishes for the schedules of any target.
struct ScheduleWishes {
  llvm::ArrayRef<std::string> force; ///< how kernels shall run
  bool candidates = false; ///< kernels are to know all plans that they could run by (PlanChoice.h)
  std::string chains = "auto"; ///< cuda: auto, always or never (ChainChoice.h)
};
/// The same of the target `name`, cpu or cuda.
void addSchedule(mlir::OpPassManager &manager, llvm::StringRef name, const ScheduleWishes &wishes);
/// Returns true if the target has a schedule of this name.
bool hasSchedule(llvm::StringRef target, llvm::StringRef name);
/// The oracles of cpu and cuda (ir/interfaces/ScheduleOracle.h), for contexts that load the dl
/// dialect.
void registerScheduleOracles(mlir::DialectRegistry &registry);
/// All passes, and `dl-schedule-cpu` and `dl-schedule-cuda` as the pipelines of two each.
void registerPasses();

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PASSES_H
