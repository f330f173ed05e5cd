//===- TapActivations.cpp - Activations as results, to be measured ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/buffers/PrependResults.h"
#include "passes/compress/quantize/PackableWeights.h"
#include "passes/compress/quantize/QuantizableProducts.h"

#define DEBUG_TYPE "tap-activations"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_TAPACTIVATIONS
#include "passes/Passes.h.inc"

namespace {
class TapActivations : public impl::TapActivationsBase<TapActivations> {
public:
  using TapActivationsBase::TapActivationsBase;

private:
  void runOnOperation() override;
};
} // namespace

void TapActivations::runOnOperation() {
  func::FuncOp function = getOperation();
  auto kept = LayerPatterns::keptByPass(function, *keepF32);
  if (failed(kept))
    return signalPassFailure();
  if (function.isExternal())
    return;
  SmallVector<Value> taps = packable ? activationsOf(findPackableWeights(function, *kept))
                                     : activationsOf(findQuantizableProducts(function, *kept));

  std::vector<std::string> names;
  for (size_t i = 0; i < taps.size(); ++i)
    names.push_back("tap." + std::to_string(i));
  prependResults(function, taps, names);
}

} // namespace dlc
