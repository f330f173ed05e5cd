//===- ViewLayout.h - In which layout a view has the bytes of its operand -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dl.permute renames dims and a dl.reshape splits and joins them. Both leave the bytes of a
// tensor where they are if the result lies in the layout that follows from the operand's.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_VIEW_VIEWLAYOUT_H
#define DLC_IR_ANALYSIS_VIEW_VIEWLAYOUT_H

#include "ir/dl/base/DLTypes.h"

namespace dlc {

/// Returns all dims of a tensor of `rank` dims in `layout`, outermost in memory first.
llvm::SmallVector<int64_t, 4> memoryOrder(const dl::Layout &layout, int64_t rank);

/// One of the layouts that put every element of `type` where `layout` does, which dims of size 1 do
/// not change: row-major if it is among them, else channels last, else the one that has the dims of
/// size 1 outermost.
dl::Layout canonicalLayout(mlir::RankedTensorType type, const dl::Layout &layout);

/// The canonical layout in which the result of `op`, a dl.permute or a dl.reshape, has the bytes of
/// its operand in `layout`; nullopt where there is none, and for other ops.
std::optional<dl::Layout> layoutOfResult(mlir::Operation *op, const dl::Layout &layout);
/// The reverse: the canonical layout of the operand where the result lies in `layout`.
std::optional<dl::Layout> layoutOfOperand(mlir::Operation *op, const dl::Layout &layout);

/// Returns true if `op` is a dl.permute or a dl.reshape whose result has the bytes of its operand.
bool keepsBytes(mlir::Operation *op);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_VIEW_VIEWLAYOUT_H
