//===- ColumnFit.cpp - The other columns of a weight take over what some gave -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/ColumnFit.h"

#include "passes/compress/Cholesky.h"

#include <algorithm>
#include <cassert>

namespace dlc {

void fitColumns(llvm::MutableArrayRef<double> weights, llvm::ArrayRef<double> moment,
                const llvm::BitVector &removed, double dampening) {
  const auto columns = static_cast<int64_t>(removed.size());
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < columns; ++i)
    if (!removed.test(i))
      kept.push_back(i);
  const auto count = static_cast<int64_t>(kept.size());
  std::vector<double> left(count * count);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < count; ++j)
      left[i * count + j] = moment[kept[i] * columns + kept[j]];
  double added = 0;
  const std::vector<double> factor = dampedFactor(left, count, dampening, added);
  std::vector<double> solved(count);
  for (size_t row = 0; row < weights.size() / columns; ++row) {
    double *own = weights.data() + row * columns;
    for (int64_t i = 0; i < count; ++i) {
      const double *line = moment.data() + kept[i] * columns;
      solved[i] = added * own[kept[i]];
      for (int64_t j = 0; j < columns; ++j)
        solved[i] += line[j] * own[j];
    }
    solveCholesky(factor, solved);
    std::fill_n(own, columns, 0.0);
    for (int64_t i = 0; i < count; ++i)
      own[kept[i]] = solved[i];
  }
}

ColumnCosts::ColumnCosts(std::vector<double> own, llvm::ArrayRef<double> moment, int64_t columns,
                         double dampening)
    : weights(std::move(own)), inverse(columns * columns), columns(columns) {
  double added = 0;
  std::vector<double> lower = dampedFactor(moment, columns, dampening, added);
  invertTriangular(lower, columns);
  for (int64_t k = 0; k < columns; ++k) // L^-T L^-1
    for (int64_t i = 0; i <= k; ++i) {
      const double factor = lower[k * columns + i];
      for (int64_t j = 0; j <= k; ++j)
        inverse[i * columns + j] += factor * lower[k * columns + j];
    }
}

std::vector<double> ColumnCosts::factorAt(llvm::ArrayRef<int64_t> chosen) const {
  const auto count = static_cast<int64_t>(chosen.size());
  std::vector<double> factor(count * count);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < count; ++j)
      factor[i * count + j] = inverse[chosen[i] * columns + chosen[j]];
  [[maybe_unused]] bool isDefinite = factorCholesky(factor, count);
  assert(isDefinite && "a part of an inverse that is positive definite");
  return factor;
}

double ColumnCosts::costOf(llvm::ArrayRef<int64_t> chosen) const {
  const std::vector<double> factor = factorAt(chosen);
  std::vector<double> solved(chosen.size());
  double cost = 0;
  for (size_t row = 0; row < weights.size() / columns; ++row) {
    const double *own = weights.data() + row * columns;
    for (size_t i = 0; i < chosen.size(); ++i)
      solved[i] = own[chosen[i]];
    solveCholesky(factor, solved);
    for (size_t i = 0; i < chosen.size(); ++i)
      cost += own[chosen[i]] * solved[i];
  }
  return cost;
}

void ColumnCosts::remove(llvm::ArrayRef<int64_t> chosen) {
  const std::vector<double> factor = factorAt(chosen);
  const size_t count = chosen.size();
  // lines = (the part at `chosen`)^-1 * the rows of the inverse there.
  std::vector<double> lines(count * columns), solved(count);
  for (int64_t j = 0; j < columns; ++j) {
    for (size_t i = 0; i < count; ++i)
      solved[i] = inverse[chosen[i] * columns + j];
    solveCholesky(factor, solved);
    for (size_t i = 0; i < count; ++i)
      lines[i * columns + j] = solved[i];
  }
  auto subtract = [&](double *row) {
    std::vector<double> parts(count);
    for (size_t i = 0; i < count; ++i)
      parts[i] = row[chosen[i]];
    for (size_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < columns; ++j)
        row[j] -= parts[i] * lines[i * columns + j];
    for (int64_t column : chosen)
      row[column] = 0;
  };
  for (size_t row = 0; row < weights.size() / columns; ++row)
    subtract(weights.data() + row * columns);
  for (int64_t row = 0; row < columns; ++row)
    subtract(inverse.data() + row * columns);
  for (int64_t column : chosen) // of no use any more, but definite
    for (int64_t j = 0; j < columns; ++j)
      inverse[column * columns + j] = inverse[j * columns + column] = j == column ? 1 : 0;
}

} // namespace dlc
