//===- KnownArithmetic.h - Sums, quotients and comparisons of known numbers ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_SIZES_KNOWNARITHMETIC_H
#define DLC_FRONTEND_ONNX_SIZES_KNOWNARITHMETIC_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// Real numbers of more elements than this are data, which the model computes with.
inline constexpr size_t kMaxReals = 16;

/// Elements of a shape; one more than Known::kMaxElements for all larger numbers.
int64_t elementsOf(llvm::ArrayRef<int64_t> shape);

/// Add, Sub, Mul, Div, Mod, Min, Max, And, Or or a comparison of two numbers of `dtype`; nothing
/// where it is not known. `isTruth` is set where the result is a truth value.
std::optional<Number> combine(const NodeImport &node, llvm::StringRef op, const Number &a,
                              const Number &b, mlir::Type dtype, bool &isTruth);
/// The same, as a derived number where sizes give an operand; one of `count` that are computed.
std::optional<Number> combineOrDerive(const NodeImport &node, llvm::StringRef op, const Number &a,
                                      const Number &b, mlir::Type dtype, size_t count,
                                      bool &isTruth);

// Each folds a node over known numbers; false, and nothing said, where the model has to compute it.

/// Cast of x.
bool foldCast(NodeImport &node, const Known &x);
/// Functions of one or two numbers, element by element.
bool foldElementwise(NodeImport &node);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_SIZES_KNOWNARITHMETIC_H
