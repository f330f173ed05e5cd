//===- DerivedDims.h - Dims that are computed from others ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_EVALUATE_DERIVEDDIMS_H
#define DLC_FRONTEND_DL_EVALUATE_DERIVEDDIMS_H

#include "frontend/dl/evaluate/Item.h"
#include "frontend/dl/syntax/AST.h"
#include "frontend/dl/syntax/Diagnostics.h"
#include "ir/dl/base/DerivedSize.h"

namespace dlc::frontend {

/// Returns the definition of a derived dim that `expr` writes, as in min(N, 4): the map of a dim, a
/// real number or a #dl.derived. `evaluate` gives the parts that are no functions of dims. Null
/// after an error.
mlir::Attribute definitionOf(const Expr &expr, llvm::function_ref<Item(const Expr &)> evaluate,
                             Diagnostics &diagnostics, mlir::MLIRContext *context);

/// Returns the range of such a definition. Nothing, reported at `loc` of `what`, if it is a real
/// number or has no range.
std::optional<dl::Range> rangeOfDefinition(mlir::Attribute definition, llvm::SMLoc loc,
                                           const llvm::Twine &what, Diagnostics &diagnostics);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_EVALUATE_DERIVEDDIMS_H
