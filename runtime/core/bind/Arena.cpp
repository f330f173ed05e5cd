//===- Arena.cpp - Places buffers with lifetimes in one block of memory ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/bind/Arena.h"
#include "runtime/core/Checked.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace dlc::rt;

std::optional<Placement> dlc::rt::placeBuffers(const std::vector<Lifetime> &requests,
                                               int64_t alignment) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(-requests[a].bytes, a) < std::pair(-requests[b].bytes, b);
  });

  Placement result;
  result.offsets.resize(requests.size());
  std::vector<uint32_t> byOffset; // placed so far
  for (uint32_t index : order) {
    const Lifetime &request = requests[index];
    int64_t size;
    if (!checkedAlign(request.bytes, alignment, size))
      return std::nullopt;
    int64_t offset = 0;
    for (uint32_t other : byOffset) {
      const Lifetime &placed = requests[other];
      if (placed.last < request.first || request.last < placed.first)
        continue;
      if (offset + size <= result.offsets[other])
        break; // it fits before this one
      int64_t end = result.offsets[other] + placed.bytes;
      offset = std::max(offset, end + (alignment - end % alignment) % alignment);
    }
    int64_t end;
    if (!checkedAdd(offset, size, end) || end > INT64_MAX / 2)
      return std::nullopt;
    result.offsets[index] = offset;
    result.bytes = std::max(result.bytes, end);
    auto at = std::upper_bound(
        byOffset.begin(), byOffset.end(), offset,
        [&](int64_t value, uint32_t other) { return value < result.offsets[other]; });
    byOffset.insert(at, index);
  }
  return result;
}

int64_t dlc::rt::mostAlive(const std::vector<Lifetime> &requests, int64_t alignment) {
  std::map<uint32_t, int64_t> changes; // by the command before which they happen
  for (const Lifetime &request : requests) {
    int64_t size = (request.bytes + alignment - 1) / alignment * alignment;
    changes[request.first] += size;
    changes[request.last + 1] -= size;
  }
  int64_t alive = 0, most = 0;
  for (auto [command, change] : changes)
    most = std::max(most, alive += change);
  return most;
}

bool dlc::rt::isSound(const std::vector<Lifetime> &requests, const Placement &placement,
                      int64_t alignment) {
  if (placement.offsets.size() != requests.size())
    return false;
  std::vector<uint32_t> byOffset(requests.size());
  std::iota(byOffset.begin(), byOffset.end(), 0);
  std::sort(byOffset.begin(), byOffset.end(),
            [&](uint32_t a, uint32_t b) { return placement.offsets[a] < placement.offsets[b]; });
  for (size_t i = 0; i < byOffset.size(); ++i) {
    const Lifetime &a = requests[byOffset[i]];
    int64_t begin = placement.offsets[byOffset[i]], end = begin + a.bytes;
    if (begin < 0 || begin % alignment != 0 || end > placement.bytes)
      return false;
    for (size_t k = i + 1; k < byOffset.size() && placement.offsets[byOffset[k]] < end; ++k) {
      const Lifetime &b = requests[byOffset[k]];
      if (b.bytes > 0 && a.first <= b.last && b.first <= a.last)
        return false;
    }
  }
  return true;
}
