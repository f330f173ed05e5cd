//===- RecurrentSteps.cpp - Recurrent networks of ONNX, step by step ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms of RNN, GRU and LSTM that no op of dlc has: other activations, clip, peepholes, coupled
// gates, and reversed sequences of several lengths. Few steps, whose number is known, are written
// out, as those of a Loop are; others are a loop of the model.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/ops/RecurrentSteps.h"

#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

namespace {

/// An activation by its name in lower case, with what alpha and beta are where the node does not
/// say; NaN where it has none.
struct Activation {
  StringRef name;
  double alpha, beta;
};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
const Activation kActivations[] = {
    {"relu", kNone, kNone},     {"tanh", kNone, kNone},     {"sigmoid", kNone, kNone},
    {"affine", 1.0, 0.0},       {"leakyrelu", 0.01, kNone}, {"thresholdedrelu", 1.0, kNone},
    {"scaledtanh", 1.0, 1.0},   {"hardsigmoid", 0.2, 0.5},  {"elu", 1.0, kNone},
    {"softsign", kNone, kNone}, {"softplus", kNone, kNone},
};

/// x [T, N, I], W [D, G H, I], R [D, G H, H], B [D, 2 G H], states [D, N, H], P [D, 3 H]; all
/// without a layout of their own.
class RecurrentSteps {
public:
  RecurrentSteps(NodeImport &node, RecurrentKind kind, bool isQuantized)
      : node(node), kind(kind), isQuantized(isQuantized) {}
  bool run();

private:
  bool readActivations();
  bool runDirection(int64_t direction);
  void step(Item fromX);
  /// One step at `time`; returns what it gives.
  Item stepAt(Item fromX, Item time);
  bool runLoop(Item fromX, bool isBackward);
  void stepLstm(Item gates);
  void stepGru(Item fromX);
  Item activated(size_t function, Item x);

  Item op(StringRef name, Item a, Item b) { return node.call(name, {a, b}); }
  /// Part `index`, of so many elements each, of the last dim.
  Item gate(Item x, int64_t index, int64_t count = 1) {
    return node.call("narrow", {x, item(int64_t(-1)), item(index * hidden), item(count * hidden)});
  }
  Item ofDirection(size_t input, int64_t direction) {
    return node.call("select", {node.tensor(input), item(int64_t(0)), item(direction)});
  }
  /// A weight of one direction: [G H, I], or [G H, H].
  Item weightOf(size_t input, int64_t direction);
  /// x as the nearest of 256 numbers between its smallest and its largest.
  Item rounded(Item x);
  Item product(Item x, Item weight) { return op("matmul", x, node.permute(weight, {1, 0})); }
  size_t functions() const { return kind == RecurrentKind::lstm ? 3 : gates() == 3 ? 2 : 1; }
  int64_t gates() const { return static_cast<int64_t>(kind); }

  NodeImport &node;
  RecurrentKind kind;
  bool isQuantized; // W [D, I, G H] and R [D, H, G H] are integers, and so is what they multiply
  int64_t hidden = 0, directions = 1;
  int64_t steps = 0; // that are written out; 0: a loop
  double clip = 0;
  bool isLinearFirst = false, isCoupled = false, isReversed = false, isBatchFirst = false;
  SmallVector<Activation> activations; // of all directions, one after the other
  // Operands of the direction that is run:
  size_t firstActivation = 0;
  Item recurrentWeight, state, cell;
  std::optional<Item> recurrentBias, peephole;
  std::optional<Item> lengths;     // [N, 1]
  Item nothing;                    // zeros [N, H]
  SmallVector<Item::List> outputs; // of each direction, in the order of time
  Item::List wholes;               // the same of a loop: [T, N, H]
  Item::List lastStates, lastCells;
};

} // namespace

bool RecurrentSteps::readActivations() {
  static const StringRef kOfKind[][3] = {
      {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
  size_t each = functions();
  SmallVector<StringRef> names;
  if (node.hasAttribute("activations"))
    names.assign(node.stringList("activations").begin(), node.stringList("activations").end());
  for (int64_t d = 0; names.size() < each * directions && d < directions; ++d)
    names.append(kOfKind[each - 1], kOfKind[each - 1] + each);
  const Attribute *alphas = node.attribute("activation_alpha"),
                  *betas = node.attribute("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  for (StringRef name : names) {
    const auto *known = llvm::find_if(kActivations, [&](const Activation &candidate) {
      return name.equals_insensitive(candidate.name);
    });
    if (known == std::end(kActivations) || names.size() != each * directions)
      return node.fail("its activations are " + llvm::join(names, ", ") + "; expected " +
                       llvm::Twine(each * directions) +
                       " of Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, "
                       "HardSigmoid, Elu, Softsign and Softplus");
    Activation activation = *known;
    // Each number is that of the next function that has one.
    auto take = [](const Attribute *given, size_t &next, double &number) {
      if (!std::isnan(number) && given && next < given->reals.size())
        number = given->reals[next++];
    };
    take(alphas, nextAlpha, activation.alpha);
    take(betas, nextBeta, activation.beta);
    activations.push_back(activation);
  }
  return true;
}

Item RecurrentSteps::activated(size_t function, Item x) {
  const Activation &activation = activations[firstActivation + function];
  if (clip > 0)
    x = node.call("clamp", {x, item(-clip), item(clip)});
  Item alpha = item(activation.alpha), beta = item(activation.beta);
  StringRef name = activation.name;
  if (name == "affine")
    return op("add", op("mul", x, alpha), beta);
  if (name == "scaledtanh")
    return op("mul", node.call("tanh", {op("mul", x, beta)}), alpha);
  if (name == "hardsigmoid")
    return node.call("clamp", {op("add", op("mul", x, alpha), beta), item(0.0), item(1.0)});
  if (name == "leakyrelu")
    return node.call("leaky_relu", {x}, {{"negative_slope", alpha}});
  if (name == "elu")
    return node.call("elu", {x}, {{"alpha", alpha}});
  if (name == "thresholdedrelu")
    return node.call("where", {op("gt", x, alpha), x, node.call("zeros_like", {x})});
  return node.call(name, {x});
}

Item RecurrentSteps::weightOf(size_t input, int64_t direction) {
  Item weight = ofDirection(input, direction);
  if (!isQuantized)
    return weight;
  Type f32 = node.builder.getF32Type();
  size_t scale = input == 1 ? 8 : 10; // [D] or [D, G H]; the zero points follow
  Item numbers = node.cast(weight, f32);
  if (node.has(scale + 1))
    numbers = op("sub", numbers, node.cast(ofDirection(scale + 1, direction), f32));
  return node.permute(op("mul", numbers, ofDirection(scale, direction)), {1, 0});
}

Item RecurrentSteps::rounded(Item x) {
  if (!isQuantized)
    return x;
  Item low = node.call("minimum", {node.call("amin", {x}), item(0.0)});
  Item high = node.call("maximum", {node.call("amax", {x}), item(0.0)});
  Item scale = op("div", op("sub", high, low), item(255.0));
  // All zeros stay so.
  scale = node.call("where", {op("gt", scale, item(0.0)), scale, node.scalar(1, node.dtype(0))});
  auto nearest = [&](Item number) {
    return node.call("clamp", {node.call("round", {number}), item(0.0), item(255.0)});
  };
  Item zero = nearest(node.call("neg", {op("div", low, scale)}));
  Item steps = node.call("clamp", {op("add", node.call("round", {op("div", x, scale)}), zero),
                                   item(0.0), item(255.0)});
  return op("mul", op("sub", steps, zero), scale);
}

/// Gates of ONNX: input, output, forget, cell.
void RecurrentSteps::stepLstm(Item fromX) {
  Item gates = op("add", fromX, product(rounded(state), recurrentWeight));
  if (recurrentBias)
    gates = op("add", gates, *recurrentBias);
  auto peeping = [&](int64_t index, Item memory) {
    Item x = gate(gates, index);
    return peephole ? op("add", x, op("mul", gate(*peephole, index), memory)) : x;
  };
  Item input = activated(0, peeping(0, cell));
  Item forget =
      isCoupled ? op("sub", node.scalar(1, node.dtype(0)), input) : activated(0, peeping(2, cell));
  Item candidate = activated(1, gate(gates, 3));
  cell = op("add", op("mul", forget, cell), op("mul", input, candidate));
  state = op("mul", activated(0, peeping(1, cell)), activated(2, cell));
}

/// Gates of ONNX: update, reset, hidden.
void RecurrentSteps::stepGru(Item fromX) {
  auto biased = [&](Item x, int64_t first, int64_t count) {
    return recurrentBias ? op("add", x, gate(*recurrentBias, first, count)) : x;
  };
  auto rows = [&](int64_t first, int64_t count) {
    return node.call(
        "narrow", {recurrentWeight, item(int64_t(0)), item(first * hidden), item(count * hidden)});
  };
  Item both = op("add", gate(fromX, 0, 2), biased(product(state, rows(0, 2)), 0, 2));
  Item update = activated(0, gate(both, 0)), reset = activated(0, gate(both, 1));
  Item memory = isLinearFirst ? op("mul", reset, biased(product(state, rows(2, 1)), 2, 1))
                              : biased(product(op("mul", reset, state), rows(2, 1)), 2, 1);
  Item candidate = activated(1, op("add", gate(fromX, 2), memory));
  // (1 - z) h' + z h
  state = op("add", candidate, op("mul", update, op("sub", state, candidate)));
}

void RecurrentSteps::step(Item fromX) {
  if (kind == RecurrentKind::lstm)
    return stepLstm(fromX);
  if (kind == RecurrentKind::gru)
    return stepGru(fromX);
  Item x = op("add", fromX, product(state, recurrentWeight));
  state = activated(0, recurrentBias ? op("add", x, *recurrentBias) : x);
}

Item RecurrentSteps::stepAt(Item fromX, Item time) {
  Item before = state, cellBefore = cell;
  step(fromX);
  if (!lengths)
    return state;
  // A sequence that has ended, or not begun from its end, stays as it is.
  Item isRunning = op("gt", *lengths, time);
  Item found = node.call("where", {isRunning, state, nothing});
  state = node.call("where", {isRunning, state, before});
  if (kind == RecurrentKind::lstm)
    cell = node.call("where", {isRunning, cell, cellBefore});
  return found;
}

/// All steps as a loop of the model.
bool RecurrentSteps::runLoop(Item fromX, bool isBackward) {
  if (!fromX.isTensor() || !state.isTensor() || !cell.isTensor())
    return false;
  dl::Dims dims = dl::getDims(fromX.tensorType());
  bool hasCell = kind == RecurrentKind::lstm;
  SmallVector<mlir::Value> initial{state.as<mlir::Value>()}, results;
  if (hasCell)
    initial.push_back(cell.as<mlir::Value>());
  auto build = [&](mlir::Value step,
                   ArrayRef<BlockArgument> carried) -> std::optional<SmallVector<mlir::Value>> {
    state = {carried[0], {}};
    if (hasCell)
      cell = {carried[1], {}};
    Item time{step, {}};
    if (isBackward)
      time = op("sub", Item::dim(dl::normalize(dims[0] - 1), {}), time);
    Item row =
        node.call("index_select", {fromX, item(int64_t(0)), node.reshape(time, {node.dim(1)})});
    Item found = stepAt(node.reshape(row, {dims[1], dims[2]}), time);
    if (node.hasFailed() || !found.isTensor())
      return std::nullopt;
    SmallVector<mlir::Value> next{mlir::Value(), state.as<mlir::Value>()};
    if (hasCell)
      next.push_back(cell.as<mlir::Value>());
    next.push_back(found.as<mlir::Value>());
    return next;
  };
  Item trips = node.count(dims[0]);
  if (!node.importer.buildWhile(node, trips.as<mlir::Value>(), {}, initial, build, results))
    return false;
  Item whole{results.back(), {}};
  wholes.push_back(isBackward ? node.call("flip", {whole, itemList(SmallVector<int64_t>{0})})
                              : whole);
  lastStates.push_back({results[0], {}});
  lastCells.push_back({results[hasCell ? 1 : 0], {}});
  return !node.hasFailed();
}

bool RecurrentSteps::runDirection(int64_t direction) {
  Item x = node.tensor(0), weight = weightOf(1, direction);
  if (isBatchFirst)
    x = node.permute(x, {1, 0, 2});
  if (node.hasFailed())
    return false;
  dl::Dims dims = dl::getDims(x.tensorType());
  recurrentWeight = weightOf(2, direction);
  recurrentBias.reset();
  Item fromX = product(rounded(x), weight);
  if (node.has(3)) {
    Item bias = ofDirection(3, direction);
    fromX = op("add", fromX, gate(bias, 0, gates()));
    recurrentBias = gate(bias, gates(), gates());
  }
  if (node.has(7))
    peephole = ofDirection(7, direction);
  nothing = node.call("zeros", {dimItems({dims[1], node.dim(hidden)}), item(Type(node.dtype(0)))});
  auto initial = [&](size_t input) {
    if (!node.has(input))
      return nothing;
    return node.call("select", {node.tensor(input), item(int64_t(isBatchFirst)), item(direction)});
  };
  state = initial(5);
  cell = initial(6);
  firstActivation = direction * functions();
  lengths.reset();
  if (node.has(4))
    lengths =
        node.reshape(node.cast(node.tensor(4), node.builder.getI64Type()), {dims[1], node.dim(1)});
  bool isBackward = isReversed || direction == 1;
  if (steps == 0)
    return runLoop(fromX, isBackward);
  Item::List found(steps, Item{});
  for (int64_t i = 0; i < steps && !node.hasFailed(); ++i) {
    int64_t time = isBackward ? steps - 1 - i : i;
    found[time] = stepAt(node.call("select", {fromX, item(int64_t(0)), item(time)}), item(time));
  }
  outputs.push_back(std::move(found));
  lastStates.push_back(state);
  lastCells.push_back(cell);
  return !node.hasFailed();
}

bool RecurrentSteps::run() {
  std::string direction = node.string("direction", "forward");
  isReversed = direction == "reverse";
  directions = direction == "bidirectional" ? 2 : 1;
  isBatchFirst = node.integer("layout", 0) != 0;
  clip = node.real("clip", 0);
  isCoupled = kind == RecurrentKind::lstm && node.integer("input_forget", 0) != 0;
  isLinearFirst = kind == RecurrentKind::gru && node.integer("linear_before_reset", 0) != 0;
  node.attribute("hidden_size");
  if (!readActivations())
    return false;
  if (node.rank(0) != 3 || node.rank(1) != 3 || node.rank(2) != 3)
    return node.fail("it takes x, W and R of three dims, got " + node.typeText(0) + ", " +
                     node.typeText(1) + " and " + node.typeText(2));
  hidden = dl::asConstant(node.dims(2)[1]).value_or(0) / (isQuantized ? 1 : gates());
  auto length = dl::asConstant(node.dims(0)[isBatchFirst ? 1 : 0]);
  if (length == 0 || (!length && node.importer.hasStates()))
    return node.unsupported(
        "its form (activations, clip, input_forget, peepholes, or sequence_lens "
        "in reverse) is that of no op, over " +
            node.typeText(0),
        "; dlc takes 1 step of those or more, and their number in a model with states");
  steps = length.value_or(0) > Importer::kMaxSteps ? 0 : length.value_or(0);
  for (int64_t d = 0; d < directions; ++d)
    if (!runDirection(d))
      return false;
  auto stacked = [&](const Item::List &parts, int64_t axis) {
    return node.call("stack", {Item{parts, {}}, item(axis)});
  };
  // [T, D, N, H], or with the batch first [N, T, D, H].
  Item::List perDirection;
  for (const Item::List &parts : outputs)
    perDirection.push_back(stacked(parts, isBatchFirst ? 1 : 0));
  for (const Item &whole : wholes)
    perDirection.push_back(isBatchFirst ? node.permute(whole, {1, 0, 2}) : whole);
  node.set(0, stacked(perDirection, isBatchFirst ? 2 : 1));
  int64_t axis = isBatchFirst ? 1 : 0;
  node.set(1, stacked(lastStates, axis));
  if (kind == RecurrentKind::lstm)
    node.set(2, stacked(lastCells, axis));
  return !node.hasFailed();
}

bool buildRecurrentSteps(NodeImport &node, RecurrentKind kind) {
  return RecurrentSteps(node, kind, /*isQuantized=*/false).run();
}

bool buildQuantizedLstm(NodeImport &node) {
  return RecurrentSteps(node, RecurrentKind::lstm, /*isQuantized=*/true).run();
}

} // namespace dlc::onnx
