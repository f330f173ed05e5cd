//===- CpuProgram.h - A model that the compiler itself runs ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_CPUPROGRAM_H
#define DLC_TOOLS_DRIVER_CPUPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace dlc {

/// The package of `module`, which is what phase `simplify` left, compiled in f32 for the CPU alone.
/// The module is used up. Fails where a phase does, after an error.
mlir::FailureOr<std::string> compileCpuProgram(mlir::ModuleOp module);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CPUPROGRAM_H
