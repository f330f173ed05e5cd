//===- MappedTemplate.h - Products whose operands TMA brings ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_MAPPEDTEMPLATE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_MAPPEDTEMPLATE_H

#include "codegen/cuda/schedule/contraction/ContractionTemplate.h"

namespace dlc::codegen {

/// A matrix product for Hopper: an operand that TMA reads where it lies is one matrix with rows at
/// multiples of 16 bytes, and those of a batch lie one below the other.
class MappedTemplate : protected ContractionTemplate {
protected:
  using ContractionTemplate::ContractionTemplate;

  /// An operand as it lies in memory.
  struct Matrix {
    unsigned input;
    bool alongRows;
    mlir::AffineExpr step; // elements from one line (a row, alongRows: a step of k) to the next
    mlir::AffineExpr line; // of the batch, where the product's own begin
  };
  /// Term `term` as such a matrix; nullopt where it is none.
  std::optional<Matrix> matrixOf(unsigned term, const Side &side) const;
  /// The map of a matrix, whose boxes have `boxRows` rows, or steps of k of 64 rows.
  mlir::Attribute mapOf(const Matrix &matrix, const Side &side, int64_t boxRows) const;
  /// Offsets of the result need no less than one row and column.
  bool hasSides() const;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_MAPPEDTEMPLATE_H
