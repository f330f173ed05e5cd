//===- Gradient.cpp - Reverse-mode differentiation in ONNX --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient(values of xs and zs; xs, zs, y): the derivative of the sum of y's elements by each of
// xs. All of xs and zs are independent, whatever the graph computes them from; where the value that
// is given for one is another than the graph's, y is computed anew from it. The graph is walked
// back from y, as far as the ops of gradient/ have rules.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/gradient/Derivation.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

static bool isFloat(mlir::Value value) {
  return isa<FloatType>(llvm::cast<RankedTensorType>(value.getType()).getElementType());
}

namespace {
class Gradient {
public:
  explicit Gradient(NodeImport &node) : node(node) {}
  bool build();

private:
  bool readVariables(StringRef attribute, size_t first, bool isDifferentiated);
  bool collect();
  mlir::Value substituted(mlir::Value y);
  bool derive();

  NodeImport &node;
  mlir::Value y;
  SmallVector<mlir::Value> xs;        // by the order of the results
  llvm::DenseSet<mlir::Value> held;   // xs and zs: what they are computed from does not matter
  IRMapping given;                    // other values for some of them
  SmallVector<Operation *> ops;       // between them and y, each after what it uses
  llvm::DenseSet<mlir::Value> active; // what depends on xs
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};
} // namespace

/// The values of the graph of these names, and what the inputs from `first` on give in their place.
bool Gradient::readVariables(StringRef attribute, size_t first, bool isDifferentiated) {
  for (auto [position, name] : llvm::enumerate(node.stringList(attribute))) {
    mlir::Value value = node.tensorNamed(name, attribute);
    Item input = node.tensor(first + position);
    if (!value || !input.isTensor())
      return false;
    if (isDifferentiated && !isFloat(value))
      return node.fail("it differentiates by " + quote(name) + ", which is " + dl::text(value) +
                       "; expected floats");
    if (isDifferentiated)
      xs.push_back(value);
    held.insert(value);
    mlir::Value other = input.as<mlir::Value>();
    if (other == value)
      continue;
    if (other.getType() != value.getType() || !isFloat(value))
      return node.unsupported(
          "it puts " + dl::text(other) + " in the place of " + quote(name) + ", which is " +
              dl::text(value),
          "; dlc puts floats in the place of floats of the same dtype and dims");
    if (given.contains(value) && given.lookup(value) != other)
      return node.fail("it gives two values for " + quote(name) + "; expected one");
    given.map(value, other);
  }
  return true;
}

/// Finds `ops`, without recursion: graphs may be deep.
bool Gradient::collect() {
  llvm::DenseSet<Operation *> seen;
  SmallVector<std::pair<Operation *, unsigned>> path;
  auto enter = [&](mlir::Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !held.contains(value) && seen.insert(op).second)
      path.push_back({op, 0});
  };
  enter(y);
  while (!path.empty()) {
    auto &[op, next] = path.back();
    if (next < op->getNumOperands()) {
      enter(op->getOperand(next++));
      continue;
    }
    ops.push_back(op);
    path.pop_back();
  }
  return node.countDerived(ops.size(), node.callCount());
}

/// Clones the ops that depend on given values, so that the clones read these values.
mlir::Value Gradient::substituted(mlir::Value y) {
  for (Operation *&op : ops) {
    bool isOther = llvm::any_of(op->getOperands(),
                                [&](mlir::Value operand) { return given.contains(operand); });
    if (isOther)
      op = node.builder.clone(*op, given);
  }
  for (mlir::Value &x : xs)
    x = given.lookupOrDefault(x);
  return given.lookupOrDefault(y);
}

/// From y to xs.
bool Gradient::derive() {
  for (Operation *op : ops)
    if (llvm::any_of(op->getOperands(),
                     [&](mlir::Value operand) { return active.contains(operand); }))
      for (mlir::Value result : op->getResults())
        if (isFloat(result))
          active.insert(result);
  auto type = llvm::cast<RankedTensorType>(y.getType());
  Item ones = node.full(item(1.0), type);
  if (!ones.isTensor())
    return false;
  cotangents[y] = ones.as<mlir::Value>();
  for (Operation *op : llvm::reverse(ops)) {
    auto isWorth = [&](mlir::Value result) {
      return active.contains(result) && cotangents.contains(result);
    };
    if (llvm::none_of(op->getResults(), isWorth))
      continue;
    // Rules are of first results: the others are positions, or of ops without a rule.
    bool isFirst = llvm::none_of(llvm::drop_begin(op->getResults()), isWorth);
    const DerivativeRule *rule = isFirst ? derivativeOf(op) : nullptr;
    if (!rule)
      return node.unsupported("it goes through " +
                                  quote(op->getName().getStringRef().split('.').second) +
                                  ", whose derivative dlc does not know",
                              "; docs/onnx.md lists under 'Gradient' those that it knows");
    size_t before = node.callCount();
    Derivation derivation(node, op, active, cotangents);
    rule->derive(derivation);
    if (node.hasFailed() || !node.countDerived(0, before))
      return false;
  }
  return true;
}

bool Gradient::build() {
  ArrayRef<StringRef> xNames = node.stringList("xs"), zNames = node.stringList("zs");
  std::string yName = node.string("y", "");
  if (node.hasFailed() || !node.countDerived(0, node.callCount())) // at an end already
    return false;
  if (xNames.empty() || yName.empty())
    return node.fail("it lacks its attribute " + quote(xNames.empty() ? "xs" : "y"));
  size_t count = xNames.size() + zNames.size();
  if (node.node.inputs.size() != count)
    return node.fail("its inputs are " + llvm::Twine(node.node.inputs.size()) +
                     ", the names in xs and zs " + llvm::Twine(count) + "; expected as many");
  if (node.node.outputs.size() > xNames.size())
    return node.fail("its results are " + llvm::Twine(node.node.outputs.size()) +
                     ", the names in xs " + llvm::Twine(xNames.size()) +
                     "; expected at most as many");
  if (!readVariables("xs", 0, /*isDifferentiated=*/true) ||
      !readVariables("zs", xNames.size(), /*isDifferentiated=*/false) ||
      !(y = node.tensorNamed(yName, "y")))
    return false;
  if (!isFloat(y))
    return node.fail("it differentiates " + quote(yName) + ", which is " + dl::text(y) +
                     "; expected floats");
  if (!collect())
    return false;
  y = substituted(y);
  for (auto [position, x] : llvm::enumerate(xs))
    if (node.wants(position))
      active.insert(x);
  if (!derive())
    return false;
  for (auto [position, x] : llvm::enumerate(xs)) {
    if (!node.wants(position))
      continue;
    auto found = cotangents.find(x);
    node.set(position, found == cotangents.end()
                           ? node.full(item(0.0), llvm::cast<RankedTensorType>(x.getType()))
                           : Item{found->second, {}});
  }
  return !node.hasFailed();
}

static bool buildGradient(NodeImport &node) { return Gradient(node).build(); }

llvm::ArrayRef<OddRule> gradientRules() {
  static const OddRule rules[] = {{"ai.onnx.preview.training.Gradient", 1, buildGradient}};
  return rules;
}

} // namespace dlc::onnx
