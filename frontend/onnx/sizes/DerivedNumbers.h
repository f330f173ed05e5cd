//===- DerivedNumbers.h - Numbers that follow from sizes when shapes are bound ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on known numbers whose result is not a dim: a minimum, a choice, a comparison, or real
// numbers computed from sizes. An integer becomes a derived symbol (#dl.derived).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_SIZES_DERIVEDNUMBERS_H
#define DLC_FRONTEND_ONNX_SIZES_DERIVEDNUMBERS_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// Shapes have few numbers. The model computes with longer lists.
inline constexpr size_t kMaxDerived = 16;

/// Add, Sub, Mul, Div, Mod, Min, Max, And, Or or a comparison of two integers of `dtype`, or of two
/// real numbers that sizes give; nothing where it cannot be derived. `isTruth` is set where the
/// result is a truth value.
std::optional<Number> deriveBinary(const NodeImport &node, llvm::StringRef op, const Number &a,
                                   const Number &b, mlir::Type dtype, bool &isTruth);
/// Floor, Ceil, Round, Sqrt or Neg of a real number that sizes give.
std::optional<Number> deriveUnary(const NodeImport &node, llvm::StringRef op, const Number &x,
                                  mlir::Type dtype);
/// `condition` ? `a` : `b`.
std::optional<Number> deriveChoice(const NodeImport &node, const Number &condition, const Number &a,
                                   const Number &b);
/// A number in another dtype, where that is not its own integer.
std::optional<Number> deriveCast(const NodeImport &node, const Number &x, mlir::Type from,
                                 mlir::Type to);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_SIZES_DERIVEDNUMBERS_H
