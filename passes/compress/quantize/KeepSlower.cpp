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
  void decide(Operation *product, ArrayRef<TargetGain> gains);
};
} // namespace

void KeepSlower::decide(Operation *product, ArrayRef<TargetGain> gains) {
  SmallVector<NamedAttribute> slower;
  Builder builder(&getContext());
  for (const TargetGain &gain : gains)
    if (gain.isLoss())
      slower.push_back(
          builder.getNamedAttr(gain.target, builder.getStringAttr(lossText(scheme, gain))));
  if (slower.empty())
    return;
  ++numKept;
  if (slower.size() == gains.size())
    product->setAttr(dl::kKeptByCost, builder.getStringAttr(lossText(scheme, gains)));
  else
    product->setAttr(dl::kKeptOn, builder.getDictionaryAttr(slower));
}

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
      if (product.whyKept.empty())
        decide(product.op, gainsOfIntegers(product, of));
    return;
  }
  for (const PackableWeight &weight : findPackableWeights(function, none))
    if (auto gains = gainsOfFewBits(weight, scheme == "w8" ? 8 : 4, of); weight.whyKept.empty())
      for (OpOperand *use : weight.products)
        decide(use->getOwner(), gains);
}

} // namespace dlc
