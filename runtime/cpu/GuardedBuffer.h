//===- GuardedBuffer.h - A buffer between pages that must not be touched --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked mode: sanitizers cannot see generated code, so the processor's page protection does their
// work.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_GUARDEDBUFFER_H
#define DLC_RUNTIME_CPU_GUARDEDBUFFER_H

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>

namespace dlc::cpu {

/// `bytes` usable bytes whose end is the end of a page, with an inaccessible page on either side.
/// One element too far faults; what lies in the first page before the buffer holds a pattern that
/// underruns destroy. So the address is aligned to the largest power of two that divides `bytes`,
/// and not to abi::kBufferAlignment. Move-only.
class GuardedBuffer {
public:
  static rt::Expected<GuardedBuffer> create(int64_t bytes);

  GuardedBuffer() = default;
  GuardedBuffer(GuardedBuffer &&other) noexcept;
  GuardedBuffer &operator=(GuardedBuffer &&other) noexcept;
  ~GuardedBuffer();

  uint8_t *data() const { return start; }
  size_t size() const { return bytes; }

  /// Fills the buffer with a NaN of every float type.
  void poison();
  /// From now on writes fault (false), or succeed again (true).
  void setWritable(bool writable);
  /// Whether nothing wrote before the buffer.
  bool isFrontIntact() const;
  /// Whether `address` lies in the buffer's mapping, guard pages included.
  bool holds(const void *address) const;

private:
  uint8_t *mapping = nullptr;
  size_t mapped = 0;
  uint8_t *start = nullptr;
  size_t bytes = 0;
};

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_GUARDEDBUFFER_H
