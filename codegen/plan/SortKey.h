//===- SortKey.h - Elements as whole numbers in the same order ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_SORTKEY_H
#define DLC_CODEGEN_PLAN_SORTKEY_H

#include "ir/dlx/DLXOps.h"
#include "ir/interfaces/Lines.h"

#include "mlir/IR/Builders.h"

namespace dlc::codegen {

/// The op that is the whole of a kernel of kind "lines".
LineOpInterface lineOpOf(dlx::KernelOp kernel);
/// Returns the kernel input for operand `operand` of the line op. Operands that are one tensor
/// share an input.
unsigned inputOf(LineOpInterface op, unsigned operand);
/// The indices at which an operand that is repeated along its dims of 1 has what the op's line has
/// at `indices`.
llvm::SmallVector<mlir::AffineExpr> repeatedIndices(mlir::RankedTensorType type,
                                                    llvm::ArrayRef<mlir::AffineExpr> indices);

/// Bits of the key of an element: a multiple of 8, at most those of keyType, which is i32 or i64.
unsigned keyBits(mlir::Type elementType);
mlir::Type keyType(mlir::Type elementType);
/// The unsigned number, of keyType, whose order is that of LineWork::Kind::order: -0 is +0, and all
/// NaN are the highest. `stored` is a scalar in storage type, or a vector of them.
mlir::Value sortKey(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored,
                    mlir::Type elementType, bool descending);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_SORTKEY_H
