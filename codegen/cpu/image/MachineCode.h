//===- MachineCode.h - LLVM IR to an object file for one instruction set ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CPU_IMAGE_MACHINECODE_H
#define DLC_CODEGEN_CPU_IMAGE_MACHINECODE_H

#include "codegen/cpu/image/CpuCode.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace dlc::codegen {

/// Optimises `module` and compiles it to a relocatable, position-independent ELF object.
llvm::Expected<llvm::SmallVector<char, 0>> compileObject(llvm::Module &module, IsaVariant isa);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_IMAGE_MACHINECODE_H
