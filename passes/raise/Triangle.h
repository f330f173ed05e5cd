//===- Triangle.h - Tensors that differ on the two sides of a diagonal --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The masks of causal attention are written in many ways: as tril or triu of numbers, as
// comparisons of two ranges, and as arithmetic on these. All of them are such tensors.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_RAISE_TRIANGLE_H
#define DLC_PASSES_RAISE_TRIANGLE_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/Value.h"

namespace dlc {

/// A tensor of two numbers: [..., row, column] is `below` where column - row <= diagonal, else
/// `above`.
struct Triangle {
  int64_t diagonal = 0;
  mlir::TypedAttr below, above; // as dl.full holds numbers

  /// The numbers as f64; 0 and 1 of a bool.
  double belowAsNumber() const;
  double aboveAsNumber() const;
};

/// `value`, of rank 2 or more, as a triangle of its last two dims; nullopt where it is not known to
/// be one. A tensor of one number is none.
std::optional<Triangle> triangleOf(mlir::Value value);

} // namespace dlc

#endif // DLC_PASSES_RAISE_TRIANGLE_H
