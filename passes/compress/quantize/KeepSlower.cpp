//===- KeepSlower.cpp - Products that quantization would make slower -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/Passes.h"
#include "passes/compress/quantize/QuantizationGain.h"

#define DEBUG_TYPE "keep-slower"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_KEEPSLOWER
#include "passes/Passes.h.inc"

namespace {
class KeepSlower : public impl::KeepSlowerBase<KeepSlower> {
public:
  using KeepSlowerBase::KeepSlowerBase;

private:
  void runOnOperation() override;
  void keep(Operation *product, ArrayRef<TargetGain> gains) {
    product->setAttr(dl::kKeptByCost, StringAttr::get(&getContext(), lossText(scheme, gains)));
    ++numKept;
  }
};
} // namespace

void KeepSlower::runOnOperation() {
  func::FuncOp function = getOperation();
  if (scheme != "int8" && scheme != "w8" && scheme != "w4") {
    function.emitError("scheme is int8, w8 or w4, got '") << scheme << "'";
    return signalPassFailure();
  }
  if (function.isExternal())
    return;
  const std::vector<std::string> names(targets.begin(), targets.end());
  const GainTargets of = {names, precision};
  auto none = llvm::cantFail(LayerPatterns::create({}));
  if (scheme == "int8") {
    for (const QuantizableProduct &product : findQuantizableProducts(function, none))
      if (auto gains = gainsOfIntegers(product, of); product.whyKept.empty() && isSlower(gains))
        keep(product.op, gains);
    return;
  }
  for (const PackableWeight &weight : findPackableWeights(function, none))
    if (auto gains = gainsOfFewBits(weight, scheme == "w8" ? 8 : 4, of);
        weight.whyKept.empty() && isSlower(gains))
      for (OpOperand *use : weight.products)
        keep(use->getOwner(), gains);
}

} // namespace dlc
