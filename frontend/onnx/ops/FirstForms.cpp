//===- FirstForms.cpp - Ops of ONNX as its first opset has them ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some ops said by attributes what later opsets say by inputs, or by other names or defaults. Each
// is imported as the node of a later opset that means the same.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

namespace {
class LaterForm {
public:
  explicit LaterForm(NodeImport &first)
      : first(first), inner{&first.frame, {}, {}, first.frame.opsets, first.frame.prefix} {
    node.name = first.node.name;
    node.op = first.node.op;
    node.inputs.assign(first.node.inputs.begin(), first.node.inputs.end());
    node.outputs = first.node.outputs;
  }
  /// Takes over an attribute that the first form has.
  void take(StringRef name, StringRef later) {
    if (const Attribute *from = first.attribute(name)) {
      Attribute &to = add(later);
      to.real = from->real;
      to.integer = from->integer;
      to.string = from->string;
      to.integers = from->integers;
    }
  }
  void take(StringRef name) { take(name, name); }
  Attribute &add(StringRef name) {
    Attribute &attribute = node.attributes.emplace_back();
    attribute.name = name;
    return attribute;
  }
  /// Numbers as the input after the first one, the last.
  void setSecond(ArrayRef<int64_t> numbers) {
    constexpr StringRef kName = "FirstForms:second";
    Known known{first.builder.getI64Type(), {static_cast<int64_t>(numbers.size())}, {}};
    for (int64_t number : numbers)
      known.numbers.push_back({first.dim(number)});
    inner.values[kName].known = std::move(known);
    node.inputs.resize(2);
    node.inputs[1] = kName;
  }
  bool build(int64_t opset) {
    if (first.hasFailed())
      return false;
    NodeImport later(first.importer, node, inner, opset);
    if (!buildNode(later, node.op))
      return false;
    for (auto [position, output] : llvm::enumerate(node.outputs))
      if (auto made = inner.values.find(output); made != inner.values.end())
        first.setValue(position, made->second);
    return true;
  }

  NodeImport &first;
  Node node;

private:
  Frame inner;
};
} // namespace

/// Concatenates along dim 1 unless it says another.
static bool buildConcat(NodeImport &node) {
  LaterForm later(node);
  later.add("axis").integer = node.integer("axis", 1);
  return later.build(4);
}

static bool buildPad(NodeImport &node) {
  LaterForm later(node);
  later.take("paddings", "pads");
  later.take("mode");
  later.take("value");
  return later.build(2);
}

static bool buildReshape(NodeImport &node) {
  LaterForm later(node);
  later.setSecond(node.integerList("shape"));
  return later.build(5);
}

/// One dim is repeated.
static bool buildTile(NodeImport &node) {
  auto tiles = node.integers(1, "the tiles"), axes = node.integers(2, "the axis");
  if (!tiles || !axes)
    return false;
  if (tiles->size() != 1 || axes->size() != 1)
    return node.fail("it has " + llvm::Twine(tiles->size()) + " tiles and " +
                     llvm::Twine(axes->size()) + " axes; expected one of each");
  auto axis = node.axis(axes->front(), node.rank(0));
  if (!axis)
    return false;
  SmallVector<int64_t> repeats(node.rank(0), 1);
  repeats[*axis] = tiles->front();
  LaterForm later(node);
  later.setSecond(repeats);
  return later.build(6);
}

/// The dtype is a name.
static bool buildCast(NodeImport &node) {
  constexpr int64_t kMostDataTypes = 32;
  std::string to = node.string("to", "");
  LaterForm later(node);
  for (int64_t dataType = 1; dataType < kMostDataTypes; ++dataType)
    if (dataTypeName(dataType) == to) {
      later.add("to").integer = dataType;
      return later.build(6);
    }
  return node.fail("it converts to " + frontend::quote(to) +
                   "; expected the name of a dtype, such as FLOAT");
}

/// Its constants have five digits.
static bool buildSelu(NodeImport &node) {
  LaterForm later(node);
  later.add("alpha").real = static_cast<float>(node.real("alpha", 1.6732));
  later.add("gamma").real = static_cast<float>(node.real("gamma", 1.0507));
  return later.build(6);
}

static bool buildSplit(NodeImport &node) {
  LaterForm later(node);
  later.take("axis");
  later.take("split");
  if (node.has(1)) {
    auto sizes = node.integers(1, "the sizes");
    if (!sizes)
      return false;
    later.add("split").integers.assign(sizes->begin(), sizes->end());
    later.node.inputs.resize(1);
  }
  return later.build(2);
}

llvm::ArrayRef<OddRule> firstFormRules() {
  static const OddRule rules[] = {{"Concat", 1, buildConcat},   {"Pad", 1, buildPad},
                                  {"Reshape", 1, buildReshape}, {"Tile", 1, buildTile},
                                  {"Cast", 1, buildCast},       {"Selu", 1, buildSelu},
                                  {"Split", 1, buildSplit}};
  return rules;
}

} // namespace dlc::onnx
