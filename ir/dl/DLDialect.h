//===- DLDialect.h - The dl dialect and its attributes ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLDIALECT_H
#define DLC_IR_DL_DLDIALECT_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/TensorEncoding.h"

#include <string>
#include <vector>

#include "ir/dl/DLDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/dl/DLAttrs.h.inc"

#endif // DLC_IR_DL_DLDIALECT_H
