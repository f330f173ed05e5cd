//===- Arena.cpp - Places buffers with lifetimes in one block of memory ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/bind/Arena.h"
#include "runtime/core/Checked.h"

#include <algorithm>
#include <numeric>

using namespace dlc::rt;

/// Orders that are tried while some placement takes more than the buffers that are alive at once.
static constexpr int kMostOrders = 5;

/// Places the requests one after the other, each at the lowest offset that fits; nullopt where the
/// size overflows.
static std::optional<Placement> placeInOrder(const std::vector<Lifetime> &requests,
                                             const std::vector<uint32_t> &order,
                                             int64_t alignment) {
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

std::optional<Placement> dlc::rt::placeBuffers(const std::vector<Lifetime> &requests,
                                               int64_t alignment) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(-requests[a].bytes, a) < std::pair(-requests[b].bytes, b);
  });
  std::optional<Placement> best = placeInOrder(requests, order, alignment), last = best;
  const int64_t bound = best ? mostAlive(requests, alignment) : 0;
  for (int tried = 1; tried < kMostOrders && best && best->bytes > bound; ++tried) {
    std::vector<uint32_t> next;
    for (bool isHigh : {true, false})
      for (uint32_t index : order)
        if ((last->offsets[index] + requests[index].bytes > bound) == isHigh)
          next.push_back(index);
    order = std::move(next);
    last = placeInOrder(requests, order, alignment);
    if (!last)
      break;
    if (last->bytes < best->bytes)
      best = last;
  }
  return best;
}

int64_t dlc::rt::mostAlive(const std::vector<Lifetime> &requests, int64_t alignment) {
  // By the command before which they happen; what ends goes first.
  std::vector<std::pair<uint64_t, int64_t>> changes;
  changes.reserve(2 * requests.size());
  for (const Lifetime &request : requests) {
    int64_t size = (request.bytes + alignment - 1) / alignment * alignment;
    changes.emplace_back(request.first, size);
    changes.emplace_back(uint64_t(request.last) + 1, -size);
  }
  std::sort(changes.begin(), changes.end());
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
