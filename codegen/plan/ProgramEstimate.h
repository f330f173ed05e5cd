//===- ProgramEstimate.h - How long a run of planned kernels takes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_PROGRAMESTIMATE_H
#define DLC_CODEGEN_PLAN_PROGRAMESTIMATE_H

#include "mlir/IR/BuiltinOps.h"

namespace dlc::codegen {

/// Microseconds by the plans of the kernels that a run of the program in `target` launches, and
/// `launch` for each of them, at the usual sizes of the symbols: by those for `gpu` (90 for sm_90a)
/// that take their places there. Kernels have plans.
double microsecondsOfRun(mlir::ModuleOp target, double launch, int64_t gpu);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_PROGRAMESTIMATE_H
