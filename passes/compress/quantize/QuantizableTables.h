//===- QuantizableTables.h - The tables of look-ups that become integers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZABLETABLES_H
#define DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZABLETABLES_H

#include "passes/compress/quantize/PackableWeights.h"
#include "passes/compress/quantize/QuantizableProducts.h"

#include <string>
#include <vector>

namespace dlc {

/// A weight of f32, [rows, width], of which look-ups take rows: integers of 8 bits, and a scale for
/// each row.
struct QuantizableTable {
  PackableWeight weight;
  /// Why it stays in f32, a part of a sentence; empty where it does not.
  std::string whyKept;

  /// Products on integers read it, too: they share the integers where the scales are those of rows.
  bool isTied() const { return !weight.products.empty(); }
  /// Its first look-up, after which reports name it.
  mlir::Operation *lookUp() const { return weight.tables.front()->getOwner(); }
};

/// All of them, in program order; those that `kept` matches are kept, and so are those that a
/// product reads which is none of `products` or is kept. With fp8 there are none.
std::vector<QuantizableTable> findQuantizableTables(mlir::func::FuncOp function,
                                                    const LayerPatterns &kept,
                                                    llvm::ArrayRef<QuantizableProduct> products,
                                                    QuantizationScheme scheme);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZABLETABLES_H
