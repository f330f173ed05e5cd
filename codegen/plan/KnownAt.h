//===- KnownAt.h - What is known of tensors at indices ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_KNOWNAT_H
#define DLC_CODEGEN_PLAN_KNOWNAT_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"

namespace dlc::codegen {

/// The values known of tensors of a kernel's body at indices. A body that reads a value in several
/// places asks for it in each; with n such values in a row there are 2^n ways to the first one, of
/// which this table leaves one.
template <typename T> class KnownAt {
public:
  /// The value known of `tensor` at `indices`, or null.
  const T *find(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices) const {
    for (const Entry &entry : llvm::reverse(entries))
      if (entry.tensor == tensor && llvm::ArrayRef(entry.indices) == indices)
        return &entry.known;
    return nullptr;
  }
  void insert(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices, T known) {
    entries.push_back({tensor, llvm::SmallVector<mlir::AffineExpr, 4>(indices), known});
  }

  /// How much was inserted, and back to an earlier such number.
  size_t size() const { return entries.size(); }
  void shrink(size_t size) { entries.resize(size); }
  /// Drops the values known at indices that name `variable`, which from now on means another
  /// number.
  void forget(mlir::AffineExpr variable) {
    unsigned position = llvm::cast<mlir::AffineDimExpr>(variable).getPosition();
    auto moves = [&](mlir::AffineExpr index) { return index.isFunctionOfDim(position); };
    for (Entry &entry : entries)
      if (llvm::any_of(entry.indices, moves))
        entry.tensor = {}; // it keeps its place: see shrink
  }

private:
  struct Entry {
    mlir::Value tensor;
    llvm::SmallVector<mlir::AffineExpr, 4> indices;
    T known;
  };
  llvm::SmallVector<Entry, 0> entries;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_KNOWNAT_H
