//===- BoundShapes.cpp - Programs under bound shapes, and their graphs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/graphs/BoundShapes.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;

/// One launch costs no more than a graph of one.
static constexpr ptrdiff_t kFewestCommands = 2;

BoundShape *BoundShapes::find(const std::vector<int64_t> &symbols) {
  auto found = std::find_if(shapes.begin(), shapes.end(),
                            [&](const BoundShape &shape) { return shape.symbols == symbols; });
  if (found == shapes.end())
    return nullptr;
  shapes.splice(shapes.begin(), shapes, found);
  return &shapes.front();
}

BoundShape &BoundShapes::add(std::vector<int64_t> symbols, rt::Plan plan) {
  shapes.emplace_front();
  BoundShape &shape = shapes.front();
  shape.symbols = std::move(symbols);
  shape.plan = std::move(plan);
  const auto &commands = shape.plan.commands;
  shape.withoutGraph = std::count_if(commands.begin(), commands.end(), [](const auto &command) {
                         return !command.skip;
                       }) < kFewestCommands;
  auto mayGo = [](const BoundShape &other) { return !other.isPrepared; };
  if (static_cast<size_t>(std::count_if(shapes.begin(), shapes.end(), mayGo)) > kLimit) {
    auto oldest = std::prev(std::find_if(shapes.rbegin(), shapes.rend(), mayGo).base());
    forgetGraph(*oldest);
    shapes.erase(oldest);
  }
  return shape;
}

void BoundShapes::clear() {
  for (BoundShape &shape : shapes)
    forgetGraph(shape);
  shapes.clear();
}

void BoundShapes::forgetGraph(BoundShape &shape) const {
  if (shape.graph && !device.isHung())
    device.driver().graphExecDestroy(shape.graph);
  forgetNodes(shape);
  shape.graph = nullptr;
  shape.runs = 0;
}

void BoundShapes::forgetNodes(BoundShape &shape) const {
  if (shape.recorded && !device.isHung())
    device.driver().graphDestroy(shape.recorded);
  shape.recorded = nullptr;
  shape.movable.clear();
}

GraphNode BoundShapes::newestNode(Stream stream) const {
  const Driver &driver = device.driver();
  StreamCaptureStatus status = StreamCaptureStatus::None;
  const GraphNode *nodes = nullptr;
  // Without room for the kinds of edges the driver returns an error for graphs with early launches.
  const void *edges = nullptr;
  size_t count = 0;
  if (!driver.streamGetCaptureInfo || !driver.graphExecKernelNodeSetParams ||
      driver.streamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, &edges, &count) !=
          Result::Success)
    return nullptr;
  return status == StreamCaptureStatus::Active && count == 1 ? nodes[0] : nullptr;
}

Status BoundShapes::capture(BoundShape &shape, Stream stream,
                            const std::function<Status()> &enqueue,
                            const std::function<Status()> &finish) const {
  const Driver &driver = device.driver();
  shape.withoutGraph = true; // until all of it has worked
  if (!driver.streamBeginCapture || !driver.streamEndCapture || !driver.graphInstantiate ||
      !driver.graphLaunch || !driver.graphExecDestroy || !driver.graphDestroy)
    return {};
  // Of this thread alone: other threads of the process may go on using CUDA as they like.
  Status begun =
      device.check(driver.streamBeginCapture(stream, StreamCaptureMode::ThreadLocal), "capture");
  if (begun.failed())
    return device.usable();
  forgetNodes(shape);
  Status recorded = enqueue();
  Graph graph = nullptr;
  Status ended = device.check(driver.streamEndCapture(stream, &graph), "end a capture");
  GraphExec exec = nullptr;
  Status made = recorded.failed() ? recorded : ended;
  // The same commands at other addresses: far cheaper than to make another.
  bool isUpdated = false;
  if (!made.failed() && shape.graph && driver.graphExecUpdate) {
    GraphExecUpdateInfo info = {};
    Status updated =
        device.check(driver.graphExecUpdate(shape.graph, graph, &info), "update a graph");
    isUpdated = !updated.failed();
    made = device.usable();
  }
  if (isUpdated)
    exec = std::exchange(shape.graph, nullptr);
  else if (!made.failed())
    made = device.check(driver.graphInstantiate(&exec, graph, 0), "make a graph");
  // The nodes of a graph that was taken over are not those that the executable one was made of.
  if (isUpdated || made.failed())
    shape.movable.clear();
  if (!shape.movable.empty())
    shape.recorded = graph;
  else if (graph)
    driver.graphDestroy(graph);
  if (shape.graph) {
    if (Status idle = finish(); !made.failed())
      made = idle;
    driver.graphExecDestroy(shape.graph);
  }
  shape.graph = nullptr;
  if (made.failed()) {
    if (exec)
      driver.graphExecDestroy(exec);
    return device.usable();
  }
  shape.graph = exec;
  shape.isStale = false;
  shape.withoutGraph = false;
  return {};
}
