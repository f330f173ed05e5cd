//===- Graphs.cpp - Graphs that are attributes of nodes -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/read/NodeOrder.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

const Graph *graphOf(NodeImport &node, StringRef name) {
  const Attribute *attribute = node.attribute(name);
  return attribute ? attribute->graph.get() : nullptr;
}

/// The values that a graph holds itself. It sees those of the graph that it stands in.
void Importer::openGraph(NodeImport &node, const Graph &graph, Frame &frame) {
  frame.parent = &node.frame;
  frame.opsets = node.frame.opsets;
  frame.prefix = node.frame.prefix;
  for (auto &entry : node.frame.arguments)
    frame.arguments[entry.getKey()] = entry.getValue();
  declareInitializers(graph, frame);
}

/// The results of a graph whose inputs are `given`; nothing after an error, reported.
std::optional<std::vector<Value>> Importer::importGraph(const Graph &graph, Frame &held,
                                                        ArrayRef<Value> given) {
  Frame inner{&held, {}, {}, held.opsets, held.prefix};
  for (auto &entry : held.arguments)
    inner.arguments[entry.getKey()] = entry.getValue();
  for (auto [input, value] : llvm::zip(graph.inputs, given))
    inner.values[input.name] = value;
  if (!importNodes(graph.nodes, inner))
    return std::nullopt;
  std::vector<Value> results;
  for (const ValueInfo &output : graph.outputs) {
    Value *value = find(output.name, inner);
    if (!value) { // an input that nobody gives
      error("result " + quote(output.name) + " of graph " + quote(graph.name) +
            " is computed by no node; expected one that does");
      return std::nullopt;
    }
    if (value->isPoison)
      return std::nullopt;
    results.push_back(*value);
  }
  return results;
}

Item NodeImport::graph(StringRef name, Item input) {
  const Graph *graph = graphOf(*this, name);
  if (!graph || graph->inputs.size() != 1 || graph->outputs.size() != 1 || !input.isTensor()) {
    if (input.isTensor())
      fail("its attribute " + quote(name) + " is no graph of one input and one result");
    return {Item::Poison(), {}};
  }
  Frame held;
  importer.openGraph(*this, *graph, held);
  Value given;
  given.tensor = input.as<mlir::Value>();
  auto results = importer.importGraph(*graph, held, given);
  failed |= !results;
  return results ? importer.itemOf(results->front(), *this) : Item{Item::Poison(), {}};
}

//===- Steps that are written out -------------------------------------------------------------===//

bool Importer::countStep(NodeImport &node, int64_t steps) {
  if (++nodeCount > maxNodes || steps > kMaxSteps)
    return node.unsupported("it takes more than " + llvm::Twine(kMaxSteps) +
                                " steps, or makes more than " + llvm::Twine(maxNodes) + " nodes",
                            "; dlc writes each step out");
  return true;
}

/// Returns the results of the steps, one after another along a new axis. With `isEmpty` no step was
/// taken, and `steps` holds the result that one step would have.
Item Importer::stacked(NodeImport &node, ArrayRef<Item> steps, int64_t axis, bool isEmpty) {
  Item::List list;
  for (const Item &step : steps) {
    if (!step.isTensor())
      return step;
    dl::Dims dims = dl::getDims(step.tensorType());
    auto at = node.axis(axis, static_cast<int64_t>(dims.size()) + 1);
    if (!at)
      return {Item::Poison(), {}};
    axis = *at;
    dims.insert(dims.begin() + axis, node.dim(isEmpty ? 0 : 1));
    if (isEmpty)
      return node.full(item(int64_t(0)), dl::makeTensor(dims, step.tensorType().getElementType()));
    list.push_back(node.reshape(step, dims));
  }
  return list.size() == 1 ? list.front() : node.call("cat", {{list, {}}, item(axis)});
}

Item Importer::itemOf(Value &value, NodeImport &node) {
  mlir::Value tensor = materialise(value, node.loc, describe(node.node) + ": a result of its body");
  return tensor ? Item{tensor, {}} : Item{Item::Poison(), {}};
}

} // namespace dlc::onnx
