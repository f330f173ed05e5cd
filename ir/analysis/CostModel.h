//===- CostModel.h - Arithmetic and traffic of a kernel -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counted on what the ops' bodies emit, so that no op states its own cost. Symbolic in the model's
// dims.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_COSTMODEL_H
#define DLC_IR_ANALYSIS_COSTMODEL_H

#include "ir/dl/base/DLTypes.h"
#include "ir/interfaces/Lines.h"
#include "ir/interfaces/LoopNest.h"
#include "ir/interfaces/Recurrent.h"

namespace dlc {

/// `flops`: arithmetic operations by the weights of ScalarOps.def, each term and result once.
/// `bytes`: those elements of the inputs that the kernel reads, each once, and every output. Where
/// the data say which rows a gather reads, each row counts.
struct Cost {
  dl::Dim flops, bytes;
};

/// Arithmetic of one evaluation of the op's result, its stages apart.
int64_t resultCost(LoopNestOpInterface op);
/// The extents (BodyContext::extent) that the op's bodies compute with.
llvm::SmallVector<mlir::AffineExpr> extentsRead(LoopNestOpInterface op);
/// Arithmetic of one op.
dl::Dim flopsOf(LoopNestOpInterface op);
/// Of a recurrence: as if every row had the full length.
dl::Dim flopsOf(RecurrentOpInterface op);
dl::Dim flopsOf(LineOpInterface op);
/// The ops of `block` as one kernel whose inputs are the block's arguments and whose outputs its
/// terminator yields.
Cost costOf(mlir::Block &block);
/// `expr` at the usual sizes of the symbols, where they have some, else in the geometric middle of
/// its range; at least 1, nullopt where unbounded.
std::optional<int64_t> usualOrMiddle(mlir::AffineExpr expr, llvm::ArrayRef<dl::Range> symbols);
/// Bytes that an element of `type` takes in memory: bools take one.
int64_t bytesPerElement(mlir::RankedTensorType type);
/// Bytes of `type` in memory, tails of tiles included.
dl::Dim storedBytes(mlir::RankedTensorType type);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_COSTMODEL_H
