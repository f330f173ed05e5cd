//===- Expressions.h - The C++ expression of one op ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_PRINT_EXPRESSIONS_H
#define DLC_CODEGEN_CUDA_PRINT_EXPRESSIONS_H

#include "codegen/cuda/print/Cpp.h"
#include "ir/scalar/MathExpansion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Operation.h"

#include <functional>

namespace dlc::codegen {

/// What the text calls a function whose body MathExpansion gives.
std::string mathFunctionText(MathFunction function);

/// Says one op as a C++ expression of its operands' expressions.
class Expressions {
public:
  /// `textOf` gives an operand's text; it is asked once for each occurrence.
  Expressions(unsigned indexBits, std::function<cpp::Expr(mlir::Value)> textOf)
      : indexBits(indexBits), textOf(std::move(textOf)) {}

  /// True for ops that build() can say: those with one value and no effect but reading memory or
  /// meeting the warp.
  static bool isExpression(mlir::Operation *op);
  /// The expression of `op`; nullopt where it has none.
  std::optional<cpp::Expr> build(mlir::Operation *op);

  /// `memref[indices]`, and the pointer to it.
  cpp::Expr element(mlir::Value memref, mlir::ValueRange indices);
  cpp::Expr pointer(mlir::Value memref, mlir::ValueRange indices);
  std::string type(mlir::Type type) const;

private:
  std::optional<cpp::Expr> dispatch(mlir::Operation *op);
  cpp::Expr operand(mlir::Value value);
  cpp::Expr call(llvm::StringRef function, mlir::ValueRange args);
  cpp::Expr infix(mlir::Operation *op, llvm::StringRef symbol, cpp::Prec prec);
  cpp::Expr integerArithmetic(mlir::Operation *op, llvm::StringRef symbol, cpp::Prec prec,
                              llvm::StringRef wrapping);
  cpp::Expr compare(mlir::arith::CmpIOp op);
  std::optional<cpp::Expr> compare(mlir::arith::CmpFOp op);
  cpp::Expr cast(const std::string &type, const cpp::Expr &value);
  std::optional<cpp::Expr> convert(mlir::Operation *op);
  std::optional<cpp::Expr> arithmetic(mlir::Operation *op);
  /// Returns the constant that `value` is after casts that the text leaves out; null if it is none.
  mlir::arith::ConstantOp constantOf(mlir::Value value) const;
  /// An operand as a function argument: 64-bit literals are typed, since int would be ambiguous.
  std::string argument(mlir::Value value);
  std::string elementOf(mlir::Operation *op) const { return type(op->getResult(0).getType()); }

  unsigned indexBits;
  std::function<cpp::Expr(mlir::Value)> textOf;
  bool sawRead = false; // an operand of the op at hand reads memory
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_PRINT_EXPRESSIONS_H
