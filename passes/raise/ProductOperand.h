//===- ProductOperand.h - What a matrix product reads, through views and scales -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_RAISE_PRODUCTOPERAND_H
#define DLC_PASSES_RAISE_PRODUCTOPERAND_H

#include "ir/dl/base/DLBuilder.h"

namespace dlc {

/// An operand of a product.
struct ProductOperand {
  mlir::Value x;
  dl::Dims dims; // under which x is read
  /// The loop of the product that each of `dims` is; -1 for a dim of size 1 that repeats.
  llvm::SmallVector<int64_t> loops;
  /// x is multiplied with this before the product.
  double scale = 1;
  /// How many neighbours along the loop `heads` read one index of x; 1 where all have their own.
  int64_t perGroup = 1;
  int64_t heads = -1;

  int64_t dimOf(int64_t loop) const {
    const auto *found = llvm::find(loops, loop);
    return found == loops.end() ? -1 : found - loops.begin();
  }
  bool reads(int64_t loop) const { return dimOf(loop) >= 0; }
  void setX(mlir::Value value) {
    x = value;
    dims = dl::dimsOf(value);
  }
};

/// A sum over one loop of products of two operands, floats.
bool isFloatProduct(LoopNestOpInterface op, const LoopNest &nest);
/// Term `term` of a product that has the loops `nest`; nullopt where its indices are no loops.
std::optional<ProductOperand> operandOf(mlir::Operation *product, const LoopNest &nest,
                                        unsigned term);

/// Selects what readThrough takes off an operand beside permutations.
struct Takes {
  /// Numbers that it is multiplied with or divided by where nothing else reads that.
  bool scales = false;
  /// The repetition of each index of one dim for a group of neighbours.
  bool groups = false;
};
/// Reads what the operand is made of. `x` may still be scaled before views of it: see unscaled.
void readThrough(ProductOperand &operand, Takes takes);
/// `x` of an operand that was read with `takes.scales`, without any scale.
mlir::Value unscaled(mlir::Value x, mlir::OpBuilder &builder);

} // namespace dlc

#endif // DLC_PASSES_RAISE_PRODUCTOPERAND_H
