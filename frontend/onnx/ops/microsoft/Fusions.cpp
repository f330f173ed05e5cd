//===- Fusions.cpp - What ONNX Runtime makes of several ops of ONNX -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Its optimiser writes files in which ops of the domain com.microsoft stand for several of ONNX's.
// Each becomes what it was made of.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/RecurrentSteps.h"
#include "frontend/onnx/ops/Windows.h"

#include <limits>

using namespace mlir;

namespace dlc::onnx {

//===- Products and their activations ---------------------------------------------------------===//

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

/// The activation, whose numbers are attributes of their own.
static Item activatedByNames(NodeImport &node, Item x) {
  static const StringRef names[] = {"activation_alpha", "activation_beta", "activation_gamma"};
  for (StringRef name : names) // in the file whether or not the activation has them
    node.real(name, 0);
  return activated(
      node, x, [&](size_t place, double otherwise) { return node.real(names[place], otherwise); });
}

/// Gemm, and an activation.
static bool buildFusedGemm(NodeImport &node) {
  std::optional<Item> product = gemm(node);
  if (product)
    node.set(0, activatedByNames(node, *product));
  return product && !node.hasFailed();
}

/// Returns alpha A' B'. The attributes transA and transB exchange the last two dims of a factor;
/// transBatchA and transBatchB move its first dim after the dims of the batch.
static Item scaledProduct(NodeImport &node) {
  auto operand = [&](size_t input, StringRef name, StringRef batchName) {
    bool isTurned = node.integer(name, 0) != 0, isMoved = node.integer(batchName, 0) != 0;
    Item x = node.tensor(input);
    int64_t rank = node.rank(input);
    if (isMoved && rank > 2) {
      auto order = llvm::to_vector(llvm::seq<int64_t>(1, rank - 1));
      order.append({0, rank - 1});
      x = node.permute(x, order);
    }
    return isTurned && rank > 1 ? node.call("transpose", {x, item(int64_t(-2)), item(int64_t(-1))})
                                : x;
  };
  Item a = operand(0, "transA", "transBatchA"), b = operand(1, "transB", "transBatchB");
  Item y = node.call("matmul", {a, b});
  double alpha = node.real("alpha", 1);
  return alpha == 1 ? y : node.call("mul", {y, item(alpha)});
}

static bool buildFusedMatMul(NodeImport &node) {
  node.set(0, scaledProduct(node));
  return !node.hasFailed();
}

static bool buildFusedMatMulActivation(NodeImport &node) {
  node.set(0, activatedByNames(node, scaledProduct(node)));
  return !node.hasFailed();
}

//===- Activations ----------------------------------------------------------------------------===//

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

static bool buildGemmFastGelu(NodeImport &node) {
  Item y = node.call("matmul", {node.tensor(0), node.tensor(1)});
  node.set(0, gelu(node, node.has(2) ? node.call("add", {y, node.tensor(2)}) : y, "tanh"));
  return !node.hasFailed();
}

/// The first half of x + bias times the gelu of the second.
static bool buildBiasSplitGelu(NodeImport &node) {
  Item x = node.call("add", {node.tensor(0), node.tensor(1)});
  auto width = node.hasFailed() ? std::nullopt : dl::asConstant(node.dims(0).back());
  if (!width || *width % 2)
    return node.fail("it splits the last dim of " + node.typeText(0) + "; expected an even number");
  auto half = [&](int64_t start) {
    return node.call("narrow", {x, item(int64_t(-1)), item(start), item(*width / 2)});
  };
  node.set(0, node.call("mul", {half(0), gelu(node, half(*width / 2), "none")}));
  return !node.hasFailed();
}

static bool buildBiasAdd(NodeImport &node) {
  Item x = node.call("add", {node.tensor(0), node.tensor(1)});
  node.set(0, node.call("add", {x, node.tensor(2)}));
  return !node.hasFailed();
}

/// The softmax of x + bias over the dims from an axis on.
static bool buildBiasSoftmax(NodeImport &node) {
  node.integer("is_inner_broadcast", 1); // the dims of the bias say it, too
  node.as("Softmax", 11, {node.call("add", {node.tensor(0), node.tensor(1)})});
  return !node.hasFailed();
}

/// The elements of x + bias that a Dropout keeps, and what skips them.
static bool buildBiasDropout(NodeImport &node) {
  enum Input { x, bias, residual, ratio, isTraining };
  auto both =
      dropped(node, node.call("add", {node.tensor(x), node.tensor(bias)}), ratio, isTraining);
  if (!both)
    return false;
  node.set(0, node.has(residual) ? node.call("add", {both->y, node.tensor(residual)}) : both->y);
  if (node.wants(1))
    node.set(1, both->mask);
  return !node.hasFailed();
}

/// min(g, limit) sigmoid(alpha g) (u + beta), with u at most `limit` from 0; g and u may be the
/// halves of one tensor.
static bool buildSwiGlu(NodeImport &node) {
  double alpha = node.real("activation_alpha", 1), beta = node.real("activation_beta", 0),
         limit = node.real("limit", 0);
  node.integer("round_activation", 0); // to the dtype, as dlc's ops do
  Item gate = node.tensor(0), up;
  if (node.has(1)) {
    up = node.tensor(1);
  } else {
    auto width = node.rank(0) > 0 ? dl::asConstant(node.dims(0).back()) : std::nullopt;
    if (!width || *width % 2)
      return node.fail("it splits the last dim of " + node.typeText(0) +
                       "; expected an even number");
    auto half = [&](int64_t start) {
      return node.call("narrow",
                       {node.tensor(0), item(int64_t(-1)), item(start), item(*width / 2)});
    };
    up = half(*width / 2);
    gate = half(0);
  }
  if (limit > 0) {
    gate = node.call("minimum", {gate, item(limit)});
    up = node.call("clamp", {up, item(-limit), item(limit)});
  }
  Item y =
      alpha == 1
          ? node.call("silu", {gate})
          : node.call("mul", {gate, node.call("sigmoid", {node.call("mul", {gate, item(alpha)})})});
  node.set(0, node.call("mul", {y, beta == 0 ? up : node.call("add", {up, item(beta)})}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> microsoftFusionRules() {
  static const OddRule rules[] = {
      {"com.microsoft.BiasAdd", 1, buildBiasAdd},
      {"com.microsoft.BiasDropout", 1, buildBiasDropout},
      {"com.microsoft.BiasGelu", 1, buildBiasGelu},
      {"com.microsoft.BiasSoftmax", 1, buildBiasSoftmax},
      {"com.microsoft.BiasSplitGelu", 1, buildBiasSplitGelu},
      {"com.microsoft.DynamicQuantizeLSTM", 1, buildQuantizedLstm},
      {"com.microsoft.FastGelu", 1, buildFastGelu},
      {"com.microsoft.FusedConv", 1, buildFusedConv},
      {"com.microsoft.FusedGemm", 1, buildFusedGemm},
      {"com.microsoft.FusedMatMul", 1, buildFusedMatMul},
      {"com.microsoft.FusedMatMulActivation", 1, buildFusedMatMulActivation},
      {"com.microsoft.GemmFastGelu", 1, buildGemmFastGelu},
      {"com.microsoft.QuickGelu", 1, buildQuickGelu},
      {"com.microsoft.SwiGLU", 1, buildSwiGlu},
      {"com.microsoft.TransposeMatMul", 1, buildFusedMatMul},
  };
  return rules;
}

} // namespace dlc::onnx
