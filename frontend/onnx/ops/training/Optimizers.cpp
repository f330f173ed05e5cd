//===- Optimizers.cpp - Adagrad, Adam and Momentum of ONNX's training ops -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs are the learning rate R, the number of updates T, and then for each of n tensors: all X,
// all gradients G, and one or two lists of what the optimizer keeps. Outputs are the new X, and
// these lists.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

namespace {
class Optimizer {
public:
  /// The optimizer keeps `numKept` tensors for each X.
  Optimizer(NodeImport &node, size_t numKept) : node(node), numKept(numKept) {}
  /// Whether the inputs are as many as they have to be; false is reported.
  bool check();
  bool adagrad();
  bool adam();
  bool momentum();

private:
  Item input(size_t list, size_t index) { return node.tensor(2 + list * count + index); }
  void set(size_t list, size_t index, const Item &item) { node.set(list * count + index, item); }
  Item add(const Item &a, const Item &b) { return node.call("add", {a, b}); }
  Item sub(const Item &a, const Item &b) { return node.call("sub", {a, b}); }
  Item mul(const Item &a, const Item &b) { return node.call("mul", {a, b}); }
  Item div(const Item &a, const Item &b) { return node.call("div", {a, b}); }
  /// The learning rate, and the number of updates, in the dtype of X.
  Item rate(size_t index) { return number(0, index); }
  Item updates(size_t index) { return number(1, index); }
  Item number(size_t position, size_t index) {
    return node.reshape(node.cast(node.tensor(position), node.dtype(2 + index)), {});
  }
  /// Returns G plus `norm` times X, the gradient of a penalty on large X.
  Item regularized(size_t index, double norm) {
    Item gradient = input(1, index);
    return norm == 0 ? gradient : add(mul(input(0, index), item(norm)), gradient);
  }
  /// Returns `otherwise` in the first update, and `then` in the later ones.
  Item afterFirst(size_t index, const Item &then, const Item &otherwise) {
    return node.call("where", {node.call("gt", {updates(index), item(0.0)}), then, otherwise});
  }

  NodeImport &node;
  const size_t numKept;
  size_t count = 0;
};
} // namespace

bool Optimizer::check() {
  size_t given = node.inputCount(), lists = 2 + numKept;
  if (given < 2 + lists || (given - 2) % lists)
    return node.fail("it takes R, T, and " + llvm::Twine(lists) + " lists of one length, got " +
                     llvm::Twine(given) + " inputs");
  count = (given - 2) / lists;
  return true;
}

bool Optimizer::adagrad() {
  double decay = node.real("decay_factor", 0), epsilon = node.real("epsilon", 1e-6);
  double norm = node.real("norm_coefficient", 0);
  for (size_t i = 0; i < count; ++i) {
    Item gradient = regularized(i, norm);
    Item squares = add(input(2, i), mul(gradient, gradient));
    Item slower = add(mul(updates(i), item(decay)), item(1.0));
    Item root = add(node.call("sqrt", {squares}), item(epsilon));
    set(0, i, sub(input(0, i), div(mul(div(rate(i), slower), gradient), root)));
    set(1, i, squares);
  }
  return !node.hasFailed();
}

bool Optimizer::adam() {
  double alpha = node.real("alpha", 0.9), beta = node.real("beta", 0.999);
  double epsilon = node.real("epsilon", 1e-6), norm = node.real("norm_coefficient", 0);
  double after = node.real("norm_coefficient_post", 0);
  for (size_t i = 0; i < count; ++i) {
    Item gradient = regularized(i, norm);
    auto average = [&](size_t list, double factor, const Item &now) {
      return add(mul(input(list, i), item(factor)), mul(now, item(1 - factor)));
    };
    Item mean = average(2, alpha, gradient), squares = average(3, beta, mul(gradient, gradient));
    auto correction = [&](double factor) {
      Item base = node.scalar(factor, node.dtype(2 + i));
      return sub(node.scalar(1, node.dtype(2 + i)), node.call("pow", {base, updates(i)}));
    };
    Item corrected = div(node.call("sqrt", {correction(beta)}), correction(alpha));
    Item step = afterFirst(i, mul(rate(i), corrected), rate(i));
    Item root = add(node.call("sqrt", {squares}), item(epsilon));
    Item moved = sub(input(0, i), div(mul(step, mean), root));
    set(0, i, after == 0 ? moved : mul(moved, item(1 - after)));
    set(1, i, mean);
    set(2, i, squares);
  }
  return !node.hasFailed();
}

bool Optimizer::momentum() {
  double alpha = node.real("alpha", 0), beta = node.real("beta", 0);
  double norm = node.real("norm_coefficient", 0);
  std::string mode = node.string("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return node.fail("mode is '" + mode + "'; expected 'standard' or 'nesterov'");
  for (size_t i = 0; i < count; ++i) {
    Item gradient = regularized(i, norm);
    Type dtype = node.dtype(2 + i);
    Item share = afterFirst(i, node.scalar(beta, dtype), node.scalar(1, dtype));
    Item velocity = add(mul(input(2, i), item(alpha)), mul(share, gradient));
    Item change = mode == "standard" ? velocity : add(gradient, mul(velocity, item(alpha)));
    set(0, i, sub(input(0, i), mul(rate(i), change)));
    set(1, i, velocity);
  }
  return !node.hasFailed();
}

template <size_t numKept, bool (Optimizer::*build)()> static bool buildOptimizer(NodeImport &node) {
  Optimizer optimizer(node, numKept);
  return optimizer.check() && (optimizer.*build)();
}

llvm::ArrayRef<OddRule> optimizerRules() {
  static const OddRule rules[] = {
      {"ai.onnx.preview.training.Adagrad", 1, buildOptimizer<1, &Optimizer::adagrad>},
      {"ai.onnx.preview.training.Adam", 1, buildOptimizer<2, &Optimizer::adam>},
      {"ai.onnx.preview.training.Momentum", 1, buildOptimizer<1, &Optimizer::momentum>}};
  return rules;
}

} // namespace dlc::onnx
