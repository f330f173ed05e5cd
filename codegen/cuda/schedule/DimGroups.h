//===- DimGroups.h - Dims that can be walked as one ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row-major tensor of four dims is one long row to an elementwise kernel. Merging neighbouring
// dims wherever every address allows it saves the divisions that would cut a flat index up again,
// and makes the text short.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_DIMGROUPS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_DIMGROUPS_H

#include "codegen/plan/IndexMath.h"

#include "llvm/ADT/SmallBitVector.h"

namespace dlc::codegen {

/// Neighbouring dims as one loop. Its variable takes the place of the innermost dim's, over the
/// product of the extents; the outer dims' indices are 0 then.
struct DimGroup {
  llvm::SmallVector<unsigned, 4> dims; // outermost first
  mlir::AffineExpr extent;
  mlir::AffineExpr variable; // set by bindGroups
  std::string role;          // identifier of its index: the names of its dims
};

/// Names of the dims of a result (n, c, h, w for four) and of a reduction: what a reader calls
/// them.
llvm::SmallVector<std::string> resultRoles(unsigned rank);
llvm::SmallVector<std::string> reductionRoles(unsigned rank);

/// Groups the dims named by `order` (outermost first). `variables` and `extents` are of all dims;
/// `addresses` are all addresses that the loops make; a dim in `pinned` stays alone. Dims of extent
/// 1 belong to no group.
llvm::SmallVector<DimGroup> mergeDims(const IndexMath &math, llvm::ArrayRef<unsigned> order,
                                      llvm::ArrayRef<mlir::AffineExpr> variables,
                                      llvm::ArrayRef<mlir::AffineExpr> extents,
                                      llvm::ArrayRef<mlir::AffineExpr> addresses,
                                      const llvm::SmallBitVector &pinned,
                                      llvm::ArrayRef<std::string> roles);

/// Makes a loop variable of each group and sets `indices` of the grouped dims accordingly; indices
/// of extent-1 dims in `order` become 0.
void bindGroups(IndexMath &math, llvm::MutableArrayRef<DimGroup> groups,
                llvm::ArrayRef<unsigned> order, llvm::MutableArrayRef<mlir::AffineExpr> indices);

/// Product of the groups' extents; 1 for none.
mlir::AffineExpr totalExtent(const IndexMath &math, llvm::ArrayRef<DimGroup> groups);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_DIMGROUPS_H
