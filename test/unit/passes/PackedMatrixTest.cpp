//===- PackedMatrixTest.cpp - Weights in few bits --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/PackedMatrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace dlc;

namespace {

std::vector<float> randomWeights(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> weights(count);
  for (float &weight : weights)
    weight = normal(generator);
  return weights;
}

double squaredError(const std::vector<double> &weights, const WeightGrid &grid, unsigned bits) {
  double sum = 0;
  for (double weight : weights) {
    // The nearest of all numbers that the grid has.
    double least = INFINITY;
    for (int code = bits == 8 ? -127 : 0; code <= (bits == 8 ? 127 : 15); ++code)
      least = std::min(least, std::abs(weight - grid.numberOf(code)));
    sum += least * least;
  }
  return sum;
}

TEST(PackedMatrix, HoldsGridPointsExactly) {
  std::vector<double> weights;
  for (int code = 0; code <= 15; ++code)
    weights.push_back((code - 6) * 0.25);
  WeightGrid grid = fitGrid(weights, {}, 4);
  EXPECT_EQ(grid.scale, 0.25F);
  EXPECT_EQ(grid.zero, 6);
  for (int code = 0; code <= 15; ++code)
    EXPECT_EQ(grid.codeOf(weights[code], 4), code);
  grid = fitGrid({-127.0, 3.0, 64.0}, {}, 8);
  EXPECT_EQ(grid.scale, 1.0F);
  EXPECT_EQ(grid.zero, 0);
  EXPECT_EQ(grid.codeOf(-127.0, 8), -127);
  EXPECT_EQ(grid.codeOf(2.5, 8), 2) << "ties to even";
  EXPECT_EQ(grid.codeOf(1e9, 8), 127);
}

TEST(PackedMatrix, ZerosAndOneSign) {
  WeightGrid grid = fitGrid({0.0, 0.0}, {}, 4);
  EXPECT_EQ(grid.scale, 1.0F);
  EXPECT_EQ(grid.zero, 0);
  EXPECT_EQ(fitGrid({0.0}, {}, 8).scale, 1.0F);
  // 0 is always a number of the grid.
  grid = fitGrid({1.0, 1.5, 3.0}, {}, 4);
  EXPECT_EQ(grid.zero, 0);
  EXPECT_EQ(grid.numberOf(grid.codeOf(0, 4)), 0);
  grid = fitGrid({-1.0, -1.5, -3.0}, {}, 4);
  EXPECT_EQ(grid.zero, 15);
}

/// Drawing in an end is never worse than taking in everything, and much better with an outlier that
/// does not count.
TEST(PackedMatrix, CutsOffWhatCostsLess) {
  for (unsigned bits : {4U, 8U})
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::vector<float> numbers = randomWeights(32, seed);
      std::vector<double> weights(numbers.begin(), numbers.end());
      double low = 0, high = 0;
      for (double weight : weights) {
        low = std::min(low, weight);
        high = std::max(high, weight);
      }
      WeightGrid all;
      all.scale = static_cast<float>(bits == 8 ? std::max(-low, high) / 127 : (high - low) / 15);
      all.zero = bits == 8 ? 0 : static_cast<int>(std::nearbyint(-low / all.scale));
      EXPECT_LE(squaredError(weights, fitGrid(weights, {}, bits), bits),
                squaredError(weights, all, bits) * (1 + 1e-12));
    }
  std::vector<double> weights = {0.1, -0.2, 0.3, 4.0}, importance = {1, 1, 1, 0};
  EXPECT_LT(fitGrid(weights, importance, 4).scale, fitGrid(weights, {}, 4).scale);
}

TEST(PackedMatrix, RoundsEachGroupByItself) {
  const int64_t rows = 3, columns = 71; // groups of 32, 32 and 7
  std::vector<float> weights = randomWeights(rows * columns, 5);
  for (int64_t column = 64; column < columns; ++column)
    weights[column] *= 1000;
  PackedMatrix packed = roundToNearest(weights, rows, columns, {4, 32});
  ASSERT_EQ(packed.grids.size(), 9u);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const WeightGrid &grid = packed.grids[row * 3 + column / 32];
      const double weight = weights[row * columns + column], number = packed.at(row, column);
      EXPECT_EQ(number, (packed.codes[row * columns + column] - grid.zero) * double(grid.scale));
      const double lowest = grid.numberOf(0), highest = grid.numberOf(15);
      if (weight >= lowest && weight <= highest)
        EXPECT_LE(std::abs(weight - number), grid.scale / 2 * (1 + 1e-6));
    }
}

TEST(PackedMatrix, Bytes) {
  PackedMatrix packed{{4, 32}, 2, 5, {1, 2, 3, 4, 5, 15, 14, 13, 12, 11}, {{0.5F, 3}, {2.0F, 15}}};
  // Byte i holds column i below column 3 + i.
  EXPECT_EQ(packed.codeBytes(), (std::vector<uint8_t>{0x41, 0x52, 0x03, 0xcf, 0xbe, 0x0d}));
  EXPECT_EQ(packed.zeroBytes(), (std::vector<uint8_t>{3, 15}));
  std::vector<uint8_t> scales = packed.scaleBytes();
  float second = 0;
  std::memcpy(&second, scales.data() + 4, 4);
  EXPECT_EQ(second, 2.0F);
  PackedMatrix wide{{8, 0}, 1, 3, {-127, 0, 5}, {{0.5F, 0}}};
  EXPECT_EQ(wide.codeBytes(), (std::vector<uint8_t>{0x81, 0, 5}));
}

} // namespace
