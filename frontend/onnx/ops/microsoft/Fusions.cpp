//===- Fusions.cpp - What ONNX Runtime makes of several ops of ONNX --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Its optimiser writes files in which ops of the domain com.microsoft stand for several of ONNX's.
// Each becomes what it was made of.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/RecurrentSteps.h"
#include "frontend/onnx/ops/Windows.h"

#include <limits>

using namespace mlir;

namespace dlc::onnx {

//===- Products and their activations -------------------------------------------------------------===//

/// Numbers of the activation that a fused op ends in: those of its own attributes, in their order.
using Numbers = llvm::function_ref<double(size_t place, double otherwise)>;

/// The activation that the attribute `activation` names; x itself where there is none.
static Item activated(NodeImport &node, Item x, Numbers number) {
  std::string name = node.string("activation", "");
  auto at = [&](size_t place, double otherwise) { return item(number(place, otherwise)); };
  if (name.empty())
    return x;
  for (auto [theirs, ours] : {std::pair<StringRef, StringRef>{"Relu", "relu"},
                              {"Sigmoid", "sigmoid"},
                              {"Tanh", "tanh"},
                              {"Softplus", "softplus"},
                              {"Softsign", "softsign"}})
    if (name == theirs)
      return node.call(ours, {x});
  if (name == "LeakyRelu")
    return node.call("leaky_relu", {x}, {{"negative_slope", at(0, 0.01)}});
  if (name == "Elu")
    return node.call("elu", {x}, {{"alpha", at(0, 1)}});
  if (name == "Clip")
    return node.call("clamp", {x, at(0, std::numeric_limits<float>::lowest()),
                               at(1, std::numeric_limits<float>::max())});
  if (name == "HardSigmoid") {
    Item line = node.call("add", {node.call("mul", {x, at(0, 0.2)}), at(1, 0.5)});
    return node.call("clamp", {line, item(0.0), item(1.0)});
  }
  node.unsupported("its activation is " + frontend::quote(name),
                   "; dlc takes Relu, LeakyRelu, Elu, Sigmoid, HardSigmoid, Tanh, Softplus, "
                   "Softsign and Clip");
  return {Item::Poison(), {}};
}

/// A convolution, to which input 3 is added, and an activation.
static bool buildFusedConv(NodeImport &node) {
  Item x = node.tensor(0), weight = node.tensor(1);
  Item y = convolved(node, x, weight, 0, 1, node.has(2) ? std::optional<size_t>(2) : std::nullopt);
  if (node.has(3))
    y = node.call("add", {y, node.tensor(3)});
  const Attribute *found = node.attribute("activation_params");
  node.set(0, activated(node, y, [&](size_t place, double otherwise) {
             return found && place < found->reals.size() ? double(found->reals[place]) : otherwise;
           }));
  return !node.hasFailed();
}

/// Gemm, and an activation.
static bool buildFusedGemm(NodeImport &node) {
  static const StringRef names[] = {"activation_alpha", "activation_beta", "activation_gamma"};
  std::optional<Item> product = gemm(node);
  if (!product)
    return false;
  for (StringRef name : names) // in the file whether or not the activation has them
    node.real(name, 0);
  node.set(0, activated(node, *product, [&](size_t place, double otherwise) {
             return node.real(names[place], otherwise);
           }));
  return !node.hasFailed();
}

/// alpha A' B', the last two dims of each exchanged where it says so.
static bool buildFusedMatMul(NodeImport &node) {
  for (StringRef name : {"transBatchA", "transBatchB"})
    if (node.integer(name, 0) != 0)
      return node.unsupported("its attribute " + frontend::quote(name) + " is set",
                              "; dlc exchanges the last two dims alone");
  auto operand = [&](size_t input, StringRef name) {
    Item x = node.tensor(input);
    if (node.integer(name, 0) == 0 || node.rank(input) < 2)
      return x;
    return node.call("transpose", {x, item(int64_t(-2)), item(int64_t(-1))});
  };
  Item y = node.call("matmul", {operand(0, "transA"), operand(1, "transB")});
  double alpha = node.real("alpha", 1);
  node.set(0, alpha == 1 ? y : node.call("mul", {y, item(alpha)}));
  return !node.hasFailed();
}

//===- Activations --------------------------------------------------------------------------------===//

static Item gelu(NodeImport &node, Item x, StringRef approximate) {
  return node.call("gelu", {x}, {{"approximate", item(approximate)}});
}

static bool buildBiasGelu(NodeImport &node) {
  node.set(0, gelu(node, node.call("add", {node.tensor(0), node.tensor(1)}), "none"));
  return !node.hasFailed();
}

static bool buildFastGelu(NodeImport &node) {
  Item x = node.tensor(0);
  node.set(0, gelu(node, node.has(1) ? node.call("add", {x, node.tensor(1)}) : x, "tanh"));
  return !node.hasFailed();
}

/// x sigmoid(alpha x)
static bool buildQuickGelu(NodeImport &node) {
  double alpha = node.real("alpha", 1.702);
  Item x = node.tensor(0);
  if (alpha == 1) {
    node.set(0, node.call("silu", {x}));
  } else {
    Item gate = node.call("sigmoid", {node.call("mul", {x, item(alpha)})});
    node.set(0, node.call("mul", {x, gate}));
  }
  return !node.hasFailed();
}

//===- Normalizations -----------------------------------------------------------------------------===//

/// Over the last dim. `bias`: the input that holds it, none where the op has none.
static Item normalized(NodeImport &node, StringRef callee, Item x, size_t weight,
                       std::optional<size_t> bias) {
  if (!x.isTensor())
    return x;
  auto size = dl::asConstant(dl::getDims(x.tensorType()).back());
  if (!size) {
    node.unsupported("it normalizes over a symbolic dim", "; dlc needs its number");
    return {Item::Poison(), {}};
  }
  std::vector<std::pair<StringRef, Item>> named{{"weight", node.tensor(weight)},
                                                {"eps", item(node.real("epsilon", 1e-12))}};
  if (bias && node.has(*bias))
    named.push_back({"bias", node.tensor(*bias)});
  return node.call(callee, {x, itemList(SmallVector<int64_t>{*size})}, named);
}

/// x, what skips, and a bias, added and normalized; result 3 is the sum. `shift`: of the
/// normalization, as in `normalized`.
static bool skipNorm(NodeImport &node, StringRef callee, std::optional<size_t> shift, size_t bias) {
  if (node.rank(0) < 2)
    return node.fail("it takes a tensor [N, T, width] or [T, width], got " + node.typeText(0));
  if (node.wants(1) || node.wants(2))
    return node.unsupported("its mean or its deviation is used, as in training",
                            "; dlc gives results 0 and 3");
  Item sum = node.call("add", {node.tensor(0), node.tensor(1)});
  if (node.has(bias))
    sum = node.call("add", {sum, node.tensor(bias)});
  node.set(0, normalized(node, callee, sum, 2, shift));
  if (node.wants(3))
    node.set(3, sum);
  return !node.hasFailed();
}
static bool buildSkipLayerNorm(NodeImport &node) { return skipNorm(node, "layer_norm", 3, 4); }
static bool buildSkipRmsNorm(NodeImport &node) {
  return skipNorm(node, "rms_norm", std::nullopt, 3);
}

/// Rows of three tables, added and normalized; result 1 is how many tokens of each text the mask
/// lets through, result 2 the sum.
static bool buildEmbedLayerNorm(NodeImport &node) {
  enum Input { ids, segments, words, positions, segmentRows, scale, shift, mask, places };
  node.integer("mask_index_type", 1); // whether result 1 is there, which the graph says too
  if (node.rank(ids) != 2)
    return node.fail("its ids are " + node.typeText(ids) + "; expected [N, T]");
  dl::Dims dims = node.dims(ids);
  Item y = node.call("embedding", {node.tensor(ids), node.tensor(words)});
  Item place =
      node.has(places) ? node.tensor(places) : node.call("arange", {Item::dim(dims[1], {})});
  y = node.call("add", {y, node.call("embedding", {place, node.tensor(positions)})});
  if (node.has(segments) && node.has(segmentRows))
    y = node.call("add",
                  {y, node.call("embedding", {node.tensor(segments), node.tensor(segmentRows)})});
  node.set(0, normalized(node, "layer_norm", y, scale, shift));
  if (node.wants(1)) {
    Type i32 = node.builder.getI32Type();
    Item count = node.full(item(int64_t(0)), dl::makeTensor({dims[0]}, i32));
    if (node.has(mask)) {
      Item isOne = node.call("eq", {node.tensor(mask), node.scalar(1, node.dtype(mask))});
      count = node.cast(node.call("sum", {isOne, itemList(SmallVector<int64_t>{1})}), i32);
    }
    node.set(1, count);
  }
  if (node.wants(2))
    node.set(2, y);
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> microsoftFusionRules() {
  static const OddRule rules[] = {
      {"com.microsoft.BiasGelu", 1, buildBiasGelu},
      {"com.microsoft.DynamicQuantizeLSTM", 1, buildQuantizedLstm},
      {"com.microsoft.EmbedLayerNormalization", 1, buildEmbedLayerNorm},
      {"com.microsoft.FastGelu", 1, buildFastGelu},
      {"com.microsoft.FusedConv", 1, buildFusedConv},
      {"com.microsoft.FusedGemm", 1, buildFusedGemm},
      {"com.microsoft.FusedMatMul", 1, buildFusedMatMul},
      {"com.microsoft.QuickGelu", 1, buildQuickGelu},
      {"com.microsoft.SkipLayerNormalization", 1, buildSkipLayerNorm},
      {"com.microsoft.SkipSimplifiedLayerNormalization", 1, buildSkipRmsNorm},
  };
  return rules;
}

} // namespace dlc::onnx
