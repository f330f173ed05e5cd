//===- Elementwise.cpp - Arithmetic, comparisons and casts of ONNX ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

/// Max, Min, Sum and Mean of any number of inputs.
static bool fold(NodeImport &node, StringRef callee) {
  if (!node.has(0))
    return node.fail("it needs an input");
  Item result = node.tensor(0);
  for (size_t i = 1; i < node.inputCount(); ++i)
    result = node.call(callee, {result, node.tensor(i)});
  node.set(0, result);
  return !node.hasFailed();
}

static bool buildMax(NodeImport &node) { return fold(node, "maximum"); }
static bool buildMin(NodeImport &node) { return fold(node, "minimum"); }
static bool buildSum(NodeImport &node) { return fold(node, "add"); }

static bool buildMean(NodeImport &node) {
  Item sum = node.tensor(0);
  for (size_t i = 1; i < node.inputCount(); ++i)
    sum = node.call("add", {sum, node.tensor(i)});
  node.set(0, node.call("div", {sum, item(static_cast<double>(node.inputCount()))}));
  return !node.hasFailed();
}

/// Of integers, towards 0.
static bool buildDiv(NodeImport &node) {
  Item x = node.tensor(0), other = node.tensor(1);
  if (isa<FloatType>(node.dtype(0)))
    node.set(0, node.call("div", {x, other}));
  else
    node.set(0, node.call("div", {x, other}, {{"rounding_mode", item(StringRef("trunc"))}}));
  return !node.hasFailed();
}

static bool buildMod(NodeImport &node) {
  bool isTruncated = node.integer("fmod", 0) != 0;
  node.set(0, node.call(isTruncated ? "fmod" : "remainder", {node.tensor(0), node.tensor(1)}));
  return !node.hasFailed();
}

/// The result has the dtype of the base, whatever that of the exponent.
static bool buildPow(NodeImport &node) {
  Type dtype = node.dtype(0);
  const Known *exponent = node.known(1);
  auto numbers = exponent && exponent->numbers.size() == 1 && exponent->shape.size() <= 1
                     ? exponent->reals()
                     : std::nullopt;
  if (numbers && isa<FloatType>(dtype)) {
    double power = numbers->front();
    Item x = node.tensor(0);
    node.set(0, power == 2     ? node.call("square", {x})
                : power == 0.5 ? node.call("sqrt", {x})
                               : node.call("pow", {x, item(power)}));
    return !node.hasFailed();
  }
  Item x = node.tensor(0), y = node.tensor(1);
  if (!isa<FloatType>(dtype) && isa<FloatType>(node.dtype(1))) {
    x = node.cast(x, node.dtype(1));
    node.set(0, node.cast(node.call("pow", {x, y}), dtype));
  } else {
    node.set(0, node.call("pow", {x, node.cast(y, dtype)}));
  }
  return !node.hasFailed();
}

static bool buildClip(NodeImport &node) {
  Item x = node.tensor(0);
  Type dtype = node.dtype(0);
  bool isAttribute = node.opset < 11;
  StringRef bounds[] = {"min", "max"};
  std::vector<std::pair<StringRef, Item>> numbers;
  bool areNumbers = true;
  for (size_t i : {0, 1}) {
    if (isAttribute ? !node.hasAttribute(bounds[i]) : !node.has(i + 1))
      continue;
    auto known = isAttribute || !node.known(i + 1) ? std::nullopt : node.known(i + 1)->reals();
    areNumbers &= isAttribute || (known && known->size() == 1);
    double bound = isAttribute ? node.real(bounds[i], 0) : areNumbers ? known->front() : 0;
    areNumbers &= std::isfinite(bound);
    numbers.push_back({bounds[i], {bound, {}}});
  }
  if (areNumbers && isa<FloatType>(dtype)) {
    node.set(0, numbers.empty() ? x : node.call("clamp", {x}, numbers));
    return !node.hasFailed();
  }
  StringRef functions[] = {"maximum", "minimum"};
  for (size_t i : {0, 1}) {
    if (isAttribute && node.hasAttribute(bounds[i]))
      x = node.call(functions[i], {x, node.scalar(node.real(bounds[i], 0), dtype)});
    else if (!isAttribute && node.has(i + 1))
      x = node.call(functions[i], {x, node.tensor(i + 1)});
  }
  node.set(0, x);
  return !node.hasFailed();
}

/// The dtype that ONNX calls by this number; null, reported, where dlc does not compute with it.
static Type dtypeNamed(NodeImport &node, int64_t dataType) {
  auto type = elementType(dataType);
  Type dtype = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
  if (!dtype)
    node.unsupported("it converts to " + dataTypeName(dataType),
                     "; dlc computes with f64, f32, f16, bf16, i64, i32, i16, i8, u8 and bool");
  return dtype;
}

static bool convert(NodeImport &node, Type dtype) {
  node.integer("saturate", 1);
  node.attribute("round_mode");
  Item x = node.tensor(0);
  if (node.hasFailed() || !dtype)
    return false;
  if (dtype == node.dtype(0))
    node.alias(0, 0);
  else
    node.set(0, node.cast(x, dtype));
  return !node.hasFailed();
}

static bool buildCast(NodeImport &node) {
  return convert(node, dtypeNamed(node, node.integer("to", 0)));
}
static bool buildCastLike(NodeImport &node) {
  if (!node.has(1))
    return node.fail("it needs its input 1");
  return convert(node, node.dtype(1));
}

static bool buildIdentity(NodeImport &node) {
  node.alias(0, 0);
  return !node.hasFailed();
}

/// In inference it changes nothing; its mask is true everywhere.
static bool buildDropout(NodeImport &node) {
  node.attribute("seed");
  node.attribute("ratio");
  const Known *training = node.has(2) ? node.known(2) : nullptr;
  auto truth = training ? training->integers() : std::nullopt;
  if (node.has(2) && (!truth || truth->size() != 1 || truth->front())) {
    const Known *ratio = node.has(1) ? node.known(1) : nullptr;
    auto rate = ratio ? ratio->reals() : std::nullopt;
    if (!truth || !rate || rate->size() != 1 || rate->front() != 0)
      return node.unsupported("it is in training mode",
                              "; dlc runs models in inference: export it so");
  }
  node.alias(0, 0);
  if (node.wants(1))
    node.set(1, node.call("full_like", {node.tensor(0), item(true)},
                          {{"dtype", item(Type(node.builder.getI1Type()))}}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> elementwiseRules() {
  static const OddRule rules[] = {
      {"Max", 1, buildMax},           {"Min", 1, buildMin},           {"Sum", 1, buildSum},
      {"Mean", 1, buildMean},         {"Div", 1, buildDiv},           {"Mod", 1, buildMod},
      {"Pow", 1, buildPow},           {"Clip", 1, buildClip},         {"Cast", 1, buildCast},
      {"CastLike", 1, buildCastLike}, {"Identity", 1, buildIdentity}, {"Dropout", 1, buildDropout},
  };
  return rules;
}

} // namespace dlc::onnx
