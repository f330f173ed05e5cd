//===- DerivedSize.h - Values and ranges of derived sizes ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A derived size (#dl.derived) is an integer computed from dims by functions that affine
// expressions do not have: a minimum, a choice, a division by a size that may be negative, or
// arithmetic on real numbers as models use for scaled sizes. Each becomes a symbol of its own. The
// compiler knows its range; the runtime computes its value when shapes are bound.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_BASE_DERIVEDSIZE_H
#define DLC_IR_DL_BASE_DERIVEDSIZE_H

#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DLTypes.h"

#include <string>

namespace dlc::dl {

/// The number of operands that `function` takes.
unsigned arityOf(SizeFunction function);
/// Whether `function` returns a real number when its first operand is one (`operandIsReal`).
bool returnsReal(SizeFunction function, bool operandIsReal);
/// Whether `operand`, an operand of a #dl.derived, is a real number.
bool isReal(mlir::Attribute operand);

/// Returns the value of `size` when symbol i is `symbols[i]`. Integers saturate at 64 bits.
int64_t valueOf(DerivedAttr size, llvm::ArrayRef<int64_t> symbols);
/// Returns the smallest and largest value of `size` over the ranges of the symbols; nullopt where
/// one of its dims is unbounded.
std::optional<Range> rangeOf(DerivedAttr size, llvm::ArrayRef<Range> symbols);

/// Replaces symbol i by `by[i]` in the dims of `size`.
DerivedAttr replaceSymbols(DerivedAttr size, llvm::ArrayRef<mlir::AffineExpr> by);
/// Returns the dim that `size` is where its operands are constants or the ranges of the symbols
/// decide it: min(N, N + 1) is N. Null where it stays derived.
mlir::AffineExpr simplified(DerivedAttr size, llvm::ArrayRef<Range> symbols);
/// Calls `visit` with each dim in `size`.
void forEachDim(DerivedAttr size, llvm::function_ref<void(mlir::AffineExpr)> visit);

/// "min(N*2, 100)", for messages and for the text of a model.
std::string text(DerivedAttr size, SymbolNames names);

} // namespace dlc::dl

#endif // DLC_IR_DL_BASE_DERIVEDSIZE_H
