//===- DeviceMemory.h - the emulated GPU's memory ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers lie in one reserved range of addresses, with red zones between them, filled with NaN. An
// address is not used twice while the range lasts, so a freed buffer stays recognisable.
//===----------------------------------------------------------------------===//
#pragma once
#include "test/emulator/core/Fault.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace dlc::emu {

struct Buffer {
  uintptr_t begin;
  size_t bytes;
  /// Counts allocations from 1.
  uint32_t number;
  bool freed;
};

class DeviceMemory {
public:
  static DeviceMemory &get();

  /// What the device says that it has.
  static constexpr size_t kTotalBytes = size_t(8) << 30;

  /// Memory aligned to 256 bytes and filled with 0xFF; null if there is no more.
  void *allocate(size_t bytes);
  /// False if `p` is not the start of a buffer in use.
  bool release(void *p);
  void releaseAll();
  size_t freeBytes();
  /// Buffers in use.
  size_t countBuffers();

  /// True for an address of the reserved range, in a buffer or not.
  bool covers(const void *p) const { return reinterpret_cast<uintptr_t>(p) - base < kRangeBytes; }
  uintptr_t offsetOf(const void *p) const { return reinterpret_cast<uintptr_t>(p) - base; }

  /// True if the bytes lie in one buffer in use.
  bool owns(const void *p, size_t bytes);
  /// The buffer with the last start at or before `p`; false if there is none.
  bool findBefore(const void *p, Buffer &buffer);
  /// For reports: "buffer #3+4096 (of 4096 B)", with the distance and whether it was freed.
  Text describe(const void *p);

  static constexpr size_t kRangeBytes = size_t(64) << 30;

private:
  DeviceMemory();
  void markFreed(Buffer &buffer);

  std::mutex mutex;
  uintptr_t base = 0;
  uintptr_t top = 0;
  size_t used = 0;
  uint32_t count = 0;
  std::map<uintptr_t, Buffer> buffers;
};

} // namespace dlc::emu
