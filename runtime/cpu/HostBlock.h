//===- HostBlock.h - A page-aligned block of host memory -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_HOSTBLOCK_H
#define DLC_RUNTIME_CPU_HOSTBLOCK_H

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>

namespace dlc::cpu {

/// Zeroed when new; pages come into being when they are touched. Move-only.
class HostBlock {
public:
  HostBlock() = default;
  HostBlock(HostBlock &&other) noexcept;
  HostBlock &operator=(HostBlock &&other) noexcept;
  ~HostBlock();
  void swap(HostBlock &other) noexcept;

  /// At least `bytes`, the contents lost where that needs a new block. After a failure it is empty.
  /// `what` ("the activations") is for the message.
  rt::Status reserve(int64_t bytes, const char *what);

  uint8_t *data() const { return base; }
  size_t size() const { return bytes; }

private:
  uint8_t *base = nullptr;
  size_t bytes = 0;
};

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_HOSTBLOCK_H
