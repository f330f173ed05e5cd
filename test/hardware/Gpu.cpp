//===- Gpu.cpp - kernels of our own choosing on a GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/hardware/Gpu.h"

#include "runtime/core/Text.h"
#include "runtime/cuda/kernels/KernelCompiler.h"

#include <dlfcn.h>

using namespace dlc;
using namespace dlc::hardware;
using cuda::DevicePtr;
using cuda::Result;
using rt::Status;

namespace {

// Of the driver, beside what the runtime calls.
using LaunchCooperative = Result (*)(cuda::Function, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, unsigned, unsigned, cuda::Stream, void **);
using EncodeTiled = Result (*)(void *, int, unsigned, void *, const unsigned long long *,
                               const unsigned long long *, const unsigned *, const unsigned *, int,
                               int, int, int);

constexpr int kBf16 = 9, kSwizzle128 = 3;

} // namespace

/// A function of the driver's library, which is loaded already.
template <class Function> static Function symbolOf(const cuda::Driver &driver, const char *name) {
  void *library = dlopen(driver.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

rt::Expected<std::unique_ptr<Gpu>> Gpu::open(int ordinal) {
  auto device = cuda::GpuDevice::open(ordinal);
  if (device.failed())
    return device.status();
  std::unique_ptr<Gpu> gpu(new Gpu(device.take()));
  if (Status status = gpu->start(); status.failed())
    return status;
  return gpu;
}

Status Gpu::start() {
  scope = std::make_unique<cuda::ContextScope>(*device);
  DLC_TRY(scope->status());
  return check(driver().streamCreate(&queue, cuda::kStreamNonBlocking), "create a stream");
}

Gpu::~Gpu() {
  for (auto &[text, module] : modules)
    driver().moduleUnload(module);
  for (DevicePtr block : blocks)
    driver().memFree(block);
  if (queue)
    driver().streamDestroy(queue);
}

rt::Expected<cuda::Function> Gpu::find(const cuda::KernelText &text, const std::string &kernel) {
  cuda::Module &module = modules[text.source];
  if (!module) {
    cuda::KernelCompiler compiler(driver().version, nullptr);
    auto target = compiler.targetFor(architecture(), name());
    if (target.failed())
      return target.status();
    std::vector<std::string> images;
    if (Status status = compiler.compile({text}, *target, images); status.failed())
      return status;
    if (Status status =
            check(driver().moduleLoadData(&module, images[0].c_str()), "load " + text.name);
        status.failed())
      return status;
  }
  cuda::Function function = nullptr;
  if (Status status = check(driver().moduleGetFunction(&function, module, kernel.c_str()),
                            "find the kernel " + kernel);
      status.failed())
    return status;
  return function;
}

rt::Expected<DevicePtr> Gpu::upload(const void *data, size_t bytes) {
  DevicePtr block = 0;
  if (Status status = check(driver().memAlloc(&block, std::max<size_t>(bytes, 16)),
                            rt::text("allocate ", bytes, " bytes"));
      status.failed())
    return status;
  blocks.push_back(block);
  if (Status status = check(driver().memcpyHtoDAsync(block, data, bytes, queue), "copy to the GPU");
      status.failed())
    return status;
  if (Status status = wait(); status.failed())
    return status;
  return block;
}

Status Gpu::download(DevicePtr source, void *data, size_t bytes) {
  DLC_TRY(check(driver().memcpyDtoHAsync(data, source, bytes, queue), "copy from the GPU"));
  return wait();
}

Status Gpu::enqueue(cuda::Function function, const Launch &launch, void **parameters) {
  const auto &[grid, block, sharedBytes, isCooperative] = launch;
  if (sharedBytes > 48 << 10)
    DLC_TRY(check(driver().funcSetAttribute(function,
                                            cuda::FunctionAttribute::MaxDynamicSharedSizeBytes,
                                            static_cast<int>(sharedBytes)),
                  "give the kernel its shared memory"));
  if (!isCooperative)
    return check(driver().launchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                       sharedBytes, queue, parameters, nullptr),
                 "launch the kernel");
  auto cooperative = symbolOf<LaunchCooperative>(driver(), "cuLaunchCooperativeKernel");
  if (!cooperative)
    return {DLC_UNSUPPORTED, "the driver has no cooperative launches"};
  return check(cooperative(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, sharedBytes,
                           queue, parameters),
               "launch the kernel");
}

Status Gpu::wait() { return check(driver().streamSynchronize(queue), "wait for the GPU"); }

Status Gpu::encode(TensorMap &map, DevicePtr base, unsigned rows, unsigned columns,
                   unsigned boxRows, unsigned boxColumns) {
  auto encodeTiled = symbolOf<EncodeTiled>(driver(), "cuTensorMapEncodeTiled");
  if (!encodeTiled)
    return {DLC_UNSUPPORTED, "the driver has no tensor maps"};
  unsigned long long extents[] = {columns, rows}, strides[] = {columns * 2ull};
  unsigned box[] = {boxColumns, boxRows}, steps[] = {1, 1};
  return check(encodeTiled(&map, kBf16, 2, reinterpret_cast<void *>(base), extents, strides, box,
                           steps,
                           /*interleave=*/0, kSwizzle128, /*l2Promotion=*/0, /*outOfBoundsFill=*/0),
               "describe a tensor");
}
