//===- DriverTest.cpp - streams, events, limits ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"
#include <cstdlib>

namespace dlc::test {

namespace {

const char *const kAddOne = R"(
#include "dlc_device.cuh"
DLC_KERNEL(128) add_one(const float *x, float *y, i32 n) {
  i32 i = (i32)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    y[i] = x[i] + 1.0f;
}
DLC_KERNEL(64) shape(i32 *out) {
  i32 i = (i32)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  i32 block = (i32)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  out[block * (i32)(blockDim.x * blockDim.y * blockDim.z) + i] = block * 1000 + i;
}
)";

class DriverTest : public EmuTest {};

TEST_F(DriverTest, Device) {
  int count = 0, value = 0;
  EXPECT_EQ(api.deviceGetCount(&count), Result::Success);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(api.deviceGetAttribute(&value, DeviceAttribute::ComputeCapabilityMajor, 0),
            Result::Success);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(api.deviceGetAttribute(&value, DeviceAttribute::WarpSize, 0), Result::Success);
  EXPECT_EQ(value, 32);
  Device device;
  EXPECT_EQ(api.deviceGet(&device, 1), Result::InvalidDevice);
  const char *name = nullptr;
  EXPECT_EQ(api.getErrorName(Result::LaunchFailed, &name), Result::Success);
  EXPECT_STREQ(name, "CUDA_ERROR_LAUNCH_FAILED");
}

TEST_F(DriverTest, CallsNeedAContext) {
  Context context;
  ASSERT_EQ(api.ctxPopCurrent(&context), Result::Success);
  DevicePtr pointer;
  EXPECT_EQ(api.memAlloc(&pointer, 16), Result::InvalidContext);
  ASSERT_EQ(api.ctxPushCurrent(context), Result::Success);
  EXPECT_EQ(api.memAlloc(&pointer, 16), Result::Success);
}

TEST_F(DriverTest, Memory) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(api.memGetInfo(&before, &total), Result::Success);
  DevicePtr pointer = allocate(4000);
  EXPECT_EQ(pointer % 256, 0u);
  ASSERT_EQ(api.memGetInfo(&after, &total), Result::Success);
  EXPECT_EQ(before - after, 4000u);
  // Fresh memory is NaN, so that reading it shows.
  EXPECT_EQ(download<uint32_t>(pointer, 1000)[999], 0xffffffffu);
  EXPECT_EQ(api.memsetD32(pointer, 42, 1000), Result::Success);
  EXPECT_EQ(download<uint32_t>(pointer, 1000)[999], 42u);
  EXPECT_EQ(api.memsetD32(pointer, 42, 1001), Result::InvalidValue);
  std::vector<char> buffer(5000);
  EXPECT_EQ(api.memcpyDtoH(buffer.data(), pointer, 4001), Result::InvalidValue);
  EXPECT_EQ(api.memcpyHtoD(pointer + 1, buffer.data(), 4000), Result::InvalidValue);
  EXPECT_EQ(api.memFree(pointer), Result::Success);
  EXPECT_EQ(api.memFree(pointer), Result::InvalidValue);
  EXPECT_EQ(api.memcpyDtoH(buffer.data(), pointer, 4), Result::InvalidValue);
  EXPECT_EQ(api.memAlloc(&pointer, size_t(1) << 50), Result::OutOfMemory);
}

TEST_F(DriverTest, Shapes) {
  Function kernel = compile(kAddOne, "shape");
  DevicePtr out = allocate(2 * 3 * 2 * 24 * 4);
  ASSERT_EQ(launch(kernel, {2, 3, 2}, {4, 3, 2}, 0, out), Result::Success) << report();
  std::vector<int> got = download<int>(out, 12 * 24);
  for (int i = 0; i < 12 * 24; ++i)
    ASSERT_EQ(got[i], i / 24 * 1000 + i % 24);
}

TEST_F(DriverTest, LaunchLimits) {
  Function kernel = compile(kAddOne, "add_one");
  DevicePtr x = allocate(4), y = allocate(4);
  EXPECT_EQ(launch(kernel, {1}, {129}, 0, x, y, 1), Result::InvalidValue);
  EXPECT_EQ(launch(kernel, {0}, {128}, 0, x, y, 1), Result::InvalidValue);
  EXPECT_EQ(launch(kernel, {1, 65536}, {128}, 0, x, y, 1), Result::InvalidValue);
  EXPECT_EQ(launch(kernel, {1}, {128}, 48 * 1024 + 1, x, y, 1), Result::InvalidValue);
  EXPECT_EQ(api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, 228 * 1024),
            Result::InvalidValue);
  int threads = 0;
  EXPECT_EQ(api.funcGetAttribute(&threads, FunctionAttribute::MaxThreadsPerBlock, kernel),
            Result::Success);
  EXPECT_EQ(threads, 128);
  EXPECT_EQ(launch(kernel, {1}, {128}, 0, x, y, 1), Result::Success);
}

// A block may have what the architecture that is played allows, and a byte more is refused, by each
// way to ask for it.
TEST_F(DriverTest, SharedMemoryOfTheArchitecture) {
  const std::pair<const char *, int> rows[] = {{"80", 163}, {"86", 99},   {"87", 163}, {"89", 99},
                                               {"90", 227}, {"100", 227}, {"120", 99}};
  Function kernel = compile(kAddOne, "add_one");
  DevicePtr x = allocate(4), y = allocate(4);
  for (auto [arch, kibibytes] : rows) {
    setenv("DLC_EMU_ARCH", arch, 1);
    int limit = kibibytes << 10, told = 0;
    EXPECT_EQ(api.deviceGetAttribute(&told, DeviceAttribute::MaxSharedMemoryPerBlockOptin, 0),
              Result::Success);
    EXPECT_EQ(told, limit) << arch;
    auto allow = [&](int bytes) {
      return api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, bytes);
    };
    EXPECT_EQ(allow(limit + 1), Result::InvalidValue) << arch;
    EXPECT_EQ(allow(limit), Result::Success) << arch;
    EXPECT_EQ(launch(kernel, {1}, {128}, limit, x, y, 1), Result::Success) << arch;
    EXPECT_EQ(launch(kernel, {1}, {128}, limit + 1, x, y, 1), Result::InvalidValue) << arch;
  }
  // The attribute was set for a GPU with more: the launch is refused all the same.
  setenv("DLC_EMU_ARCH", "90", 1);
  ASSERT_EQ(api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, 227 << 10),
            Result::Success);
  setenv("DLC_EMU_ARCH", "120", 1);
  EXPECT_EQ(launch(kernel, {1}, {128}, (99 << 10) + 1, x, y, 1), Result::InvalidValue);
  unsetenv("DLC_EMU_ARCH");
  setenv("DLC_EMU_SHARED", "65536", 1);
  EXPECT_EQ(launch(kernel, {1}, {128}, 65536, x, y, 1), Result::Success);
  EXPECT_EQ(launch(kernel, {1}, {128}, 65537, x, y, 1), Result::InvalidValue);
  unsetenv("DLC_EMU_SHARED");
}

TEST_F(DriverTest, StaticAndDynamicSharedMemoryTogether) {
  const char *const text = R"(
#include "dlc_device.cuh"
DLC_KERNEL(32) both(float *y) {
  DLC_SHARED(float, fixed, [1024]);
  DLC_DYN_SMEM(memory);
  fixed[threadIdx.x] = 1;
  memory[threadIdx.x] = 1;
  y[threadIdx.x] = fixed[threadIdx.x] + memory[threadIdx.x];
}
)";
  Function kernel = compile(text, "both");
  DevicePtr y = allocate(128);
  ASSERT_EQ(api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, 227 << 10),
            Result::Success);
  ASSERT_EQ(launch(kernel, {1}, {32}, 223 << 10, y), Result::Success) << report();
  // The first launch has shown how much is static.
  EXPECT_EQ(launch(kernel, {1}, {32}, 227 << 10, y), Result::InvalidValue);
  EXPECT_EQ(launch(compile(text, "both"), {1}, {32}, 48 << 10, y), Result::Success);
}

TEST_F(DriverTest, CooperativeLaunchesThatTheDeviceDoesNotHold) {
  Function kernel = compile(kAddOne, "add_one");
  DevicePtr x = allocate(4), y = allocate(4);
  ASSERT_EQ(api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, 227 << 10),
            Result::Success);
  auto launchBlocks = [&](unsigned blocks, unsigned shared) {
    int n = 1;
    void *parameters[] = {&x, &y, &n};
    return api.launchCooperativeKernel(kernel, blocks, 1, 1, 128, 1, 1, shared, nullptr,
                                       parameters);
  };
  EXPECT_EQ(launchBlocks(1000, 0), Result::Success);
  setenv("DLC_EMU_MULTIPROCESSORS", "3", 1);
  int told = 0;
  EXPECT_EQ(api.deviceGetAttribute(&told, DeviceAttribute::MultiprocessorCount, 0),
            Result::Success);
  EXPECT_EQ(told, 3);
  // 2048 threads are 16 blocks; of 227 KiB there is one.
  EXPECT_EQ(launchBlocks(48, 0), Result::Success);
  EXPECT_EQ(launchBlocks(49, 0), Result::CooperativeLaunchTooLarge);
  EXPECT_EQ(launchBlocks(3, 227 << 10), Result::Success);
  EXPECT_EQ(launchBlocks(4, 227 << 10), Result::CooperativeLaunchTooLarge);
  unsetenv("DLC_EMU_MULTIPROCESSORS");
}

TEST_F(DriverTest, AnIdleDeviceComputesNothing) {
  Function kernel = compile(kAddOne, "add_one");
  DevicePtr x = upload(std::vector<float>{1}), y = upload(std::vector<float>{0});
  setenv("DLC_EMU_IDLE", "1", 1);
  EXPECT_EQ(launch(kernel, {1}, {128}, 0, x, y, 1), Result::Success);
  EXPECT_EQ(api.ctxSynchronize(), Result::Success);
  unsetenv("DLC_EMU_IDLE");
  EXPECT_EQ(download<float>(y, 1)[0], 0);
  EXPECT_EQ(launch(kernel, {1}, {128}, 0, x, y, 1), Result::Success);
  EXPECT_EQ(download<float>(y, 1)[0], 2);
}

TEST_F(DriverTest, ParametersAreCopiedAtLaunch) {
  Function kernel = compile(kAddOne, "add_one");
  DevicePtr x = upload(std::vector<float>(4, 1.0f)), y = allocate(16);
  int n = 4;
  void *parameters[] = {&x, &y, &n};
  DevicePtr target = y;
  ASSERT_EQ(api.launchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr),
            Result::Success);
  x = y = 0;
  n = 0;
  EXPECT_EQ(download<float>(target, 4)[3], 2.0f);
}

TEST_F(DriverTest, PinnedCopiesWaitForTheStream) {
  Stream stream;
  ASSERT_EQ(api.streamCreate(&stream, kStreamNonBlocking), Result::Success);
  void *pinned;
  ASSERT_EQ(api.memHostAlloc(&pinned, 4, 0), Result::Success);
  float *host = static_cast<float *>(pinned);
  *host = 0;
  DevicePtr x = upload(std::vector<float>{5});
  ASSERT_EQ(api.memcpyDtoHAsync(host, x, 4, stream), Result::Success);
  EXPECT_EQ(*host, 0) << "nobody has waited yet";
  ASSERT_EQ(api.streamSynchronize(stream), Result::Success);
  EXPECT_EQ(*host, 5);
  // Pageable memory is staged: changing it after the call changes nothing.
  float pageable = 7;
  ASSERT_EQ(api.memcpyHtoDAsync(x, &pageable, 4, stream), Result::Success);
  pageable = 0;
  ASSERT_EQ(api.streamSynchronize(stream), Result::Success);
  EXPECT_EQ(download<float>(x, 1)[0], 7);
  EXPECT_EQ(api.memFreeHost(pinned), Result::Success);
  EXPECT_EQ(api.streamDestroy(stream), Result::Success);
}

TEST_F(DriverTest, EventsOrderStreams) {
  Function kernel = compile(kAddOne, "add_one");
  Stream first, second;
  ASSERT_EQ(api.streamCreate(&first, kStreamNonBlocking), Result::Success);
  ASSERT_EQ(api.streamCreate(&second, kStreamNonBlocking), Result::Success);
  Event event, late;
  ASSERT_EQ(api.eventCreate(&event, 0), Result::Success);
  ASSERT_EQ(api.eventCreate(&late, 0), Result::Success);
  DevicePtr x = upload(std::vector<float>{1}), y = upload(std::vector<float>{0}), z = allocate(4);
  int n = 1;
  auto add = [&](DevicePtr from, DevicePtr to, Stream stream) {
    void *parameters[] = {&from, &to, &n};
    return api.launchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  };
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(api.eventRecord(event, first), Result::Success);
  ASSERT_EQ(api.streamWaitEvent(second, event, 0), Result::Success);
  ASSERT_EQ(add(y, z, second), Result::Success);
  ASSERT_EQ(api.eventRecord(late, second), Result::Success);
  EXPECT_EQ(api.eventQuery(late), Result::NotReady);
  ASSERT_EQ(api.eventSynchronize(late), Result::Success);
  EXPECT_EQ(download<float>(z, 1)[0], 3);
  float milliseconds = -1;
  EXPECT_EQ(api.eventElapsedTime(&milliseconds, event, late), Result::Success);
  EXPECT_GE(milliseconds, 0);

  // Without the event the second stream, which is waited for, runs before the first.
  ASSERT_EQ(api.memsetD32(y, 0, 1), Result::Success);
  ASSERT_EQ(add(x, y, first), Result::Success);
  ASSERT_EQ(add(y, z, second), Result::Success);
  ASSERT_EQ(api.streamSynchronize(second), Result::Success);
  EXPECT_EQ(download<float>(z, 1)[0], 1) << "a missing dependency must show";
  EXPECT_EQ(api.eventDestroy(event), Result::Success);
  EXPECT_EQ(api.eventDestroy(late), Result::Success);
}

TEST_F(DriverTest, FaultsArePlantedByNumber) {
  DevicePtr pointer = 0;
  api.failAt(1, int(Result::OutOfMemory));
  EXPECT_EQ(api.memAlloc(&pointer, 4), Result::Success);
  DevicePtr second = 0;
  EXPECT_EQ(api.memFree(pointer), Result::Success) << "giving back is not counted";
  EXPECT_EQ(api.memAlloc(&second, 4), Result::OutOfMemory);
  EXPECT_STREQ(api.failedFunction(), "cuMemAlloc_v2");
  EXPECT_EQ(api.memAlloc(&second, 4), Result::Success);
  EXPECT_EQ(api.memFree(second), Result::Success);
  EXPECT_EQ(api.callCount(), 3);
  api.failAt(0, int(Result::IllegalAddress));
  EXPECT_EQ(api.ctxSynchronize(), Result::IllegalAddress);
  EXPECT_EQ(api.memAlloc(&second, 4), Result::IllegalAddress) << "it is sticky";
  api.failAt(-1, 0);
}

TEST_F(DriverTest, CooperativeLaunchMeetsAtTheGridBarrier) {
  const char *const text = R"(
#include "dlc_device.cuh"
DLC_KERNEL(64) reverse(const float *x, float *y, u32 *counter) {
  i32 n = (i32)(gridDim.x * 64), i = (i32)(blockIdx.x * 64 + threadIdx.x);
  y[i] = x[i] * 2.0f;
  dlc::grid_barrier(counter);
  float v = y[n - 1 - i];
  dlc::grid_barrier(counter);
  y[i] = v;
}
)";
  Function kernel = compile(text, "reverse");
  std::vector<float> values(256);
  for (int i = 0; i < 256; ++i)
    values[i] = float(i);
  DevicePtr x = upload(values), y = allocate(1024), counter = upload(std::vector<int>{0});
  void *parameters[] = {&x, &y, &counter};
  ASSERT_EQ(api.launchCooperativeKernel(kernel, 4, 1, 1, 64, 1, 1, 0, nullptr, parameters),
            Result::Success);
  ASSERT_EQ(api.ctxSynchronize(), Result::Success) << report();
  EXPECT_EQ(download<float>(y, 256)[0], 510.0f);
  // An ordinary launch gives no such promise.
  EXPECT_EQ(launch(kernel, {4}, {64}, 0, x, y, counter), Result::LaunchFailed);
}

TEST_F(DriverTest, ImagesAreChecked) {
  std::vector<char> image;
  ASSERT_EQ(compileText(kAddOne, image), NvrtcResult::Success) << log;
  Module module;
  setenv("DLC_EMU_CHECK", "1", 1);
  EXPECT_EQ(api.moduleLoadData(&module, image.data()), Result::NoBinaryForGpu)
      << "compiled without the checker";
  unsetenv("DLC_EMU_CHECK");
  ASSERT_EQ(api.moduleLoadData(&module, image.data()), Result::Success);
  Function function;
  EXPECT_EQ(api.moduleGetFunction(&function, module, "absent"), Result::NotFound);
  EXPECT_EQ(api.moduleUnload(module), Result::Success);
  image[0] ^= 1;
  EXPECT_EQ(api.moduleLoadData(&module, image.data()), Result::InvalidImage);
}

TEST_F(DriverTest, GetProcAddress) {
  void *function = nullptr;
  int status = -1;
  EXPECT_EQ(api.getProcAddress("cuMemAlloc", &function, 13000, 0, &status), Result::Success);
  EXPECT_EQ(function, reinterpret_cast<void *>(api.memAlloc));
  EXPECT_EQ(api.getProcAddress("cuNoSuchThing", &function, 13000, 0, &status), Result::NotFound);
}

} // namespace
} // namespace dlc::test
