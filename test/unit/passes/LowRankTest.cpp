//===- LowRankTest.cpp - Two narrow factors against what can be reached at best -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/LowRank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace dlc;

namespace {

using Numbers = std::vector<double>;

Numbers randomNumbers(int64_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Numbers numbers(size);
  for (double &number : numbers)
    number = normal(generator);
  return numbers;
}

/// (w - left right) moment (w - left right)^T, over all rows; the identity where there is no
/// moment.
double lossOf(const Numbers &weights, const LowRankFactors &factors, int64_t rows, int64_t rank,
              const Numbers &moment) {
  const int64_t columns = static_cast<int64_t>(weights.size()) / rows;
  double loss = 0;
  for (int64_t row = 0; row < rows; ++row) {
    Numbers change(columns);
    for (int64_t j = 0; j < columns; ++j) {
      change[j] = weights[row * columns + j];
      for (int64_t k = 0; k < rank; ++k)
        change[j] -= factors.left[row * rank + k] * factors.right[k * columns + j];
    }
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t j = 0; j < columns; ++j)
        loss += change[i] * change[j] * (moment.empty() ? i == j : moment[i * columns + j]);
  }
  return loss;
}

TEST(LowRank, RanksThatSave) {
  // The second weight has two singular values, the first eight that are equal.
  const std::vector<RankedWeight> weights = {{8, 8, {1, 1, 1, 1, 1, 1, 1, 1}},
                                             {8, 24, {9, 8, 1e-9, 0, 0, 0, 0, 0}}};
  EXPECT_EQ(chooseRanks(weights, 0.5), std::vector<int64_t>({0, 2}));
  EXPECT_EQ(chooseRanks(weights, 0.45), std::vector<int64_t>({0, 1}));
  EXPECT_EQ(chooseRanks(weights, 0.1), std::nullopt);
}

TEST(LowRank, AWeightOfThisRankIsKept) {
  const int64_t rows = 9, columns = 14, rank = 3;
  const Numbers left = randomNumbers(rows * rank, 1), right = randomNumbers(rank * columns, 2);
  Numbers weights(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < rank; ++k)
        weights[i * columns + j] += left[i * rank + k] * right[k * columns + j];
  LowRankFactors factors = factorLowRank(weights, rows, {}, 0, rank);
  EXPECT_LT(lossOf(weights, factors, rows, rank, {}), 1e-20);
  EXPECT_LT(factors.lost, 1e-20);
  EXPECT_GT(factorLowRank(weights, rows, {}, 0, rank - 1).lost, 1e-3);
}

TEST(LowRank, KnownSingularValues) {
  // Rows 3, 5, 1 times orthonormal vectors that are mixed by a rotation.
  const double c = std::cos(0.7), s = std::sin(0.7);
  const Numbers weights = {3 * c, 5 * s, 0, 0, -3 * s, 5 * c, 0, 0, 0, 0, 1, 0};
  LowRankFactors two = factorLowRank(weights, 3, {}, 0, 2),
                 one = factorLowRank(weights, 3, {}, 0, 1);
  EXPECT_NEAR(two.lost, 1.0 / 35, 1e-12);
  EXPECT_NEAR(one.lost, 10.0 / 35, 1e-12);
  EXPECT_NEAR(std::fabs(one.left[0]), std::fabs(s), 1e-9);
  EXPECT_NEAR(lossOf(weights, one, 3, 1, {}), 10, 1e-9);
}

TEST(LowRank, WhatIsReadDecides) {
  // The inputs move along few directions: rank 2 loses nearly nothing there, though the weight has
  // 6.
  const int64_t rows = 6, columns = 8, rank = 2;
  const Numbers weights = randomNumbers(rows * columns, 3), x = randomNumbers(2 * columns, 4);
  Numbers moment(columns * columns);
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < columns; ++j)
      moment[i * columns + j] =
          100 * (x[i] * x[j] + x[columns + i] * x[columns + j]) + (i == j ? 1e-3 : 0);
  LowRankFactors seen = factorLowRank(weights, rows, moment, 1e-9, rank),
                 plain = factorLowRank(weights, rows, {}, 0, rank);
  const double least = lossOf(weights, seen, rows, rank, moment);
  EXPECT_LT(least, 1e-3 * lossOf(weights, plain, rows, rank, moment));
  EXPECT_LT(seen.lost, 1e-4);
  // The columns of the left factor are orthonormal.
  for (int64_t a = 0; a < rank; ++a)
    for (int64_t b = 0; b < rank; ++b) {
      double sum = 0;
      for (int64_t row = 0; row < rows; ++row)
        sum += seen.left[row * rank + a] * seen.left[row * rank + b];
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-10);
    }
}

} // namespace
