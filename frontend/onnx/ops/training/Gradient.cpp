//===- Gradient.cpp - Reverse-mode differentiation in ONNX --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient(values of xs and zs; xs, zs, y): the derivative of the sum of y's elements by each of
// xs. All of xs and zs are independent, whatever the graph computes them from; where the value that
// is given for one is another than the graph's, y is computed anew from it. The graph is walked
// back from y, as far as ops have rules (ir/dl/gradient).
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "ir/dl/gradient/Differentiate.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

namespace {
class Gradient {
public:
  explicit Gradient(NodeImport &node) : node(node) {}
  bool build();

private:
  bool readVariables(StringRef attribute, size_t first, bool isDifferentiated);
  mlir::Value substituted(mlir::Value y);
  bool derive();

  NodeImport &node;
  mlir::Value y;
  SmallVector<mlir::Value> xs;        // by the order of the results
  llvm::DenseSet<mlir::Value> held;   // xs and zs: what they are computed from does not matter
  IRMapping given;                    // other values for some of them
  SmallVector<Operation *> ops;       // between them and y, each after what it uses
  SmallVector<mlir::Value> gradients; // of those of xs that are wanted, in their order
};

/// Counts the ops that a builder makes.
struct MadeOps : OpBuilder::Listener {
  size_t count = 0;
  void notifyOperationInserted(Operation *, OpBuilder::InsertPoint) override { ++count; }
};
} // namespace

/// The values of the graph of these names, and what the inputs from `first` on give in their place.
bool Gradient::readVariables(StringRef attribute, size_t first, bool isDifferentiated) {
  for (auto [position, name] : llvm::enumerate(node.stringList(attribute))) {
    mlir::Value value = node.tensorNamed(name, attribute);
    Item input = node.tensor(first + position);
    if (!value || !input.isTensor())
      return false;
    if (isDifferentiated && !dl::isFloat(value))
      return node.fail("it differentiates by " + quote(name) + ", which is " + dl::text(value) +
                       "; expected floats");
    if (isDifferentiated)
      xs.push_back(value);
    held.insert(value);
    mlir::Value other = input.as<mlir::Value>();
    if (other == value)
      continue;
    if (other.getType() != value.getType() || !dl::isFloat(value))
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

/// From y to those of xs that are wanted.
bool Gradient::derive() {
  SmallVector<mlir::Value> wanted;
  for (auto [position, x] : llvm::enumerate(xs))
    if (node.wants(position))
      wanted.push_back(x);
  MadeOps made;
  dl::Builder builder(node.loc, node.builder);
  builder.setListener(&made);
  auto goesOn = [&] { return node.countDerived(std::exchange(made.count, 0)); };
  if (auto unknown = dl::differentiate(builder, ops, y, wanted, gradients, goesOn))
    return node.unsupported(
        "it goes through " + unknown->form + ", whose derivative dlc does not know",
        unknown->advice.empty()
            ? "; docs/operators.md lists under 'Derivatives' those that it does not know"
            : unknown->advice);
  return !node.hasFailed();
}

bool Gradient::build() {
  ArrayRef<StringRef> xNames = node.stringList("xs"), zNames = node.stringList("zs");
  std::string yName = node.string("y", "");
  if (node.hasFailed() || !node.countDerived(0)) // at an end already
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
  if (!dl::isFloat(y))
    return node.fail("it differentiates " + quote(yName) + ", which is " + dl::text(y) +
                     "; expected floats");
  ops = dl::opsBetween(held, {y});
  if (!node.countDerived(ops.size()))
    return false;
  y = substituted(y);
  if (!derive())
    return false;
  const auto *gradient = gradients.begin();
  for (auto [position, x] : llvm::enumerate(xs)) {
    if (!node.wants(position))
      continue;
    mlir::Value found = *gradient++;
    node.set(position, found ? Item{found, {}}
                             : node.full(item(0.0), llvm::cast<RankedTensorType>(x.getType())));
  }
  return !node.hasFailed();
}

static bool buildGradient(NodeImport &node) { return Gradient(node).build(); }

llvm::ArrayRef<OddRule> gradientRules() {
  static const OddRule rules[] = {{"ai.onnx.preview.training.Gradient", 1, buildGradient}};
  return rules;
}

} // namespace dlc::onnx
