//===- GraphTest.cpp - capture, replay, other numbers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"

namespace dlc::test {

namespace {

const char *const kAddOne = R"(
#include "dlc_device.cuh"
DLC_KERNEL(128) add_one(const float *x, float *y, i32 n) {
  i32 i = (i32)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    y[i] = x[i] + 1.0f;
}
)";

class GraphTest : public EmuTest {};

TEST_F(GraphTest, ReplayWithOtherPointers) {
  Function kernel = compile(kAddOne, "add_one");
  Stream stream;
  ASSERT_EQ(api.streamCreate(&stream, 0), Result::Success);
  DevicePtr x = upload(std::vector<float>{1}), y = upload(std::vector<float>{0}),
            z = upload(std::vector<float>{0});
  int n = 1;
  void *parameters[] = {&x, &y, &n};
  ASSERT_EQ(api.streamBeginCapture(stream, StreamCaptureMode::ThreadLocal), Result::Success);
  ASSERT_EQ(api.launchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr),
            Result::Success);
  ASSERT_EQ(api.memcpyDtoDAsync(x, y, 4, stream), Result::Success);
  Graph graph;
  ASSERT_EQ(api.streamEndCapture(stream, &graph), Result::Success);
  EXPECT_EQ(download<float>(y, 1)[0], 0) << "capturing runs nothing";
  GraphExec exec;
  ASSERT_EQ(api.graphInstantiate(&exec, graph, 0), Result::Success);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(api.graphLaunch(exec, stream), Result::Success);
  ASSERT_EQ(api.streamSynchronize(stream), Result::Success);
  EXPECT_EQ(download<float>(x, 1)[0], 4);

  size_t count = 0;
  ASSERT_EQ(api.graphGetNodes(graph, nullptr, &count), Result::Success);
  ASSERT_EQ(count, 2u);
  GraphNode nodes[2];
  GraphNodeType type;
  ASSERT_EQ(api.graphGetNodes(graph, nodes, &count), Result::Success);
  ASSERT_EQ(api.graphNodeGetType(nodes[0], &type), Result::Success);
  ASSERT_EQ(type, GraphNodeType::Kernel);
  KernelNodeParams node;
  ASSERT_EQ(api.graphKernelNodeGetParams(nodes[0], &node), Result::Success);
  EXPECT_EQ(*static_cast<DevicePtr *>(node.parameters[1]), y);
  void *changed[] = {&x, &z, &n};
  node.parameters = changed;
  ASSERT_EQ(api.graphExecKernelNodeSetParams(exec, nodes[0], &node), Result::Success);
  ASSERT_EQ(api.graphLaunch(exec, stream), Result::Success);
  ASSERT_EQ(api.streamSynchronize(stream), Result::Success);
  EXPECT_EQ(download<float>(z, 1)[0], 5);
  EXPECT_EQ(api.graphExecDestroy(exec), Result::Success);
  EXPECT_EQ(api.graphDestroy(graph), Result::Success);
}

// Other numbers are for the graph's next launches: one that is enqueued keeps its own. What a
// launch or a copy alone may not have, a node is not given.
TEST_F(GraphTest, NodesTakeOtherGridsAndCopies) {
  Function kernel = compile(kAddOne, "add_one");
  Stream stream;
  ASSERT_EQ(api.streamCreate(&stream, 0), Result::Success);
  std::vector<float> zeros(256, 0);
  DevicePtr x = upload(zeros), y = upload(zeros), z = upload(zeros);
  int n = 128;
  void *arguments[] = {&x, &y, &n};
  ASSERT_EQ(api.streamBeginCapture(stream, StreamCaptureMode::ThreadLocal), Result::Success);
  ASSERT_EQ(api.launchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr),
            Result::Success);
  ASSERT_EQ(api.memcpyDtoDAsync(z, y, 4, stream), Result::Success);
  Graph graph;
  ASSERT_EQ(api.streamEndCapture(stream, &graph), Result::Success);
  GraphExec exec;
  ASSERT_EQ(api.graphInstantiate(&exec, graph, 0), Result::Success);
  GraphNode nodes[2];
  size_t count = 2;
  ASSERT_EQ(api.graphGetNodes(graph, nodes, &count), Result::Success);
  ASSERT_EQ(api.graphLaunch(exec, stream), Result::Success);

  KernelNodeParams launch;
  ASSERT_EQ(api.graphKernelNodeGetParams(nodes[0], &launch), Result::Success);
  n = 256;
  launch.parameters = arguments;
  launch.gridX = 0;
  EXPECT_EQ(api.graphExecKernelNodeSetParams(exec, nodes[0], &launch), Result::InvalidValue);
  launch.gridX = 2;
  launch.sharedBytes = 48 * 1024 + 1;
  EXPECT_EQ(api.graphExecKernelNodeSetParams(exec, nodes[0], &launch), Result::InvalidValue);
  launch.sharedBytes = 1024;
  EXPECT_EQ(api.graphExecKernelNodeSetParams(exec, nodes[1], &launch), Result::InvalidValue);
  EXPECT_EQ(api.graphExecKernelNodeSetParams(exec, nodes[0], &launch), Result::Success);

  Context context = nullptr;
  ASSERT_EQ(api.ctxGetCurrent(&context), Result::Success);
  MemcpyNodeParams copy = {};
  copy.source.device = y;
  copy.target.device = z;
  copy.height = copy.depth = 1;
  auto change = [&](GraphNode node, size_t bytes) {
    copy.width = bytes;
    return api.graphExecMemcpyNodeSetParams(exec, node, &copy, context);
  };
  EXPECT_EQ(change(nodes[1], 0), Result::InvalidValue);
  EXPECT_EQ(change(nodes[1], 1 << 20), Result::InvalidValue);
  EXPECT_EQ(change(nodes[0], 1024), Result::InvalidValue);
  copy.height = 2;
  EXPECT_EQ(change(nodes[1], 512), Result::InvalidValue);
  copy.height = 1;
  copy.source.type = MemoryType::Host;
  EXPECT_EQ(change(nodes[1], 1024), Result::InvalidValue);
  copy.source.type = MemoryType::Device;
  EXPECT_EQ(change(nodes[1], 1024), Result::Success);

  ASSERT_EQ(api.streamSynchronize(stream), Result::Success);
  EXPECT_EQ(download<float>(y, 256)[128], 0) << "it was enqueued before";
  EXPECT_EQ(download<float>(z, 256)[1], 0);
  ASSERT_EQ(api.graphLaunch(exec, stream), Result::Success);
  ASSERT_EQ(api.streamSynchronize(stream), Result::Success);
  EXPECT_EQ(download<float>(y, 256)[255], 1);
  EXPECT_EQ(download<float>(z, 256)[255], 1);
  EXPECT_EQ(api.graphExecDestroy(exec), Result::Success);
  EXPECT_EQ(api.graphDestroy(graph), Result::Success);
}

TEST_F(GraphTest, WhatCapturesForbidEndsThem) {
  Stream stream;
  ASSERT_EQ(api.streamCreate(&stream, kStreamNonBlocking), Result::Success);
  DevicePtr x = upload(std::vector<float>{1}), other = 0;
  auto expectInvalid = [&](StreamCaptureMode mode, auto call) {
    ASSERT_EQ(api.streamBeginCapture(stream, mode), Result::Success);
    EXPECT_EQ(api.memsetD8Async(x, 0, 4, stream), Result::Success);
    EXPECT_EQ(call(), Result::StreamCaptureUnsupported);
    EXPECT_EQ(api.memsetD8Async(x, 0, 4, stream), Result::StreamCaptureInvalidated);
    StreamCaptureStatus status = StreamCaptureStatus::None;
    EXPECT_EQ(api.streamIsCapturing(stream, &status), Result::Success);
    EXPECT_EQ(status, StreamCaptureStatus::Invalidated);
    Graph graph = reinterpret_cast<Graph>(1);
    EXPECT_EQ(api.streamEndCapture(stream, &graph), Result::StreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  };
  expectInvalid(StreamCaptureMode::Relaxed, [&] { return api.streamSynchronize(stream); });
  expectInvalid(StreamCaptureMode::Global, [&] { return api.memAlloc(&other, 4); });
  expectInvalid(StreamCaptureMode::ThreadLocal, [&] { return api.memAlloc(&other, 4); });
  // Relaxed forbids less.
  ASSERT_EQ(api.streamBeginCapture(stream, StreamCaptureMode::Relaxed), Result::Success);
  EXPECT_EQ(api.memAlloc(&other, 4), Result::Success);
  Graph graph;
  EXPECT_EQ(api.streamEndCapture(stream, &graph), Result::Success);
  EXPECT_EQ(api.graphDestroy(graph), Result::Success);
  EXPECT_EQ(download<float>(x, 1)[0], 1) << "nothing that was captured has run";
  EXPECT_EQ(api.memFree(other), Result::Success);
}

} // namespace
} // namespace dlc::test
