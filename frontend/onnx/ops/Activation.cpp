//===- Activation.cpp - Activations of ONNX -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// clip(alpha x + beta, 0, 1)
static bool buildHardSigmoid(NodeImport &node) {
  Item line = node.call("add", {node.call("mul", {node.tensor(0), item(node.real("alpha", 0.2))}),
                                item(node.real("beta", 0.5))});
  node.set(0, node.call("clamp", {line, item(0.0), item(1.0)}));
  return !node.hasFailed();
}

/// gamma (x for x > 0, else alpha e^x - alpha)
static bool buildSelu(NodeImport &node) {
  constexpr double kAlpha = 1.67326319217681884765625, kGamma = 1.05070102214813232421875;
  double alpha = node.real("alpha", kAlpha), gamma = node.real("gamma", kGamma);
  Item x = node.tensor(0);
  if (alpha == kAlpha && gamma == kGamma)
    node.set(0, node.call("selu", {x}));
  else
    node.set(0, node.call("mul", {node.call("elu", {x}, {{"alpha", item(alpha)}}), item(gamma)}));
  return !node.hasFailed();
}

/// x above alpha, else 0, which is what becomes of NaN.
static bool buildThresholdedRelu(NodeImport &node) {
  double alpha = node.real("alpha", 1.0);
  Item x = node.tensor(0);
  node.set(
      0, node.call("where", {node.call("gt", {x, item(alpha)}), x, node.call("zeros_like", {x})}));
  return !node.hasFailed();
}

/// x + bias below -lambda, x - bias above lambda, else 0; of integers without the fraction.
static bool buildShrink(NodeImport &node) {
  double lambda = node.real("lambd", 0.5), bias = node.real("bias", 0.0);
  Type dtype = node.dtype(0);
  Item x = node.tensor(0);
  if (!isa<FloatType>(dtype))
    x = node.cast(x, node.builder.getF64Type());
  Item zero = node.call("zeros_like", {x});
  Item above = node.call(
      "where", {node.call("gt", {x, item(lambda)}), node.call("sub", {x, item(bias)}), zero});
  Item y = node.call(
      "where", {node.call("lt", {x, item(-lambda)}), node.call("add", {x, item(bias)}), above});
  node.set(0, node.cast(y, dtype));
  return !node.hasFailed();
}

/// x sigmoid(alpha x), as x / (1 + e^(-alpha x)): far below 0 that is 0, as silu is.
static Item swish(NodeImport &node) {
  double alpha = node.real("alpha", 1.0);
  Item x = node.tensor(0);
  if (alpha == 1.0 || node.hasFailed())
    return node.call("silu", {x});
  Type dtype = node.dtype(0);
  Item wide = node.cast(x, dtype.isF64() ? dtype : node.builder.getF32Type());
  Item power = node.call("exp", {node.call("mul", {wide, item(-alpha)})});
  return node.cast(node.call("div", {wide, node.call("add", {power, item(1.0)})}), dtype);
}
static bool buildSwish(NodeImport &node) {
  node.set(0, swish(node));
  return !node.hasFailed();
}
static bool buildSwiGlu(NodeImport &node) {
  node.set(0, node.call("mul", {swish(node), node.tensor(1)}));
  return !node.hasFailed();
}

/// The slope broadcasts to x, as any tensor does.
static bool buildPRelu(NodeImport &node) {
  Item x = node.tensor(0), slope = node.tensor(1);
  Item scaled = node.call("mul", {x, slope});
  node.set(0, node.call("where", {node.call("lt", {x, node.scalar(0, node.dtype(0))}), scaled, x}));
  return !node.hasFailed();
}

/// Before opset 13 the dims from `axis` on are one.
static bool softmax(NodeImport &node, StringRef callee) {
  auto matrix = flattened(node);
  if (!matrix || node.hasFailed())
    return false;
  node.set(0, node.reshape(node.call(callee, {*matrix, item(int64_t(1))}), node.dims(0)));
  return !node.hasFailed();
}
static bool buildSoftmax(NodeImport &node) { return softmax(node, "softmax"); }
static bool buildLogSoftmax(NodeImport &node) { return softmax(node, "log_softmax"); }

/// 1 at the first largest element along the axis.
static bool buildHardmax(NodeImport &node) {
  dl::Dims dims = node.dims(0);
  auto rank = static_cast<int64_t>(dims.size());
  auto axis = node.axis(node.integer("axis", node.opset < 13 ? 1 : -1), rank);
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  dl::Dims flatDims = dims;
  if (node.opset < 13) {
    auto matrix = flattened(node);
    if (!matrix || !matrix->isTensor())
      return false;
    x = *matrix;
    flatDims = dl::getDims(x.tensorType());
    axis = 1;
  }
  Item best = node.call("argmax", {x, item(*axis), item(true)});
  dl::Dims along(flatDims.size(), node.dim(1));
  along[*axis] = flatDims[*axis];
  Item positions = node.reshape(node.call("arange", {Item::dim(flatDims[*axis], {})}), along);
  Item hit = node.cast(node.call("eq", {best, positions}), node.dtype(0));
  node.set(0, node.reshape(hit, dims));
  return !node.hasFailed();
}

/// log(1 + e^x) is x from 37 on in f64; softplus's own threshold of 20 serves f32.
static bool buildSoftplus(NodeImport &node) {
  std::vector<std::pair<StringRef, Item>> named;
  if (node.dtype(0).isF64())
    named.push_back({"threshold", item(40.0)});
  node.set(0, node.call("softplus", {node.tensor(0)}, named));
  return !node.hasFailed();
}

static bool buildMicrosoftGelu(NodeImport &node) {
  node.set(0, node.call("gelu", {node.tensor(0)}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> activationRules() {
  static const OddRule rules[] = {
      {"HardSigmoid", 1, buildHardSigmoid},
      {"Selu", 6, buildSelu},
      {"ThresholdedRelu", 1, buildThresholdedRelu},
      {"Shrink", 1, buildShrink},
      {"Softplus", 1, buildSoftplus},
      {"Swish", 1, buildSwish},
      {"SwiGLU", 1, buildSwiGlu},
      {"PRelu", 1, buildPRelu},
      {"Softmax", 1, buildSoftmax},
      {"LogSoftmax", 1, buildLogSoftmax},
      {"Hardmax", 1, buildHardmax},
      {"com.microsoft.Gelu", 1, buildMicrosoftGelu},
  };
  return rules;
}

} // namespace dlc::onnx
