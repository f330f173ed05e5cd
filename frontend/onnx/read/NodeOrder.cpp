//===- NodeOrder.cpp - Nodes after those whose results they use ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/read/NodeOrder.h"

#include "frontend/Spelling.h"

#include "llvm/ADT/StringMap.h"

#include <queue>

using namespace llvm;

namespace dlc::onnx {

using frontend::quote;

std::string describe(const Node &node) {
  std::string text = "node";
  if (!node.name.empty())
    text += " " + quote(node.name);
  else if (!node.outputs.empty())
    text += " of " + quote(node.outputs.front());
  return text + " (" + node.op.str() + ")";
}

void eachNamed(const Node &node, function_ref<void(StringRef)> use) {
  if (node.op != "Gradient" || node.domain != "ai.onnx.preview.training")
    return;
  for (const Attribute &attribute : node.attributes) {
    if (attribute.name == "xs" || attribute.name == "zs")
      for_each(attribute.strings, use);
    else if (attribute.name == "y" && attribute.string)
      use(*attribute.string);
  }
}

/// Calls `use` for each name that the node takes from outside: its inputs, and what its subgraphs
/// do not compute themselves. With `isInput` false it is one that an attribute names, which the
/// node itself reports where there is none.
static void eachUse(const Node &node, const StringSet<> &inner,
                    function_ref<void(StringRef, bool isInput)> use) {
  for (StringRef input : node.inputs)
    if (!input.empty() && !inner.contains(input))
      use(input, true);
  eachNamed(node, [&](StringRef name) {
    if (!inner.contains(name))
      use(name, false);
  });
  for (const Attribute &attribute : node.attributes) {
    if (!attribute.graph)
      continue;
    StringSet<> names = inner;
    for (const Tensor &tensor : attribute.graph->initializers)
      names.insert(tensor.name);
    for (const ValueInfo &input : attribute.graph->inputs)
      names.insert(input.name);
    for (const Node &other : attribute.graph->nodes)
      for (StringRef output : other.outputs)
        names.insert(output);
    for (const Node &other : attribute.graph->nodes)
      eachUse(other, names, use);
    for (const ValueInfo &output : attribute.graph->outputs)
      if (!names.contains(output.name))
        use(output.name, true);
  }
}

void addNamesRead(ArrayRef<Node> nodes, StringSet<> &names) {
  for (const Node &node : nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    eachNamed(node, [&](StringRef name) { names.insert(name); });
    for (const Attribute &attribute : node.attributes) {
      if (!attribute.graph)
        continue;
      addNamesRead(attribute.graph->nodes, names);
      for (const ValueInfo &output : attribute.graph->outputs)
        names.insert(output.name);
    }
  }
}

/// Nodes that wait for each other, "a (Add) <- b (Mul) <- a (Add)".
static std::string cycleAmong(ArrayRef<Node> nodes, ArrayRef<std::vector<size_t>> makers,
                              ArrayRef<size_t> waiting) {
  size_t at = 0;
  while (waiting[at] == 0)
    ++at;
  // From any node that waits, makers that wait lead into a cycle.
  std::vector<size_t> path, place(nodes.size(), SIZE_MAX);
  while (place[at] == SIZE_MAX) {
    place[at] = path.size();
    path.push_back(at);
    for (size_t maker : makers[at])
      if (waiting[maker]) {
        at = maker;
        break;
      }
  }
  constexpr size_t kMaxShown = 10;
  std::string text;
  for (size_t i = place[at]; i < path.size() && i < place[at] + kMaxShown; ++i)
    text += describe(nodes[path[i]]) + " uses ";
  return text + (path.size() - place[at] > kMaxShown ? "... uses " : "") + describe(nodes[at]);
}

Expected<std::vector<size_t>> orderNodes(ArrayRef<Node> nodes,
                                         function_ref<bool(StringRef)> isKnown) {
  StringMap<size_t> makerOf;
  for (auto [position, node] : enumerate(nodes))
    for (StringRef output : node.outputs)
      if (!output.empty() && !makerOf.try_emplace(output, position).second)
        return createStringError("value " + quote(output) + " is computed by " +
                                 describe(nodes[makerOf[output]]) + " and by " + describe(node) +
                                 "; expected one node for each value");
  std::vector<std::vector<size_t>> makers(nodes.size()), users(nodes.size());
  std::vector<size_t> waiting(nodes.size());
  std::string missing;
  size_t missingCount = 0;
  for (auto [position, node] : enumerate(nodes))
    eachUse(node, {}, [&, position = position](StringRef name, bool isInput) {
      auto maker = makerOf.find(name);
      if (maker == makerOf.end()) {
        if (isInput && !isKnown(name) && ++missingCount <= 20)
          missing += "\n  " + describe(nodes[position]) + " uses " + quote(name);
        return;
      }
      makers[position].push_back(maker->second);
      users[maker->second].push_back(position);
      ++waiting[position];
    });
  if (missingCount)
    return createStringError("values are used that no input, initializer or node gives:" + missing +
                             (missingCount > 20 ? "\n  and more" : ""));
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t position = 0; position < nodes.size(); ++position)
    if (waiting[position] == 0)
      ready.push(position);
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t position = ready.top();
    ready.pop();
    order.push_back(position);
    for (size_t user : users[position])
      if (--waiting[user] == 0)
        ready.push(user);
  }
  if (order.size() != nodes.size())
    return createStringError("nodes wait for each other: " + cycleAmong(nodes, makers, waiting) +
                             "; expected a graph without cycles");
  return order;
}

} // namespace dlc::onnx
