//===- DLXOps.h - The dlx dialect: a program of kernel launches over buffers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DLX_DLXOPS_H
#define DLC_IR_DLX_DLXOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/dlx/DLXDialect.h.inc"

#include "ir/dlx/DLXEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/dlx/DLXAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/dlx/DLXTypes.h.inc"

#define GET_OP_CLASSES
#include "ir/dlx/DLXOps.h.inc"

namespace dlc::dlx {

/// The buffer whose bytes `buffer` names, through views.
mlir::Value storage(mlir::Value buffer);

} // namespace dlc::dlx

#endif // DLC_IR_DLX_DLXOPS_H
