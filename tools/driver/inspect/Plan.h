//===- Plan.h - The buffer plan and the way back to a compile, as text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_INSPECT_PLAN_H
#define DLC_TOOLS_DRIVER_INSPECT_PLAN_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace dlc {

/// plan.txt of --dump-dir: for each target the commands in order, and each buffer with its size and
/// lifetime.
std::string describePlan(mlir::ModuleOp module);
/// repro.sh of --dump-dir: the same command, from the same folder.
std::string reproduction(const std::vector<std::string> &commandLine);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_INSPECT_PLAN_H
