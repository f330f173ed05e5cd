//===- CodeGeneration.h - Scheduled modules to code of each target ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_COMPILER_CODEGENERATION_H
#define DLC_TOOLS_DRIVER_COMPILER_CODEGENERATION_H

#include "codegen/package/Package.h"
#include "tools/driver/compiler/PassTrace.h"

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Adds to `code` what each target module of `module` becomes: machine code of cpu for each
/// instruction set, CUDA C++ of cuda with the headers that it includes. Fails after an error.
llvm::LogicalResult generateCode(mlir::ModuleOp module, PassTrace &trace,
                                 codegen::GeneratedCode &code);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_CODEGENERATION_H
