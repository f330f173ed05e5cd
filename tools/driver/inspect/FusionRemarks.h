//===- FusionRemarks.h - Why ops are not in one kernel, at the lines of the model ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_INSPECT_FUSIONREMARKS_H
#define DLC_TOOLS_DRIVER_INSPECT_FUSIONREMARKS_H

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Makes a remark of each reason that form-fusions has left on a launch: why it reads what another
/// one writes, and why it copies a state. A remark names the targets that it is true for, unless it
/// is true for all of them. `module` has been outlined.
void remarkOnFusions(mlir::ModuleOp module);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_INSPECT_FUSIONREMARKS_H
