//===- ModuleSymbols.h - The symbols of a module, and other dims in their place -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_BASE_MODULESYMBOLS_H
#define DLC_IR_DL_BASE_MODULESYMBOLS_H

#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DLTypes.h"

namespace dlc::dl {

/// The entries of `dl.symbols`; none where the module has no such attribute.
llvm::SmallVector<SymbolAttr> symbolsOf(mlir::ModuleOp module);

/// Whether `a` is at most `b` for all sizes that the symbols of `module` take: by their ranges, and
/// because min(p, q) is at most p and at most q, and max(p, q) at least p and at least q.
bool isAtMost(mlir::AffineExpr a, mlir::AffineExpr b, mlir::ModuleOp module);

/// `type` with `by[i]` in the place of symbol i.
mlir::RankedTensorType replaceSymbols(mlir::RankedTensorType type,
                                      llvm::ArrayRef<mlir::AffineExpr> by);
/// `symbol` with `by` in its definition or its most; its range and the rest stay.
SymbolAttr replaceSymbols(SymbolAttr symbol, llvm::ArrayRef<mlir::AffineExpr> by);
/// Puts `by[i]` in the place of symbol i in all types and in all lists of dims in `root`.
void replaceSymbols(mlir::Operation *root, llvm::ArrayRef<mlir::AffineExpr> by);

} // namespace dlc::dl

#endif // DLC_IR_DL_BASE_MODULESYMBOLS_H
