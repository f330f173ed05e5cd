//===- Arithmetic.h - Operators and functions of values known at compile time -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_EVALUATE_ARITHMETIC_H
#define DLC_FRONTEND_DL_EVALUATE_ARITHMETIC_H

#include "frontend/dl/lower/Arguments.h"
#include "frontend/dl/syntax/AST.h"

namespace dlc::frontend {

/// Bounds of what a compile-time value may hold.
inline constexpr size_t kMaxListElements = 4096, kMaxStringBytes = 65536;
/// Time to work with dims grows with the square of their expressions.
inline constexpr size_t kMaxDimOperations = 256;

/// The numbers, symbols and operators of a dim's expression; stops counting beyond
/// kMaxDimOperations.
size_t countOperations(mlir::AffineExpr dim);

/// Python's truth of a value; nothing for tensors, layers and dims that are not known.
std::optional<bool> truthOf(const Item &item);

/// All operators but `and` and `or`. Neither operand is a tensor, poison or a layer. Poison after
/// an error, reported at `loc`.
Item combineValues(BinaryOp op, const Item &lhs, const Item &rhs, llvm::SMLoc loc,
                   Diagnostics &diagnostics, mlir::MLIRContext *context);
Item applyToValue(UnaryOp op, const Item &operand, llvm::SMLoc loc, Diagnostics &diagnostics,
                  mlir::MLIRContext *context);

/// Whether there is a function of values known at compile time: min, max, int, len, sqrt ...
bool isCompileTimeFunction(llvm::StringRef name);
/// Calls it. Nothing where the arguments are of other kinds than it takes, so that a function of
/// tensors may be meant.
std::optional<Item> callCompileTimeFunction(llvm::StringRef name, llvm::SMLoc loc,
                                            llvm::ArrayRef<PassedArgument> arguments,
                                            Diagnostics &diagnostics);
/// "'len' takes a list or a string known at compile time, got ...", for a call that
/// `callCompileTimeFunction` left.
std::string misuseOf(llvm::StringRef name, llvm::ArrayRef<PassedArgument> arguments,
                     dl::SymbolNames names);
/// "abs, bool, ceil ...", for messages.
std::string compileTimeFunctions();

/// The number of items in a list and its lists, itself included.
size_t countItems(const Item &item);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_EVALUATE_ARITHMETIC_H
