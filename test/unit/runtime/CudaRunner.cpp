//===- CudaRunner.cpp - What the tests of the CUDA path share ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/CudaRunner.h"
#include "runtime/cuda/driver/Library.h"

#include <atomic>
#include <dlfcn.h>

using namespace dlc::test;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;
using B = PackageBuilder;

const char *const dlc::test::kScaleKernel = R"(
extern "C" __global__ void scale(const float *x, const float *p, float *y, long long n) {
  long long i = (long long)blockIdx.x * 64 + threadIdx.x;
  if (i < n)
    y[i] = x[i] * p[i % 4];
}
)";
static const char *const kAddOne = R"(
extern "C" __global__ void add_one(const float *w, float *p, long long n) {
  if (threadIdx.x < n)
    p[threadIdx.x] = w[threadIdx.x] + 1.0f;
}
)";

PackageBuilder dlc::test::cudaPackage(const std::string &scale) {
  PackageBuilder package;
  Expr n = package.symbol("N", 0, 64), four = package.constant(4);
  package.input("x", DType::f32, {n, four});
  package.output("y", DType::f32, {n, four});
  package.weight("w", {1, 2, 3, 4}, {4});
  package.program(Target::cuda);
  uint32_t x = package.buffer(Storage::input, DType::f32, {n, four});
  uint32_t w = package.buffer(Storage::weight, DType::f32, {four});
  uint32_t p = package.buffer(Storage::persistent, DType::f32, {four});
  uint32_t h = package.buffer(Storage::arena, DType::f32, {n, four}, 0, 0, 1);
  uint32_t y = package.buffer(Storage::output, DType::f32, {n, four});
  uint32_t init = package.cudaKernel("add_one", kAddOne, 32);
  uint32_t main = package.cudaKernel("scale", scale, 64);
  Expr count = package.product({n, four});
  Expr blocks = package.apply(dlc::schema::ExprOp::ceildiv, count, package.constant(64));
  package.launch(init, {B::buffer(w), B::buffer(p), B::dim(four)}, {package.constant(1)},
                 package.constant(0), true);
  package.launch(main, {B::buffer(x), B::buffer(p), B::buffer(h), B::dim(count)}, {blocks},
                 package.constant(0));
  package.copy(h, y);
  return package;
}

Environment::Environment(const char *name, const std::string &value) : name(name) {
  const char *old = getenv(name);
  wasSet = old != nullptr;
  before = old ? old : "";
  setenv(name, value.c_str(), 1);
}

Environment::~Environment() {
  if (wasSet)
    setenv(name, before.c_str(), 1);
  else
    unsetenv(name);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "dlc-test-XXXXXX").string();
  name = mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
}

dlc_status dlc::test::openCuda(const PackageBuilder &package, const char *device) {
  ModulePtr module = load(package.file());
  dlc_context *context = nullptr;
  dlc_context_options chosen = options(device);
  dlc_status status = dlc_context_create(module.get(), &chosen, &context);
  dlc_context_free(context);
  return status;
}

dlc_status dlc::test::runScale(dlc_context *context, int64_t n, std::vector<float> *result) {
  std::vector<float> x(n * 4), y(n * 4, -1);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  dlc_tensor in = tensor(DLC_F32, {n, 4}, x), out = tensor(DLC_F32, {n, 4}, y);
  dlc_status status = dlc_context_run(context, &in, 1, &out, 1);
  if (result)
    *result = y;
  return status;
}

void dlc::test::expectRight(dlc_context *context, int64_t n) {
  std::vector<float> y;
  ASSERT_EQ(runScale(context, n, &y), DLC_OK) << dlc_last_error();
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(y[i], float(i) * float(i % 4 + 2));
}

#if defined(DLC_EMU_DRIVER_PATH)
static std::atomic<int> compiles = 0;
static decltype(dlc::cuda::Nvrtc::compileProgram) compileProgram = nullptr;

int dlc::test::countCompiles() {
  if (!compileProgram) {
    auto opened = cuda::Nvrtc::open(0);
    EXPECT_FALSE(opened.failed()) << opened.status().message();
    auto *nvrtc = const_cast<cuda::Nvrtc *>(*opened);
    compileProgram = nvrtc->compileProgram;
    nvrtc->compileProgram = [](cuda::NvrtcProgram program, int count, const char *const *options) {
      ++compiles;
      return compileProgram(program, count, options);
    };
  }
  return compiles;
}

static dlc::cuda::Driver original;
static DriverCalls calls;

DriverCalls DriverCalls::operator-(const DriverCalls &before) const {
  DriverCalls difference = *this;
  for (int DriverCalls::*count :
       {&DriverCalls::launches, &DriverCalls::earlyLaunches, &DriverCalls::graphLaunches,
        &DriverCalls::graphsMade, &DriverCalls::graphsDestroyed, &DriverCalls::captures,
        &DriverCalls::graphsUpdated, &DriverCalls::allocations, &DriverCalls::uploads,
        &DriverCalls::pinned, &DriverCalls::eventWaits, &DriverCalls::patches,
        &DriverCalls::copyPatches})
    difference.*count -= before.*count;
  return difference;
}

std::string dlc::test::emulatorLeaks() {
  void *library = dlopen(DLC_EMU_DRIVER_PATH, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<const char *(*)()>(dlsym(library, "dlcEmuLeaks"))();
}

DriverCalls dlc::test::driverCalls() {
  using namespace cuda;
  if (original.init)
    return calls;
  auto opened = Driver::open();
  EXPECT_FALSE(opened.failed()) << opened.status().message();
  auto *driver = const_cast<Driver *>(*opened);
  original = *driver;
  driver->launchKernel = [](Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                            unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                            Stream stream, void **parameters, void **extra) {
    ++calls.launches;
    calls.lastStream = stream;
    return original.launchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared,
                                 stream, parameters, extra);
  };
  driver->launchKernelEx = [](const LaunchConfig *config, Function function, void **parameters,
                              void **extra) {
    calls.earlyLaunches += config->attributes->isAllowed;
    return original.launchKernelEx(config, function, parameters, extra);
  };
  driver->graphLaunch = [](GraphExec exec, Stream stream) {
    ++calls.graphLaunches;
    calls.lastStream = stream;
    return original.graphLaunch(exec, stream);
  };
  driver->graphInstantiate = [](GraphExec *exec, Graph graph, unsigned long long flags) {
    ++calls.graphsMade;
    return original.graphInstantiate(exec, graph, flags);
  };
  driver->graphExecUpdate = [](GraphExec exec, Graph graph, GraphExecUpdateInfo *info) {
    ++calls.graphsUpdated;
    return original.graphExecUpdate(exec, graph, info);
  };
  driver->graphExecKernelNodeSetParams = [](GraphExec exec, GraphNode node,
                                            const KernelNodeParams *parameters) {
    ++calls.patches;
    return original.graphExecKernelNodeSetParams(exec, node, parameters);
  };
  driver->graphExecMemcpyNodeSetParams = [](GraphExec exec, GraphNode node,
                                            const MemcpyNodeParams *parameters, Context context) {
    ++calls.copyPatches;
    return original.graphExecMemcpyNodeSetParams(exec, node, parameters, context);
  };
  driver->memHostAlloc = [](void **pointer, size_t bytes, unsigned flags) {
    ++calls.pinned;
    return original.memHostAlloc(pointer, bytes, flags);
  };
  driver->graphExecDestroy = [](GraphExec exec) {
    ++calls.graphsDestroyed;
    return original.graphExecDestroy(exec);
  };
  driver->streamBeginCapture = [](Stream stream, StreamCaptureMode mode) {
    ++calls.captures;
    return original.streamBeginCapture(stream, mode);
  };
  driver->streamWaitEvent = [](Stream stream, Event event, unsigned flags) {
    ++calls.eventWaits;
    return original.streamWaitEvent(stream, event, flags);
  };
  driver->memAlloc = [](DevicePtr *pointer, size_t bytes) {
    ++calls.allocations;
    return original.memAlloc(pointer, bytes);
  };
  driver->memcpyHtoDAsync = [](DevicePtr target, const void *source, size_t bytes, Stream stream) {
    ++calls.uploads;
    return original.memcpyHtoDAsync(target, source, bytes, stream);
  };
  return calls;
}
#endif
