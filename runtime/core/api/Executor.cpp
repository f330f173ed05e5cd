//===- Executor.cpp - What a device does for a context ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/api/Executor.h"
#include "runtime/schema/KernelAbi.h"

#include <cstdlib>
#include <cstring>
#include <new>

using namespace dlc;
using namespace dlc::rt;

/// Smaller blocks share pages.
static constexpr size_t kLarge = 4096;

Expected<void *> Executor::allocate(size_t bytes) {
  if (bytes < kLarge) {
    constexpr size_t kAlignment = abi::kBufferAlignment;
    void *block =
        std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (!block)
      throw std::bad_alloc();
    return block;
  }
  cpu::HostBlock block;
  DLC_TRY(block.reserve(static_cast<int64_t>(bytes), "the tensors between the model's segments"));
  void *address = block.data();
  blocks.emplace(address, std::move(block));
  return address;
}

void Executor::release(void *block) {
  if (blocks.erase(block) == 0)
    std::free(block);
}

Status rt::noBoundStates() {
  return {DLC_USAGE,
          "the context has no bound shapes: call dlc_context_bind or dlc_context_run first"};
}

Status Executor::copy(Argument target, Argument source, size_t bytes) {
  if (bytes)
    std::memmove(target.data, source.data, bytes);
  return {};
}
