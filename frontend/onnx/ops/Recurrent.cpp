//===- Recurrent.cpp - LSTM, GRU and RNN of ONNX ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/RecurrentSteps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::onnx {

namespace {

/// What tells the networks apart. `order` names, for each of PyTorch's gates, the place of ONNX's.
struct Network {
  StringRef function;
  SmallVector<int64_t, 4> order;
  unsigned states;
  std::vector<StringRef> activations; // of one direction
};

} // namespace

/// Whether an op of dlc has this form of the network.
static bool isOneOp(NodeImport &node, const Network &network) {
  bool isReversed = node.string("direction", "forward") == "reverse";
  if (node.hasAttribute("clip") || node.integer("input_forget", 0) != 0 || node.has(7) ||
      (isReversed && node.has(4)))
    return false;
  if (const Attribute *activations = node.attribute("activations"))
    for (auto [position, name] : llvm::enumerate(activations->strings))
      if (!name.equals_insensitive(network.activations[position % network.activations.size()]))
        return false;
  node.attribute("activation_alpha");
  node.attribute("activation_beta");
  node.attribute("hidden_size");
  return true;
}

/// x [T, N, I], W [D, G H, I], R [D, G H, H], B [D, 2 G H]; y [T, D, N, H] and the final states [D,
/// N, H]. With layout 1 the batch stands first in each.
static bool build(NodeImport &node, const Network &network) {
  node.attribute("output_sequence"); // before opset 7; a result that is named is computed
  std::string direction = node.string("direction", "forward");
  bool isBatchFirst = node.integer("layout", 0) != 0, isReverse = direction == "reverse";
  Item x = node.tensor(0), w = node.tensor(1), r = node.tensor(2);
  if (node.hasFailed())
    return false;
  if (!llvm::is_contained({"forward", "reverse", "bidirectional"}, direction))
    return node.fail("its direction is " + frontend::quote(direction) +
                     "; expected forward, reverse or bidirectional");
  auto gates = static_cast<int64_t>(network.order.size());
  int64_t directions = direction == "bidirectional" ? 2 : 1;
  auto rows = node.rank(2) == 3 ? dl::asConstant(node.dims(2)[1]) : std::nullopt;
  if (node.rank(0) != 3 || node.rank(1) != 3 || !rows || *rows % gates ||
      !dl::isConstant(node.dims(2)[0], directions))
    return node.fail("it takes x, W and R of three dims, W and R of " + llvm::Twine(directions) +
                     " directions, got " + node.typeText(0) + ", " + node.typeText(1) + " and " +
                     node.typeText(2));
  if (!isOneOp(node, network))
    return buildRecurrentSteps(node, static_cast<RecurrentKind>(gates));
  int64_t hidden = *rows / gates;
  auto ordered = [&](Item matrix, int64_t at, int64_t first) {
    Item::List parts;
    Item one = node.call("select", {matrix, item(int64_t(0)), item(at)});
    for (int64_t gate : network.order)
      parts.push_back(
          node.call("narrow", {one, item(int64_t(0)), item(first + gate * hidden), item(hidden)}));
    return parts.size() == 1 ? parts.front() : node.call("cat", {{parts, {}}, item(int64_t(0))});
  };
  Item::List params;
  for (int64_t at = 0; at < directions; ++at) {
    params.push_back(ordered(w, at, 0));
    params.push_back(ordered(r, at, 0));
    if (node.has(3)) {
      params.push_back(ordered(node.tensor(3), at, 0));
      params.push_back(ordered(node.tensor(3), at, *rows));
    }
  }
  auto swapped = [&](Item tensor) { return node.permute(tensor, {1, 0, 2}); };
  auto flipped = [&](Item tensor) {
    return node.call("flip", {tensor, itemList(SmallVector<int64_t>{0})});
  };
  if (isBatchFirst)
    x = swapped(x);
  if (isReverse)
    x = flipped(x);
  Item::List initial;
  for (unsigned state = 0; state < network.states && (node.has(5) || node.has(6)); ++state) {
    // One of the two may be left out.
    Item given = node.tensor(node.has(5 + state) ? 5 + state : 6 - state);
    if (!node.has(5 + state))
      given = node.call("zeros_like", {given});
    initial.push_back(isBatchFirst ? swapped(given) : given);
  }
  std::vector<std::pair<StringRef, Item>> named{{"params", {params, {}}},
                                                {"bidirectional", item(directions == 2)}};
  if (network.states == 2)
    named.push_back({"hx", {initial, {}}});
  else if (!initial.empty())
    named.push_back({"hx", initial.front()});
  if (node.has(4))
    named.push_back({"lengths", node.tensor(4)});
  Item results = node.call(network.function, {x}, named);
  if (!results.is<Item::List>())
    return false;
  Item y = results.as<Item::List>()[0];
  if (isReverse)
    y = flipped(y);
  dl::Dims dims = dl::getDims(x.tensorType());
  Item apart = node.reshape(y, {dims[0], dims[1], node.dim(directions), node.dim(hidden)});
  node.set(0, node.permute(apart, isBatchFirst ? ArrayRef<int64_t>{1, 0, 2, 3}
                                               : ArrayRef<int64_t>{0, 2, 1, 3}));
  for (unsigned state = 0; state < network.states; ++state) {
    Item last = results.as<Item::List>()[1 + state];
    node.set(1 + state, isBatchFirst ? swapped(last) : last);
  }
  return !node.hasFailed();
}

/// ONNX: input, output, forget, cell.
static bool buildLstm(NodeImport &node) {
  return build(node, {"lstm", {0, 2, 3, 1}, 2, {"Sigmoid", "Tanh", "Tanh"}});
}

/// ONNX: update, reset, new.
static bool buildGru(NodeImport &node) {
  const Attribute *activations = node.attribute("activations");
  bool isRelu = activations && activations->strings.size() > 1 &&
                activations->strings[1].equals_insensitive("relu");
  if (node.integer("linear_before_reset", 0) != 0)
    return build(node, {"gru", {1, 0, 2}, 1, {"Sigmoid", "Tanh"}});
  return build(node, {isRelu ? "gru_reset_first_relu" : "gru_reset_first",
                      {1, 0, 2},
                      1,
                      {"Sigmoid", isRelu ? "Relu" : "Tanh"}});
}

static bool buildRnn(NodeImport &node) {
  const Attribute *activations = node.attribute("activations");
  bool isRelu = activations && !activations->strings.empty() &&
                activations->strings.front().equals_insensitive("relu");
  return build(node, isRelu ? Network{"rnn_relu", {0}, 1, {"Relu"}}
                            : Network{"rnn_tanh", {0}, 1, {"Tanh"}});
}

llvm::ArrayRef<OddRule> recurrentRules() {
  static const OddRule rules[] = {
      {"LSTM", 1, buildLstm}, {"GRU", 1, buildGru}, {"RNN", 1, buildRnn}};
  return rules;
}

} // namespace dlc::onnx
