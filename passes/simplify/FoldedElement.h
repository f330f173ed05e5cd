//===- FoldedElement.h - One element of what maps compute from numbers --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_SIMPLIFY_FOLDEDELEMENT_H
#define DLC_PASSES_SIMPLIFY_FOLDEDELEMENT_H

#include "ir/interfaces/LoopNest.h"

namespace dlc {

/// The element that the map `op` computes where `elementOf` gives the elements that it reads, as
/// dl.full holds numbers: of the compute type, rounded to the element type. Null where `elementOf`
/// is null, where the op reads an index or an extent, and where the value would depend on the libm
/// of the compiling machine.
mlir::TypedAttr foldedElement(LoopNestOpInterface op,
                              llvm::function_ref<mlir::TypedAttr(mlir::Value operand)> elementOf);

} // namespace dlc

#endif // DLC_PASSES_SIMPLIFY_FOLDEDELEMENT_H
