//===- Cholesky.cpp - Factors of symmetric positive definite matrices ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/Cholesky.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <vector>

namespace dlc {

/// The sum of products of two rows, in four sums side by side so that it takes vector instructions.
static double dot(const double *a, const double *b, int64_t size) {
  std::array<double, 4> sums{};
  int64_t i = 0;
  for (; i + 4 <= size; i += 4)
    for (int64_t lane = 0; lane < 4; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  double rest = 0;
  for (; i < size; ++i)
    rest += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest;
}

bool factorCholesky(llvm::MutableArrayRef<double> matrix, int64_t size) {
  assert(static_cast<int64_t>(matrix.size()) == size * size && "a square matrix");
  for (int64_t i = 0; i < size; ++i) {
    double *row = matrix.data() + i * size;
    for (int64_t j = 0; j < i; ++j) {
      const double *other = matrix.data() + j * size;
      row[j] = (row[j] - dot(row, other, j)) / other[j];
    }
    const double rest = row[i] - dot(row, row, i);
    if (!(rest > 0))
      return false;
    row[i] = std::sqrt(rest);
    std::fill(row + i + 1, row + size, 0.0);
  }
  return true;
}

void invertTriangular(llvm::MutableArrayRef<double> lower, int64_t size) {
  std::vector<double> factors(size);
  for (int64_t i = 0; i < size; ++i) {
    double *row = lower.data() + i * size;
    std::copy_n(row, i, factors.begin());
    const double scale = 1 / row[i];
    std::fill_n(row, i, 0.0);
    for (int64_t k = 0; k < i; ++k) {
      const double *done = lower.data() + k * size;
      const double factor = factors[k] * -scale;
      for (int64_t j = 0; j <= k; ++j)
        row[j] += factor * done[j];
    }
    row[i] = scale;
  }
}

bool factorOfInverse(llvm::MutableArrayRef<double> matrix, int64_t size) {
  // With J, which reverses the order of indices: J A J = L L^T gives A^-1 = (J L^-1 J)^T (J L^-1
  // J), where J L^-1 J is upper triangular.
  auto reverse = [&] { std::reverse(matrix.begin(), matrix.end()); };
  for (int64_t i = 0; i < size; ++i) // the triangle that is read lies in the upper one then
    for (int64_t j = 0; j < i; ++j)
      matrix[j * size + i] = matrix[i * size + j];
  reverse();
  if (!factorCholesky(matrix, size))
    return false;
  invertTriangular(matrix, size);
  reverse();
  return true;
}

std::vector<double> dampedFactor(llvm::ArrayRef<double> moment, int64_t size, double share,
                                 double &added) {
  double trace = 0;
  for (int64_t i = 0; i < size; ++i)
    trace += moment[i * (size + 1)];
  assert(std::isfinite(trace) && "finite numbers");
  added = trace > 0 ? share * trace / static_cast<double>(size) : 1;
  for (;; added *= 10) {
    std::vector<double> factor(moment.begin(), moment.end());
    for (int64_t i = 0; i < size; ++i)
      factor[i * (size + 1)] += added;
    if (factorCholesky(factor, size))
      return factor;
  }
}

void solveCholesky(llvm::ArrayRef<double> lower, llvm::MutableArrayRef<double> vector) {
  const auto size = static_cast<int64_t>(vector.size());
  for (int64_t i = 0; i < size; ++i)
    vector[i] = (vector[i] - dot(lower.data() + i * size, vector.data(), i)) / lower[i * size + i];
  for (int64_t i = size - 1; i >= 0; --i) {
    vector[i] /= lower[i * size + i];
    for (int64_t j = 0; j < i; ++j)
      vector[j] -= lower[i * size + j] * vector[i];
  }
}

} // namespace dlc
