//===- HostBlock.cpp - A page-aligned block of host memory -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/HostBlock.h"
#include "runtime/core/Text.h"

#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace dlc;
using namespace dlc::cpu;

HostBlock::HostBlock(HostBlock &&other) noexcept
    : base(std::exchange(other.base, nullptr)), bytes(std::exchange(other.bytes, 0)) {}

HostBlock &HostBlock::operator=(HostBlock &&other) noexcept {
  swap(other);
  return *this;
}

void HostBlock::swap(HostBlock &other) noexcept {
  std::swap(base, other.base);
  std::swap(bytes, other.bytes);
}

HostBlock::~HostBlock() {
  if (base)
    munmap(base, bytes);
}

rt::Status HostBlock::reserve(int64_t wanted, const char *what) {
  if (wanted <= static_cast<int64_t>(bytes))
    return {};
  HostBlock().swap(*this); // free first: both may not fit
  // Overcommitting systems grant any size and kill the process when it is used.
  uint64_t physical = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  if (static_cast<uint64_t>(wanted) > physical)
    return {DLC_DEVICE, rt::text("not enough memory: ", what, " need ", rt::byteCount(wanted),
                                 ", this machine has ", rt::byteCount(physical))};
  void *memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return {DLC_DEVICE, rt::text("not enough memory: ", what, " need ", rt::byteCount(wanted))};
  if (wanted >= 4 << 20)
    madvise(memory, wanted, MADV_HUGEPAGE); // fewer TLB misses; no harm where it is refused
  base = static_cast<uint8_t *>(memory);
  bytes = wanted;
  return {};
}
