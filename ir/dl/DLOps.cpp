//===- DLOps.cpp - Generated definitions of the dl ops ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "ir/scalar/ScalarFunctions.h" // the bodies of the records build them

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

#define GET_OP_CLASSES
#include "ir/dl/DLOps.cpp.inc"
