//===- DeviceMemoryTest.cpp - Inputs and outputs in GPU memory, and pinned copies -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Device.h"
#include "test/unit/runtime/CudaRunner.h"
#include "test/unit/runtime/Instead.h"

#include <cstddef>
#include <cstring>

using namespace dlc::test;
using dlc::cuda::ContextScope;
using dlc::cuda::DevicePtr;
using dlc::cuda::Driver;
using dlc::cuda::GpuDevice;
using dlc::cuda::PointerAttribute;
using dlc::cuda::Result;

TEST(MemoryKind, IsNotForTheCpu) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options("cpu"));
  std::vector<float> x(4), y(4);
  dlc_tensor in = tensor(DLC_F32, {1, 4}, x), out = tensor(DLC_F32, {1, 4}, y);
  in.memory = DLC_MEMORY_DEVICE;
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("input 'x': its data is in GPU memory, and the context runs on cpu ("))
      << dlc_last_error();
  in.memory = static_cast<dlc_memory_kind>(7);
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "input 0: unknown kind of memory 7; expected DLC_MEMORY_HOST or "
                                 "DLC_MEMORY_DEVICE");
}

TEST(MemoryKind, TensorsOfTheFirstVersionAreInHostMemory) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options("cpu"));
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  constexpr size_t kOldSize = offsetof(dlc_tensor, memory);
  alignas(dlc_tensor) char in[sizeof(dlc_tensor)], out[sizeof(dlc_tensor)];
  std::memset(in, 0xff, sizeof(in)); // what follows the old struct is no kind of memory
  std::memset(out, 0xff, sizeof(out));
  dlc_tensor first = tensor(DLC_F32, {1, 4}, x), second = tensor(DLC_F32, {1, 4}, y);
  first.struct_size = second.struct_size = kOldSize;
  std::memcpy(in, &first, kOldSize);
  std::memcpy(out, &second, kOldSize);
  EXPECT_EQ(dlc_context_run(context.get(), reinterpret_cast<dlc_tensor *>(in), 1,
                            reinterpret_cast<dlc_tensor *>(out), 1),
            DLC_OK)
      << dlc_last_error();
}

#if defined(DLC_EMU_DRIVER_PATH)

namespace {

constexpr int64_t kRows = 3;

/// The driver is older than changes to copies in graphs.
constexpr decltype(Driver::graphExecMemcpyNodeSetParams) noCopyNodes = nullptr;

/// cudaPackage() on arrays of the caller's in GPU memory.
class DeviceMemory : public Cuda {
protected:
  void SetUp() override {
    gpu = *GpuDevice::open(0);
    driver = const_cast<Driver *>(&gpu->driver());
    driverCalls();
    module = load(cudaPackage().file());
    context = open(module.get(), options("cuda"));
    ASSERT_TRUE(context);
  }
  void TearDown() override {
    context.reset();
    ContextScope scope(*gpu);
    for (DevicePtr pointer : allocated)
      EXPECT_EQ(driver->memFree(pointer), Result::Success);
  }

  DevicePtr allocate(int64_t floats) {
    ContextScope scope(*gpu);
    DevicePtr pointer = 0;
    EXPECT_EQ(driver->memAlloc(&pointer, size_t(floats) * 4), Result::Success);
    allocated.push_back(pointer);
    return pointer;
  }
  void upload(DevicePtr pointer, const std::vector<float> &values) {
    ContextScope scope(*gpu);
    EXPECT_EQ(driver->memcpyHtoDAsync(pointer, values.data(), values.size() * 4, nullptr),
              Result::Success);
    EXPECT_EQ(driver->streamSynchronize(nullptr), Result::Success);
  }
  std::vector<float> download(DevicePtr pointer) {
    ContextScope scope(*gpu);
    std::vector<float> values(kRows * 4);
    EXPECT_EQ(driver->memcpyDtoHAsync(values.data(), pointer, values.size() * 4, nullptr),
              Result::Success);
    EXPECT_EQ(driver->streamSynchronize(nullptr), Result::Success);
    return values;
  }
  static dlc_tensor onDevice(DevicePtr pointer, int64_t rows = kRows) {
    std::vector<float> none;
    dlc_tensor out = tensor(DLC_F32, {rows, 4}, none);
    out.data = reinterpret_cast<void *>(pointer);
    out.bytes = size_t(rows) * 16;
    out.memory = DLC_MEMORY_DEVICE;
    return out;
  }
  dlc_status run(dlc_tensor in, dlc_tensor out) {
    return dlc_context_run(context.get(), &in, 1, &out, 1);
  }
  /// Runs from x to y; the values must be right.
  void expectRight(DevicePtr x, DevicePtr y, float seed = 0) {
    std::vector<float> values(kRows * 4);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i) + seed;
    upload(x, values);
    ASSERT_EQ(run(onDevice(x), onDevice(y)), DLC_OK) << dlc_last_error();
    std::vector<float> result = download(y);
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(result[i], values[i] * float(i % 4 + 2)) << i;
  }
  void expectUsage(dlc_tensor in, dlc_tensor out, const std::string &message) {
    EXPECT_EQ(run(in, out), DLC_USAGE);
    EXPECT_EQ(std::string(dlc_last_error()), message);
    dlc::test::expectRight(context.get(), kRows); // and the next one is well
  }

  std::shared_ptr<GpuDevice> gpu;
  Driver *driver = nullptr;
  ModulePtr module;
  ContextPtr context;
  std::vector<DevicePtr> allocated;
};

/// What the emulated driver says of pointers, with one answer changed.
PointerAttribute changed;
uint64_t answer;
decltype(Driver::pointerGetAttribute) askDriver;
Result changedAnswer(void *value, PointerAttribute attribute, DevicePtr pointer) {
  if (attribute != changed)
    return askDriver(value, attribute, pointer);
  std::memcpy(value, &answer, attribute == PointerAttribute::DeviceOrdinal ? 4 : 8);
  return Result::Success;
}

} // namespace

TEST_F(DeviceMemory, IsUsedWhereItLies) {
  DevicePtr x = allocate(kRows * 4), y = allocate(kRows * 4);
  expectRight(x, y);
  DriverCalls before = driverCalls();
  for (int i = 0; i < 4; ++i)
    expectRight(x, y, float(i));
  DriverCalls after = driverCalls();
  EXPECT_EQ(after.uploads - before.uploads, 4) << "the test's own";
  EXPECT_EQ(after.graphsMade - before.graphsMade, 1);
  EXPECT_EQ(after.graphLaunches - before.graphLaunches, 4);
  EXPECT_EQ(after.pinned, before.pinned);
}

TEST_F(DeviceMemory, OtherPointersGoIntoTheSameGraph) {
  DevicePtr x[] = {allocate(kRows * 4), allocate(kRows * 4)};
  DevicePtr y[] = {allocate(kRows * 4), allocate(kRows * 4)};
  expectRight(x[0], y[0]);
  expectRight(x[0], y[0]);
  DriverCalls before = driverCalls();
  for (int i = 0; i < 6; ++i)
    expectRight(x[i / 2 % 2], y[i / 3 % 2], float(i));
  DriverCalls after = driverCalls();
  EXPECT_EQ(after.graphsMade, before.graphsMade);
  EXPECT_EQ(after.graphsUpdated, before.graphsUpdated);
  EXPECT_EQ(after.patches - before.patches, 2);         // which read x
  EXPECT_EQ(after.copyPatches - before.copyPatches, 3); // which write y
  EXPECT_EQ(after.graphLaunches - before.graphLaunches, 6);
  // Host memory between them, and back.
  dlc::test::expectRight(context.get(), kRows);
  expectRight(x[0], y[1], 9);
  EXPECT_EQ(driverCalls().graphsMade, before.graphsMade);
  // A copy that cannot be changed is recorded again, with all of the graph.
  Instead copies(driver, &Driver::graphExecMemcpyNodeSetParams, noCopyNodes);
  expectRight(x[1], y[1], 10);
  EXPECT_EQ(driverCalls().graphsUpdated, before.graphsUpdated + 1);
  EXPECT_EQ(driverCalls().graphsMade, before.graphsMade);
  // Where a graph cannot take over what is recorded, another is made.
  auto update = driver->graphExecUpdate;
  driver->graphExecUpdate = [](dlc::cuda::GraphExec, dlc::cuda::Graph,
                               dlc::cuda::GraphExecUpdateInfo *) {
    return Result::GraphExecUpdateFailure;
  };
  expectRight(x[1], y[0], 11);
  EXPECT_EQ(driverCalls().graphsMade, before.graphsMade + 1);
  driver->graphExecUpdate = nullptr; // a driver that is older
  expectRight(x[0], y[0], 12);
  EXPECT_EQ(driverCalls().graphsMade, before.graphsMade + 2);
  driver->graphExecUpdate = update;
}

TEST_F(DeviceMemory, AGraphThatCannotBeRecordedAgainIsNotReplayed) {
  DevicePtr x[] = {allocate(kRows * 4), allocate(kRows * 4)};
  DevicePtr y = allocate(kRows * 4);
  expectRight(x[0], y);
  expectRight(x[0], y);
  auto begin = driver->streamBeginCapture;
  driver->streamBeginCapture = [](dlc::cuda::Stream, dlc::cuda::StreamCaptureMode) {
    return Result::OutOfMemory;
  };
  expectRight(x[1], y, 5);
  driver->streamBeginCapture = begin;
  expectRight(x[0], y, 6);
}

TEST_F(DeviceMemory, IsCopiedWhereKernelsCannotUseIt) {
  DevicePtr x = allocate(kRows * 4 + 1), y = allocate(kRows * 4 + 1);
  for (int i = 0; i < 3; ++i) {
    expectRight(x + 4, y + 4, float(i)); // not aligned to 16 bytes
    expectRight(x, x, float(i));         // written onto what is read
  }
  DevicePtr both = allocate(kRows * 8);
  for (int i = 0; i < 3; ++i)
    expectRight(both, both + 16, float(i)); // which overlap
}

TEST_F(DeviceMemory, MixedWithHostMemory) {
  DevicePtr x = allocate(kRows * 4), y = allocate(kRows * 4);
  std::vector<float> host(kRows * 4, 3), result(kRows * 4);
  upload(x, std::vector<float>(kRows * 4, 5));
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(run(tensor(DLC_F32, {kRows, 4}, host), onDevice(y)), DLC_OK) << dlc_last_error();
    EXPECT_EQ(download(y)[1], 9);
    ASSERT_EQ(run(onDevice(x), tensor(DLC_F32, {kRows, 4}, result)), DLC_OK) << dlc_last_error();
    EXPECT_EQ(result[1], 15);
  }
}

TEST_F(DeviceMemory, EmptyArraysHaveNoPointers) {
  EXPECT_EQ(run(onDevice(0, 0), onDevice(0, 0)), DLC_OK) << dlc_last_error();
}

TEST_F(DeviceMemory, WrongPointers) {
  DevicePtr x = allocate(kRows * 4), y = allocate(kRows * 4);
  std::vector<float> host(kRows * 4);
  const std::string notDevice = "its pointer is not to GPU memory; for memory of the host leave "
                                "dlc_tensor.memory at DLC_MEMORY_HOST";
  expectUsage(onDevice(reinterpret_cast<DevicePtr>(host.data())), onDevice(y),
              "input 'x': " + notDevice);
  expectUsage(onDevice(x), onDevice(reinterpret_cast<DevicePtr>(host.data())),
              "output 'y': " + notDevice);
  expectUsage(onDevice(0), onDevice(y), "input 'x': its data pointer is null");
  void *pinned = nullptr;
  {
    ContextScope scope(*gpu);
    ASSERT_EQ(driver->memHostAlloc(&pinned, 4096, 0), Result::Success);
  }
  expectUsage(onDevice(reinterpret_cast<DevicePtr>(pinned)), onDevice(y),
              "input 'x': " + notDevice);
  {
    ContextScope scope(*gpu);
    ASSERT_EQ(driver->memFreeHost(pinned), Result::Success);
  }
  expectUsage(onDevice(x + 16), onDevice(y),
              "input 'x': it needs 48 bytes, and its allocation has 32 from its pointer on");
  askDriver = driver->pointerGetAttribute;
  driver->pointerGetAttribute = changedAnswer;
  changed = PointerAttribute::DeviceOrdinal;
  answer = 1;
  expectUsage(onDevice(x), onDevice(y),
              "input 'x': its data is in the memory of GPU 1, and the context runs on GPU 0");
  changed = PointerAttribute::Context;
  answer = 0x1000;
  expectUsage(onDevice(x), onDevice(y),
              "input 'x': its data belongs to another CUDA context than "
              "the primary one of GPU 0");
  answer = 0; // of a pool
  expectRight(x, y);
  // What the driver cannot tell is no fault.
  for (PointerAttribute unknown : {PointerAttribute::Context, PointerAttribute::DeviceOrdinal,
                                   PointerAttribute::RangeStart, PointerAttribute::RangeSize}) {
    changed = unknown;
    driver->pointerGetAttribute = [](void *value, PointerAttribute attribute, DevicePtr pointer) {
      return attribute == changed ? Result::InvalidValue : askDriver(value, attribute, pointer);
    };
    expectRight(allocate(kRows * 4), y);
  }
  driver->pointerGetAttribute = askDriver;
}

TEST_F(DeviceMemory, HostMemoryGoesThroughPinnedMemoryOnceThereIsAGraph) {
  DriverCalls before = driverCalls();
  dlc::test::expectRight(context.get(), kRows);
  EXPECT_EQ(driverCalls().pinned, before.pinned);
  for (int i = 0; i < 3; ++i)
    dlc::test::expectRight(context.get(), kRows);
  EXPECT_EQ(driverCalls().pinned, before.pinned + 1);
  dlc::test::expectRight(context.get(), 64);
  dlc::test::expectRight(context.get(), 64);
  dlc::test::expectRight(context.get(), 64); // needs more of it
  dlc::test::expectRight(context.get(), 2);
  EXPECT_EQ(driverCalls().pinned, before.pinned + 2);
  // Without it copies are the driver's own.
  auto pin = driver->memHostAlloc;
  driver->memHostAlloc = [](void **, size_t, unsigned) { return Result::OutOfMemory; };
  ContextPtr second = open(module.get(), options("cuda"));
  for (int i = 0; i < 4; ++i)
    dlc::test::expectRight(second.get(), kRows);
  driver->memHostAlloc = pin;
}

TEST_F(DeviceMemory, WhatFailsIsNamed) {
  DevicePtr x = allocate(kRows * 4), y = allocate(kRows * 4);
  auto cannot = [&](const std::string &what, DevicePtr from, DevicePtr to) {
    EXPECT_EQ(run(onDevice(from), onDevice(to)), DLC_DEVICE);
    EXPECT_EQ(std::string(dlc_last_error()).find("CUDA device 0: cannot " + what + ": "), 0u)
        << dlc_last_error();
  };
  auto ask = driver->pointerGetAttribute;
  driver->pointerGetAttribute = [](void *, PointerAttribute, DevicePtr) {
    return Result::OutOfMemory;
  };
  cannot("ask about a pointer", x, y);
  driver->pointerGetAttribute = ask;
  // The copies of arrays that kernels cannot use: the input's, then, after the package's own copy,
  // the output's.
  static int copies;
  static decltype(Driver::memcpyDtoDAsync) copy;
  copy = driver->memcpyDtoDAsync;
  DevicePtr shifted = allocate(kRows * 4 + 1) + 4;
  copies = 0;
  driver->memcpyDtoDAsync = [](DevicePtr, DevicePtr, size_t, dlc::cuda::Stream) {
    return Result::OutOfMemory;
  };
  cannot("copy an input on the GPU", shifted, y);
  driver->memcpyDtoDAsync = [](DevicePtr to, DevicePtr from, size_t bytes,
                               dlc::cuda::Stream stream) {
    return copies++ ? Result::OutOfMemory : copy(to, from, bytes, stream);
  };
  cannot("copy an output on the GPU", x, shifted);
  driver->memcpyDtoDAsync = copy;
  expectRight(x, y);
}

// A device that is lost goes with its last context: the next test has a new one.
TEST_F(DeviceMemory, AGpuThatIsLostInAnUpdate) {
  DevicePtr x[] = {allocate(kRows * 4), allocate(kRows * 4)};
  DevicePtr y = allocate(kRows * 4);
  expectRight(x[0], y);
  expectRight(x[0], y);
  Instead copies(driver, &Driver::graphExecMemcpyNodeSetParams, noCopyNodes);
  auto update = driver->graphExecUpdate;
  driver->graphExecUpdate = [](dlc::cuda::GraphExec, dlc::cuda::Graph,
                               dlc::cuda::GraphExecUpdateInfo *) { return Result::IllegalAddress; };
  EXPECT_EQ(run(onDevice(x[1]), onDevice(y)), DLC_DEVICE);
  driver->graphExecUpdate = update;
  EXPECT_EQ(std::string(dlc_last_error()),
            "CUDA device 0: cannot update a graph: CUDA_ERROR_ILLEGAL_ADDRESS (a kernel left its "
            "buffers). The GPU context of this process is lost: end the process and start anew");
}

TEST_F(DeviceMemory, AGpuThatIsLostInPinning) {
  dlc::test::expectRight(context.get(), kRows);
  auto pin = driver->memHostAlloc;
  driver->memHostAlloc = [](void **, size_t, unsigned) { return Result::IllegalAddress; };
  EXPECT_EQ(runScale(context.get(), kRows), DLC_DEVICE);
  driver->memHostAlloc = pin;
  EXPECT_TRUE(lastErrorHas("CUDA device 0: cannot pin memory: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

#endif
