//===- ControlFlow.cpp - If, Loop and Scan of ONNX ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph in a graph is imported where it stands. Of an If whose condition is known, one branch is; else both are, and the
// condition selects among their results, which is what a kernel would do, and how large they are. A Loop or Scan of a known number of steps is imported
// once for each.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/read/NodeOrder.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

static const Graph *graphOf(NodeImport &node, StringRef name) {
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

//===- If -----------------------------------------------------------------------------------------===//

/// `a` or `b`. A dim in which they differ is as large as the larger one, and cut to the one that is chosen.
Item Importer::selected(NodeImport &node, Item condition, mlir::Value a, mlir::Value b) {
  auto typeOf = [](mlir::Value x) { return llvm::cast<RankedTensorType>(x.getType()); };
  dl::Dims first = dl::getDims(typeOf(a)), second = dl::getDims(typeOf(b));
  bool fits =
      first.size() == second.size() && typeOf(a).getElementType() == typeOf(b).getElementType();
  SmallVector<std::pair<int64_t, AffineExpr>> differing; // and how large the dim may be
  for (int64_t dim = 0; fits && dim < static_cast<int64_t>(first.size()); ++dim) {
    if (first[dim] == second[dim])
      continue;
    AffineExpr ofA = emitter->paddedDim(first[dim]), ofB = emitter->paddedDim(second[dim]);
    auto difference = node.rangeOf(dl::normalize(ofA - ofB));
    fits = difference && (difference->min >= 0 || difference->max <= 0);
    differing.push_back({dim, fits && difference->min >= 0 ? ofA : ofB});
  }
  if (!fits) {
    node.unsupported(
        "its condition is computed by the model, and its branches give " + dl::text(a) + " and " +
            dl::text(b),
        "; dlc selects among results of one rank and dtype, of whose dims it knows the "
        "larger: with symbolic dims, --shapes may make the condition known");
    return {Item::Poison(), {}};
  }
  Item chosen[2] = {{a, {}}, {b, {}}};
  for (auto [dim, size] : differing)
    for (Item &branch : chosen) {
      mlir::Value x = branch.as<mlir::Value>();
      if (emitter->isCounted(dl::getDims(typeOf(x))[dim]))
        x = emitter->padded(node.loc, x, dim);
      dl::Dims dims = dl::getDims(typeOf(x));
      AffineExpr missing = dl::normalize(size - dims[dim]);
      branch = {x, {}};
      if (dl::isConstant(missing, 0))
        continue;
      Item::List widths(2 * (dims.size() - dim), item(int64_t(0)));
      widths.back() = Item::dim(missing, {});
      branch = node.call("pad", {branch, {std::move(widths), {}}});
      if (!branch.isTensor())
        return branch;
    }
  Item made = node.call("where", {condition, chosen[0], chosen[1]});
  for (auto [dim, size] : differing)
    made = node.head(
        made, node.call("where", {condition, node.count(first[dim]), node.count(second[dim])}),
        dim);
  return made;
}

bool Importer::importIf(NodeImport &node) {
  const Known *condition = node.has(0) ? node.known(0) : nullptr;
  auto truth = condition ? condition->integers() : std::nullopt;
  const Graph *branches[] = {graphOf(node, "then_branch"), graphOf(node, "else_branch")};
  bool isKnown = truth && truth->size() == 1;
  std::vector<Value> results[2];
  for (int i = 0; i < 2; ++i) {
    if (isKnown && (truth->front() != 0) != (i == 0))
      continue;
    if (!branches[i])
      return node.fail("it lacks a branch");
    Frame held;
    openGraph(node, *branches[i], held);
    auto found = importGraph(*branches[i], held, {});
    if (!found)
      return false;
    results[i] = std::move(*found);
  }
  if (isKnown) {
    for (auto [position, value] : llvm::enumerate(results[truth->front() ? 0 : 1]))
      node.setValue(position, std::move(value));
    return true;
  }
  if (results[0].size() != results[1].size())
    return node.fail("its branches have " + llvm::Twine(results[0].size()) + " and " +
                     llvm::Twine(results[1].size()) + " results; expected as many");
  for (auto [position, pair] : llvm::enumerate(llvm::zip(results[0], results[1]))) {
    if (!node.wants(position))
      continue;
    std::string what = "result " + quote(node.node.outputs[position]);
    mlir::Value a = materialise(std::get<0>(pair), node.loc, what),
                b = materialise(std::get<1>(pair), node.loc, what);
    if (!a || !b)
      return false;
    Item condition = node.reshape(node.tensor(0), {});
    node.set(position, selected(node, condition, a, b));
  }
  return !node.hasFailed();
}

//===- Steps --------------------------------------------------------------------------------------===//

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

/// Inputs: the number of steps and the condition, either absent, then the state.
bool Importer::importLoop(NodeImport &node) {
  const Graph *body = graphOf(node, "body");
  if (!body)
    return node.fail("it lacks a body");
  size_t states = node.node.inputs.size() > 2 ? node.node.inputs.size() - 2 : 0;
  if (body->inputs.size() != states + 2 || body->outputs.size() < states + 1)
    return node.fail("its body takes " + llvm::Twine(body->inputs.size()) + " values and gives " +
                     llvm::Twine(body->outputs.size()) + " for " + llvm::Twine(states) +
                     " states; expected two more taken, and one more given or above");
  if (auto isGood = importEmbeddingBags(node, *body))
    return *isGood;
  int64_t trips = INT64_MAX;
  if (node.has(0)) {
    auto count = node.integers(0, "the number of steps");
    if (!count || count->size() != 1)
      return count ? node.fail("its number of steps is no single number") : false;
    trips = count->front();
  }
  Value condition;
  condition.known = Known{builder.getI1Type(), {}, {{dl::constantDim(1, context)}}};
  if (node.has(1))
    condition = *find(node.node.inputs[1], node.frame);
  std::vector<Value> state(states);
  for (size_t i = 0; i < states; ++i)
    if (Value *given = find(node.node.inputs[2 + i], node.frame))
      state[i] = *given;
  Frame held;
  openGraph(node, *body, held);
  std::vector<std::vector<Item>> gathered(body->outputs.size() - 1 - states);
  for (int64_t step = 0; step < trips; ++step) {
    const Known *goesOn = known(condition);
    auto truth = goesOn ? goesOn->integers() : std::nullopt;
    if (!truth || truth->size() != 1)
      return node.unsupported("whether it goes on is computed by the model",
                              "; dlc takes loops whose number of steps is known at import");
    if (!truth->front())
      break;
    if (!countStep(node, step))
      return false;
    std::vector<Value> given(2);
    given[0].known = Known{builder.getI64Type(), {}, {{dl::constantDim(step, context)}}};
    given[1] = condition;
    given.insert(given.end(), state.begin(), state.end());
    auto results = importGraph(*body, held, given);
    if (!results)
      return false;
    condition = results->front();
    std::copy_n(results->begin() + 1, states, state.begin());
    for (size_t i = 0; i < gathered.size(); ++i) {
      gathered[i].push_back(itemOf((*results)[1 + states + i], node));
      if (!gathered[i].back().isTensor())
        return false;
    }
  }
  auto isGathered = [&](size_t i) { return node.wants(states + i); };
  bool isEmpty = !gathered.empty() && gathered.front().empty() &&
                 llvm::any_of(llvm::seq<size_t>(0, gathered.size()), isGathered);
  if (isEmpty) { // a step that is not taken says what it would give
    std::vector<Value> given(2);
    given[0].known = Known{builder.getI64Type(), {}, {{dl::constantDim(0, context)}}};
    given[1] = condition;
    given.insert(given.end(), state.begin(), state.end());
    auto results = countStep(node, 0) ? importGraph(*body, held, given) : std::nullopt;
    if (!results)
      return false;
    for (size_t i = 0; i < gathered.size(); ++i)
      gathered[i].push_back(itemOf((*results)[1 + states + i], node));
  }
  for (size_t i = 0; i < states; ++i)
    node.setValue(i, std::move(state[i]));
  for (size_t i = 0; i < gathered.size(); ++i)
    if (isGathered(i))
      node.set(states + i, stacked(node, gathered[i], 0, isEmpty));
  return !node.hasFailed();
}

/// Inputs: the state, then tensors taken apart along an axis each. Until opset 9 all of them have a batch in front, whose rows are
/// independent of each other, and their lengths before them.
bool Importer::importScan(NodeImport &node) {
  const Graph *body = graphOf(node, "body");
  bool isBatched = node.opset < 9;
  size_t first = isBatched ? 1 : 0;
  int64_t given = node.integer("num_scan_inputs", 0);
  auto scanned = static_cast<size_t>(given);
  if (!body || given < 1 || node.node.inputs.size() < first ||
      node.node.inputs.size() - first < scanned)
    return node.fail("it lacks a body, or as many inputs as num_scan_inputs says");
  size_t states = node.node.inputs.size() - first - scanned;
  if (body->inputs.size() != states + scanned || body->outputs.size() < states)
    return node.fail("its body takes " + llvm::Twine(body->inputs.size()) + " values and gives " +
                     llvm::Twine(body->outputs.size()) + "; expected " +
                     llvm::Twine(states + scanned) + " taken, and " + llvm::Twine(states) +
                     " or more given");
  if (isBatched && node.has(0))
    return node.unsupported("it has lengths of its rows", "; dlc takes whole rows");
  size_t gatheredCount = body->outputs.size() - states;
  auto listOf = [&](StringRef name, size_t count) {
    SmallVector<int64_t> list = node.integerList(name);
    list.resize(count);
    return list;
  };
  SmallVector<int64_t> axes = listOf("scan_input_axes", scanned),
                       backwards =
                           listOf(isBatched ? "directions" : "scan_input_directions", scanned),
                       outAxes = listOf("scan_output_axes", gatheredCount),
                       outBackwards = listOf("scan_output_directions", gatheredCount);
  SmallVector<Item> taken;
  int64_t steps = -1, rows = 1;
  for (size_t i = 0; i < scanned; ++i) {
    size_t input = first + states + i;
    auto batches = static_cast<int64_t>(first);
    auto axis = node.axis(axes[i], std::max<int64_t>(node.rank(input) - batches, 0));
    if (!axis)
      return false;
    axes[i] = *axis += batches;
    auto size = dl::asConstant(node.dims(input)[*axis]);
    auto batch = isBatched ? dl::asConstant(node.dims(input)[0]) : std::optional<int64_t>(1);
    if (!size || !batch)
      return node.unsupported("it scans " + node.typeText(input) + " along dim " +
                                  llvm::Twine(*axis),
                              "; dlc writes each step out, for which it needs their number: give "
                              "it by --shapes");
    if ((steps >= 0 && steps != *size) || (i > 0 && rows != *batch))
      return node.fail("it scans tensors of " + llvm::Twine(steps) + " and of " +
                       llvm::Twine(*size) + " steps; expected as many");
    steps = *size;
    rows = *batch;
    taken.push_back(node.tensor(input));
  }
  // A part of one step, of zeros.
  auto anyPart = [&](Item x, int64_t axis) {
    if (!x.isTensor())
      return x;
    dl::Dims dims = dl::getDims(x.tensorType());
    dims.erase(dims.begin() + axis);
    if (isBatched)
      dims.erase(dims.begin());
    return node.full(item(int64_t(0)), dl::makeTensor(dims, x.tensorType().getElementType()));
  };
  Frame held;
  openGraph(node, *body, held);
  std::vector<std::vector<Item>> results(states + gatheredCount); // of each row
  for (int64_t row = 0; row < rows; ++row) {
    if (!countStep(node, 0)) // one of no steps takes time too
      return false;
    auto ofRow = [&](Item x) {
      return isBatched ? node.call("select", {x, item(int64_t(0)), item(row)}) : x;
    };
    std::vector<Value> state(states);
    for (size_t i = 0; i < states; ++i) {
      if (Item x = isBatched ? ofRow(node.tensor(first + i)) : node.tensor(i); x.isTensor())
        state[i].tensor = x.as<mlir::Value>();
    }
    std::vector<std::vector<Item>> gathered(gatheredCount);
    // If there are no steps, one is imported for the types of its results.
    for (int64_t step = 0; step < std::max<int64_t>(steps, 1) && !node.hasFailed(); ++step) {
      if (!countStep(node, step))
        return false;
      std::vector<Value> given = state;
      for (size_t i = 0; i < scanned; ++i) {
        int64_t at = backwards[i] ? steps - 1 - step : step;
        Item part = steps == 0 ? anyPart(taken[i], axes[i])
                               : node.call("select",
                                           {ofRow(taken[i]),
                                            item(axes[i] - static_cast<int64_t>(first)), item(at)});
        if (!part.isTensor())
          return false;
        given.emplace_back().tensor = part.as<mlir::Value>();
      }
      auto made = importGraph(*body, held, given);
      if (!made)
        return false;
      if (steps > 0)
        std::copy_n(made->begin(), states, state.begin());
      for (size_t i = 0; i < gatheredCount; ++i) {
        Item part = itemOf((*made)[states + i], node);
        if (!part.isTensor())
          return false;
        gathered[i].insert(outBackwards[i] ? gathered[i].begin() : gathered[i].end(), part);
      }
    }
    for (size_t i = 0; i < states; ++i)
      results[i].push_back(itemOf(state[i], node));
    for (size_t i = 0; i < gatheredCount; ++i)
      results[states + i].push_back(stacked(node, gathered[i], outAxes[i], steps == 0));
    for (const std::vector<Item> &result : results)
      if (!result.back().isTensor())
        return false;
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (node.wants(i))
      node.set(i, isBatched ? stacked(node, results[i], 0) : results[i].front());
  return !node.hasFailed();
}

} // namespace dlc::onnx
