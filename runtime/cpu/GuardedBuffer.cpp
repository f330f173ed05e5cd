//===- GuardedBuffer.cpp - A buffer between pages that must not be touched -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/GuardedBuffer.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace dlc;
using namespace dlc::cpu;

/// What lies before a buffer: a NaN of every float type, so that a value read there shows in the
/// result, and another NaN than the poison, so that a copy of poison shows as a write.
static uint8_t frontPattern(const uint8_t *at) {
  return reinterpret_cast<uintptr_t>(at) % 2 ? 0xff : 0xfe;
}
static constexpr uint8_t kPoison = 0xff;

static size_t pageSize() {
  static const size_t size = sysconf(_SC_PAGESIZE);
  return size;
}

rt::Expected<GuardedBuffer> GuardedBuffer::create(int64_t bytes) {
  const size_t page = pageSize();
  // At least one page, so that an empty buffer has an address too.
  size_t usable = std::max<size_t>(page, (bytes + page - 1) / page * page);
  GuardedBuffer buffer;
  void *base = mmap(nullptr, usable + 2 * page, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED ||
      mprotect(static_cast<uint8_t *>(base) + page, usable, PROT_READ | PROT_WRITE) != 0)
    return rt::Status(DLC_DEVICE, rt::text("checked mode cannot allocate a guarded buffer of ",
                                           rt::byteCount(bytes), ": ", std::strerror(errno)));
  buffer.mapping = static_cast<uint8_t *>(base);
  buffer.mapped = usable + 2 * page;
  buffer.start = buffer.mapping + page + usable - bytes;
  buffer.bytes = bytes;
  for (uint8_t *at = buffer.mapping + page; at < buffer.start; ++at)
    *at = frontPattern(at);
  return buffer;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&other) noexcept { *this = std::move(other); }

GuardedBuffer &GuardedBuffer::operator=(GuardedBuffer &&other) noexcept {
  std::swap(mapping, other.mapping);
  std::swap(mapped, other.mapped);
  std::swap(start, other.start);
  std::swap(bytes, other.bytes);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping)
    munmap(mapping, mapped);
}

void GuardedBuffer::poison() { std::memset(start, kPoison, bytes); }

void GuardedBuffer::setWritable(bool writable) {
  mprotect(mapping + pageSize(), mapped - 2 * pageSize(),
           writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

bool GuardedBuffer::isFrontIntact() const {
  for (const uint8_t *at = mapping + pageSize(); at < start; ++at)
    if (*at != frontPattern(at))
      return false;
  return true;
}

bool GuardedBuffer::holds(const void *address) const {
  auto at = reinterpret_cast<uintptr_t>(address), begin = reinterpret_cast<uintptr_t>(mapping);
  return mapping && at >= begin && at < begin + mapped;
}
