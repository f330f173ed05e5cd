//===- ErrorFeedbackTest.cpp - Rounding that makes up for its own errors ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/ErrorFeedback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace dlc;

namespace {

using Matrix = std::vector<std::vector<double>>;

/// Vectors whose numbers depend on one another, as activations do.
std::vector<float> vectorsOf(int64_t count, int64_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> vectors(count * size);
  for (int64_t i = 0; i < count; ++i) {
    float common = normal(generator);
    for (int64_t j = 0; j < size; ++j)
      vectors[i * size + j] = (common + normal(generator)) * (0.25F + static_cast<float>(j % 7));
  }
  return vectors;
}

std::vector<float> randomWeights(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> weights(count);
  for (float &weight : weights)
    weight = normal(generator);
  return weights;
}

/// By Gauss and Jordan, with the largest pivot.
Matrix inverse(Matrix a) {
  const size_t size = a.size();
  Matrix result(size, std::vector<double>(size));
  for (size_t i = 0; i < size; ++i)
    result[i][i] = 1;
  for (size_t column = 0; column < size; ++column) {
    size_t pivot = column;
    for (size_t row = column; row < size; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column]))
        pivot = row;
    std::swap(a[pivot], a[column]);
    std::swap(result[pivot], result[column]);
    const double divisor = a[column][column];
    for (size_t j = 0; j < size; ++j) {
      a[column][j] /= divisor;
      result[column][j] /= divisor;
    }
    for (size_t row = 0; row < size; ++row) {
      if (row == column)
        continue;
      const double factor = a[row][column];
      for (size_t j = 0; j < size; ++j) {
        a[row][j] -= factor * a[column][j];
        result[row][j] -= factor * result[column][j];
      }
    }
  }
  return result;
}

Matrix momentsOf(const std::vector<float> &vectors, int64_t size) {
  Matrix h(size, std::vector<double>(size));
  for (size_t i = 0; i < vectors.size(); i += size)
    for (int64_t a = 0; a < size; ++a)
      for (int64_t b = 0; b < size; ++b)
        h[a][b] += double(vectors[i + a]) * vectors[i + b];
  return h;
}

/// The optimal brain surgeon by definition, on the grids of `grids`: after each column the inverse
/// of H over the columns that are left is computed anew.
std::vector<int> codesByDefinition(const std::vector<float> &weights, int64_t columns, Matrix h,
                                   const PackedMatrix &grids, double damping) {
  double mean = 0;
  for (int64_t i = 0; i < columns; ++i)
    mean += h[i][i] / double(columns);
  std::vector<int64_t> left(columns);
  std::iota(left.begin(), left.end(), 0);
  for (int64_t i = 0; i < columns; ++i)
    h[i][i] += damping * mean;
  std::vector<double> w(weights.begin(), weights.end());
  std::vector<int> codes(weights.size());
  const int64_t rows = static_cast<int64_t>(weights.size()) / columns;
  while (!left.empty()) {
    Matrix part(left.size(), std::vector<double>(left.size()));
    for (size_t a = 0; a < left.size(); ++a)
      for (size_t b = 0; b < left.size(); ++b)
        part[a][b] = h[left[a]][left[b]];
    const Matrix of = inverse(part);
    const int64_t j = left.front();
    for (int64_t row = 0; row < rows; ++row) {
      const WeightGrid &grid = grids.gridAt(row, j);
      const int code = grid.codeOf(w[row * columns + j], grids.format);
      codes[row * columns + j] = code;
      const double error = w[row * columns + j] - grid.numberOf(code);
      for (size_t b = 0; b < left.size(); ++b)
        w[row * columns + left[b]] -= error / of[0][0] * of[0][b];
    }
    left.erase(left.begin());
  }
  return codes;
}

SecondMoments added(const std::vector<float> &vectors, int64_t size, int64_t atOnce) {
  SecondMoments moments(size);
  const auto count = static_cast<int64_t>(vectors.size()) / size;
  for (int64_t i = 0; i < count; i += atOnce)
    moments.add(vectors.data() + i * size, std::min(atOnce, count - i));
  return moments;
}

TEST(ErrorFeedback, SumsOfSquares) {
  const int64_t size = 9;
  const std::vector<float> vectors = vectorsOf(50, size, 1);
  const Matrix expected = momentsOf(vectors, size);
  SecondMoments one = added(vectors, size, 50), parts = added(vectors, size, 7);
  EXPECT_EQ(parts.count(), 50);
  for (int64_t a = 0; a < size; ++a)
    for (int64_t b = 0; b < size; ++b) {
      EXPECT_NEAR(one.at(a, b), expected[a][b], 1e-9 * (1 + std::abs(expected[a][b])));
      EXPECT_EQ(one.at(a, b), parts.at(a, b)) << "batches change no bit";
    }
  SecondMoments strange(2);
  const float numbers[] = {NAN, 1, INFINITY, 2};
  strange.add(numbers, 2);
  EXPECT_EQ(strange.numNotFinite(), 2);
  EXPECT_EQ(strange.at(1, 1), 5);
}

TEST(ErrorFeedback, FactorOfTheInverse) {
  const int64_t size = 12;
  const SecondMoments moments = added(vectorsOf(40, size, 2), size, 40);
  const std::vector<double> u = inverseFactor(moments, 0.01);
  ASSERT_EQ(u.size(), size_t(size * size));
  Matrix h(size, std::vector<double>(size));
  double mean = 0;
  for (int64_t i = 0; i < size; ++i)
    mean += moments.at(i, i) / double(size);
  for (int64_t a = 0; a < size; ++a)
    for (int64_t b = 0; b < size; ++b)
      h[a][b] = moments.at(a, b) + (a == b ? 0.01 * mean : 0);
  const Matrix expected = inverse(h);
  for (int64_t a = 0; a < size; ++a)
    for (int64_t b = 0; b < size; ++b) {
      double product = 0;
      for (int64_t k = 0; k < size; ++k)
        product += u[k * size + a] * u[k * size + b];
      EXPECT_NEAR(product, expected[a][b], 1e-9 * std::abs(expected[a][a]));
      if (b < a)
        EXPECT_EQ(u[a * size + b], 0);
    }
  EXPECT_TRUE(inverseFactor(SecondMoments(3), 0.01).empty());
}

TEST(ErrorFeedback, RoundsAsTheOptimalBrainSurgeon) {
  const WeightFormat groups{.bits = 4, .group = 32}, rowsOfBytes{.isSymmetric = true},
      whole{.bits = 4, .isSymmetric = true, .isPerTensor = true},
      bytesWithZero{.bits = 8, .group = 16};
  for (auto [format, columns] :
       {std::pair{groups, int64_t(45)}, std::pair{rowsOfBytes, int64_t(20)},
        std::pair{whole, int64_t(33)}, std::pair{bytesWithZero, int64_t(40)}}) {
    const int64_t rows = 70; // more than are rounded together
    const std::vector<float> weights = randomWeights(rows * columns, 3),
                             vectors = vectorsOf(200, columns, 4);
    const PackedMatrix packed =
        roundWithFeedback(weights, rows, columns, format, added(vectors, columns, 64), 0.01);
    const std::vector<int> expected =
        codesByDefinition(weights, columns, momentsOf(vectors, columns), packed, 0.01);
    // A number halfway between two may fall to either side.
    int64_t different = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      different += expected[i] != packed.codes[i];
    EXPECT_LE(different, 1);
  }
}

TEST(ErrorFeedback, LosesLessThanRounding) {
  const int64_t rows = 40, columns = 64;
  const std::vector<float> weights = randomWeights(rows * columns, 6),
                           vectors = vectorsOf(400, columns, 7);
  const SecondMoments moments = added(vectors, columns, 400);
  const PackedMatrix nearest = roundToNearest(weights, rows, columns, {4, 32}),
                     fed = roundWithFeedback(weights, rows, columns, {4, 32}, moments);
  const OutputError before = outputErrorOf(weights, nearest, moments),
                    after = outputErrorOf(weights, fed, moments);
  EXPECT_LT(after.errors, before.errors * 0.5);
  EXPECT_EQ(after.squares, before.squares);
  double squares = 0, errors = 0; // by definition
  for (size_t i = 0; i < vectors.size(); i += columns)
    for (int64_t row = 0; row < rows; ++row) {
      double output = 0, error = 0;
      for (int64_t j = 0; j < columns; ++j) {
        output += double(weights[row * columns + j]) * vectors[i + j];
        error += (weights[row * columns + j] - fed.at(row, j)) * vectors[i + j];
      }
      squares += output * output;
      errors += error * error;
    }
  EXPECT_NEAR(after.squares, squares, 1e-9 * squares);
  EXPECT_NEAR(after.errors, errors, 1e-9 * squares);
}

TEST(ErrorFeedback, WithoutDataRoundsToNearest) {
  const std::vector<float> weights = randomWeights(4 * 20, 8);
  const PackedMatrix nearest = roundToNearest(weights, 4, 20, {4, 32}),
                     fed = roundWithFeedback(weights, 4, 20, {4, 32}, SecondMoments(20));
  EXPECT_EQ(nearest.codes, fed.codes);
}

} // namespace
