//===- TrainingMode.cpp - Norms and dropouts as training has them -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/step/StepBuilder.h"

#include "frontend/dl/library/Library.h"
#include "tools/driver/base/Output.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

static dl::Term sizeOf(dl::Builder &b, const dl::Dims &dims) {
  AffineExpr count = dl::normalize(dl::product(dims, b.getContext()));
  return {b.make<dl::ScalarTensorOp>(dl::dimsMap({count}, b.getContext()),
                                     TypeAttr::get(b.getF32Type())),
          b};
}

int StepBuilder::keepAverages(dl::BatchNormOp norm) {
  double momentum = norm.getMomentum().convertToDouble();
  if (momentum < 0) {
    norm.emitError("in training it keeps its statistics in a way that dlc does not have; expected "
                   "a batch norm with a number as momentum, or --norms stored");
    return kUnsupported;
  }
  dl::Builder b(norm);
  dl::Term x(norm.getX(), b);
  SmallVector<int64_t> axes;
  dl::Dims over;
  for (auto [axis, size] : llvm::enumerate(x.dims()))
    if (axis != 1) {
      axes.push_back(static_cast<int64_t>(axis));
      over.push_back(size);
    }
  dl::Term mean = x.make<dl::MeanOp>(ArrayRef<int64_t>(axes), false, TypeAttr());
  dl::Term variance = x.make<dl::VarOp>(ArrayRef<int64_t>(axes), false, IntegerAttr(), false);
  auto average = [&](unsigned operand, const dl::Term &now, const dl::Term &kept) {
    auto weight = norm->getOperand(operand).getDefiningOp<dl::WeightOp>();
    noteFirst(weight);
    dl::Term held(addState(weight.getName(), weight.getType()), b);
    setNext(held.value(), (held + (kept - held) * momentum).value());
    norm->setOperand(operand, now.value());
  };
  average(1, mean, mean);
  // The variance that PyTorch keeps is that of the distribution, and not that of the batch.
  dl::Term count = sizeOf(b, over);
  average(2, variance,
          norm.getBiased() ? variance : variance * count / where(count <= 1.0, 1.0, count - 1.0));
  return kOk;
}

int StepBuilder::useBatchStatistics() {
  if (options.norms == NormStatistics::stored)
    return kOk;
  for (auto norm : llvm::make_early_inc_range(function.getOps<dl::BatchNormOp>())) {
    auto isWeight = [](Value value) { return value.getDefiningOp<dl::WeightOp>() != nullptr; };
    bool isOwn = isWeight(norm.getRunningMean()) && isWeight(norm.getRunningVar());
    bool learns = norm.getAffine().empty() ||
                  llvm::any_of(norm.getAffine(), [&](Value weight) { return isTrained(weight); });
    if (!isOwn || !learns)
      continue;
    if (int code = keepAverages(norm))
      return code;
  }
  return kOk;
}

static StringRef untrained(StringRef function) {
  return function == "lstm"    ? "it drops elements between its layers"
         : function == "rrelu" ? "it draws its slopes"
                               : "";
}

int StepBuilder::dropElements() {
  Value generator;
  for (auto drop : llvm::make_early_inc_range(function.getOps<dl::DropoutOp>())) {
    if (StringRef what = untrained(drop.getFunction()); !what.empty()) {
      drop.emitError("in training " + what + ", which dlc does not do; expected a layer without");
      return kUnsupported;
    }
    double p = drop.getP().convertToDouble();
    if (p == 0) {
      drop.replaceAllUsesWith(drop.getX());
      drop.erase();
      continue;
    }
    Snippet snippet(model, "dropout");
    std::string type = dl::text(drop.getX());
    snippet.inputs.push_back({"x", type});
    snippet.outputs.push_back({"y", type});
    snippet.statements.push_back(
        llvm::formatv("y = {0}(x, {1}, training=true)", drop.getFunction(), numberText(p)));
    if (int code = snippet.import())
      return code;
    if (!generator) {
      generator = addState(frontend::kGenerator, snippet.types().back());
      nexts.push_back({generator, generator});
    }
    OpBuilder builder(drop);
    Value held = llvm::find_if(nexts, [&](auto &next) { return next.first == generator; })->second;
    SmallVector<Value> made = snippet.build(builder, {drop.getX(), held});
    llvm::find_if(nexts, [&](auto &next) { return next.first == generator; })->second = made[1];
    drop.replaceAllUsesWith(made[0]);
    drop.erase();
  }
  return kOk;
}

} // namespace dlc
