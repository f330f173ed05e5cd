//===- Contraction.h - The roles of the dims in a matrix product --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM, batched GEMM and convolution are one loop nest: the result's dims that only the first
// operand knows are the rows m, those that only the second knows are the columns n, those of both
// are the batch, and the reduction is k.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTION_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTION_H

#include "codegen/cuda/schedule/DimGroups.h"
#include "codegen/cuda/schedule/KernelView.h"
#include "codegen/cuda/schedule/contraction/ContractionChoice.h"
#include "codegen/plan/PackOperand.h"
#include "ir/kernel/Sides.h"

namespace dlc::codegen {

class KernelBuilder;

/// Rows, or columns, up to which kRowsSchedule takes a product.
inline constexpr int64_t kMostFewRows = 8;
/// Blocks in the grid's x, and in its y and z.
inline constexpr int64_t kMaxGridX = INT32_MAX, kMaxGridYZ = 65535;

/// One of m, n, k and batch: dims of the nest walked as one.
struct Side {
  /// Positions among the parallel (for k: reduction) dims, outermost first.
  llvm::SmallVector<unsigned> order;
  llvm::SmallVector<DimGroup> groups;
  mlir::AffineExpr extent;
};

class Contraction {
public:
  /// Returns the sides of the kernel's product and makes loop variables of their groups; nullopt if
  /// the loops are not a product of matrices.
  static std::optional<Contraction> of(KernelView &k);
  /// Calls `visitor` with each address that reading term access `term` makes, at the given indices
  /// of all loops.
  void visitTerm(unsigned term, llvm::ArrayRef<mlir::AffineExpr> loops,
                 llvm::function_ref<void(mlir::AffineExpr)> visitor) const;
  /// The operand's elements lie together along k.
  bool liesAlongReduction(unsigned term) const;
  /// The result's elements lie together along m.
  bool storesAlongM() const;
  bool fitsGrid(mlir::AffineExpr tilesInY) const;
  /// All loops, over the groups' variables.
  llvm::SmallVector<mlir::AffineExpr> loops() const;

  KernelView &k;
  const LoopNest &nest;
  Side m, n, depth, batch;
  llvm::SmallVector<mlir::AffineExpr> parallel, reduction; // over the groups' variables

private:
  Contraction(KernelView &k, const Sides &sides);

  llvm::SmallVector<mlir::AffineExpr> variables, reductionVariables; // one for each dim
};

/// True where tensor cores multiply such operands: both in f16, or bf16, or bytes
/// (ContractionBytes.h), or with `allowsTf32` in f32.
bool hasTensorCoreOperands(const Contraction &c, bool allowsTf32);
/// True where they are so, and the grid is not too large.
bool suitsTensorCores(const Contraction &c, bool allowsTf32);
/// True where both operands are in f32, and the grid is not too large.
bool suitsFloatUnits(const Contraction &c);
/// True where rows or columns are so few that tiles would be mostly empty.
bool hasFewRows(const Contraction &c);
/// The layout in which the elements of term `term`, a matrix made at load in `argument`, lie
/// together along k; nullopt where the sums do not walk it plainly, or it is not made at load.
std::optional<PackedOperand> packedAlongDepth(const Contraction &c, unsigned term,
                                              mlir::BlockArgument argument);
/// Where hasFewRows: the matrix, if it is made at load and its rows had better lie along k, and in
/// which layout.
std::optional<PackedOperand> matrixOfRowsToPack(KernelBuilder &k, Contraction &c);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTION_H
