//===- DeviceMemory.cpp - the emulated GPU's memory -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/core/DeviceMemory.h"
#include <cstring>
#include <iterator>
#include <sys/mman.h>

namespace dlc::emu {

namespace {
constexpr size_t kAlign = 256;
constexpr size_t kRedZone = 256;
constexpr size_t kPage = 4096;
constexpr int kPoison = 0xFF;

size_t roundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }
} // namespace

DeviceMemory &DeviceMemory::get() {
  static DeviceMemory memory;
  return memory;
}

DeviceMemory::DeviceMemory() {
  void *range = mmap(nullptr, kRangeBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    return;
  base = top = reinterpret_cast<uintptr_t>(range);
}

void *DeviceMemory::allocate(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  uintptr_t begin = top + kRedZone;
  uintptr_t end = roundUp(begin + bytes + kRedZone, kAlign);
  if (!base || bytes > kTotalBytes - used || end > base + kRangeBytes)
    return nullptr;
  top = end;
  used += bytes;
  buffers[begin] = {begin, bytes, ++count, false};
  std::memset(reinterpret_cast<void *>(begin), kPoison, bytes);
  return reinterpret_cast<void *>(begin);
}

bool DeviceMemory::release(void *p) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = buffers.find(reinterpret_cast<uintptr_t>(p));
  if (found == buffers.end() || found->second.freed)
    return false;
  markFreed(found->second);
  return true;
}

void DeviceMemory::releaseAll() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[begin, buffer] : buffers)
    if (!buffer.freed)
      markFreed(buffer);
}

void DeviceMemory::markFreed(Buffer &buffer) {
  buffer.freed = true;
  used -= buffer.bytes;
  // Give the whole pages back; they read as zero if they are touched again.
  uintptr_t first = roundUp(buffer.begin, kPage),
            last = (buffer.begin + buffer.bytes) / kPage * kPage;
  if (first < last)
    madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

size_t DeviceMemory::freeBytes() {
  std::lock_guard<std::mutex> lock(mutex);
  return kTotalBytes - used;
}

size_t DeviceMemory::countBuffers() {
  std::lock_guard<std::mutex> lock(mutex);
  size_t inUse = 0;
  for (const auto &[begin, buffer] : buffers)
    inUse += !buffer.freed;
  return inUse;
}

bool DeviceMemory::findBefore(const void *p, Buffer &buffer) {
  std::lock_guard<std::mutex> lock(mutex);
  auto after = buffers.upper_bound(reinterpret_cast<uintptr_t>(p));
  if (after == buffers.begin())
    return false;
  buffer = std::prev(after)->second;
  return true;
}

bool DeviceMemory::owns(const void *p, size_t bytes) {
  Buffer buffer;
  return findBefore(p, buffer) && !buffer.freed &&
         reinterpret_cast<uintptr_t>(p) + bytes <= buffer.begin + buffer.bytes;
}

Text DeviceMemory::describe(const void *p) {
  Buffer buffer;
  if (!covers(p))
    return formatText("address %p, which is no device memory", p);
  if (!findBefore(p, buffer))
    return formatText("address %p, before the first buffer", p);
  size_t offset = reinterpret_cast<uintptr_t>(p) - buffer.begin;
  return formatText("buffer #%u, offset %zu (%s%zu B)", buffer.number, offset,
                    buffer.freed ? "freed; it had " : "of ", buffer.bytes);
}

} // namespace dlc::emu
