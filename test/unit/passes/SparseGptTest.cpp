//===- SparseGptTest.cpp - Updates of weights against plain solutions ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/SparseGpt.h"

#include "passes/compress/Cholesky.h"
#include "passes/compress/ColumnFit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace dlc;

namespace {

using Numbers = std::vector<double>;

/// Products by their definition.
Numbers product(const Numbers &a, const Numbers &b, int64_t inner) {
  const int64_t rows = static_cast<int64_t>(a.size()) / inner,
                columns = static_cast<int64_t>(b.size()) / inner;
  Numbers result(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < inner; ++k)
        result[i * columns + j] += a[i * inner + k] * b[k * columns + j];
  return result;
}

Numbers transposed(const Numbers &a, int64_t columns) {
  Numbers result(a.size());
  const int64_t rows = static_cast<int64_t>(a.size()) / columns;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[j * rows + i] = a[i * columns + j];
  return result;
}

class UpdateTest : public testing::Test {
protected:
  Numbers random(int64_t size) {
    Numbers numbers(size);
    for (double &number : numbers)
      number = normal(generator);
    return numbers;
  }
  /// x^T x of more rows than columns, whose columns depend on one another.
  Numbers moment(int64_t columns) {
    Numbers x = product(random(3 * columns * columns), random(columns * columns), columns);
    return product(transposed(x, columns), x, 3 * columns);
  }

  std::mt19937 generator{5};
  std::normal_distribution<double> normal;
};

/// (a - b) moment (a - b)^T of one row.
double change(const double *a, const double *b, const Numbers &moment, int64_t columns) {
  double sum = 0;
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < columns; ++j)
      sum += (a[i] - b[i]) * moment[i * columns + j] * (a[j] - b[j]);
  return sum;
}

TEST_F(UpdateTest, FactorsOfAMatrixAndOfItsInverse) {
  for (int64_t size : {1, 2, 3, 7, 16, 33}) {
    const Numbers matrix = moment(size);
    Numbers lower = matrix, upper = matrix;
    ASSERT_TRUE(factorCholesky(lower, size));
    Numbers again = product(lower, transposed(lower, size), size);
    for (int64_t i = 0; i < size * size; ++i)
      EXPECT_NEAR(again[i], matrix[i], 1e-9 * std::fabs(matrix[0]) * double(size)) << size;
    ASSERT_TRUE(factorOfInverse(upper, size));
    Numbers inverse = product(transposed(upper, size), upper, size),
            one = product(inverse, matrix, size);
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < size; ++j) {
        EXPECT_NEAR(one[i * size + j], i == j ? 1 : 0, 1e-6) << size;
        EXPECT_TRUE(i <= j || upper[i * size + j] == 0);
      }
    Numbers x = random(size), right = product(matrix, x, size);
    solveCholesky(lower, right);
    for (int64_t i = 0; i < size; ++i)
      EXPECT_NEAR(right[i], x[i], 1e-6);
  }
}

TEST_F(UpdateTest, NoFactorOfWhatIsNotDefinite) {
  Numbers matrix = {1, 2, 2, 1}, nan = {1, NAN, NAN, 1};
  EXPECT_FALSE(factorCholesky(matrix, 2));
  EXPECT_FALSE(factorCholesky(nan, 2));
}

TEST_F(UpdateTest, ColumnsThatNobodyReadsGoFirst) {
  // Independent columns of one size: SparseGPT takes the smallest numbers, and changes no others.
  const int64_t columns = 6;
  Numbers h(columns * columns);
  for (int64_t i = 0; i < columns; ++i)
    h[i * (columns + 1)] = i == 4 ? 0 : 9;
  Numbers weights = {3, -1, 5, 2, 100, -4, /**/ 1, 6, -2, 7, 100, 3};
  sparseGpt(weights, 2, h, {.share = 0.5, .block = 128});
  EXPECT_EQ(weights, Numbers({3, 0, 5, 0, 0, -4, /**/ 0, 6, 0, 7, 0, 3}));
}

TEST_F(UpdateTest, TwoOfEachFour) {
  const int64_t rows = 5, columns = 12;
  const Numbers h = moment(columns), before = random(rows * columns);
  Numbers weights = before;
  sparseGpt(weights, rows, h, {.share = std::nullopt, .block = 8});
  for (size_t i = 0; i < weights.size(); i += 4)
    EXPECT_EQ(std::count(weights.begin() + i, weights.begin() + i + 4, 0.0), 2) << i;
  // Of all numbers beside these zeros the least squares change least.
  Numbers zeroed = before, fitted = weights;
  for (size_t i = 0; i < weights.size(); ++i)
    zeroed[i] = weights[i] == 0 ? 0 : before[i];
  fitWeights(fitted, before, rows, h, 1e-12);
  for (int64_t row = 0; row < rows; ++row) {
    const double *w = before.data() + row * columns;
    const double plain = change(w, zeroed.data() + row * columns, h, columns),
                 updated = change(w, weights.data() + row * columns, h, columns),
                 least = change(w, fitted.data() + row * columns, h, columns);
    EXPECT_LT(least, plain);
    EXPECT_LE(least, updated);
    // No other value of a number that is left is better.
    for (int64_t i = 0; i < columns; ++i) {
      EXPECT_EQ(fitted[row * columns + i] == 0, weights[row * columns + i] == 0);
      double slope = 0, scale = 0;
      for (int64_t j = 0; j < columns; ++j) {
        slope += h[i * columns + j] * (fitted[row * columns + j] - w[j]);
        scale += std::fabs(h[i * columns + j] * w[j]);
      }
      EXPECT_TRUE(weights[row * columns + i] == 0 || std::fabs(slope) < 1e-4 * scale);
    }
  }
}

TEST_F(UpdateTest, SharesOfTheCubicSchedule) {
  EXPECT_EQ(cubicSchedule(0.9, 1), Numbers({0.9}));
  const Numbers shares = cubicSchedule(0.8, 4);
  EXPECT_EQ(shares,
            Numbers({0.8 * (1 - 27.0 / 64), 0.8 * (1 - 8.0 / 64), 0.8 * (1 - 1.0 / 64), 0.8}));
}

/// The costs of zeros by their definition: each number is left out by itself, and all others of the
/// row are fitted anew.
TEST_F(UpdateTest, StepsTakeWhatCostsLeast) {
  const int64_t rows = 4, columns = 10;
  const Numbers h = moment(columns), before = random(rows * columns);
  Numbers weights = before;
  sparsifyInSteps(weights, before, rows, h, {0.025},
                  {.share = {}, .dampening = 1e-9}); // one of forty
  double least = INFINITY;
  size_t cheapest = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    Numbers own = before;
    own[i] = 0;
    fitWeights(own, before, rows, h, 1e-9);
    const auto row = static_cast<int64_t>(i) / columns * columns;
    if (double cost = change(&before[row], &own[row], h, columns); cost < least) {
      least = cost;
      cheapest = i;
    }
  }
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_EQ(weights[i] == 0, i == cheapest) << i;
}

TEST_F(UpdateTest, MoreStepsLoseLess) {
  const int64_t rows = 12, columns = 40;
  const Numbers h = moment(columns), before = random(rows * columns);
  auto lost = [&](const Numbers &weights) {
    double sum = 0;
    for (int64_t row = 0; row < rows * columns; row += columns)
      sum += change(&before[row], &weights[row], h, columns);
    return sum;
  };
  Numbers once = before, steps = before, sweep = before;
  sparsifyInSteps(once, before, rows, h, cubicSchedule(0.8, 1), {});
  sparsifyInSteps(steps, before, rows, h, cubicSchedule(0.8, 8), {});
  sparseGpt(sweep, rows, h, {.share = 0.8});
  fitWeights(sweep, before, rows, h, 0.01);
  for (const Numbers *weights : {&once, &steps, &sweep})
    EXPECT_EQ(std::count(weights->begin(), weights->end(), 0.0), 384);
  EXPECT_LT(lost(steps), 0.9 * lost(once));
  EXPECT_LT(lost(steps), 0.9 * lost(sweep));
}

TEST_F(UpdateTest, RowsOfABlockAreZeroTogether) {
  const int64_t rows = 10, columns = 24; // blocks of 4, 4 and 2 rows
  const Numbers h = moment(columns), before = random(rows * columns);
  Numbers once = before, steps = before;
  sparseGpt(once, rows, h, {.share = 0.5, .block = 8, .rowsTogether = 4});
  sparsifyInSteps(steps, before, rows, h, cubicSchedule(0.5, 3), {.share = {}, .rowsTogether = 4});
  for (const Numbers *weights : {&once, &steps}) {
    EXPECT_NEAR(std::count(weights->begin(), weights->end(), 0.0), 120, 4);
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t first = i / columns / 4 * 4;
      EXPECT_EQ((*weights)[i] == 0, (*weights)[first * columns + i % columns] == 0) << i;
    }
  }
}

TEST_F(UpdateTest, ColumnsOfRemovedChannels) {
  const int64_t rows = 3, columns = 9;
  const Numbers h = moment(columns), before = random(rows * columns);
  llvm::BitVector removed(columns);
  removed.set(1);
  removed.set(4);
  removed.set(5);
  Numbers weights = before;
  fitColumns(weights, h, removed, 1e-12);
  double left = 0;
  for (int64_t row = 0; row < rows; ++row) {
    left += change(before.data() + row * columns, weights.data() + row * columns, h, columns);
    for (int64_t i = 0; i < columns; ++i) {
      double slope = 0;
      for (int64_t j = 0; j < columns; ++j)
        slope += h[i * columns + j] * (weights[row * columns + j] - before[row * columns + j]);
      EXPECT_EQ(weights[row * columns + i] == 0, removed.test(i));
      EXPECT_TRUE(removed.test(i) || std::fabs(slope) < 1e-6 * h[i * (columns + 1)]);
    }
  }
  // The same cost was foreseen, at once and one after the other.
  ColumnCosts costs(before, h, columns, 1e-12);
  EXPECT_NEAR(costs.costOf({1, 4, 5}), left, 1e-5 * left);
  double sum = costs.costOf({4});
  costs.remove({4});
  sum += costs.costOf({5, 1});
  EXPECT_NEAR(sum, left, 1e-5 * left);
}

} // namespace
