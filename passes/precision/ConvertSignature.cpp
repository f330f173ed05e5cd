//===- ConvertSignature.cpp - Inputs and outputs in another type --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "convert-signature"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_CONVERTSIGNATURE
#include "passes/Passes.h.inc"

namespace {
class ConvertSignature : public impl::ConvertSignatureBase<ConvertSignature> {
public:
  using ConvertSignatureBase::ConvertSignatureBase;

private:
  void runOnOperation() override;
};
} // namespace

static bool mayBeConverted(Type element) {
  return element.isF32() || element.isF16() || element.isBF16();
}

void ConvertSignature::runOnOperation() {
  func::FuncOp function = getOperation();
  Type wanted = dl::dtypeNamed(dtype, &getContext());
  if (!wanted || !mayBeConverted(wanted)) {
    function.emitError("dtype is f16, bf16 or f32, got '") << dtype << "'";
    return signalPassFailure();
  }
  if (function.isExternal())
    return;
  Block &block = function.front();
  dl::Builder builder(function.getLoc(), &getContext());
  builder.setInsertionPointToStart(&block);
  for (BlockArgument argument : block.getArguments()) {
    auto declared = cast<RankedTensorType>(argument.getType());
    if (function.getArgAttr(argument.getArgNumber(), "dl.state") ||
        !mayBeConverted(declared.getElementType()) || declared.getElementType() == wanted)
      continue;
    argument.setType(dl::withElementType(declared, wanted));
    auto cast = dl::CastOp::create(builder, argument, declared.getElementType());
    argument.replaceAllUsesExcept(cast, cast);
    ++numInputs;
  }
  Operation *terminator = block.getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &result : terminator->getOpOperands()) {
    if (function.getResultAttr(result.getOperandNumber(), "dl.state") ||
        !mayBeConverted(getElementTypeOrSelf(result.get())) ||
        getElementTypeOrSelf(result.get()) == wanted)
      continue;
    result.set(builder.cast(result.get(), wanted));
    ++numOutputs;
  }
  function.setType(
      FunctionType::get(&getContext(), block.getArgumentTypes(), terminator->getOperandTypes()));
}

} // namespace dlc
