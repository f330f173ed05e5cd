//===- QuantizableProducts.cpp - The products that run on integers ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "passes/compress/QuantizableProducts.h"

#include "ir/analysis/FusionLegality.h"
#include "ir/dl/DLBuilder.h"
#include "ir/dl/DLContraction.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

/// Terms of one sum. Below the first number, converting operands and sums takes more time than
/// integers save: a depthwise convolution has 9. Above the second, 255 * 127 times as many do not fit
/// into the i32 that they are added in.
static constexpr int64_t kFewestTerms = 16, kMostTerms = 66'000;

/// The number of terms of a sum. Weights have static dims.
static int64_t termsOf(const QuantizableProduct &product) {
  int64_t terms = 1;
  for (auto [dim, at] : llvm::zip(dl::dimsOf(product.getWeight()), product.weightDims))
    if (at < 0)
      terms *= *dl::asConstant(dim);
  return terms;
}

static std::string whyKept(const QuantizableProduct &product, const LayerPatterns &kept,
                           const llvm::SmallBitVector &counted) {
  if (kept.matches(product.op))
    return "--keep-f32 names it";
  if (dl::mentions(dl::dimsOf(product.getActivation()), counted))
    return "the data say how many elements its input has";
  int64_t terms = termsOf(product);
  if (terms < kFewestTerms)
    return "a sum has " + std::to_string(terms) + " terms, too few to pay for conversions";
  if (terms > kMostTerms)
    return "a sum of " + std::to_string(terms) + " terms does not fit into i32";
  return "";
}

std::vector<QuantizableProduct> findQuantizableProducts(func::FuncOp function,
                                                        const LayerPatterns &kept) {
  std::vector<QuantizableProduct> products;
  WeightDependence weights;
  llvm::SmallBitVector counted = dl::countedSymbols(function->getParentOfType<ModuleOp>());
  for (Operation &op : function.front()) {
    auto first = op.getNumOperands() >= 2 ? dl::resultDimsOf(&op, 1) : std::nullopt;
    if (!first || !getElementTypeOrSelf(op.getResult(0)).isF32() ||
        weights.dependsOnWeightsAlone(op.getResult(0)))
      continue;
    QuantizableProduct product = {&op, 1, *first, ""};
    if (!weights.dependsOnWeightsAlone(op.getOperand(1))) {
      auto second = dl::resultDimsOf(&op, 0);
      if (!second || !weights.dependsOnWeightsAlone(op.getOperand(0)))
        continue;
      product.weight = 0;
      product.weightDims = *second;
    }
    product.whyKept = whyKept(product, kept, counted);
    products.push_back(std::move(product));
  }
  return products;
}

SmallVector<Value> activationsOf(ArrayRef<QuantizableProduct> products) {
  llvm::SetVector<Value> activations;
  for (const QuantizableProduct &product : products)
    if (product.whyKept.empty())
      activations.insert(product.getActivation());
  return activations.takeVector();
}

} // namespace dlc
