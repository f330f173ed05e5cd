//===- GraphApi.cpp - capture and replay ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph is what one stream was asked to do, in that order.
//===----------------------------------------------------------------------===//
#include "test/emulator/driver/DeviceWork.h"
#include "test/emulator/driver/Driver.h"
#include "test/emulator/driver/Exports.h"

namespace dlc::cuda {
extern "C" {

Result cuStreamBeginCapture_v2(Stream stream, StreamCaptureMode mode) {
  DLC_EMU_ENTER();
  CUstream_st *found = driver.find(stream);
  if (!found || found == driver.find(nullptr) || found->capture)
    return Result::StreamCaptureUnsupported;
  found->capture = std::make_unique<Capture>();
  found->capture->mode = mode;
  found->capture->thread = std::this_thread::get_id();
  return Result::Success;
}

Result cuStreamEndCapture(Stream stream, Graph *graph) {
  DLC_EMU_ENTER();
  CUstream_st *found = driver.find(stream);
  if (!found || !found->capture)
    return Result::IllegalState;
  std::unique_ptr<Capture> capture = std::move(found->capture);
  *graph = nullptr;
  if (capture->isInvalid)
    return Result::StreamCaptureInvalidated;
  *graph = capture->graph.release();
  ++driver.made.graphs;
  return Result::Success;
}

Result cuStreamGetCaptureInfo_v3(Stream stream, StreamCaptureStatus *status, uint64_t *id,
                                 Graph *graph, const GraphNode **dependencies, const void **edges,
                                 size_t *count) {
  DLC_EMU_ENTER();
  CUstream_st *found = driver.find(stream);
  if (!found)
    return Result::InvalidHandle;
  Capture *capture = found->capture.get();
  *status = !capture             ? StreamCaptureStatus::None
            : capture->isInvalid ? StreamCaptureStatus::Invalidated
                                 : StreamCaptureStatus::Active;
  if (*status != StreamCaptureStatus::Active)
    return Result::Success;
  if (id)
    *id = found->number;
  if (graph)
    *graph = capture->graph.get();
  if (dependencies)
    *dependencies = &capture->newest;
  if (edges)
    *edges = nullptr;
  if (count)
    *count = capture->newest != nullptr;
  return Result::Success;
}

Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph, unsigned long long) {
  DLC_EMU_ENTER();
  auto made = std::make_unique<CUgraphExec_st>();
  for (auto &node : graph->nodes)
    made->work.emplace_back(node.get(), node->work);
  *exec = made.release();
  ++driver.made.graphExecs;
  return Result::Success;
}

Result cuGraphExecUpdate_v2(GraphExec exec, Graph graph, GraphExecUpdateInfo *info) {
  DLC_EMU_ENTER();
  bool isSame = exec->work.size() == graph->nodes.size();
  for (size_t i = 0; isSame && i < exec->work.size(); ++i) {
    const Work &before = exec->work[i].second, &after = graph->nodes[i]->work;
    isSame = before.kind == after.kind && !before.kernel == !after.kernel &&
             (!before.kernel || before.kernel->function == after.kernel->function);
  }
  *info = {isSame ? 0 : 1, nullptr, nullptr};
  if (!isSame)
    return Result::GraphExecUpdateFailure;
  for (size_t i = 0; i < exec->work.size(); ++i)
    exec->work[i] = {graph->nodes[i].get(), graph->nodes[i]->work};
  return Result::Success;
}

Result cuGraphLaunch(GraphExec exec, Stream stream) {
  DLC_EMU_ENTER();
  for (auto &[node, work] : exec->work)
    if (Result result = driver.submit(stream, work); result != Result::Success)
      return result;
  return Result::Success;
}

Result cuGraphGetNodes(Graph graph, GraphNode *nodes, size_t *count) {
  DLC_EMU_ENTER();
  if (nodes)
    for (size_t i = 0; i < *count && i < graph->nodes.size(); ++i)
      nodes[i] = graph->nodes[i].get();
  *count = graph->nodes.size();
  return Result::Success;
}

Result cuGraphNodeGetType(GraphNode node, GraphNodeType *type) {
  DLC_EMU_ENTER();
  switch (node->work.kind) {
  case WorkKind::Kernel:
    *type = GraphNodeType::Kernel;
    return Result::Success;
  case WorkKind::Copy:
    *type = GraphNodeType::Memcpy;
    return Result::Success;
  case WorkKind::Fill:
    *type = GraphNodeType::Memset;
    return Result::Success;
  case WorkKind::Marker:
    return Result::NotSupported;
  }
  return Result::InvalidValue;
}

Result cuGraphKernelNodeGetParams_v2(GraphNode node, KernelNodeParams *parameters) {
  DLC_EMU_ENTER();
  if (!node->work.kernel)
    return Result::InvalidValue;
  const KernelCall &call = *node->work.kernel;
  *parameters = {};
  parameters->function = call.function;
  parameters->gridX = call.grid.x;
  parameters->gridY = call.grid.y;
  parameters->gridZ = call.grid.z;
  parameters->blockX = call.block.x;
  parameters->blockY = call.block.y;
  parameters->blockZ = call.block.z;
  parameters->sharedBytes = call.sharedBytes;
  parameters->parameters = node->params.data();
  parameters->context = &driver.context;
  return Result::Success;
}

Result cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node,
                                         const KernelNodeParams *parameters) {
  DLC_EMU_ENTER();
  for (auto &[origin, work] : exec->work) {
    if (origin != node || !work.kernel)
      continue;
    const KernelNodeParams &p = *parameters;
    return makeKernelWork(work, p.function, {p.gridX, p.gridY, p.gridZ},
                          {p.blockX, p.blockY, p.blockZ}, p.sharedBytes, p.parameters,
                          work.kernel->cooperative, work.kernel->early);
  }
  return Result::InvalidValue;
}

Result cuGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node,
                                      const MemcpyNodeParams *parameters, Context context) {
  DLC_EMU_ENTER();
  const MemcpyNodeParams &p = *parameters;
  auto isRow = [](const MemcpyNodeParams::Side &side) {
    return side.type == MemoryType::Device && !side.x && !side.y && !side.z && !side.array;
  };
  // Copies with the host are not patched here: the runtime captures none.
  if (context != &driver.context || !isRow(p.source) || !isRow(p.target) || !p.width ||
      p.height != 1 || p.depth != 1)
    return Result::InvalidValue;
  for (auto &[origin, work] : exec->work)
    if (origin == node && work.kind == WorkKind::Copy)
      return makeDeviceCopy(work, p.target.device, p.source.device, p.width);
  return Result::InvalidValue;
}

Result cuGraphExecDestroy(GraphExec exec) {
  DLC_EMU_ENTER_CLEANUP();
  delete exec;
  --driver.made.graphExecs;
  return driver.sticky;
}

Result cuGraphDestroy(Graph graph) {
  DLC_EMU_ENTER_CLEANUP();
  delete graph;
  --driver.made.graphs;
  return driver.sticky;
}

} // extern "C"
} // namespace dlc::cuda
