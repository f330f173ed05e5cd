//===- TensorPool.cpp - Tensors that a flow makes, and their memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/flow/TensorPool.h"
#include "runtime/core/Checked.h"
#include "runtime/core/Text.h"

#include <algorithm>

using namespace dlc;
using namespace dlc::rt;

/// Blocks of a few sizes serve tensors of many: sizes are multiples of an eighth of their power of
/// two.
static size_t roomFor(size_t bytes) {
  constexpr size_t kSmallest = 64;
  if (bytes <= kSmallest)
    return kSmallest;
  size_t step = std::max(kSmallest, (size_t(1) << (63 - __builtin_clzll(bytes))) / 8);
  return (bytes + step - 1) / step * step;
}

std::optional<size_t> dlc::rt::bytesOf(const Dims &dims, size_t width) {
  auto bytes = static_cast<int64_t>(width);
  for (int64_t extent : dims)
    if (!checkedMul(bytes, extent, bytes))
      return std::nullopt;
  return static_cast<size_t>(bytes);
}

Tensor::~Tensor() {
  if (owner)
    owner->take(place.data, room);
}

TensorPool::~TensorPool() { trim(0); }

void TensorPool::take(void *block, size_t room) noexcept {
  used -= room;
  try {
    blocks.emplace(room, block);
    idle += room;
  } catch (...) { // out of memory: the block cannot be kept
    device.release(block);
  }
}

void TensorPool::trim(size_t limit) {
  while (idle > limit) {
    auto smallest = blocks.begin();
    idle -= smallest->first;
    device.release(smallest->second);
    blocks.erase(smallest);
  }
}

Expected<TensorRef> TensorPool::make(const Dims &dims, size_t width) {
  constexpr size_t kMost = size_t(1) << 62;
  std::optional<size_t> bytes = bytesOf(dims, width);
  if (!bytes || *bytes > kMost)
    return Status(DLC_USAGE, "the size of a tensor that the model computes overflows 64 bits");
  return place(dims, *bytes);
}

Expected<TensorRef> TensorPool::place(const Dims &dims, size_t bytes) {
  size_t room = roomFor(bytes);
  auto tensor =
      std::make_shared<Tensor>(dims, bytes, Argument{nullptr, device.takesDeviceMemory()}, nullptr);
  auto found = blocks.lower_bound(room);
  if (found != blocks.end() && found->first <= 2 * room) {
    tensor->place.data = found->second;
    tensor->room = found->first;
    idle -= found->first;
    blocks.erase(found);
  } else {
    trim(used + room);
    Expected<void *> made = device.allocate(room);
    if (made.failed() && idle) {
      trim(0);
      made = device.allocate(room);
    }
    if (made.failed())
      return made.status();
    tensor->place.data = *made;
    tensor->room = room;
  }
  tensor->owner = this;
  used += tensor->room;
  return tensor;
}

Expected<TensorRef> TensorPool::copy(const Tensor &tensor) {
  Expected<TensorRef> made = place(tensor.dims, tensor.bytes);
  if (made.failed())
    return made;
  DLC_TRY(device.copy((*made)->place, tensor.place, tensor.bytes));
  (*made)->number = tensor.number;
  return made;
}
