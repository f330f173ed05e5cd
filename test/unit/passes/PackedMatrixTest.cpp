//===- PackedMatrixTest.cpp - Weights in few bits -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
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

const WeightFormat kFourBits{.bits = 4, .group = 32}, kEightBits{.bits = 8, .isSymmetric = true};

double squaredError(const std::vector<double> &weights, const WeightGrid &grid,
                    const WeightFormat &format) {
  double sum = 0;
  for (double weight : weights) {
    // The nearest of all numbers that the grid has.
    double least = INFINITY;
    for (int code = format.lowest(); code <= format.highest(); ++code)
      least = std::min(least, std::abs(weight - grid.numberOf(code)));
    sum += least * least;
  }
  return sum;
}

TEST(PackedMatrix, HoldsGridPointsExactly) {
  std::vector<double> weights;
  for (int code = 0; code <= 15; ++code)
    weights.push_back((code - 6) * 0.25);
  WeightGrid grid = fitGrid(weights, {}, kFourBits);
  EXPECT_EQ(grid.scale, 0.25F);
  EXPECT_EQ(grid.zero, 6);
  for (int code = 0; code <= 15; ++code)
    EXPECT_EQ(grid.codeOf(weights[code], kFourBits), code);
  grid = fitGrid({-127.0, 3.0, 64.0}, {}, kEightBits);
  EXPECT_EQ(grid.scale, 1.0F);
  EXPECT_EQ(grid.zero, 0);
  EXPECT_EQ(grid.codeOf(-127.0, kEightBits), -127);
  EXPECT_EQ(grid.codeOf(2.5, kEightBits), 2) << "ties to even";
  EXPECT_EQ(grid.codeOf(1e9, kEightBits), 127);
}

TEST(PackedMatrix, ZerosAndOneSign) {
  WeightGrid grid = fitGrid({0.0, 0.0}, {}, kFourBits);
  EXPECT_EQ(grid.scale, 1.0F);
  EXPECT_EQ(grid.zero, 0);
  EXPECT_EQ(fitGrid({0.0}, {}, kEightBits).scale, 1.0F);
  // 0 is always a number of the grid.
  grid = fitGrid({1.0, 1.5, 3.0}, {}, kFourBits);
  EXPECT_EQ(grid.zero, 0);
  EXPECT_EQ(grid.numberOf(grid.codeOf(0, kFourBits)), 0);
  grid = fitGrid({-1.0, -1.5, -3.0}, {}, kFourBits);
  EXPECT_EQ(grid.zero, 15);
}

/// Drawing in an end is never worse than taking in everything, and much better with an outlier that
/// does not count.
TEST(PackedMatrix, CutsOffWhatCostsLess) {
  for (const WeightFormat &format : {kFourBits, kEightBits})
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::vector<float> numbers = randomWeights(32, seed);
      std::vector<double> weights(numbers.begin(), numbers.end());
      double low = 0, high = 0;
      for (double weight : weights) {
        low = std::min(low, weight);
        high = std::max(high, weight);
      }
      WeightGrid all;
      const bool isWide = format.bits == 8;
      all.scale = static_cast<float>(isWide ? std::max(-low, high) / 127 : (high - low) / 15);
      all.zero = isWide ? 0 : static_cast<int>(std::nearbyint(-low / all.scale));
      EXPECT_LE(squaredError(weights, fitGrid(weights, {}, format), format),
                squaredError(weights, all, format) * (1 + 1e-12));
    }
  std::vector<double> weights = {0.1, -0.2, 0.3, 4.0}, importance = {1, 1, 1, 0};
  EXPECT_LT(fitGrid(weights, importance, kFourBits).scale, fitGrid(weights, {}, kFourBits).scale);
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
  PackedMatrix wide{kEightBits, 1, 3, {-127, 0, 5}, {{0.5F, 0}}};
  EXPECT_EQ(wide.codeBytes(), (std::vector<uint8_t>{0x81, 0, 5}));
}

TEST(PackedMatrix, SymmetricAndAsymmetric) {
  // 4 bits without a zero point of their own reach one step further below 0 than above.
  const WeightFormat symmetric{.bits = 4, .group = 32, .isSymmetric = true};
  WeightGrid grid = fitGrid({-4.0, 1.0, 3.5}, {}, symmetric);
  EXPECT_EQ(grid.scale, 0.5F);
  EXPECT_EQ(grid.zero, 8);
  EXPECT_EQ(grid.codeOf(-4.0, symmetric), 0);
  EXPECT_EQ(grid.codeOf(3.5, symmetric), 15);
  EXPECT_EQ(grid.codeOf(0, symmetric), 8);
  EXPECT_EQ(fitGrid({0.0}, {}, symmetric).zero, 8);
  // 8 bits with one have all of u8.
  const WeightFormat asymmetric{.bits = 8};
  grid = fitGrid({-51.0, 204.0}, {}, asymmetric);
  EXPECT_EQ(grid.scale, 1.0F);
  EXPECT_EQ(grid.zero, 51);
  EXPECT_EQ(grid.codeOf(204, asymmetric), 255);
  PackedMatrix packed = roundToNearest({-51.0F, 204.0F}, 1, 2, asymmetric);
  EXPECT_EQ(packed.codeBytes(), (std::vector<uint8_t>{0, 255}));
}

TEST(PackedMatrix, SharesGridsByGranularity) {
  const int64_t rows = 5, columns = 40;
  const std::vector<float> weights = randomWeights(rows * columns, 9);
  auto errorOf = [&](const WeightFormat &format, size_t grids) {
    const PackedMatrix packed = roundToNearest(weights, rows, columns, format);
    EXPECT_EQ(packed.grids.size(), grids);
    double sum = 0;
    for (int64_t i = 0; i < rows * columns; ++i)
      sum += std::pow(weights[i] - packed.at(i / columns, i % columns), 2);
    return sum;
  };
  const double whole = errorOf({.bits = 4, .isPerTensor = true}, 1), row = errorOf({.bits = 4}, 5),
               group = errorOf({.bits = 4, .group = 16}, 15);
  EXPECT_LT(row, whole);
  EXPECT_LT(group, row);
}

} // namespace
