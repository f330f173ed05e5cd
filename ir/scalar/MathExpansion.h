//===- MathExpansion.h - Functions of math as arithmetic ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both targets compute these functions by the same arithmetic, so that neither depends on a math
// library and both give the same bits. What is emitted is arith ops and math.fma (never contracted
// implicitly), on scalars and on vectors alike, and for what is long and rare scf.if and scf.for.
//
// The functions are right on the whole range: NaN gives NaN, infinities and zeros give the limits
// (the sign of zero kept by tanh and erf), denormals are neither flushed on the way in nor on the
// way out. The largest errors, measured by test/numeric/math-ulp over all 2^32 inputs for f32,
// stand in MathExpansion.cpp.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_SCALAR_MATHEXPANSION_H
#define DLC_IR_SCALAR_MATHEXPANSION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace dlc {

enum class MathFunction {
#define DLC_SCALAR_OP(Class, Weight)
#define DLC_MATH_OP(Class, Function, Weight) Function,
#include "ir/scalar/ScalarOps.def"
};

/// The function that `op` computes, where it is one that is expanded: a math op on f32 or f64, or a
/// vector of them; integers for ipow.
std::optional<MathFunction> expandedMath(mlir::Operation *op);

/// "exp", "log", ...: the name of `function`, for identifiers.
llvm::StringRef mathFunctionName(MathFunction function);

/// How many arguments it takes, all of the type of the result.
unsigned numArguments(MathFunction function);

/// Appends the arithmetic of `function` on `arguments`, of type f32, f64 (ipow: integers) or a
/// vector of one of them.
mlir::Value expandMath(mlir::OpBuilder &builder, mlir::Location loc, MathFunction function,
                       mlir::ValueRange arguments);

/// Loads the dialects that the expansions use.
void loadMathDialects(mlir::MLIRContext *context);

/// Patterns that expand each such op where it stands, and divide where an expansion has a
/// dls.reciprocal.
void populateMathExpansionPatterns(mlir::RewritePatternSet &patterns);

/// Builds `func.func private @name(%x: type, ...) -> type` with the arithmetic of `function` as its
/// body. `type` is as in expandMath. The caller puts it into a module.
mlir::func::FuncOp buildMathFunction(mlir::OpBuilder &builder, mlir::Location loc,
                                     llvm::StringRef name, MathFunction function, mlir::Type type);

} // namespace dlc

#endif // DLC_IR_SCALAR_MATHEXPANSION_H
