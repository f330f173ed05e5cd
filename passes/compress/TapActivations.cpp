//===- TapActivations.cpp - Activations as results, to be measured ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLBuilder.h"
#include "passes/Passes.h"
#include "passes/compress/PackableWeights.h"
#include "passes/compress/QuantizableProducts.h"

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

  Builder builder(&getContext());
  SmallVector<Type> types = llvm::to_vector(ValueRange(taps).getTypes());
  llvm::append_range(types, function.getResultTypes());
  SmallVector<Attribute> attributes;
  for (size_t i = 0; i < taps.size(); ++i)
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("dl.name", builder.getStringAttr("tap." + std::to_string(i)))));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    attributes.push_back(function.getResultAttrDict(i) ? function.getResultAttrDict(i)
                                                       : builder.getDictionaryAttr({}));

  Operation *terminator = function.front().getTerminator();
  terminator->insertOperands(0, taps);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
}

} // namespace dlc
