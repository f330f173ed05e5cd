//===- Loss.cpp - Losses of ONNX ----------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// Minus the logarithm x[n, target[n, ...], ...] times the weight of the class, as `reduction`
/// says; a target of ignore_index counts for nothing. x is [N, C, ...], target [N, ...], the
/// weights, input 2 of the node, [C].
static Item logLikelihood(NodeImport &node, const Item &x, Item target) {
  std::string reduction = node.string("reduction", "mean");
  const Attribute *ignored = node.attribute("ignore_index");
  if (!x.isTensor() || !target.isTensor())
    return x.isTensor() ? target : x;
  dl::Dims dims = dl::getDims(x.tensorType()), picked = dims,
           kept = dl::getDims(target.tensorType());
  Type dtype = x.tensorType().getElementType();
  Type positions = target.tensorType().getElementType();
  if (dims.size() < 2 || kept.size() + 1 != dims.size()) {
    node.fail("it takes scores [N, C, ...] and targets [N, ...], got " +
              dl::text(x.as<mlir::Value>()) + " and " + dl::text(target.as<mlir::Value>()));
    return {Item::Poison(), {}};
  }
  picked[1] = node.dim(1);
  Item counts;
  bool countsAll = !ignored;
  if (ignored) {
    int64_t index = node.integer("ignore_index", 0);
    counts = node.call("ne", {target, node.scalar(static_cast<double>(index), positions)});
    target = node.call("where", {counts, target, node.scalar(0, positions)});
  }
  Item found = node.call("gather", {x, item(int64_t(1)), node.reshape(target, picked)});
  Item loss = node.call("neg", {node.reshape(found, kept)});
  Item weight;
  bool hasWeight = node.has(2);
  if (hasWeight) {
    weight = node.call("index", {node.tensor(2), target});
    if (!countsAll)
      weight = node.call("where", {counts, weight, node.scalar(0, dtype)});
  } else if (!countsAll) {
    weight = node.cast(counts, dtype);
    hasWeight = true;
  }
  if (hasWeight)
    loss = node.call("mul", {loss, weight});
  if (reduction == "none")
    return loss;
  if (reduction == "mean" && !hasWeight)
    return node.call("mean", {loss});
  Item sum = node.call("sum", {loss});
  return reduction == "sum" ? sum : node.call("div", {sum, node.call("sum", {weight})});
}

static bool buildNegativeLogLikelihood(NodeImport &node) {
  node.set(0, logLikelihood(node, node.tensor(0), node.tensor(1)));
  return !node.hasFailed();
}

/// Its second result is the logarithm of the softmax.
static bool buildSoftmaxCrossEntropy(NodeImport &node) {
  Item logarithm = node.call("log_softmax", {node.tensor(0), item(int64_t(1))});
  node.set(0, logLikelihood(node, logarithm, node.tensor(1)));
  node.set(1, logarithm);
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> lossRules() {
  static const OddRule rules[] = {{"NegativeLogLikelihoodLoss", 12, buildNegativeLogLikelihood},
                                  {"SoftmaxCrossEntropyLoss", 12, buildSoftmaxCrossEntropy}};
  return rules;
}

} // namespace dlc::onnx
