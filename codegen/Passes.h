//===- Passes.h - The passes that make kernels of outlined fusions ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PASSES_H
#define DLC_CODEGEN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace dlc::codegen {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PASSES_H
