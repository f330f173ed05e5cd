//===- KernelTemplate.h - The part of a GPU kernel that is written by hand ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_KERNELTEMPLATE_H
#define DLC_CODEGEN_CUDA_KERNELTEMPLATE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "codegen/KernelTemplateDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "codegen/KernelTemplateTypes.h.inc"

#define GET_OP_CLASSES
#include "codegen/KernelTemplate.h.inc"

namespace dlc::dlk {

/// Begins body `body` of `call` with arguments of `types`; `builder` goes on in it.
mlir::Block &beginBody(mlir::OpBuilder &builder, CallOp call, unsigned body, mlir::TypeRange types);

} // namespace dlc::dlk

#endif // DLC_CODEGEN_CUDA_KERNELTEMPLATE_H
