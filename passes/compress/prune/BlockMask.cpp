//===- BlockMask.cpp - Blocks of weights that become zero together ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/BlockMask.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dlc {

WeightBlocks blocksOf(const PrunableWeight &weight) {
  WeightBlocks blocks;
  auto isRead = [&](const WeightReading &reading) { // by an earlier product in the same way
    return llvm::any_of(weight.readings, [&](const WeightReading &other) {
      return &other < &reading && other.rows == reading.rows && other.columns == reading.columns;
    });
  };
  for (const WeightReading &reading : weight.readings) {
    if (isRead(reading))
      continue;
    const auto rows = static_cast<int64_t>(reading.rows.size()) / reading.groups;
    for (int64_t group = 0; group < reading.groups; ++group)
      for (int64_t first = 0; first < rows; first += kBlockRows)
        for (uint64_t column : reading.columns) {
          for (int64_t row = first; row < std::min(first + kBlockRows, rows); ++row)
            blocks.positions.push_back(reading.rows[group * rows + row] + column);
          blocks.ends.push_back(blocks.positions.size());
        }
  }
  return blocks;
}

ZeroMask smallestBlocks(const StoredNumbers &scores, const WeightBlocks &blocks, double share) {
  std::vector<std::pair<double, size_t>> order;
  uint64_t begin = 0;
  for (auto [block, end] : llvm::enumerate(blocks.ends)) {
    double sum = 0;
    for (; begin < end; ++begin) {
      const double score = scores.at(blocks.positions[begin]);
      sum += score * score;
    }
    order.emplace_back(sum, block);
  }
  llvm::sort(order);
  ZeroMask mask(scores.size());
  const double wanted = share * static_cast<double>(blocks.positions.size());
  double taken = 0;
  for (auto [sum, block] : order) {
    const uint64_t first = block == 0 ? 0 : blocks.ends[block - 1], end = blocks.ends[block];
    const auto size = static_cast<double>(end - first);
    if (taken + size / 2 > wanted)
      continue; // a smaller one may still fit
    for (uint64_t i = first; i < end; ++i)
      mask[blocks.positions[i]] = true;
    taken += size;
  }
  return mask;
}

} // namespace dlc
