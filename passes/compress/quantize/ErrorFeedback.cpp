//===- ErrorFeedback.cpp - Rounding that makes up for its own errors ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/ErrorFeedback.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dlc {

using std::vector;

/// Rows that are rounded together: each reads a row of U once for all of them.
static constexpr int64_t kRowsTogether = 64;

void SecondMoments::add(const float *vectors, int64_t count) {
  vector<double> x(size);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < size; ++j) {
      const float number = vectors[i * size + j];
      notFinite += !std::isfinite(number);
      x[j] = std::isfinite(number) ? number : 0;
      magnitudes[j] += std::abs(x[j]);
    }
    for (int64_t row = 0; row < size; ++row) {
      const double factor = x[row];
      double *to = sums.data() + row * size;
      if (factor != 0)
        for (int64_t column = 0; column <= row; ++column)
          to[column] += factor * x[column];
    }
  }
  seen += count;
}

SecondMoments &SecondMoments::operator+=(const SecondMoments &other) {
  assert(size == other.size);
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] += other.sums[i];
  for (int64_t j = 0; j < size; ++j)
    magnitudes[j] += other.magnitudes[j];
  seen += other.seen;
  notFinite += other.notFinite;
  return *this;
}

SecondMoments SecondMoments::multipliedBy(llvm::ArrayRef<float> factors) const {
  SecondMoments result = *this;
  for (int64_t row = 0; row < size; ++row) {
    const double factor = factors[row];
    result.magnitudes[row] *= factor;
    for (int64_t column = 0; column <= row; ++column)
      result.sums[row * size + column] *= factor * factors[column];
  }
  return result;
}

vector<double> inverseFactor(const SecondMoments &moments, double damping) {
  const int64_t size = moments.length();
  double mean = 0;
  for (int64_t i = 0; i < size; ++i)
    mean += moments.at(i, i) / static_cast<double>(size);
  if (!(mean > 0))
    return {};
  // H = R R^T with R upper triangular, from the last column to the first; then U = R^-1.
  vector<double> r(size * size);
  for (int64_t column = size; column-- > 0;)
    for (int64_t row = column + 1; row-- > 0;) {
      double sum = moments.at(row, column) + (row == column ? damping * mean : 0);
      for (int64_t k = column + 1; k < size; ++k)
        sum -= r[row * size + k] * r[column * size + k];
      if (row == column && !(sum > 0))
        return {};
      r[row * size + column] = row == column ? std::sqrt(sum) : sum / r[column * size + column];
    }
  // Row by row from the last one up: a row of U is made of those below it.
  vector<double> u(size * size);
  for (int64_t row = size; row-- > 0;) {
    double *to = u.data() + row * size;
    to[row] = 1;
    for (int64_t k = row + 1; k < size; ++k) {
      const double factor = r[row * size + k], *from = u.data() + k * size;
      for (int64_t column = k; column < size; ++column)
        to[column] -= factor * from[column];
    }
    for (int64_t column = row; column < size; ++column)
      to[column] /= r[row * size + row];
  }
  return u;
}

PackedMatrix roundWithFeedback(llvm::ArrayRef<float> weights, int64_t rows, int64_t columns,
                               WeightFormat format, const SecondMoments &moments, double damping) {
  assert(moments.length() == columns);
  const vector<double> u = inverseFactor(moments, damping);
  if (u.empty())
    return roundToNearest(weights, rows, columns, format);

  const int64_t group = format.group == 0 ? columns : format.group;
  PackedMatrix packed{format, rows, columns, {}, {}};
  packed.codes.resize(weights.size());
  packed.grids.resize(format.isPerTensor ? 1 : rows * format.groupsOf(columns));
  vector<double> importance(columns);
  for (int64_t column = 0; column < columns; ++column)
    importance[column] = moments.at(column, column);
  if (format.isPerTensor)
    packed.grids.front() = fitGridOfAll(weights, rows, importance, format);
  for (int64_t first = 0; first < rows; first += kRowsTogether) {
    const int64_t count = std::min(kRowsTogether, rows - first);
    vector<double> left(weights.begin() + first * columns,
                        weights.begin() + (first + count) * columns);
    for (int64_t j = 0; j < columns; ++j) {
      const double *factors = u.data() + j * columns;
      for (int64_t row = 0; row < count; ++row) {
        double *numbers = left.data() + row * columns;
        WeightGrid &grid = packed.gridAt(first + row, j);
        if (j % group == 0 && !format.isPerTensor) {
          const int64_t size = std::min(group, columns - j);
          grid = fitGrid(llvm::ArrayRef(numbers + j, size),
                         llvm::ArrayRef(importance.data() + j, size), format);
        }
        const int code = grid.codeOf(numbers[j], format);
        packed.codes[(first + row) * columns + j] = static_cast<int16_t>(code);
        const double error = (numbers[j] - grid.numberOf(code)) / factors[j];
        for (int64_t later = j + 1; later < columns; ++later)
          numbers[later] -= error * factors[later];
      }
    }
  }
  return packed;
}

OutputError outputErrorOf(llvm::ArrayRef<float> weights, const PackedMatrix &packed,
                          const SecondMoments &moments) {
  const int64_t columns = packed.columns;
  OutputError total;
  vector<double> w(columns), e(columns);
  for (int64_t row = 0; row < packed.rows; ++row) {
    for (int64_t j = 0; j < columns; ++j) {
      w[j] = weights[row * columns + j];
      e[j] = w[j] - packed.at(row, j);
    }
    for (int64_t i = 0; i < columns; ++i) {
      double ofW = 0, ofE = 0; // of row i of H, the part below the diagonal twice
      for (int64_t j = 0; j <= i; ++j) {
        const double moment = moments.at(i, j) * (i == j ? 1 : 2);
        ofW += moment * w[j];
        ofE += moment * e[j];
      }
      total.squares += w[i] * ofW;
      total.errors += e[i] * ofE;
    }
  }
  return total;
}

} // namespace dlc
