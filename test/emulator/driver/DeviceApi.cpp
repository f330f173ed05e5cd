//===- DeviceApi.cpp - start-up, errors, devices, contexts ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/core/DeviceMemory.h"
#include "test/emulator/core/Settings.h"
#include "test/emulator/driver/Driver.h"
#include "test/emulator/driver/Exports.h"
#include <cstdio>
#include <cstring>

namespace dlc::cuda {

static std::vector<Context> &contextStack() {
  thread_local std::vector<Context> stack;
  return stack;
}

Context currentContext() { return contextStack().empty() ? nullptr : contextStack().back(); }

namespace {

struct ErrorRow {
  Result result;
  const char *name, *text;
};

const ErrorRow kErrors[] = {
    {Result::Success, "CUDA_SUCCESS", "no error"},
    {Result::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {Result::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {Result::NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "cuInit was not called"},
    {Result::NoDevice, "CUDA_ERROR_NO_DEVICE", "no device"},
    {Result::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "no such device"},
    {Result::InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "not an image of the emulated NVRTC"},
    {Result::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "no context is current"},
    {Result::NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "the image was compiled for another device, version or checking mode of the emulator"},
    {Result::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {Result::IllegalState, "CUDA_ERROR_ILLEGAL_STATE", "not in this state"},
    {Result::UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the image was made by an NVRTC that is newer than the driver"},
    {Result::StubLibrary, "CUDA_ERROR_STUB_LIBRARY", "the toolkit's stub"},
    {Result::SystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "driver and kernel module differ"},
    {Result::StreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "the capture was broken by an earlier call"},
    {Result::GraphExecUpdateFailure, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graphs have different nodes"},
    {Result::NotFound, "CUDA_ERROR_NOT_FOUND", "no such symbol"},
    {Result::NotReady, "CUDA_ERROR_NOT_READY", "work is pending"},
    {Result::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel left its buffers"},
    {Result::LaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT",
     "a stream waits for an event that nobody records"},
    {Result::MisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "a misaligned access"},
    {Result::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
    {Result::NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "not emulated"},
    {Result::StreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "not allowed while a stream captures"},
};

const ErrorRow *findError(Result result) {
  for (const ErrorRow &row : kErrors)
    if (row.result == result)
      return &row;
  return nullptr;
}

int attributeValue(DeviceAttribute attribute) {
  switch (attribute) {
  case DeviceAttribute::MaxThreadsPerBlock:
  case DeviceAttribute::MaxBlockDimX:
  case DeviceAttribute::MaxBlockDimY:
    return 1024;
  case DeviceAttribute::MaxBlockDimZ:
    return 64;
  case DeviceAttribute::MaxGridDimX:
    return 0x7fffffff;
  case DeviceAttribute::MaxGridDimY:
  case DeviceAttribute::MaxGridDimZ:
    return 65535;
  case DeviceAttribute::MaxSharedMemoryPerBlock:
    return 48 * 1024;
  case DeviceAttribute::WarpSize:
    return 32;
  case DeviceAttribute::MaxRegistersPerBlock:
  case DeviceAttribute::MaxRegistersPerMultiprocessor:
    return 65536;
  case DeviceAttribute::ClockRate:
  case DeviceAttribute::MemoryClockRate:
    return 0; // no hardware stands behind it
  case DeviceAttribute::MultiprocessorCount: {
    int count = emu::readSettings().multiprocessors;
    return count ? count : 4;
  }
  case DeviceAttribute::Integrated:
  case DeviceAttribute::ComputeMode:
    return 0;
  case DeviceAttribute::GlobalMemoryBusWidth:
    return 1024;
  case DeviceAttribute::L2CacheSize:
    return 4 << 20;
  case DeviceAttribute::MaxThreadsPerMultiprocessor:
    return 2048;
  case DeviceAttribute::UnifiedAddressing:
  case DeviceAttribute::CooperativeLaunch:
    return 1;
  case DeviceAttribute::ComputeCapabilityMajor:
    return emu::readSettings().arch / 10;
  case DeviceAttribute::ComputeCapabilityMinor:
    return emu::readSettings().arch % 10;
  case DeviceAttribute::MaxSharedMemoryPerMultiprocessor:
    return emu::readSettings().sharedBytes + emu::kReservedShared;
  case DeviceAttribute::MaxSharedMemoryPerBlockOptin:
    return emu::readSettings().sharedBytes;
  }
  return 0; // as for a feature that the device lacks
}

} // namespace

extern "C" {

const char *dlcEmuLastReport() { return Driver::get().lastReport.c_str(); }

void dlcEmuFailAt(long call, int result) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  driver.faults.failAt(call, Result(result));
}

long dlcEmuCallCount() { return Driver::get().faults.callCount(); }
const char *dlcEmuFailedFunction() { return Driver::get().faults.failedFunction().c_str(); }
const char *dlcEmuLeaks() { return Driver::get().leaks.c_str(); }

Result cuInit(unsigned flags) {
  DLC_EMU_COUNT();
  if (flags)
    return Result::InvalidValue;
  Driver::get().initialised = true;
  return Result::Success;
}

Result cuDriverGetVersion(int *version) {
  DLC_EMU_COUNT();
  *version = emu::readSettings().driverVersion;
  return Result::Success;
}

Result cuGetErrorName(Result error, const char **name) {
  const ErrorRow *row = findError(error);
  *name = row ? row->name : nullptr;
  return row ? Result::Success : Result::InvalidValue;
}

Result cuGetErrorString(Result error, const char **text) {
  const ErrorRow *row = findError(error);
  *text = row ? row->text : nullptr;
  return row ? Result::Success : Result::InvalidValue;
}

Result cuDeviceGet(Device *device, int ordinal) {
  DLC_EMU_COUNT();
  if (!Driver::get().initialised)
    return Result::NotInitialized;
  if (ordinal != 0)
    return Result::InvalidDevice;
  *device = 0;
  return Result::Success;
}

Result cuDeviceGetCount(int *count) {
  DLC_EMU_COUNT();
  if (!Driver::get().initialised)
    return Result::NotInitialized;
  *count = 1;
  return Result::Success;
}

Result cuDeviceGetName(char *name, int bytes, Device device) {
  DLC_EMU_COUNT();
  if (device != 0)
    return Result::InvalidDevice;
  int arch = emu::readSettings().arch;
  std::snprintf(name, bytes, "dlc CUDA emulator (sm_%d%s)", arch, arch >= 90 ? "a" : "");
  return Result::Success;
}

Result cuDeviceTotalMem_v2(size_t *bytes, Device device) {
  DLC_EMU_COUNT();
  if (device != 0)
    return Result::InvalidDevice;
  *bytes = emu::DeviceMemory::kTotalBytes;
  return Result::Success;
}

Result cuDeviceGetAttribute(int *value, DeviceAttribute attribute, Device device) {
  DLC_EMU_COUNT();
  if (device != 0)
    return Result::InvalidDevice;
  *value = attributeValue(attribute);
  return Result::Success;
}

Result cuDevicePrimaryCtxRetain(Context *context, Device device) {
  DLC_EMU_COUNT();
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  if (!driver.initialised)
    return Result::NotInitialized;
  if (device != 0)
    return Result::InvalidDevice;
  ++driver.contextUsers;
  *context = &driver.context;
  return Result::Success;
}

Result cuDevicePrimaryCtxRelease_v2(Device) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  if (!driver.contextUsers)
    return Result::InvalidContext;
  if (--driver.contextUsers == 0) {
    driver.drainAll();
    driver.destroyContext();
  }
  return Result::Success;
}

Result cuDevicePrimaryCtxReset_v2(Device) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  driver.drainAll();
  driver.destroyContext();
  return Result::Success;
}

Result cuCtxCreate_v2(Context *context, unsigned, Device device) {
  Result result = cuDevicePrimaryCtxRetain(context, device);
  if (result == Result::Success)
    contextStack().push_back(*context);
  return result;
}

Result cuCtxDestroy_v2(Context context) {
  if (currentContext() == context)
    contextStack().pop_back();
  return cuDevicePrimaryCtxRelease_v2(0);
}

Result cuCtxSetCurrent(Context context) {
  if (!contextStack().empty())
    contextStack().pop_back();
  if (context)
    contextStack().push_back(context);
  return Result::Success;
}

Result cuCtxPushCurrent_v2(Context context) {
  if (context != &Driver::get().context)
    return Result::InvalidContext;
  contextStack().push_back(context);
  return Result::Success;
}

Result cuCtxPopCurrent_v2(Context *context) {
  if (!currentContext())
    return Result::InvalidContext;
  if (context)
    *context = currentContext();
  contextStack().pop_back();
  return Result::Success;
}

Result cuCtxGetCurrent(Context *context) {
  DLC_EMU_COUNT();
  *context = currentContext();
  return Result::Success;
}

Result cuCtxSynchronize() {
  DLC_EMU_ENTER();
  Result result = driver.drainAll();
  driver.hostKnows(nullptr);
  return result;
}

Result cuGetProcAddress_v2(const char *symbol, void **function, int, unsigned long long,
                           int *symbolStatus) {
  struct Row {
    const char *name;
    void *function;
  };
  static const Row rows[] = {
#define DLC_DRIVER(member, symbol, parameters) {#symbol, reinterpret_cast<void *>(&symbol)},
#define DLC_DRIVER_OPTIONAL(member, symbol, parameters)                                            \
  {#symbol, reinterpret_cast<void *>(&symbol)},
#include "runtime/cuda/driver/Symbols.def"
#define DLC_DRIVER(member, symbol, parameters) {#symbol, reinterpret_cast<void *>(&symbol)},
#include "test/emulator/driver/Extras.def"
  };
  // Callers name functions without the version that ends the exported name.
  size_t length = std::strlen(symbol);
  for (const Row &row : rows)
    if (!std::strncmp(row.name, symbol, length) &&
        (!row.name[length] || !std::strncmp(row.name + length, "_v", 2))) {
      *function = row.function;
      if (symbolStatus)
        *symbolStatus = 0;
      return Result::Success;
    }
  *function = nullptr;
  if (symbolStatus)
    *symbolStatus = 1; // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  return Result::NotFound;
}

} // extern "C"
} // namespace dlc::cuda
