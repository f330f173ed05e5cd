//===- SparseGpt.cpp - Zeros whose error the other weights take over ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/SparseGpt.h"

#include "passes/compress/Cholesky.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

namespace dlc {

/// Columns of a row that are worth an inverse of their own, whose time grows with their third
/// power.
static constexpr int64_t kMostOwnColumns = 1024;

namespace {

/// Numbers of a matrix that become zero together: of one column those of `rowsTogether` rows.
class RowBlocks {
public:
  RowBlocks(int64_t rows, int64_t columns, int64_t rowsTogether)
      : rows(rows), columns(columns), rowsTogether(rowsTogether) {}
  /// Adds what zero costs at this place, row by row and each row in one order of its columns.
  void add(int64_t row, int64_t column, double cost);
  /// Marks the blocks that cost least in `isZero`, so many that about `count` numbers are in them;
  /// how many they are.
  uint64_t takeCheapest(int64_t count, std::vector<bool> &isZero);

private:
  int64_t rows, columns, rowsTogether;
  int64_t lastRow = -1, firstOfRow = 0, next = 0;
  std::vector<std::pair<double, int64_t>> blocks; // cost, the number of its first row
};

void RowBlocks::add(int64_t row, int64_t column, double cost) {
  if (row != lastRow) {
    firstOfRow = row % rowsTogether == 0 ? static_cast<int64_t>(blocks.size()) : firstOfRow;
    next = firstOfRow;
    lastRow = row;
  }
  if (row % rowsTogether == 0)
    blocks.emplace_back(cost, row * columns + column);
  else
    blocks[next].first += cost;
  ++next;
}

uint64_t RowBlocks::takeCheapest(int64_t count, std::vector<bool> &isZero) {
  int64_t taken = 0;
  auto rowsOf = [&](int64_t place) { return std::min(rowsTogether, rows - place / columns); };
  auto take = [&](int64_t place) {
    for (int64_t row = 0; row < rowsOf(place); ++row)
      isZero[place + row * columns] = true;
    taken += rowsOf(place);
  };
  if (rowsTogether == 1) {
    const auto most = std::clamp<int64_t>(count, 0, static_cast<int64_t>(blocks.size()));
    std::nth_element(blocks.begin(), blocks.begin() + most, blocks.end());
    for (int64_t i = 0; i < most; ++i)
      take(blocks[i].second);
    return taken;
  }
  std::sort(blocks.begin(), blocks.end());
  for (auto [cost, place] : blocks)
    if (taken + rowsOf(place) / 2 < count)
      take(place);
  return taken;
}

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
  RowBlocks blocks(rows, columns, options.rowsTogether);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = begin; column < end; ++column)
      blocks.add(row, column, score(row, column));
  zeros += blocks.takeCheapest(static_cast<int64_t>(wanted - zeros), isZero);
}

void Sweep::chooseTwoOfFour(int64_t row, int64_t begin) {
  std::array<std::pair<double, int64_t>, 4> order;
  for (int64_t i = 0; i < 4; ++i)
    order[i] = {score(row, begin + i), row * columns + begin + i};
  std::sort(order.begin(), order.end());
  isZero[order[0].second] = isZero[order[1].second] = true;
}

/// Makes the chosen numbers of one row zero; what comes after them in the row takes over their
/// part.
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

std::vector<double> cubicSchedule(double last, int64_t steps) {
  std::vector<double> shares;
  for (int64_t step = 1; step <= steps; ++step) {
    const double left = 1 - static_cast<double>(step) / static_cast<double>(steps);
    shares.push_back(last * (1 - left * left * left));
  }
  return shares;
}

/// The diagonal of the inverse of the part of `moment` that `kept` names, with `added` on its
/// diagonal.
static std::vector<double> inverseDiagonal(llvm::ArrayRef<double> moment, int64_t columns,
                                           llvm::ArrayRef<int64_t> kept, double added) {
  const auto size = static_cast<int64_t>(kept.size());
  std::vector<double> factor(size * size);
  do {
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < size; ++j)
        factor[i * size + j] = moment[kept[i] * columns + kept[j]];
      factor[i * (size + 1)] += added;
    }
    added *= 10; // more where rounding leaves it without a factor
  } while (!factorOfInverse(factor, size));
  std::vector<double> diagonal(size);
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = i; j < size; ++j)
      diagonal[j] += factor[i * size + j] * factor[i * size + j];
  return diagonal;
}

void sparsifyInSteps(llvm::MutableArrayRef<double> weights, llvm::ArrayRef<double> target,
                     int64_t rows, llvm::ArrayRef<double> moment, llvm::ArrayRef<double> shares,
                     const SparseGptOptions &options) {
  const int64_t columns = static_cast<int64_t>(weights.size()) / rows;
  double sum = 0;
  for (int64_t i = 0; i < columns; ++i)
    sum += moment[i * (columns + 1)];
  const double added = sum > 0 ? options.dampening * sum / static_cast<double>(columns) : 1;
  std::vector<bool> isZero(weights.size());
  int64_t zeros = 0;
  // One inverse serves all rows that keep the same columns, and that of all columns serves rows
  // that keep many.
  std::vector<int64_t> all(columns), kept, keptBefore;
  std::iota(all.begin(), all.end(), 0);
  const std::vector<double> ofAll = inverseDiagonal(moment, columns, all, added);
  std::vector<double> ofKept;
  for (double share : shares) {
    RowBlocks blocks(rows, columns, options.rowsTogether);
    keptBefore.clear();
    for (int64_t row = 0; row < rows; ++row) {
      kept.clear();
      for (int64_t column = 0; column < columns; ++column)
        if (!isZero[row * columns + column])
          kept.push_back(column);
      const bool isShared =
          kept.size() == all.size() || static_cast<int64_t>(kept.size()) > kMostOwnColumns;
      if (!isShared && kept != keptBefore) {
        ofKept = inverseDiagonal(moment, columns, kept, added);
        keptBefore = kept;
      }
      for (size_t i = 0; i < kept.size(); ++i) {
        const double weight = weights[row * columns + kept[i]];
        blocks.add(row, kept[i], weight * weight / (isShared ? ofAll[kept[i]] : ofKept[i]));
      }
    }
    const auto wanted =
        static_cast<int64_t>(std::llround(share * static_cast<double>(weights.size())));
    zeros += static_cast<int64_t>(blocks.takeCheapest(wanted - zeros, isZero));
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = isZero[i] ? 0 : weights[i];
    fitWeights(weights, target, rows, moment, options.dampening);
  }
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
