//===- MemoryApi.cpp - allocations, copies, fills ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies with pageable host memory are done (or staged) before the call returns, as the CUDA manual
// promises; with memory of cuMemHostAlloc they wait in the stream, and a program that reads the
// result too early reads the old bytes.
//===----------------------------------------------------------------------===//
#include "test/emulator/core/DeviceMemory.h"
#include "test/emulator/driver/DeviceWork.h"
#include "test/emulator/driver/Driver.h"
#include "test/emulator/driver/Exports.h"
#include <cstdlib>
#include <cstring>

namespace dlc::cuda {

using emu::DeviceMemory;

static void *hostView(DevicePtr pointer) { return reinterpret_cast<void *>(pointer); }

static bool ownsDevice(DevicePtr pointer, size_t bytes) {
  return bytes == 0 || DeviceMemory::get().owns(hostView(pointer), bytes);
}

template <class T> static Result fill(DevicePtr target, T value, size_t count, Stream stream) {
  DLC_EMU_ENTER();
  if (!ownsDevice(target, count * sizeof(T)) || target % sizeof(T))
    return Result::InvalidValue;
  Work work;
  work.kind = WorkKind::Fill;
  work.writes = {hostView(target), count * sizeof(T)};
  work.run = [=] {
    T *words = static_cast<T *>(hostView(target));
    for (size_t i = 0; i < count; ++i)
      words[i] = value;
    return Result::Success;
  };
  return driver.submit(stream, std::move(work));
}

Result makeDeviceCopy(Work &work, DevicePtr target, DevicePtr source, size_t bytes) {
  if (!ownsDevice(target, bytes) || !ownsDevice(source, bytes))
    return Result::InvalidValue;
  work.kind = WorkKind::Copy;
  work.reads = {hostView(source), bytes};
  work.writes = {hostView(target), bytes};
  work.run = [=] {
    std::memmove(hostView(target), hostView(source), bytes);
    return Result::Success;
  };
  return Result::Success;
}

/// Waits for what was submitted to the default stream.
static Result finish(Result submitted) {
  if (submitted != Result::Success)
    return submitted;
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  Result result = driver.drain(nullptr);
  driver.hostKnows(driver.find(nullptr));
  return result;
}

extern "C" {

Result cuMemAlloc_v2(DevicePtr *pointer, size_t bytes) {
  DLC_EMU_ENTER();
  if (Result result = driver.notWhileCapturing(); result != Result::Success)
    return result;
  if (!bytes)
    return Result::InvalidValue;
  void *memory = DeviceMemory::get().allocate(bytes);
  *pointer = reinterpret_cast<DevicePtr>(memory);
  return memory ? Result::Success : Result::OutOfMemory;
}

Result cuMemFree_v2(DevicePtr pointer) {
  DLC_EMU_ENTER_CLEANUP();
  if (!pointer)
    return driver.sticky;
  Result result = driver.drainAll(); // as on a GPU, it waits
  driver.hostKnows(nullptr);
  return DeviceMemory::get().release(hostView(pointer)) ? result : Result::InvalidValue;
}

Result cuMemAllocAsync(DevicePtr *pointer, size_t bytes, Stream) {
  return cuMemAlloc_v2(pointer, bytes);
}

Result cuMemFreeAsync(DevicePtr pointer, Stream stream) {
  DLC_EMU_ENTER();
  if (!DeviceMemory::get().owns(hostView(pointer), 1))
    return Result::InvalidValue;
  Work work;
  work.run = [=] {
    DeviceMemory::get().release(hostView(pointer));
    return Result::Success;
  };
  return driver.submit(stream, std::move(work));
}

Result cuPointerGetAttribute(void *value, PointerAttribute attribute, DevicePtr pointer) {
  DLC_EMU_ENTER();
  emu::Buffer buffer;
  bool isDevice =
      ownsDevice(pointer, 1) && DeviceMemory::get().findBefore(hostView(pointer), buffer);
  bool isPinned = !isDevice && driver.isPinned(hostView(pointer), 1);
  if (!isDevice && !isPinned)
    return Result::InvalidValue;
  switch (attribute) {
  case PointerAttribute::Context:
    *static_cast<Context *>(value) = &driver.context;
    return Result::Success;
  case PointerAttribute::MemoryType:
    *static_cast<int *>(value) = int(isPinned ? MemoryType::Host : MemoryType::Device);
    return Result::Success;
  case PointerAttribute::DeviceOrdinal:
    *static_cast<int *>(value) = 0;
    return Result::Success;
  case PointerAttribute::RangeStart:
    *static_cast<DevicePtr *>(value) = isPinned ? 0 : DevicePtr(buffer.begin);
    return isPinned ? Result::InvalidValue : Result::Success;
  case PointerAttribute::RangeSize:
    *static_cast<size_t *>(value) = isPinned ? 0 : buffer.bytes;
    return isPinned ? Result::InvalidValue : Result::Success;
  }
  return Result::InvalidValue;
}

Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  DLC_EMU_ENTER();
  *free = DeviceMemory::get().freeBytes();
  *total = DeviceMemory::kTotalBytes;
  return Result::Success;
}

Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  DLC_EMU_ENTER();
  *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*pointer)
    return Result::OutOfMemory;
  driver.pinned[*pointer] = bytes;
  return Result::Success;
}

Result cuMemFreeHost(void *pointer) {
  DLC_EMU_ENTER_CLEANUP();
  if (!driver.pinned.count(pointer))
    return Result::InvalidValue;
  Result result = driver.drainAll();
  driver.pinned.erase(pointer);
  std::free(pointer);
  return result;
}

Result cuMemcpyHtoDAsync_v2(DevicePtr target, const void *source, size_t bytes, Stream stream) {
  DLC_EMU_ENTER();
  if (!ownsDevice(target, bytes))
    return Result::InvalidValue;
  Work work;
  work.kind = WorkKind::Copy;
  work.writes = {hostView(target), bytes};
  CUstream_st *queue = driver.find(stream);
  // A captured copy reads its source at each replay, whatever memory it is.
  if (driver.isPinned(source, bytes) || (queue && queue->capture)) {
    work.reads = {source, bytes};
    work.run = [=] {
      std::memcpy(hostView(target), source, bytes);
      return Result::Success;
    };
  } else {
    const char *from = static_cast<const char *>(source);
    auto staged = std::make_shared<std::vector<char>>(from, from + bytes);
    work.run = [=] {
      std::memcpy(hostView(target), staged->data(), bytes);
      return Result::Success;
    };
  }
  return driver.submit(stream, std::move(work));
}

Result cuMemcpyDtoHAsync_v2(void *target, DevicePtr source, size_t bytes, Stream stream) {
  DLC_EMU_ENTER();
  if (!ownsDevice(source, bytes))
    return Result::InvalidValue;
  Work work;
  work.kind = WorkKind::Copy;
  work.reads = {hostView(source), bytes};
  if (driver.isPinned(target, bytes))
    work.writes = {target, bytes};
  work.run = [=] {
    std::memcpy(target, hostView(source), bytes);
    return Result::Success;
  };
  CUstream_st *queue = driver.find(stream);
  bool wait = !driver.isPinned(target, bytes) && queue && !queue->capture;
  Result result = driver.submit(stream, std::move(work));
  if (result != Result::Success || !wait)
    return result;
  result = driver.drain(stream);
  driver.hostKnows(queue);
  return result;
}

Result cuMemcpyDtoDAsync_v2(DevicePtr target, DevicePtr source, size_t bytes, Stream stream) {
  DLC_EMU_ENTER();
  Work work;
  Result result = makeDeviceCopy(work, target, source, bytes);
  return result == Result::Success ? driver.submit(stream, std::move(work)) : result;
}

Result cuMemsetD8Async(DevicePtr target, unsigned char value, size_t count, Stream stream) {
  return fill(target, value, count, stream);
}

Result cuMemsetD32Async(DevicePtr target, unsigned value, size_t count, Stream stream) {
  return fill(target, value, count, stream);
}

Result cuMemcpyHtoD_v2(DevicePtr target, const void *source, size_t bytes) {
  return finish(cuMemcpyHtoDAsync_v2(target, source, bytes, nullptr));
}

Result cuMemcpyDtoH_v2(void *target, DevicePtr source, size_t bytes) {
  return finish(cuMemcpyDtoHAsync_v2(target, source, bytes, nullptr));
}

Result cuMemcpyDtoD_v2(DevicePtr target, DevicePtr source, size_t bytes) {
  return finish(cuMemcpyDtoDAsync_v2(target, source, bytes, nullptr));
}

Result cuMemsetD8_v2(DevicePtr target, unsigned char value, size_t count) {
  return finish(cuMemsetD8Async(target, value, count, nullptr));
}

Result cuMemsetD32_v2(DevicePtr target, unsigned value, size_t count) {
  return finish(cuMemsetD32Async(target, value, count, nullptr));
}

} // extern "C"
} // namespace dlc::cuda
