//===- Compile.h - The whole pipeline, from a model to model.bin --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_COMPILER_COMPILE_H
#define DLC_TOOLS_DRIVER_COMPILER_COMPILE_H

#include "tools/driver/base/CompileOptions.h"
#include "tools/driver/compiler/PhaseHook.h"

#include "llvm/ADT/ArrayRef.h"

namespace dlc {

/// `dlc compile` with these hooks around its phases, in their order. An ExitCode; everything is
/// reported.
int compileModel(const CompileOptions &options, llvm::ArrayRef<MakePhaseHook> hooks);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_COMPILE_H
