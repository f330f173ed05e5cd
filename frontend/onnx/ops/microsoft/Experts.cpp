//===- Experts.cpp - Mixtures of experts of ONNX Runtime ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A router gives each token a score for each expert; the token's result is the sum of its k best
// experts' results by their shares. Here each expert reads all tokens, and the share of one that is
// not among the best is 0.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/microsoft/PackedCodes.h"

#include <limits>

using namespace mlir;

namespace dlc::onnx {

namespace {

class Experts {
public:
  Experts(NodeImport &node, bool isQuantized) : node(node), isQuantized(isQuantized) {}
  bool run();

private:
  /// The inputs of a layer; 0: the op has no such input.
  struct Layer {
    size_t weight, bias, scale, zero;
    StringRef bits;
  };

  bool checkForm();
  Item weightOf(const Layer &layer);
  Item dequantized(const Layer &layer);
  Item applied(const Layer &layer, Item x);
  std::optional<Item> activated(Item x, Item tokens);
  Item gelu(Item x);
  Item gated(Item gate, Item up);
  Item shares(Item scores);

  NodeImport &node;
  bool isQuantized;
  Layer first, second, third;
  std::string activation;
  int64_t fusion = 0, count = 0;
};

} // namespace

bool Experts::checkForm() {
  activation = node.string("activation_type", "relu");
  fusion = node.integer("swiglu_fusion", 0);
  count = node.integer("k", 1);
  first = isQuantized ? Layer{2, 4, 3, 11, "fc1_expert_weight_bits"} : Layer{2, 3, 0, 0, ""};
  second = isQuantized ? Layer{5, 7, 6, 12, "fc2_expert_weight_bits"} : Layer{4, 5, 0, 0, ""};
  third = isQuantized ? Layer{8, 10, 9, 13, "fc3_expert_weight_bits"} : Layer{6, 7, 0, 0, ""};
  node.integer("accuracy_level", 0); // the least precision: f32 is above all
  if (isQuantized)
    for (const Layer &layer : {first, second, third})
      node.integer(layer.bits, 4); // in the file whether or not the layer is there
  for (StringRef name : {"use_sparse_mixer", "swiglu_limit_after_activation"})
    if (node.integer(name, 0) != 0)
      return node.unsupported("its attribute " + frontend::quote(name) + " is set",
                              "; dlc takes 0");
  if (std::string type = node.string("quant_type", "int"); type != "int")
    return node.unsupported("its weights are of the type " + frontend::quote(type),
                            "; dlc takes integers");
  if (node.integer("weights_prepacked", 0) > 0)
    return node.unsupported("its weights are in the layout of a kernel of ONNX Runtime",
                            "; dlc takes weights_prepacked 0");
  for (size_t input : {size_t(0), size_t(1), first.weight, second.weight})
    if (!node.has(input))
      return node.fail("it needs its input " + llvm::Twine(input));
  for (size_t input : {first.weight, second.weight})
    if (node.rank(input) != 3 || !node.type(input).hasStaticShape())
      return node.fail("its input " + llvm::Twine(input) + " is " + node.typeText(input) +
                       "; expected [experts, outputs, inputs]");
  if (node.rank(1) != 2 || node.dims(1)[1] != node.dims(first.weight)[0])
    return node.fail("its scores are " + node.typeText(1) + " for experts " +
                     node.typeText(first.weight) + "; expected [tokens, experts]");
  return !node.hasFailed();
}

/// (codes - zero point) * scale, each of a row of a weight or of a block of it.
Item Experts::dequantized(const Layer &layer) {
  int64_t bits = node.integer(layer.bits, node.integer("expert_weight_bits", 4)),
          block = node.integer("block_size", 0);
  SmallVector<int64_t> shape(node.type(layer.weight).getShape());
  Type dtype = node.dtype(0);
  if ((bits != 2 && bits != 4 && bits != 8) || !node.has(layer.scale)) {
    node.unsupported("its weights have " + llvm::Twine(bits) + " bits, or no scales",
                     "; dlc takes 2, 4 or 8, and scales");
    return {Item::Poison(), {}};
  }
  int64_t inputs = shape[2] * 8 / bits, blocks = block > 0 ? inputs / block : 1;
  if (block > 0 && inputs % block) {
    node.fail("its blocks of " + llvm::Twine(block) + " numbers do not divide rows of " +
              llvm::Twine(inputs));
    return {Item::Poison(), {}};
  }
  auto spread = [&](Item x) { // [experts, outputs, blocks] or without the last dim
    x = node.reshape(x, {node.dim(shape[0]), node.dim(shape[1]), node.dim(blocks)});
    return blocks == 1 ? x : node.call("repeat_interleave", {x, item(block), item(int64_t(2))});
  };
  Item zero = node.scalar(static_cast<double>(int64_t(1) << (bits - 1)), dtype);
  if (node.has(layer.zero)) {
    int64_t along = block > 0 ? blocks : shape[1];
    zero = node.cast(spread(unpacked(node, node.tensor(layer.zero), bits, along)), dtype);
  }
  Item codes = node.cast(unpacked(node, node.tensor(layer.weight), bits, inputs), dtype);
  return node.call(
      "mul", {node.call("sub", {codes, zero}), spread(node.cast(node.tensor(layer.scale), dtype))});
}

/// [experts, inputs, outputs]
Item Experts::weightOf(const Layer &layer) {
  Item weight = isQuantized ? dequantized(layer) : node.tensor(layer.weight);
  return node.permute(weight, {0, 2, 1});
}

/// x, [tokens, inputs] or of each expert, as each expert's [tokens, outputs].
Item Experts::applied(const Layer &layer, Item x) {
  Item y = node.call("matmul", {x, weightOf(layer)});
  if (!node.has(layer.bias))
    return y;
  return node.call("add", {y, node.call("unsqueeze", {node.tensor(layer.bias), item(int64_t(1))})});
}

Item Experts::gelu(Item x) {
  return node.call("gelu", {x}, {{"approximate", item(StringRef("tanh"))}});
}

/// The gated activation of two halves of a layer.
Item Experts::gated(Item gate, Item up) {
  double alpha = node.real("activation_alpha", 1), beta = node.real("activation_beta", 0),
         limit = node.real("swiglu_limit", std::numeric_limits<double>::infinity());
  if (activation == "geglu")
    return node.call("mul", {gelu(gate), up});
  if (limit < std::numeric_limits<double>::infinity()) {
    gate = node.call("minimum", {gate, item(limit)});
    up = node.call("clamp", {up, item(-limit), item(limit)});
  }
  Item share = node.call("sigmoid", {node.call("mul", {gate, item(alpha)})});
  return node.call("mul", {node.call("mul", {gate, share}), node.call("add", {up, item(beta)})});
}

/// Returns the input of the second layer. `x` is the result of the first one for `tokens`.
std::optional<Item> Experts::activated(Item x, Item tokens) {
  for (StringRef name : {"activation_alpha", "activation_beta", "swiglu_limit"})
    node.real(name, 0); // in the file whether or not the activation has them
  if (activation == "swiglu" || activation == "geglu") {
    if (fusion == 0 && !node.has(third.weight)) {
      node.fail("it has no third layer, and swiglu_fusion 0; expected one of them");
      return std::nullopt;
    }
    if (fusion == 0)
      return gated(x, applied(third, tokens));
    auto width = x.isTensor() ? dl::asConstant(dl::getDims(x.tensorType()).back()) : std::nullopt;
    int64_t half = width.value_or(0) / 2;
    auto part = [&](int64_t which) {
      return fusion == 1
                 ? node.call("slice",
                             {x, item(int64_t(-1)), item(which), item(2 * half), item(int64_t(2))})
                 : node.call("narrow", {x, item(int64_t(-1)), item(which * half), item(half)});
    };
    return gated(part(0), part(1));
  }
  Item y = x;
  if (activation == "gelu")
    y = gelu(x);
  else if (activation == "relu" || activation == "silu")
    y = node.call(activation, {x});
  else if (activation == "relu2")
    y = node.call("square", {node.call("relu", {x})});
  else if (activation != "identity") {
    node.unsupported("its activation_type is " + frontend::quote(activation),
                     "; dlc takes relu, relu2, gelu, silu, swiglu, geglu and identity");
    return std::nullopt;
  }
  return node.has(third.weight) ? node.call("mul", {y, applied(third, tokens)}) : y;
}

/// The share of each expert in a token, 0 of those that are not among its best: [tokens, experts].
Item Experts::shares(Item scores) {
  constexpr size_t kShares = 14;
  bool normalizes = node.integer("normalize_routing_weights", 0) != 0;
  Type wide = node.builder.getF32Type(), dtype = node.dtype(0);
  auto experts = dl::asConstant(node.dims(1)[1]);
  if (!experts || count < 1 || count > *experts) {
    node.fail("it takes the best " + llvm::Twine(count) + " of the experts in " + node.typeText(1));
    return scores;
  }
  Item best = node.call("topk", {scores, item(count), item(int64_t(-1))});
  if (!best.is<Item::List>())
    return {Item::Poison(), {}};
  Item places = node.call("unsqueeze", {best.as<Item::List>()[1], item(int64_t(-1))});
  Item isBest = node.call("any", {node.call("eq", {places, node.call("arange", {item(*experts)})}),
                                  itemList(SmallVector<int64_t>{1})});
  bool isGiven = isQuantized && node.has(kShares);
  Item all = isGiven ? node.cast(node.tensor(kShares), wide)
                     : node.call("softmax", {node.cast(scores, wide), item(int64_t(-1))});
  Item kept = node.call("where", {isBest, all, node.scalar(0, wide)});
  if (normalizes)
    kept = node.call(
        "div", {kept, node.call("sum", {kept, itemList(SmallVector<int64_t>{-1}), item(true)})});
  return node.cast(kept, dtype);
}

bool Experts::run() {
  if (!checkForm())
    return false;
  for (size_t input = 15; isQuantized && input < node.inputCount(); ++input)
    if (node.has(input))
      return node.unsupported("it has its input " + llvm::Twine(input) + ", a scale of floats",
                              "; dlc takes weights of integers");
  dl::Dims dims = node.dims(0), flat{node.dims(1)[0], dims.back()};
  Item x = node.reshape(node.tensor(0), flat);
  std::optional<Item> inner = activated(applied(first, x), x);
  if (!inner || node.hasFailed())
    return false;
  Item each = applied(second, *inner);                       // [experts, tokens, width]
  Item share = node.permute(shares(node.tensor(1)), {1, 0}); // [experts, tokens]
  Item y = node.call("mul", {each, node.call("unsqueeze", {share, item(int64_t(-1))})});
  y = node.call("sum", {y, itemList(SmallVector<int64_t>{0})});
  node.set(0, node.hasFailed() ? y : node.reshape(y, dims));
  return !node.hasFailed();
}

static bool buildExperts(NodeImport &node) { return Experts(node, false).run(); }
static bool buildQuantizedExperts(NodeImport &node) { return Experts(node, true).run(); }

llvm::ArrayRef<OddRule> expertRules() {
  static const OddRule rules[] = {
      {"com.microsoft.MoE", 1, buildExperts},
      {"com.microsoft.QMoE", 1, buildQuantizedExperts},
  };
  return rules;
}

} // namespace dlc::onnx
