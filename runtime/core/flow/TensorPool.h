//===- TensorPool.h - Tensors that a flow makes, and their memory ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_FLOW_TENSORPOOL_H
#define DLC_RUNTIME_CORE_FLOW_TENSORPOOL_H

#include "runtime/core/api/Executor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace dlc::rt {

class TensorPool;

/// A tensor in the memory of a device. Nothing writes it once another step may read it, so that
/// slots share it.
struct Tensor {
  Tensor(Dims dims, size_t bytes, Argument place, TensorPool *owner)
      : dims(std::move(dims)), bytes(bytes), place(place), owner(owner) {}
  ~Tensor();
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;

  Dims dims;
  size_t bytes;
  Argument place;
  TensorPool *owner; ///< null: the memory is the caller's
  size_t room = 0;   ///< bytes of the block
  std::optional<int64_t>
      number; ///< its only element, if that is known without a look at the memory
};
using TensorRef = std::shared_ptr<Tensor>;

/// Memory of an executor's device. Blocks of tensors that are gone are used again; those that stay
/// idle beyond what is in use go back to the device. Outlives its tensors.
class TensorPool {
public:
  explicit TensorPool(Executor &device) : device(device) {}
  ~TensorPool();
  TensorPool(const TensorPool &) = delete;
  TensorPool &operator=(const TensorPool &) = delete;

  /// A tensor whose elements have `width` bytes. DLC_USAGE if its size overflows.
  Expected<TensorRef> make(const Dims &dims, size_t width);
  /// A copy of the tensor with memory of its own.
  Expected<TensorRef> copy(const Tensor &tensor);

  /// Bytes of all blocks.
  int64_t bytes() const { return static_cast<int64_t>(used + idle); }

private:
  friend struct Tensor;
  Expected<TensorRef> place(const Dims &dims, size_t bytes);
  void take(void *block, size_t room) noexcept;
  void trim(size_t limit);

  Executor &device;
  std::multimap<size_t, void *> blocks; ///< idle ones by their size
  size_t used = 0, idle = 0;            ///< bytes
};

/// The bytes of a tensor of these dims; nullopt if they overflow.
std::optional<size_t> bytesOf(const Dims &dims, size_t width);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_FLOW_TENSORPOOL_H
