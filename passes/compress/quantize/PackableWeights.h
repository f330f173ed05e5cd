//===- PackableWeights.h - Weights that can be stored in few bits -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_QUANTIZE_PACKABLEWEIGHTS_H
#define DLC_PASSES_COMPRESS_QUANTIZE_PACKABLEWEIGHTS_H

#include "ir/dl/DLOps.h"
#include "passes/compress/quantize/PackedMatrix.h"
#include "passes/precision/LayerPatterns.h"

#include "passes/compress/StoredPart.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace dlc {

/// The suffixes of a weight's name in the names of the tensors that it becomes.
inline constexpr llvm::StringLiteral kCodesSuffix = ".codes", kScaleSuffix = ".scale",
                                     kZeroSuffix = ".zero";

/// An attribute of a dl.weight that quantize-weights stores in 8 bits where the others get 4: i64,
/// 8.
inline constexpr llvm::StringLiteral kStoredBits = "dl.stored_bits";

/// A matrix of weights that products multiply by, or a table of which look-ups take rows, or both.
struct PackableWeight {
  dl::WeightOp op;
  /// It is stored as [K, N]: the sums run along dim 0.
  bool isTransposed = false;
  /// Second operands of products, and the tables of look-ups; one of the two has an element.
  llvm::SmallVector<mlir::OpOperand *> products, tables;
  /// Why it stays as it is, a part of a sentence; empty where it does not.
  std::string whyKept;

  /// How it is stored where the others are stored as `all`: tables that no product reads have 8
  /// bits at least.
  WeightFormat formatOf(WeightFormat all) const;
  int64_t rows() const { return dimAt(isTransposed ? 1 : 0); }    // N
  int64_t columns() const { return dimAt(isTransposed ? 0 : 1); } // K
  /// All of both, in program order.
  llvm::SmallVector<mlir::OpOperand *> readers() const;
  /// The activation that product number `product` multiplies it by, summed over along the last dim.
  mlir::Value getActivation(size_t product) const {
    return products[product]->getOwner()->getOperand(0);
  }

private:
  int64_t dimAt(unsigned dim) const {
    auto weight = op;
    return llvm::cast<mlir::RankedTensorType>(weight.getY().getType()).getDimSize(dim);
  }
};

/// Each dl.weight of the function that a matrix product has as its second operand or that a look-up
/// takes rows of, in program order; those with a product or look-up that `kept` matches are kept.
std::vector<PackableWeight> findPackableWeights(mlir::func::FuncOp function,
                                                const LayerPatterns &kept);

/// The activations of the products whose weights are not kept: each once, in the order of the
/// weights.
llvm::SmallVector<mlir::Value> activationsOf(llvm::ArrayRef<PackableWeight> weights);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_QUANTIZE_PACKABLEWEIGHTS_H
