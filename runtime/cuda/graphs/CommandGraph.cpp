//===- CommandGraph.cpp - A plan's commands as a CUDA graph ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/graphs/CommandGraph.h"

#include <algorithm>
#include <utility>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;
using schema::Storage;

void CommandGraph::note(size_t command, Stream stream) {
  const Driver &driver = device.driver();
  StreamCaptureStatus status = StreamCaptureStatus::None;
  const GraphNode *newest = nullptr;
  // Without room for the kinds of edges the driver returns an error for graphs with early launches.
  const void *edges = nullptr;
  size_t count = 0;
  if (!driver.streamGetCaptureInfo || !driver.graphExecKernelNodeSetParams ||
      driver.streamGetCaptureInfo(stream, &status, nullptr, nullptr, &newest, &edges, &count) !=
          Result::Success ||
      status != StreamCaptureStatus::Active || count != 1)
    return;
  if (nodes.size() <= command)
    nodes.resize(command + 1);
  nodes[command].node = newest[0];
}

static bool usesInterface(const rt::Plan &plan, const rt::PlannedCommand &command) {
  auto isInterface = [&](auto buffer) {
    Storage storage = plan.buffers[static_cast<size_t>(buffer)].storage;
    return storage == Storage::input || storage == Storage::output;
  };
  if (!command.launch)
    return isInterface(command.source) || isInterface(command.target);
  return std::any_of(command.args.begin(), command.args.end(), [&](const rt::PlannedArg &arg) {
    return arg.isBuffer && isInterface(arg.value);
  });
}

bool CommandGraph::patch(const CudaProgram &program, const rt::Plan &plan,
                         const std::vector<DevicePtr> &addresses, Patched which) {
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const rt::PlannedCommand &command = plan.commands[i];
    if (command.skip || (which == Patched::interface && !usesInterface(plan, command)))
      continue;
    if (i >= nodes.size() || !nodes[i].node ||
        program.patch(exec, nodes[i].node, plan, command, addresses, nodes[i].last).failed())
      return false;
  }
  return true;
}

void CommandGraph::forget() {
  nodes.clear();
  GraphExec made = std::exchange(exec, nullptr);
  Graph origin = std::exchange(recorded, nullptr);
  if (device.isHung())
    return;
  if (made)
    device.driver().graphExecDestroy(made);
  if (origin)
    device.driver().graphDestroy(origin);
}

Status CommandGraph::capture(Stream stream, const std::function<Status()> &enqueue, Graph &graph) {
  const Driver &driver = device.driver();
  // The capture is of this thread alone: other threads of the process may go on using CUDA as they
  // like.
  DLC_TRY(
      device.check(driver.streamBeginCapture(stream, StreamCaptureMode::ThreadLocal), "capture"));
  Status enqueued = enqueue();
  Status ended = device.check(driver.streamEndCapture(stream, &graph), "end a capture");
  return enqueued.failed() ? enqueued : ended;
}

Status CommandGraph::record(Stream stream, const std::function<Status()> &enqueue,
                            const std::function<Status()> &finish) {
  const Driver &driver = device.driver();
  if (!driver.streamBeginCapture || !driver.streamEndCapture || !driver.graphInstantiate ||
      !driver.graphLaunch || !driver.graphExecDestroy || !driver.graphDestroy) {
    givenUp = true;
    return {};
  }
  GraphExec before = std::exchange(exec, nullptr);
  forget();
  Graph graph = nullptr;
  Status made = capture(stream, enqueue, graph);
  // The same commands at other addresses: far cheaper than to make another.
  if (!made.failed() && before && driver.graphExecUpdate) {
    GraphExecUpdateInfo info = {};
    if (!device.check(driver.graphExecUpdate(before, graph, &info), "update a graph").failed()) {
      exec = std::exchange(before, nullptr);
      nodes.clear(); // which are not those that the executable graph was made of
    }
    made = device.usable();
  }
  if (!made.failed() && !exec)
    made = device.check(driver.graphInstantiate(&exec, graph, 0), "make a graph");
  if (!nodes.empty())
    recorded = graph;
  else if (graph)
    driver.graphDestroy(graph);
  if (before) {
    if (Status idle = finish(); !made.failed())
      made = idle;
    driver.graphExecDestroy(before);
  }
  if (made.failed()) {
    giveUp();
    return device.usable();
  }
  return {};
}
