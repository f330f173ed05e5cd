//===- ShapeFormsTest.cpp - Shapes that share a graph -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/graphs/ShapeForms.h"
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/graphs/BoundShapes.h"
#include "test/unit/runtime/CudaRunner.h"
#include "test/unit/runtime/Instead.h"

#include <random>

using namespace dlc::test;
using dlc::cuda::BoundShapes;
using dlc::cuda::ContextScope;
using dlc::cuda::DevicePtr;
using dlc::cuda::Driver;
using dlc::cuda::GpuDevice;
using dlc::cuda::Result;
using dlc::cuda::ShapeForms;

#if !defined(DLC_EMU_DRIVER_PATH)
TEST(ShapeForm, OnTheEmulator) { GTEST_SKIP() << "the emulator is not part of this build"; }
#else

namespace {

constexpr int64_t kMostRows = 64, kFewRows = 10;

/// y = 2 * x + N + 1 over f32[N,4], in two kernels; N in 0..64. The first finds N in its grid, so
/// that another grid than the shape's shows in the result. Both wait for what is before them. Up to
/// kFewRows rows a variant of the second adds 3, not 1.
PackageBuilder formPackage() {
  using namespace dlc::schema;
  using B = PackageBuilder;
  PackageBuilder package;
  Expr n = package.symbol("N", 0, kMostRows), one = package.constant(1);
  std::vector<Expr> dims = {n, package.constant(4)};
  package.input("x", DType::f32, dims);
  package.output("y", DType::f32, dims);
  package.program(Target::cuda);
  Expr count = package.product(dims);
  uint32_t x = package.buffer(Storage::input, DType::f32, dims),
           h = package.buffer(Storage::arena, DType::f32, dims, 0, 0, 1),
           y = package.buffer(Storage::output, DType::f32, dims);
  uint32_t twice = package.cudaKernel("twice", R"(
extern "C" __global__ void twice(const float *x, float *y) {
  dlc::begin_grid();
  long long i = 4 * (long long)blockIdx.x + threadIdx.x;
  if (threadIdx.x < 4)
    y[i] = 2 * x[i] + gridDim.x;
}
)",
                                      32);
  auto adding = [&](const char *name, const char *number) {
    return package.cudaKernel(name,
                              std::string("extern \"C\" __global__ void ") + name +
                                  R"((const float *x, float *y, long long n) {
  dlc::begin_grid();
  for (long long i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i] + )" + number + ";\n}\n",
                              64);
  };
  std::vector<Arg> args = {B::buffer(h), B::buffer(y), B::dim(count)};
  package.launch(twice, {B::buffer(x), B::buffer(h)}, {n}, package.constant(0));
  package.launch(adding("next", "1"), args, {one}, package.constant(0));
  auto variant = std::make_unique<VariantT>();
  LaunchT &launch = *package.module.programs[0]->main[1]->command.AsLaunch();
  variant->launch = std::make_unique<LaunchT>(launch);
  variant->launch->kernel = adding("few", "3");
  variant->limits.emplace_back(n.row, 0, kFewRows);
  launch.variants.push_back(std::move(variant));
  return package;
}

float expectedOf(float x, int64_t n) { return 2 * x + float(n) + (n <= kFewRows ? 3.0f : 1.0f); }

class ShapeForm : public Cuda {
protected:
  void SetUp() override {
    gpu = *GpuDevice::open(0);
    driver = &gpu->driver();
    driverCalls();
  }

  void start(const PackageBuilder &package, dlc_context_options chosen = options("cuda")) {
    context.reset();
    module = load(package.file());
    context = open(module.get(), chosen);
    ASSERT_TRUE(context);
    before = driverCalls();
  }
  /// Runs formPackage() on arrays of the host.
  void run(int64_t n) {
    std::vector<float> y;
    ASSERT_EQ(runScale(context.get(), n, &y), DLC_OK) << dlc_last_error();
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], expectedOf(float(i), n)) << n << " rows, element " << i;
  }
  /// Calls since start().
  DriverCalls calls() const { return driverCalls() - before; }

  std::shared_ptr<GpuDevice> gpu;
  const Driver *driver = nullptr;
  ModulePtr module;
  ContextPtr context;
  DriverCalls before;
};

} // namespace

TEST_F(ShapeForm, ASequenceThatGrowsReplaysOneGraph) {
  start(formPackage());
  for (int64_t n = kFewRows + 1; n <= kFewRows + 40; ++n)
    run(n);
  DriverCalls made = calls();
  EXPECT_EQ(made.launches, 4) << "of the first shape, and what was captured";
  EXPECT_EQ(made.captures, 1);
  EXPECT_EQ(made.graphsMade, 1);
  EXPECT_EQ(made.graphLaunches, 39);
  EXPECT_EQ(made.patches, 38 * 2);
  EXPECT_EQ(made.graphsUpdated, 0);
  EXPECT_LE(made.allocations, 8) << "its memory grows by a quarter at least";
  EXPECT_LE(made.pinned, 5) << "and what copies go through, twofold";
  context.reset();
  EXPECT_EQ(calls().graphsDestroyed, 1);
}

TEST_F(ShapeForm, MemoryThatGrowsHasRoomWhereThereIsMemory) {
  static std::vector<size_t> sizes;
  static decltype(Driver::memAlloc) allocate;
  allocate = driver->memAlloc;
  sizes.clear();
  Instead scarce(
      driver, &Driver::memAlloc, +[](DevicePtr *pointer, size_t bytes) {
        sizes.push_back(bytes);
        return bytes > 2000 ? Result::OutOfMemory : allocate(pointer, bytes);
      });
  ContextScope scope(*gpu);
  dlc::cuda::DeviceBlock block;
  for (int64_t bytes : {1000, 1001, 1250, 1600, 1900, 2000})
    EXPECT_FALSE(block.reserve(*gpu, bytes, "a test").failed()) << bytes;
  EXPECT_EQ(sizes, (std::vector<size_t>{1000, 1250, 1600, 2000}));
  sizes.clear();
  EXPECT_TRUE(block.reserve(*gpu, 2001, "a test").failed());
  EXPECT_FALSE(block.reserve(*gpu, 1700, "a test").failed());
  EXPECT_FALSE(block.reserve(*gpu, 1900, "a test").failed());
  EXPECT_EQ(sizes, (std::vector<size_t>{2500, 2001, 1700, 2125, 1900}));
}

TEST_F(ShapeForm, CopiesFollow) {
  start(cudaPackage());
  for (int64_t n = 1; n <= 40; ++n)
    expectRight(context.get(), n);
  DriverCalls made = calls();
  EXPECT_EQ(made.captures, 1);
  EXPECT_EQ(made.graphLaunches, 39);
  EXPECT_EQ(made.patches, 38);
  EXPECT_EQ(made.copyPatches, 38);
}

TEST_F(ShapeForm, EachCombinationOfVariantsHasOne) {
  start(formPackage());
  for (int64_t n = 1; n <= kFewRows; ++n) {
    run(n);
    run(n + kFewRows);
  }
  DriverCalls made = calls();
  EXPECT_EQ(made.captures, 2);
  EXPECT_EQ(made.graphLaunches, 2 * (kFewRows - 1));
  EXPECT_EQ(made.patches, 2 * (kFewRows - 2) * 2);
  // A shape under which nothing is launched has none.
  run(0);
  EXPECT_EQ(calls().graphLaunches, made.graphLaunches);
}

TEST_F(ShapeForm, AShapeThatComesAgainHasItsOwn) {
  start(formPackage());
  for (int64_t n : {20, 21, 22, 21, 21, 22, 23})
    run(n);
  DriverCalls made = calls();
  EXPECT_EQ(made.captures, 3) << "of the form, of 21 and of 22";
  EXPECT_EQ(made.graphLaunches, 6);
  EXPECT_EQ(made.patches, 2 * 2) << "for 22 and for 23";
}

TEST_F(ShapeForm, WhatIsTheSameIsLeftAlone) {
  PackageBuilder package = cudaPackage();
  uint32_t idle =
      package.cudaKernel("idle", "extern \"C\" __global__ void idle(long long) {}\n", 32);
  package.launch(idle, {PackageBuilder::dim(package.constant(4))}, {package.constant(1)},
                 package.constant(0));
  start(package);
  for (int64_t n = 1; n <= 10; ++n)
    expectRight(context.get(), n);
  EXPECT_EQ(calls().graphLaunches, 9);
  EXPECT_EQ(calls().patches, 8 + 1) << "the other kernel's numbers are not known before the first";
}

TEST_F(ShapeForm, ArraysInGpuMemoryAreUsedInPlace) {
  start(formPackage());
  std::vector<DevicePtr> arrays;
  for (int64_t n = 20; n < 30; ++n) {
    std::vector<float> values(size_t(n) * 4, float(n)), none;
    DevicePtr ends[2];
    dlc_tensor tensors[2];
    for (int end = 0; end < 2; ++end) {
      ContextScope scope(*gpu);
      ASSERT_EQ(driver->memAlloc(&ends[end], values.size() * 4), Result::Success);
      arrays.push_back(ends[end]);
      tensors[end] = tensor(DLC_F32, {n, 4}, none);
      tensors[end].data = reinterpret_cast<void *>(ends[end]);
      tensors[end].bytes = values.size() * 4;
      tensors[end].memory = DLC_MEMORY_DEVICE;
    }
    ContextScope scope(*gpu);
    ASSERT_EQ(driver->memcpyHtoDAsync(ends[0], values.data(), values.size() * 4, nullptr),
              Result::Success);
    ASSERT_EQ(driver->streamSynchronize(nullptr), Result::Success);
    ASSERT_EQ(dlc_context_run(context.get(), &tensors[0], 1, &tensors[1], 1), DLC_OK);
    ASSERT_EQ(driver->memcpyDtoHAsync(values.data(), ends[1], values.size() * 4, nullptr),
              Result::Success);
    ASSERT_EQ(driver->streamSynchronize(nullptr), Result::Success);
    for (float value : values)
      ASSERT_EQ(value, expectedOf(float(n), n));
  }
  EXPECT_EQ(calls().graphLaunches, 9);
  EXPECT_EQ(calls().captures, 1);
  context.reset();
  ContextScope scope(*gpu);
  for (DevicePtr array : arrays)
    EXPECT_EQ(driver->memFree(array), Result::Success);
}

TEST_F(ShapeForm, KernelsThatBeginEarlyGoOnDoingSo) {
  Environment arch("DLC_EMU_ARCH", "90"), check("DLC_EMU_CHECK", "1");
  PackageBuilder package = formPackage();
  for (auto &kernel : package.module.programs[0]->kernels)
    kernel->waits = true;
  start(package);
  for (int64_t n = 20; n < 30; ++n)
    run(n);
  EXPECT_EQ(calls().earlyLaunches, 4);
  EXPECT_EQ(calls().graphLaunches, 9);
}

// Blocks that wait for each other must all find room: CUDA looks at that where a graph is made.
TEST_F(ShapeForm, CooperativeLaunchesOfOneFormHaveOneGrid) {
  PackageBuilder package = cudaPackage();
  package.module.programs[0]->kernels[1]->cooperative = true;
  start(package);
  for (int64_t n = 1; n <= 40; ++n) // 16 rows a block
    expectRight(context.get(), n);
  DriverCalls made = calls();
  EXPECT_EQ(made.captures, 3);
  EXPECT_EQ(made.graphLaunches, 37);
  EXPECT_EQ(made.patches, 14 + 14 + 6);
}

TEST_F(ShapeForm, NoGraphWhereNoneIsWanted) {
  dlc_context_options chosen = options("cuda");
  chosen.no_graph = 1;
  start(formPackage(), chosen);
  for (int64_t n = 20; n < 25; ++n)
    run(n);
  EXPECT_EQ(calls().captures, 0);
}

TEST_F(ShapeForm, WhatCannotBePatchedIsEnqueued) {
  static int left;
  static decltype(Driver::graphExecKernelNodeSetParams) change;
  change = driver->graphExecKernelNodeSetParams;
  for (int fine : {0, 1, 2, 3}) {
    SCOPED_TRACE(fine);
    left = fine;
    Instead fault(
        driver, &Driver::graphExecKernelNodeSetParams,
        +[](dlc::cuda::GraphExec graph, dlc::cuda::GraphNode node,
            const dlc::cuda::KernelNodeParams *parameters) {
          return left-- > 0 ? change(graph, node, parameters) : Result::InvalidValue;
        });
    start(formPackage());
    for (int64_t n = 20; n < 30; ++n)
      run(n);
    DriverCalls made = calls();
    EXPECT_EQ(made.captures, 1) << "it is not tried again";
    EXPECT_EQ(made.graphLaunches, 1 + fine / 2);
    EXPECT_EQ(made.launches, 2 * (10 - fine / 2));
    EXPECT_EQ(made.graphsDestroyed, 1);
    run(29); // which has a graph of its own
    EXPECT_EQ(calls().captures, 2);
  }
}

TEST_F(ShapeForm, AnOlderDriverEnqueues) {
  {
    Instead tells(driver, &Driver::streamGetCaptureInfo,
                  static_cast<decltype(Driver::streamGetCaptureInfo)>(nullptr));
    start(formPackage());
    for (int64_t n = 20; n < 25; ++n)
      run(n);
    EXPECT_EQ(calls().graphLaunches, 1);
  }
  Instead copies(driver, &Driver::graphExecMemcpyNodeSetParams,
                 static_cast<decltype(Driver::graphExecMemcpyNodeSetParams)>(nullptr));
  start(cudaPackage());
  for (int64_t n = 1; n < 5; ++n)
    expectRight(context.get(), n);
  EXPECT_EQ(calls().graphLaunches, 1);
}

TEST_F(ShapeForm, AGraphThatDoesNotStartIsNotTriedAgain) {
  start(formPackage());
  {
    Instead fault(
        driver, &Driver::graphLaunch,
        +[](dlc::cuda::GraphExec, dlc::cuda::Stream) { return Result::OutOfMemory; });
    for (int64_t n = 20; n < 23; ++n)
      run(n);
  }
  run(23);
  EXPECT_EQ(calls().graphsMade, 1);
  EXPECT_EQ(calls().graphsDestroyed, 1);
  EXPECT_EQ(calls().graphLaunches, 0);
}

TEST_F(ShapeForm, RandomShapesKeepNoMoreGraphsThanTheyMay) {
  // Each number of rows is a form, so that forms go as well.
  PackageBuilder package = formPackage();
  package.module.programs[0]->kernels[0]->cooperative = true;
  for (const auto &[each, fewestLaunches] : {std::pair(formPackage(), 500), {package, 200}}) {
    start(each);
    std::mt19937 random(7);
    for (int i = 0; i < 1000; ++i) {
      run(std::uniform_int_distribution<int64_t>(0, kMostRows)(random));
      DriverCalls made = calls();
      ASSERT_LE(size_t(made.graphsMade - made.graphsDestroyed),
                BoundShapes::kLimit + 1 + ShapeForms::kLimit + 1);
    }
    EXPECT_GT(calls().graphLaunches, fewestLaunches);
    context.reset();
    EXPECT_EQ(calls().graphsMade, calls().graphsDestroyed);
    module.reset();
    gpu.reset();
    EXPECT_EQ(emulatorLeaks(), "");
    gpu = *GpuDevice::open(0);
  }
}

#endif
