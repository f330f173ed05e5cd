//===- SparseGpt.cpp - Zeros whose error the other weights take over ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/SparseGpt.h"

#include "passes/compress/Cholesky.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

namespace dlc {

namespace {

/// The columns of one matrix, block after block.
class Sweep {
public:
  Sweep(llvm::MutableArrayRef<double> weights, int64_t rows, std::vector<double> factor,
        const SparseGptOptions &options)
      : weights(weights), rows(rows), columns(static_cast<int64_t>(weights.size()) / rows),
        factor(std::move(factor)), options(options), isZero(weights.size()) {}
  void run();

private:
  double score(int64_t row, int64_t column) const {
    const double weight = weights[row * columns + column] / factor[column * (columns + 1)];
    return weight * weight;
  }
  void chooseShare(int64_t begin, int64_t end);
  void chooseTwoOfFour(int64_t row, int64_t begin);
  void clearBlock(int64_t row, int64_t begin, int64_t end);

  llvm::MutableArrayRef<double> weights;
  int64_t rows, columns;
  std::vector<double> factor; // U with U^T U = H^-1
  const SparseGptOptions &options;
  std::vector<bool> isZero;
  uint64_t zeros = 0;
};

} // namespace

/// The smallest numbers of the block, so many that the share of all columns so far is met.
void Sweep::chooseShare(int64_t begin, int64_t end) {
  const auto wanted =
      static_cast<uint64_t>(std::llround(*options.share * static_cast<double>(rows * end)));
  std::vector<std::pair<double, int64_t>> order;
  order.reserve(rows * (end - begin));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = begin; column < end; ++column)
      order.emplace_back(score(row, column), row * columns + column);
  const auto count = std::min<uint64_t>(wanted - zeros, order.size());
  std::nth_element(order.begin(), order.begin() + static_cast<int64_t>(count), order.end());
  for (uint64_t i = 0; i < count; ++i)
    isZero[order[i].second] = true;
  zeros += count;
}

void Sweep::chooseTwoOfFour(int64_t row, int64_t begin) {
  std::array<std::pair<double, int64_t>, 4> order;
  for (int64_t i = 0; i < 4; ++i)
    order[i] = {score(row, begin + i), row * columns + begin + i};
  std::sort(order.begin(), order.end());
  isZero[order[0].second] = isZero[order[1].second] = true;
}

/// Makes the chosen numbers of one row zero; what comes after them in the row takes over their part.
void Sweep::clearBlock(int64_t row, int64_t begin, int64_t end) {
  double *own = weights.data() + row * columns;
  std::vector<double> errors(end - begin);
  for (int64_t column = begin; column < end; ++column) {
    if (!options.share && (column - begin) % 4 == 0)
      chooseTwoOfFour(row, column);
    if (!isZero[row * columns + column])
      continue;
    const double *line = factor.data() + column * columns;
    const double error = errors[column - begin] = own[column] / line[column];
    own[column] = 0;
    for (int64_t later = column + 1; later < end; ++later)
      own[later] -= error * line[later];
  }
  for (int64_t column = begin; column < end; ++column) {
    const double error = errors[column - begin];
    const double *line = factor.data() + column * columns;
    for (int64_t later = end; error != 0 && later < columns; ++later)
      own[later] -= error * line[later];
  }
}

void Sweep::run() {
  for (int64_t begin = 0; begin < columns; begin += options.block) {
    const int64_t end = std::min(begin + options.block, columns);
    if (options.share)
      chooseShare(begin, end);
    for (int64_t row = 0; row < rows; ++row)
      clearBlock(row, begin, end);
  }
}

void sparseGpt(llvm::MutableArrayRef<double> weights, int64_t rows, llvm::ArrayRef<double> moment,
               const SparseGptOptions &options) {
  const int64_t columns = static_cast<int64_t>(weights.size()) / rows;
  assert(static_cast<int64_t>(moment.size()) == columns * columns && "one row for each column");
  assert(options.block % 4 == 0 && (options.share || columns % 4 == 0) && "whole groups of four");
  double sum = 0;
  for (int64_t i = 0; i < columns; ++i)
    sum += moment[i * (columns + 1)];
  std::vector<double> factor;
  auto factorWith = [&](double dampening) {
    factor.assign(moment.begin(), moment.end());
    const double added = dampening * sum / static_cast<double>(columns);
    for (int64_t i = 0; i < columns; ++i) {
      double &diagonal = factor[i * (columns + 1)];
      diagonal = moment[i * (columns + 1)] == 0 ? 1 : diagonal + added;
    }
    return factorOfInverse(factor, columns);
  };
  // More where rounding leaves H without a factor.
  for (double dampening = options.dampening; !factorWith(dampening);)
    dampening *= 10;
  for (int64_t column = 0; column < columns; ++column)
    if (moment[column * (columns + 1)] == 0) // always 0
      for (int64_t row = 0; row < rows; ++row)
        weights[row * columns + column] = 0;
  Sweep(weights, rows, std::move(factor), options).run();
}

void fitWeights(llvm::MutableArrayRef<double> weights, llvm::ArrayRef<double> target, int64_t rows,
                llvm::ArrayRef<double> moment, double dampening) {
  constexpr int kMostSteps = 60;
  constexpr double kEnough = 1e-6; // of the first residual
  const int64_t columns = static_cast<int64_t>(weights.size()) / rows;
  double sum = 0;
  for (int64_t i = 0; i < columns; ++i)
    sum += moment[i * (columns + 1)];
  const double added = dampening * sum / static_cast<double>(columns);
  std::vector<int64_t> kept;
  std::vector<double> residual, direction, image, other(columns);
  for (int64_t row = 0; row < rows; ++row) {
    double *own = weights.data() + row * columns;
    kept.clear();
    for (int64_t i = 0; i < columns; ++i) {
      other[i] = target[row * columns + i] - own[i];
      if (own[i] != 0)
        kept.push_back(i);
    }
    const auto count = static_cast<int64_t>(kept.size());
    // residual = H (target - w) at the kept places, with the dampening that pulls to the target.
    residual.assign(count, 0);
    image.assign(count, 0);
    for (int64_t k = 0; k < count; ++k) {
      const double *line = moment.data() + kept[k] * columns;
      for (int64_t i = 0; i < columns; ++i)
        residual[k] += line[i] * other[i];
      residual[k] += added * other[kept[k]];
    }
    auto scaled = [&](int64_t k) {
      return residual[k] / (moment[kept[k] * (columns + 1)] + added + 1e-300);
    };
    direction.assign(count, 0);
    double before = 0;
    for (int64_t k = 0; k < count; ++k)
      before += residual[k] * (direction[k] = scaled(k));
    const double enough = before * kEnough * kEnough;
    for (int step = 0; step < kMostSteps && before > enough && before > 0; ++step) {
      double curvature = 0;
      for (int64_t k = 0; k < count; ++k) {
        const double *line = moment.data() + kept[k] * columns;
        double value = added * direction[k];
        for (int64_t j = 0; j < count; ++j)
          value += line[kept[j]] * direction[j];
        image[k] = value;
        curvature += value * direction[k];
      }
      const double length = before / curvature;
      double after = 0;
      for (int64_t k = 0; k < count; ++k) {
        own[kept[k]] += length * direction[k];
        residual[k] -= length * image[k];
        after += residual[k] * scaled(k);
      }
      for (int64_t k = 0; k < count; ++k)
        direction[k] = scaled(k) + after / before * direction[k];
      before = after;
    }
  }
}

} // namespace dlc
