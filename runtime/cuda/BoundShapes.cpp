//===- BoundShapes.cpp - Programs under bound shapes, and their graphs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/BoundShapes.h"

#include <algorithm>
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
  if (shapes.size() > kLimit) {
    forgetGraph(shapes.back());
    shapes.pop_back();
  }
  return shape;
}

void BoundShapes::removeNewest() {
  forgetGraph(shapes.front());
  shapes.pop_front();
}

void BoundShapes::clear() {
  for (BoundShape &shape : shapes)
    forgetGraph(shape);
  shapes.clear();
}

void BoundShapes::forgetGraph(BoundShape &shape) const {
  if (shape.graph && !device.isHung())
    device.driver().graphExecDestroy(shape.graph);
  shape.graph = nullptr;
  shape.runs = 0;
}

Status BoundShapes::capture(BoundShape &shape, Stream stream,
                            const std::function<Status()> &enqueue) const {
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
  if (graph)
    driver.graphDestroy(graph);
  if (shape.graph)
    driver.graphExecDestroy(shape.graph);
  shape.graph = nullptr;
  if (made.failed())
    return device.usable();
  shape.graph = exec;
  shape.isStale = false;
  shape.withoutGraph = false;
  return {};
}
