//===- CudaEnqueueTest.cpp - Runs that nobody waits for, on an emulated GPU -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the emulator is asked for runs as late as its order allows, so that a wait that is missing
// shows in the data.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Device.h"
#include "test/unit/runtime/CudaRunner.h"
#include "test/unit/runtime/Instead.h"

#include <cstring>
#include <thread>

using namespace dlc::test;
using dlc::cuda::ContextScope;
using dlc::cuda::DevicePtr;
using dlc::cuda::Driver;
using dlc::cuda::GpuDevice;
using dlc::cuda::Result;
using dlc::cuda::Stream;
using dlc::schema::Target;

#if !defined(DLC_EMU_DRIVER_PATH)
TEST(CudaEnqueue, OnTheEmulator) { GTEST_SKIP() << "the emulator is not part of this build"; }
#else

namespace {

/// y = 2 * x + 1 over f32[N,4], in two kernels, of which `copied` makes the output by a copy.
PackageBuilder kernelsPackage(bool copied) {
  using namespace dlc::schema;
  using B = PackageBuilder;
  PackageBuilder package;
  std::vector<Expr> dims = {package.symbol("N", 0, 64), package.constant(4)};
  package.input("x", DType::f32, dims);
  package.output("y", DType::f32, dims);
  package.program(dlc::schema::Target::cuda);
  Expr count = package.product(dims);
  uint32_t x = package.buffer(Storage::input, DType::f32, dims),
           h = package.buffer(Storage::arena, DType::f32, dims, 0, 0, 1),
           g = package.buffer(Storage::arena, DType::f32, dims, 0, 1, copied ? 2 : 1),
           y = package.buffer(Storage::output, DType::f32, dims);
  uint32_t twice = package.cudaKernel("twice", R"(
extern "C" __global__ void twice(const float *x, float *y, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = 2 * x[i];
}
)",
                                      64),
           next = package.cudaKernel("next", R"(
extern "C" __global__ void next(const float *x, float *y, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i] + 1;
}
)",
                                     64);
  package.launch(twice, {B::buffer(x), B::buffer(h), B::dim(count)}, {package.constant(1)});
  package.launch(next, {B::buffer(h), B::buffer(copied ? g : y), B::dim(count)},
                 {package.constant(1)});
  if (copied)
    package.copy(g, y);
  return package;
}

constexpr int64_t kRows = 3;
constexpr size_t kNumbers = size_t(kRows) * 4;

/// Contexts on arrays of the caller's in GPU memory.
class CudaEnqueue : public Cuda {
protected:
  void SetUp() override {
    gpu = *GpuDevice::open(0);
    driver = const_cast<Driver *>(&gpu->driver());
    driverCalls();
    start(cudaPackage());
  }
  void TearDown() override {
    context.reset();
    ContextScope scope(*gpu);
    for (Stream stream : streams)
      EXPECT_EQ(driver->streamDestroy(stream), Result::Success);
    for (DevicePtr pointer : allocated)
      EXPECT_EQ(driver->memFree(pointer), Result::Success);
  }

  void start(const PackageBuilder &package, dlc_context_options chosen = options("cuda")) {
    context.reset();
    module = load(package.file());
    context = open(module.get(), chosen);
    ASSERT_TRUE(context);
  }
  void prepare(int64_t rows = kRows) {
    dlc_tensor in = onDevice(0, rows);
    ASSERT_EQ(dlc_context_prepare(context.get(), &in, 1), DLC_OK) << dlc_last_error();
  }

  DevicePtr allocate(int64_t rows = kRows) {
    ContextScope scope(*gpu);
    DevicePtr pointer = 0;
    EXPECT_EQ(driver->memAlloc(&pointer, size_t(rows) * 16), Result::Success);
    allocated.push_back(pointer);
    return pointer;
  }
  DevicePtr allocateFull(float value) {
    DevicePtr pointer = allocate();
    std::vector<float> values(kNumbers, value);
    ContextScope scope(*gpu);
    EXPECT_EQ(driver->memcpyHtoDAsync(pointer, values.data(), kNumbers * 4, nullptr),
              Result::Success);
    EXPECT_EQ(driver->streamSynchronize(nullptr), Result::Success);
    return pointer;
  }
  /// In no order with other streams.
  std::vector<float> download(DevicePtr pointer) {
    ContextScope scope(*gpu);
    std::vector<float> values(kNumbers);
    EXPECT_EQ(driver->memcpyDtoHAsync(values.data(), pointer, kNumbers * 4, nullptr),
              Result::Success);
    EXPECT_EQ(driver->streamSynchronize(nullptr), Result::Success);
    return values;
  }
  Stream makeStream() {
    ContextScope scope(*gpu);
    Stream stream = nullptr;
    EXPECT_EQ(driver->streamCreate(&stream, dlc::cuda::kStreamNonBlocking), Result::Success);
    streams.push_back(stream);
    return stream;
  }
  static dlc_tensor onDevice(DevicePtr pointer, int64_t rows = kRows) {
    std::vector<float> none;
    dlc_tensor out = tensor(DLC_F32, {rows, 4}, none);
    out.data = reinterpret_cast<void *>(pointer);
    out.bytes = size_t(rows) * 16;
    out.memory = DLC_MEMORY_DEVICE;
    return out;
  }
  RunPtr put(DevicePtr from, DevicePtr to, dlc_status expected = DLC_OK, Stream stream = nullptr) {
    return enqueue(context.get(), onDevice(from), onDevice(to), expected, stream);
  }
  dlc_status wait(const RunPtr &run) { return dlc_run_wait(run.get(), -1); }
  /// The array holds x * (2, 3, 4, 5), `times` over.
  void expectScaled(DevicePtr pointer, float x, int times) {
    std::vector<float> values = download(pointer);
    for (size_t i = 0; i < kNumbers; ++i) {
      float expected = x;
      for (int time = 0; time < times; ++time)
        expected *= float(i % 4 + 2);
      ASSERT_EQ(values[i], expected) << i;
    }
  }

  std::shared_ptr<GpuDevice> gpu;
  Driver *driver = nullptr;
  ModulePtr module;
  ContextPtr context;
  std::vector<DevicePtr> allocated;
  std::vector<Stream> streams;
};

} // namespace

TEST_F(CudaEnqueue, ShapesThatAreNotPreparedAreRefused) {
  DevicePtr x = allocateFull(1), y = allocateFull(7);
  dlc::test::expectRight(context.get(), kRows); // bound and compiled, and still not prepared
  DriverCalls before = driverCalls();
  int compiles = countCompiles();
  put(x, y, DLC_NOT_PREPARED);
  EXPECT_STREQ(dlc_last_error(),
               "the shapes of this run are not prepared: call dlc_context_prepare "
               "with them first");
  prepare(2);
  put(x, y, DLC_NOT_PREPARED);
  DriverCalls after = driverCalls();
  EXPECT_EQ(after.launches - before.launches, 1) << "captured by prepare";
  EXPECT_EQ(after.graphLaunches, before.graphLaunches);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(countCompiles(), compiles);
  EXPECT_EQ(download(y)[0], 7) << "nothing was launched";
  prepare();
  EXPECT_EQ(wait(put(x, y)), DLC_OK);
  expectScaled(y, 1, 1);
}

TEST_F(CudaEnqueue, RunsAreInOrderInOneStream) {
  prepare();
  DevicePtr arrays[] = {allocateFull(1), allocateFull(7), allocateFull(7), allocateFull(7)};
  DriverCalls before = driverCalls();
  std::vector<RunPtr> runs;
  for (int i = 0; i < 3; ++i)
    runs.push_back(put(arrays[i], arrays[i + 1]));
  DriverCalls after = driverCalls();
  EXPECT_EQ(after.graphLaunches - before.graphLaunches, 3);
  EXPECT_EQ(after.graphsMade, before.graphsMade);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.eventWaits, before.eventWaits);
  EXPECT_EQ(download(arrays[1])[0], 7) << "the call does not wait";
  EXPECT_EQ(dlc_run_wait(runs[0].get(), 0), DLC_PENDING);
  EXPECT_EQ(wait(runs[2]), DLC_OK);
  for (const RunPtr &run : runs)
    EXPECT_EQ(dlc_run_wait(run.get(), 0), DLC_OK);
  for (int i = 0; i < 4; ++i)
    expectScaled(arrays[i], 1, i);
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  ASSERT_EQ(dlc_run_output_dims(runs[0].get(), 0, &rank, dims), DLC_OK);
  EXPECT_EQ(std::vector<int64_t>(dims, dims + rank), std::vector<int64_t>({kRows, 4}));
}

TEST_F(CudaEnqueue, RunsAreInOrderInManyStreams) {
  prepare();
  Stream first = makeStream(), second = makeStream();
  Stream order[] = {first, second, second, nullptr, first, nullptr, nullptr, second};
  std::vector<DevicePtr> arrays = {allocateFull(1)};
  DriverCalls before = driverCalls();
  for (Stream stream : order) {
    arrays.push_back(allocate());
    put(arrays[arrays.size() - 2], arrays.back(), DLC_OK, stream);
    if (stream)
      EXPECT_EQ(driverCalls().lastStream, stream);
  }
  EXPECT_EQ(driverCalls().eventWaits - before.eventWaits, 5) << "each time that the stream changes";
  // A stream that is gone is not asked any more.
  {
    ContextScope scope(*gpu);
    ASSERT_EQ(driver->streamDestroy(second), Result::Success);
    streams.pop_back();
  }
  arrays.push_back(allocate());
  put(arrays[8], arrays[9], DLC_OK, first);
  // A run that is waited for comes after them, too.
  arrays.push_back(allocate());
  dlc_tensor in = onDevice(arrays[9]), out = onDevice(arrays[10]);
  ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK) << dlc_last_error();
  for (int i = 0; i <= 10; ++i)
    expectScaled(arrays[size_t(i)], 1, i);
}

TEST_F(CudaEnqueue, SynchronizeWaitsForOtherStreams) {
  prepare();
  DevicePtr x = allocateFull(1), y = allocateFull(7);
  dlc_tensor in = onDevice(x), out = onDevice(y);
  dlc_enqueue_options options = {sizeof(options), makeStream()};
  ASSERT_EQ(dlc_context_enqueue(context.get(), &in, 1, &out, 1, &options, nullptr), DLC_OK);
  EXPECT_EQ(download(y)[0], 7);
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  expectScaled(y, 1, 1);
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_OK) << "nothing is in flight";
}

TEST_F(CudaEnqueue, TheContextIsFreedWithRunsInFlight) {
  prepare();
  DevicePtr arrays[] = {allocateFull(1), allocateFull(7), allocateFull(7)};
  RunPtr first = put(arrays[0], arrays[1]),
         second = put(arrays[1], arrays[2], DLC_OK, makeStream());
  module.reset();
  context.reset();
  expectScaled(arrays[2], 1, 2);
  EXPECT_EQ(wait(second), DLC_OK) << "a handle outlives the context";
  EXPECT_EQ(dlc_run_wait(first.get(), 0), DLC_OK);
}

TEST_F(CudaEnqueue, PreparedShapesStay) {
  // More shapes than are kept of those that are not prepared, and one that moves the arena.
  for (int64_t rows : {2, 3, 4})
    prepare(rows);
  for (int64_t n = 5; n <= 40; ++n)
    dlc::test::expectRight(context.get(), n);
  dlc::test::expectRight(context.get(), 64);
  DevicePtr x = allocateFull(1), y = allocate();
  DriverCalls before = driverCalls();
  for (int i = 0; i < 3; ++i) {
    put(x, y);
    enqueue(context.get(), onDevice(x, 2), onDevice(y, 2));
  }
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  expectScaled(y, 1, 1);
  DriverCalls after = driverCalls();
  EXPECT_EQ(after.graphLaunches - before.graphLaunches, 6);
  EXPECT_EQ(after.graphsMade, before.graphsMade);
  EXPECT_EQ(after.allocations, before.allocations);
}

TEST_F(CudaEnqueue, RunsInFlightKeepTheirMemoryWhileAnotherShapeIsBound) {
  prepare();
  DevicePtr x = allocateFull(1), y = allocateFull(7), z = allocateFull(7);
  put(x, y);
  put(y, z, DLC_OK, makeStream());
  prepare(64); // the arena moves
  expectScaled(z, 1, 2);
  put(x, y);
  dlc::test::expectRight(context.get(), 60);
  expectScaled(y, 1, 1);
}

TEST_F(CudaEnqueue, WithoutGraphs) {
  dlc_context_options chosen = options("cuda");
  chosen.no_graph = 1;
  start(cudaPackage(), chosen);
  prepare();
  DevicePtr x = allocateFull(1), y = allocate(), z = allocate();
  DriverCalls before = driverCalls();
  put(x, y);
  put(y, z);
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  expectScaled(z, 1, 2);
  EXPECT_EQ(driverCalls().launches - before.launches, 2);
  EXPECT_EQ(driverCalls().graphLaunches, before.graphLaunches);
}

TEST_F(CudaEnqueue, TheGraphsLaunchesAreGivenOtherArrays) {
  struct {
    const char *what;
    bool copied, isOld, isRefused;
    int changes, copyChanges, updates;
  } const cases[] = {{"launches alone", false, false, false, 8, 0, 0},
                     {"a launch and a copy", true, false, false, 4, 4, 0},
                     {"a driver that does not tell the nodes", false, true, false, 0, 0, 4},
                     {"a change that is refused, then recorded", false, false, true, 1, 0, 4}};
  static int changes;
  static decltype(Driver::graphExecKernelNodeSetParams) change;
  change = driver->graphExecKernelNodeSetParams;
  for (const auto &one : cases) {
    SCOPED_TRACE(one.what);
    Instead counted(
        driver, &Driver::graphExecKernelNodeSetParams,
        one.isRefused
            ? +[](dlc::cuda::GraphExec, dlc::cuda::GraphNode,
                  const dlc::cuda::KernelNodeParams *) {
                ++changes;
                return Result::NotSupported;
              }
            : +[](dlc::cuda::GraphExec graph, dlc::cuda::GraphNode node,
                  const dlc::cuda::KernelNodeParams *parameters) {
                ++changes;
                return change(graph, node, parameters);
              });
    Instead tells(driver, &Driver::streamGetCaptureInfo,
                  one.isOld ? nullptr : driver->streamGetCaptureInfo);
    start(kernelsPackage(one.copied));
    prepare();
    std::vector<DevicePtr> arrays = {allocateFull(1)};
    changes = 0;
    DriverCalls before = driverCalls();
    for (int i = 0; i < 4; ++i) { // all in flight at once
      arrays.push_back(allocateFull(-1));
      put(arrays[size_t(i)], arrays[size_t(i) + 1]);
    }
    put(arrays[3], arrays[4]); // the same ones again
    ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
    float expected = 1;
    for (DevicePtr array : arrays) {
      EXPECT_EQ(download(array)[kNumbers - 1], expected);
      expected = 2 * expected + 1;
    }
    DriverCalls after = driverCalls();
    EXPECT_EQ(changes, one.changes);
    EXPECT_EQ(after.copyPatches - before.copyPatches, one.copyChanges);
    EXPECT_EQ(after.graphsUpdated - before.graphsUpdated, one.updates);
    EXPECT_EQ(after.graphsMade, before.graphsMade);
    EXPECT_EQ(after.graphLaunches - before.graphLaunches, 5);
  }
}

TEST_F(CudaEnqueue, StatesPassFromRunToRun) {
  start(delayPackage(Target::cuda));
  prepare();
  DevicePtr x[] = {allocateFull(1), allocateFull(2), allocateFull(3), allocateFull(4)};
  DevicePtr y[] = {allocate(), allocate(), allocate(), allocate()};
  Stream streams[] = {nullptr, makeStream(), nullptr, nullptr};
  for (int i = 0; i < 4; ++i) {
    if (i == 2) // nothing is waited for
      ASSERT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
    put(x[i], y[i], DLC_OK, streams[i]);
  }
  dlc_tensor other = onDevice(0, 2);
  EXPECT_EQ(dlc_context_prepare(context.get(), &other, 1), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("state 'before' holds [3,4] from the runs before"));
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  for (auto [i, expected] : {std::pair(0, 0), {1, 1}, {2, 0}, {3, 3}})
    EXPECT_EQ(download(y[i])[0], float(expected)) << i;
}

TEST_F(CudaEnqueue, ACacheIsCountedWhenRunsAreEnqueued) {
  PackageBuilder package = delayPackage(Target::cuda);
  package.module.cache = std::make_unique<dlc::schema::CacheT>();
  package.module.cache->capacity = 2 * kRows + 1;
  package.module.cache->step = package.module.inputs[0]->dims[0]; // N
  start(package);
  DevicePtr x = allocateFull(1), y = allocateFull(7), untouched = allocateFull(7);
  put(x, y, DLC_NOT_PREPARED);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0) << "what was not launched takes nothing";
  prepare();
  put(x, y);
  put(x, y);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 6);
  put(x, untouched, DLC_USAGE);
  EXPECT_TRUE(
      lastErrorHas("the model's cache holds 7 positions, of which 6 are taken, and this run "
                   "brings 3; reset the states first"));
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  EXPECT_EQ(download(y)[0], 1);
  EXPECT_EQ(download(untouched)[0], 7);
  ASSERT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(dlc_context_cache_length(context.get()), 0);
  put(x, y);
  ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK);
  EXPECT_EQ(download(y)[0], 0);
}

TEST_F(CudaEnqueue, HostMemoryIsPinned) {
  prepare();
  void *pinned = nullptr;
  {
    ContextScope scope(*gpu);
    ASSERT_EQ(driver->memHostAlloc(&pinned, 2 * kNumbers * 4, 0), Result::Success);
  }
  auto *x = static_cast<float *>(pinned), *y = x + kNumbers;
  std::vector<float> pageable(kNumbers, 1);
  auto onHost = [](float *data) {
    dlc_tensor out = onDevice(reinterpret_cast<DevicePtr>(data));
    out.memory = DLC_MEMORY_HOST;
    return out;
  };
  const std::string message =
      "an enqueued run takes GPU memory (dlc_tensor.memory is DLC_MEMORY_DEVICE) or pinned memory "
      "of the host (cuMemHostAlloc, cudaMallocHost), which nobody waits for; dlc_context_run takes "
      "any";
  for (int time = 0; time < 2; ++time) {
    for (size_t i = 0; i < kNumbers; ++i)
      x[i] = float(i) + float(time);
    RunPtr run = enqueue(context.get(), onHost(x), onHost(y));
    ASSERT_EQ(wait(run), DLC_OK) << dlc_last_error();
    for (size_t i = 0; i < kNumbers; ++i)
      ASSERT_EQ(y[i], x[i] * float(i % 4 + 2));
    DriverCalls before = driverCalls();
    enqueue(context.get(), onHost(pageable.data()), onHost(y), DLC_USAGE);
    EXPECT_EQ(std::string(dlc_last_error()), "input 'x': " + message);
    enqueue(context.get(), onHost(x), onHost(pageable.data()), DLC_USAGE);
    EXPECT_EQ(std::string(dlc_last_error()), "output 'y': " + message);
    EXPECT_EQ(driverCalls().graphLaunches, before.graphLaunches);
    EXPECT_EQ(driverCalls().uploads, before.uploads);
  }
  ContextScope scope(*gpu);
  ASSERT_EQ(driver->memFreeHost(pinned), Result::Success);
}

TEST_F(CudaEnqueue, WhatNeedsAWaitIsRefused) {
  DevicePtr x = allocateFull(1), y = allocateFull(7);
  for (int which = 0; which < 3; ++which) {
    dlc_context_options chosen = options("cuda");
    (which == 0 ? chosen.profile : which == 1 ? chosen.time_device : chosen.timeout_ms) = 1000;
    start(cudaPackage(), chosen);
    prepare();
    put(x, y, DLC_USAGE);
    EXPECT_STREQ(
        dlc_last_error(),
        "a context with the option 'profile', 'time_device' or 'timeout_ms' waits for each "
        "run: use dlc_context_run, or a context without them");
  }
}

TEST_F(CudaEnqueue, AStreamThatDoesNotServe) {
  prepare();
  DevicePtr x = allocateFull(1), y = allocateFull(7);
  Stream stream = makeStream();
  {
    ContextScope scope(*gpu);
    ASSERT_EQ(driver->streamBeginCapture(stream, dlc::cuda::StreamCaptureMode::Relaxed),
              Result::Success);
  }
  put(x, y, DLC_USAGE, stream);
  EXPECT_TRUE(lastErrorHas("the stream captures a graph"));
  {
    ContextScope scope(*gpu);
    dlc::cuda::Graph graph = nullptr;
    EXPECT_EQ(driver->streamEndCapture(stream, &graph), Result::Success);
    EXPECT_EQ(driver->graphDestroy(graph), Result::Success);
  }
  {
    Instead fault(
        driver, &Driver::streamGetCtx, +[](Stream, dlc::cuda::Context *context) {
          *context = nullptr;
          return Result::Success;
        });
    put(x, y, DLC_USAGE, stream);
    EXPECT_STREQ(dlc_last_error(),
                 "the stream belongs to another context than the primary one of GPU 0");
  }
  EXPECT_EQ(wait(put(x, y, DLC_OK, stream)), DLC_OK);
  expectScaled(y, 1, 1);
}

TEST_F(CudaEnqueue, OneThreadWaitsWhileAnotherEnqueues) {
  prepare();
  DevicePtr x = allocateFull(1), y = allocate();
  for (int round = 0; round < 20; ++round) {
    RunPtr run = put(x, y);
    std::thread waiter([&] { EXPECT_EQ(wait(run), DLC_OK); });
    RunPtr next = put(x, y);
    waiter.join();
    EXPECT_EQ(wait(next), DLC_OK);
  }
}

TEST_F(CudaEnqueue, AnEnqueueThatFailsHalfWayLeavesNothingInFlight) {
  start(delayPackage(Target::cuda));
  dlc_context_options chosen = options("cuda");
  chosen.no_graph = 1;
  start(delayPackage(Target::cuda), chosen);
  prepare();
  DevicePtr x = allocateFull(1), y = allocateFull(7);
  static int copies;
  static decltype(Driver::memcpyDtoDAsync) copy;
  copies = 0;
  copy = driver->memcpyDtoDAsync;
  {
    // The second of the two copies that the model is.
    Instead fault(
        driver, &Driver::memcpyDtoDAsync,
        +[](DevicePtr to, DevicePtr from, size_t bytes, Stream stream) {
          return copies++ == 1 ? Result::OutOfMemory : copy(to, from, bytes, stream);
        });
    put(x, y, DLC_DEVICE);
    EXPECT_TRUE(lastErrorHas("CUDA device 0: cannot copy a buffer: CUDA_ERROR_OUT_OF_MEMORY"));
  }
  EXPECT_EQ(download(y)[0], 0) << "what was begun has ended";
  put(x, y, DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("the run before failed and may have left states half written"));
  ASSERT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(wait(put(x, y)), DLC_OK);
  EXPECT_EQ(wait(put(x, y)), DLC_OK);
  EXPECT_EQ(download(y)[0], 1);
}

TEST_F(CudaEnqueue, WhatFailsIsNamed) {
  prepare();
  DevicePtr x = allocateFull(1), y = allocateFull(7);
  RunPtr first = put(x, y);
  Stream stream = makeStream();
  {
    Instead fault(
        driver, &Driver::streamWaitEvent,
        +[](Stream, dlc::cuda::Event, unsigned) { return Result::OutOfMemory; });
    put(x, y, DLC_DEVICE, stream);
    EXPECT_TRUE(
        lastErrorHas("CUDA device 0: cannot wait for the run before: CUDA_ERROR_OUT_OF_MEMORY"));
  }
  EXPECT_EQ(wait(put(x, y, DLC_OK, stream)), DLC_OK);
  EXPECT_EQ(dlc_run_wait(first.get(), 0), DLC_OK);
}

// A device that is lost goes with its last context: the next test has a new one.
TEST_F(CudaEnqueue, AGpuThatIsLostWhenALaunchIsGivenOtherArrays) {
  start(kernelsPackage(false));
  prepare();
  Instead fault(
      driver, &Driver::graphExecKernelNodeSetParams,
      +[](dlc::cuda::GraphExec, dlc::cuda::GraphNode, const dlc::cuda::KernelNodeParams *) {
        return Result::IllegalAddress;
      });
  put(allocate(), allocate(), DLC_DEVICE);
  EXPECT_TRUE(
      lastErrorHas("CUDA device 0: cannot change a graph: CUDA_ERROR_ILLEGAL_ADDRESS (a kernel "
                   "left its buffers). The GPU context of this process is lost"));
}

TEST_F(CudaEnqueue, ARunThatLosesTheGpuIsToldLater) {
  prepare();
  DevicePtr x = allocateFull(1), y = allocateFull(7);
  RunPtr well = put(x, y);
  EXPECT_EQ(wait(well), DLC_OK);
  RunPtr run = put(x, y);
  {
    Instead fault(
        driver, &Driver::eventSynchronize,
        +[](dlc::cuda::Event) { return Result::IllegalAddress; });
    EXPECT_EQ(wait(run), DLC_DEVICE);
  }
  const std::string message =
      "CUDA device 0: cannot finish the run: CUDA_ERROR_ILLEGAL_ADDRESS (a kernel left its "
      "buffers). The GPU context of this process is lost: end the process and start anew";
  EXPECT_EQ(std::string(dlc_last_error()), message);
  EXPECT_EQ(wait(well), DLC_OK) << "it ended before";
  put(x, y, DLC_DEVICE);
  EXPECT_EQ(std::string(dlc_last_error()), message);
  EXPECT_EQ(dlc_context_synchronize(context.get()), DLC_DEVICE);
  EXPECT_EQ(std::string(dlc_last_error()), message);
}

#endif
