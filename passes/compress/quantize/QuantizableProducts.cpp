//===- QuantizableProducts.cpp - The products that run on integers ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/QuantizableProducts.h"

#include "ir/analysis/FusionLegality.h"
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/dl/contraction/DLContraction.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

/// Terms of one sum. Below the first number, converting operands and sums takes more time than
/// integers save: a depthwise convolution has 9. Above the second, 255 * 127 times as many do not
/// fit into the i32 that they are added in.
static constexpr int64_t kFewestTerms = 16, kMostTerms = 66'000;

SmallVector<int64_t> summedDims(ArrayRef<int64_t> resultDims) {
  SmallVector<int64_t> summed;
  for (auto [dim, at] : llvm::enumerate(resultDims))
    if (at < 0)
      summed.push_back(dim);
  return summed;
}

/// The number of terms of a sum. Weights have static dims.
static int64_t termsOf(const QuantizableProduct &product) {
  int64_t terms = 1;
  for (auto [dim, at] : llvm::zip(dl::dimsOf(product.getWeight()), product.weightDims))
    if (at < 0)
      terms *= *dl::asConstant(dim);
  return terms;
}

/// Results that each element of the activation is multiplied for. Below this number, to find the
/// range of a row and to quantize it takes more time than integers save.
static constexpr int64_t kFewestReads = 16;

static int64_t readsOf(const QuantizableProduct &product) {
  int64_t reads = 1;
  for (auto [dim, at] : llvm::zip(dl::dimsOf(product.getWeight()), product.weightDims))
    if (at >= 0)
      reads *= *dl::asConstant(dim);
  return reads;
}

static std::string whyKept(const QuantizableProduct &product, const LayerPatterns &kept,
                           const llvm::SmallBitVector &counted, QuantizationScheme scheme) {
  if (kept.matches(product.op))
    return "--keep-f32 names it";
  if (dl::mentions(dl::dimsOf(product.getActivation()), counted))
    return "the data say how many elements its input has";
  int64_t terms = termsOf(product);
  if (terms < kFewestTerms)
    return "a sum has " + std::to_string(terms) + " terms, too few to pay for conversions";
  if (terms > kMostTerms && scheme != QuantizationScheme::fp8)
    return "a sum of " + std::to_string(terms) + " terms does not fit into i32";
  if (auto slower = product.op->getAttrOfType<StringAttr>(dl::kKeptByCost))
    return slower.str();
  if (scheme != QuantizationScheme::dynamic)
    return "";
  if (!dl::resultDimsOf(product.op, 1 - product.weight))
    return "a convolution's windows have no range of their own; --quantize int8 is for these";
  if (int64_t reads = readsOf(product); reads < kFewestReads)
    return "its input is read for " + std::to_string(reads) +
           " results, too few to pay for finding its range";
  return "";
}

std::vector<QuantizableProduct> findQuantizableProducts(func::FuncOp function,
                                                        const LayerPatterns &kept,
                                                        QuantizationScheme scheme) {
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
    product.whyKept = whyKept(product, kept, counted, scheme);
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
