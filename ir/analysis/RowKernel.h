//===- RowKernel.h - Reductions of the same rows as one kernel ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mean and a mean of squares, a sum with the norm of it, a softmax written out: each reads the
// same rows. One kernel reduces a row stage after stage while its elements are near, and stores
// what others want of it: elements of the row, or one value for the whole row.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_ROWKERNEL_H
#define DLC_IR_ANALYSIS_ROWKERNEL_H

#include "ir/interfaces/LoopNest.h"

namespace dlc {

/// The rows of tensors with these dims: a row has the elements that differ in `reduced` dims alone.
struct RowSpace {
  dl::Dims dims;
  llvm::SmallBitVector reduced;

  bool operator==(const RowSpace &other) const = default;
};

/// The rows that the stages of `op` reduce; nullopt if they are no plain rows of one tensor
/// (windows, products, spans, groups), or `op` is a map.
std::optional<RowSpace> rowsOf(LoopNestOpInterface op);

/// Where the elements of a tensor lie in the rows: the dim of the row space for each of its dims,
/// -1 for a reduced dim of which it has one element.
struct RowPlacement {
  llvm::SmallVector<int, 4> dims;
  bool isOfRow = false; ///< one element for each row

  /// The indices in the tensor of the element at `indices` of the row space.
  llvm::SmallVector<mlir::AffineExpr> indicesOf(llvm::ArrayRef<mlir::AffineExpr> indices) const;
};

/// The placement of a tensor with `dims`; nullopt if it has neither the elements of the rows nor
/// one for each row.
std::optional<RowPlacement> placementOf(llvm::ArrayRef<mlir::AffineExpr> dims,
                                        const RowSpace &rows);

struct RowKernel {
  /// An op with stages, and its first stage among those of the kernel.
  struct Reduction {
    LoopNestOpInterface op;
    LoopNest nest;
    unsigned firstStage;
    RowPlacement placement; // of its result
  };

  RowSpace rows;
  llvm::SmallVector<Reduction, 2> reductions; // in program order
  llvm::SmallVector<RowPlacement, 2> results; // of the kernel's results
  /// All stages, as those of one op: the parallel dims are those of the row space, the reduced ones
  /// among them its inner dims. The terms are those that no other reduction has a part in.
  LoopNest nest;
  /// For each term of `nest` the reduction, and the number of the term there.
  llvm::SmallVector<std::pair<unsigned, unsigned>> terms;

  /// The reduction that has stage `stage` of the kernel.
  const Reduction &ownerOf(unsigned stage) const;
  /// The reduction that is `op`; null if none is.
  const Reduction *find(mlir::Operation *op) const;
};

/// The kernel of `ops`, in program order, that stores `results`: reductions of the same rows and
/// maps, where everything that is read of a reduction is of the row at hand. nullopt if they are
/// anything else.
std::optional<RowKernel> findRowKernel(llvm::ArrayRef<mlir::Operation *> ops,
                                       mlir::ValueRange results);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_ROWKERNEL_H
