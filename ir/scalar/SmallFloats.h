//===- SmallFloats.h - Floats of 8 and 4 bits as arithmetic -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neither target has these formats in its instructions: both convert by the same arithmetic on the
// bits of an f32. Bodies of ops say arith.truncf and arith.extf, which the interpreter takes as
// they stand and schedules replace.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_SCALAR_SMALLFLOATS_H
#define DLC_IR_SCALAR_SMALLFLOATS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace dlc {

/// Whether tensors hold `type` as a byte of its bits.
bool isSmallFloat(mlir::Type type);

/// The f32 that `bits`, an i8 or a vector of them, mean in `format`.
mlir::Value decodeSmallFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits,
                             mlir::FloatType format);

/// The bits, an i8, of `value`, an f32 or f64, rounded to nearest even in `format`. Beyond its
/// range: infinity, else NaN, else (f4e2m1, which has neither) the largest number; NaN is -0 there.
/// f8e8m0 takes the magnitude alone, ties upwards, what lies below its range, 0 with it, as its
/// least number, and all above that as the next.
mlir::Value encodeSmallFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                             mlir::FloatType format);

/// The same as ops that name the format, so that what is only moved stays as it is: for
/// expandSmallFloats.
mlir::Value wideSmallFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits,
                           mlir::FloatType format);
mlir::Value bitsOfSmallFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                             mlir::FloatType format);

/// Replaces conversions to a small float and back, and their bits, in all that `root` holds.
void expandSmallFloats(mlir::Operation *root);

} // namespace dlc

#endif // DLC_IR_SCALAR_SMALLFLOATS_H
