//===- PackOperand.h - Operands in the layout that a kernel wants -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_SCHEDULE_CPU_PACKOPERAND_H
#define DLC_CODEGEN_SCHEDULE_CPU_PACKOPERAND_H

#include "ir/dl/DLTypes.h"
#include "ir/dlx/DLXOps.h"

namespace dlc::codegen {

/// Where the fast schedule of `kernel` wants an operand in another layout: changes its body to read that, adds a kernel
/// that packs, and launches it before each launch of `kernel`, at load where the operand is persistent.
void packOperands(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_SCHEDULE_CPU_PACKOPERAND_H
