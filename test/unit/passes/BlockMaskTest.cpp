//===- BlockMaskTest.cpp - Blocks of weights that become zero together --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/BlockMask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace dlc;

namespace {

/// A weight [rows, columns] that one product reads.
PrunableWeight matrixOf(uint64_t rows, uint64_t columns) {
  WeightReading reading{nullptr, 1, 1, {}, std::vector<uint64_t>(columns)};
  for (uint64_t row = 0; row < rows; ++row)
    reading.rows.push_back(row * columns);
  std::iota(reading.columns.begin(), reading.columns.end(), 0);
  PrunableWeight weight{"w", "", false, {}, {reading, reading}};
  return weight;
}

TEST(BlockMask, BlocksHaveSixteenRowsOfOneColumn) {
  const WeightBlocks blocks = blocksOf(matrixOf(18, 3)); // once, though two products read it
  EXPECT_EQ(blocks.ends, (std::vector<uint64_t>{16, 32, 48, 50, 52, 54}));
  EXPECT_EQ(blocks.positions[0], 0u);
  EXPECT_EQ(blocks.positions[1], 3u);
  EXPECT_EQ(blocks.positions[16], 1u);
  EXPECT_EQ(blocks.positions[48], 48u); // row 16 of column 0
  EXPECT_EQ(blocks.positions[49], 51u);
}

TEST(BlockMask, TheSmallestBlocksGo) {
  const PrunableWeight weight = matrixOf(18, 3);
  std::vector<double> numbers(54, 1);
  for (uint64_t row = 0; row < 16; ++row)
    numbers[row * 3 + 1] = 0.5;
  numbers[51] = 9; // of the short block of column 0
  const StoredNumbers scores{FloatStorage::f64,
                             {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * 8}};
  auto zeros = [&](double share) {
    const ZeroMask mask = smallestBlocks(scores, blocksOf(weight), share);
    return std::vector<bool>(mask.begin(), mask.end());
  };
  auto count = [&](double share) {
    const std::vector<bool> mask = zeros(share);
    return std::count(mask.begin(), mask.end(), true);
  };
  EXPECT_EQ(count(0.01), 0);
  // Two short blocks of ones cost less than the whole one of halves.
  EXPECT_EQ(count(4.0 / 54), 4);
  EXPECT_TRUE(zeros(4.0 / 54)[49]);
  EXPECT_EQ(count(20.0 / 54), 20);
  EXPECT_TRUE(zeros(20.0 / 54)[1]);
  EXPECT_FALSE(zeros(20.0 / 54)[0]);
  EXPECT_EQ(count(0.999), 54);
}

} // namespace
