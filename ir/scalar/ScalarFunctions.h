//===- ScalarFunctions.h - Functions that upstream's math dialect lacks -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_SCALAR_SCALARFUNCTIONS_H
#define DLC_IR_SCALAR_SCALARFUNCTIONS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/scalar/ScalarFunctionsDialect.h.inc"

#define GET_OP_CLASSES
#include "ir/scalar/ScalarFunctions.h.inc"

#endif // DLC_IR_SCALAR_SCALARFUNCTIONS_H
