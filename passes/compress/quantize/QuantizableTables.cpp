//===- QuantizableTables.cpp - The tables of look-ups that become integers ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/QuantizableTables.h"

using namespace mlir;

namespace dlc {

/// A product that reads the table in f32 needs it in memory as it is: integers beside it would add
/// to that.
static std::string whyProductsKeep(const PackableWeight &weight,
                                   ArrayRef<QuantizableProduct> products) {
  for (OpOperand *use : weight.products) {
    const auto *product = llvm::find_if(
        products, [&](const QuantizableProduct &product) { return product.op == use->getOwner(); });
    if (product == products.end() || !product->whyKept.empty())
      return ("also read by " + use->getOwner()->getName().stripDialect() + ", which stays in f32")
          .str();
  }
  return "";
}

std::vector<QuantizableTable> findQuantizableTables(func::FuncOp function,
                                                    const LayerPatterns &kept,
                                                    ArrayRef<QuantizableProduct> products,
                                                    QuantizationScheme scheme) {
  std::vector<QuantizableTable> tables;
  if (scheme == QuantizationScheme::fp8)
    return tables;
  for (PackableWeight &weight : findPackableWeights(function, kept)) {
    if (weight.tables.empty())
      continue;
    std::string why = weight.whyKept.empty() ? whyProductsKeep(weight, products) : weight.whyKept;
    tables.push_back({std::move(weight), std::move(why)});
  }
  return tables;
}

} // namespace dlc
