//===- QuantizableProducts.h - The products that run on integers --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZABLEPRODUCTS_H
#define DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZABLEPRODUCTS_H

#include "passes/compress/Schemes.h"
#include "passes/precision/LayerPatterns.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace dlc {

/// The range that calibration has seen of the activation that a product reads: `[low, high]`.
inline constexpr llvm::StringLiteral kActivationRange = "dl.activation_range";

/// The dims that `resultDims` (QuantizableProduct::weightDims) has as summed over.
llvm::SmallVector<int64_t> summedDims(llvm::ArrayRef<int64_t> resultDims);

/// The largest number of e4m3.
inline constexpr double kMostFloat8 = 448;

/// A matrix product or convolution of f32 that multiplies an activation by weights.
struct QuantizableProduct {
  mlir::Operation *op;
  unsigned weight; // the operand that depends on weights alone: 0 or 1; the other is the activation
  /// For each dim of the weight the dim of the result that it is, -1 where it is summed over.
  llvm::SmallVector<int64_t> weightDims;
  /// Why it stays in f32, a part of a sentence; empty where it does not.
  std::string whyKept;

  mlir::Value getActivation() const { return op->getOperand(1 - weight); }
  mlir::Value getWeight() const { return op->getOperand(weight); }
};

/// All of them, in program order; those that `kept` matches are kept. Products of two activations
/// are none. With `dynamic` convolutions are kept, too.
std::vector<QuantizableProduct>
findQuantizableProducts(mlir::func::FuncOp function, const LayerPatterns &kept,
                        QuantizationScheme scheme = QuantizationScheme::int8);

/// The activations that the products which are not kept read: each once, in program order.
llvm::SmallVector<mlir::Value> activationsOf(llvm::ArrayRef<QuantizableProduct> products);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZABLEPRODUCTS_H
