//===- Scans.cpp - Scan of ONNX -----------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Scan of few steps, whose number is known, is imported once for each; another one is a loop.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/control/Regions.h"

using namespace mlir;

namespace dlc::onnx {

struct Importer::Scan {
  const Graph &body;
  size_t states;
  SmallVector<int64_t> axes, backwards, outAxes, outBackwards;
};

/// A Scan as a dl.while: each step takes its part of the inputs by its number.
bool Importer::importScanLoop(NodeImport &node, const Scan &scan) {
  SmallVector<mlir::Value> initial, taken;
  for (size_t i = 0; i < scan.states + scan.axes.size(); ++i) {
    Item given = node.tensor(i);
    if (!given.isTensor())
      return false;
    (i < scan.states ? initial : taken).push_back(given.as<mlir::Value>());
  }
  AffineExpr length;
  for (size_t i = 0; i < taken.size(); ++i) {
    AffineExpr size = node.dims(scan.states + i)[scan.axes[i]];
    if (length && size != length && !node.mayAgree(size, length))
      return node.fail("it scans tensors of " + node.text(length) + " and of " + node.text(size) +
                       " steps; expected as many");
    length = length ? length : size;
  }
  Item trips = node.count(length);
  if (!trips.isTensor())
    return false;
  auto build = [&](mlir::Value step,
                   ArrayRef<BlockArgument> carried) -> std::optional<SmallVector<mlir::Value>> {
    std::vector<Value> given(carried.size() + taken.size());
    for (auto [value, argument] : llvm::zip(given, carried))
      value.tensor = argument;
    for (size_t i = 0; i < taken.size(); ++i) {
      Item place{step, {}};
      if (scan.backwards[i])
        place = node.call("sub", {Item::dim(dl::normalize(length - 1), {}), place});
      Item part = node.call(
          "index_select", {{taken[i], {}}, item(scan.axes[i]), node.reshape(place, {node.dim(1)})});
      if (!part.isTensor())
        return std::nullopt;
      dl::Dims dims = dl::getDims(part.tensorType());
      dims.erase(dims.begin() + scan.axes[i]);
      part = node.reshape(part, dims);
      if (!part.isTensor())
        return std::nullopt;
      given[carried.size() + i].tensor = part.as<mlir::Value>();
    }
    std::optional<bool> goesOn;
    auto results = importBody(node, scan.body, given, goesOn);
    if (results)
      results->insert(results->begin(), mlir::Value());
    return results;
  };
  SmallVector<mlir::Value> results;
  if (!buildWhile(node, trips.as<mlir::Value>(), {}, initial, build, results))
    return false;
  for (size_t i = 0; i < results.size(); ++i) {
    Item made{results[i], {}};
    if (i >= scan.states) {
      size_t output = i - scan.states;
      int64_t rank = made.tensorType().getRank();
      auto axis = node.axis(scan.outAxes[output], rank);
      if (!axis)
        return false;
      if (scan.outBackwards[output])
        made = node.call("flip", {made, itemList(SmallVector<int64_t>{0})});
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(1, rank));
      order.insert(order.begin() + *axis, 0);
      made = node.permute(made, order);
    }
    if (node.wants(i))
      node.set(i, made);
  }
  return !node.hasFailed();
}

/// Inputs: the state, then tensors taken apart along an axis each. Until opset 9 all of them have a
/// batch in front, whose rows are independent of each other, and their lengths before them.
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
    auto nodes = static_cast<int64_t>(std::max<size_t>(body->nodes.size(), 1));
    bool isLong = !size || *size > kMaxSteps || *size > kMostUnrolled / nodes;
    if ((!size || !batch || isLong) && !isBatched) {
      for (size_t other = 0; other < scanned; ++other)
        if (auto found = node.axis(axes[other], node.rank(states + other)))
          axes[other] = *found;
      return importScanLoop(node, {*body, states, axes, backwards, outAxes, outBackwards});
    }
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
