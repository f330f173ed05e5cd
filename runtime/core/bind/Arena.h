//===- Arena.h - Places buffers with lifetimes in one block of memory -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_BIND_ARENA_H
#define DLC_RUNTIME_CORE_BIND_ARENA_H

#include <cstdint>
#include <optional>
#include <vector>

namespace dlc::rt {

/// A buffer of `bytes` >= 0 that is used by the commands first..last, both included.
struct Lifetime {
  int64_t bytes;
  uint32_t first, last;
};

struct Placement {
  std::vector<int64_t> offsets; ///< of each request, multiples of the alignment
  int64_t bytes = 0;            ///< of the whole block
};

/// Places requests so that those alive at the same time do not overlap: the largest first, each at
/// the lowest offset that fits (Y. Pisarchyk and J. Lee, "Efficient memory management for deep
/// neural net inference", 2020). Where that takes more than mostAlive, those that end above it go
/// first, a few times, and the smallest placement is taken. The result depends on the arguments
/// alone. nullopt where the size overflows.
std::optional<Placement> placeBuffers(const std::vector<Lifetime> &requests, int64_t alignment);

/// Bytes of the requests that are alive at the same time, at most: no placement takes less. The
/// sizes are those of a placement, so that their sums do not overflow.
int64_t mostAlive(const std::vector<Lifetime> &requests, int64_t alignment);

/// Whether the placement keeps its promises. An independent check, run after each placement.
bool isSound(const std::vector<Lifetime> &requests, const Placement &placement, int64_t alignment);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_BIND_ARENA_H
