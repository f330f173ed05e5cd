//===- DLDialect.h - The dl dialect and its attributes ------------------------------*- C++ -*-===//
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
#include "ir/dl/DLEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/dl/DLAttrs.h.inc"

namespace dlc::dl {

/// Says how an op is treated when a model of f32 is converted to 16 bits. Each record of an op has
/// one (DLBase.td, `precision`).
enum class PrecisionRule {
  narrow, ///< its operands are cast, its sums stay in f32
  follow, ///< runs in 16 bits where its operands come so
  wide    ///< stays in f32
};

} // namespace dlc::dl

#endif // DLC_IR_DL_DLDIALECT_H
