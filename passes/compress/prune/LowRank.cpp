//===- LowRank.cpp - A weight as the product of two narrow ones ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/LowRank.h"

#include "passes/compress/Cholesky.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>

namespace dlc {

/// Returns w L, or w itself where no moment is given.
static std::vector<double> seenThrough(llvm::ArrayRef<double> weights, int64_t rows,
                                       llvm::ArrayRef<double> moment, double dampening) {
  std::vector<double> result(weights.begin(), weights.end());
  if (moment.empty())
    return result;
  const int64_t columns = static_cast<int64_t>(weights.size()) / rows;
  double added = 0;
  const std::vector<double> factor = dampedFactor(moment, columns, dampening, added);
  std::fill(result.begin(), result.end(), 0.0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < columns; ++k) {
      const double weight = weights[row * columns + k];
      for (int64_t j = 0; j <= k; ++j)
        result[row * columns + j] += weight * factor[k * columns + j];
    }
  return result;
}

static double dot(const double *a, const double *b, int64_t size) {
  double sums[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= size; i += 4)
    for (int64_t lane = 0; lane < 4; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  for (; i < size; ++i)
    sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void rotate(double *a, double *b, int64_t size, double cosine, double sine) {
  for (int64_t i = 0; i < size; ++i) {
    const double before = a[i];
    a[i] = cosine * before - sine * b[i];
    b[i] = sine * before + cosine * b[i];
  }
}

/// Makes the rows of `matrix` orthogonal; `turns`, rows x rows, becomes the rotation that did so.
static void orthogonalize(std::vector<double> &matrix, int64_t rows, std::vector<double> &turns) {
  constexpr double kEnough = 1e-12; // the cosine between two rows
  constexpr int kMostSweeps = 40;
  const int64_t columns = static_cast<int64_t>(matrix.size()) / rows;
  turns.assign(rows * rows, 0);
  for (int64_t i = 0; i < rows; ++i)
    turns[i * (rows + 1)] = 1;
  std::vector<double> squares(rows);
  double largest = 0;
  for (int64_t i = 0; i < rows; ++i)
    largest = std::max(largest, dot(&matrix[i * columns], &matrix[i * columns], columns));
  const double nothing = largest * 1e-30; // rows that are zero but for rounding
  bool isDone = false;
  for (int sweep = 0; !isDone && sweep < kMostSweeps; ++sweep) {
    isDone = true;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = i + 1; j < rows; ++j) {
        double *a = &matrix[i * columns], *b = &matrix[j * columns];
        const double aa = dot(a, a, columns), bb = dot(b, b, columns), ab = dot(a, b, columns);
        if (aa <= nothing || bb <= nothing || std::fabs(ab) <= kEnough * std::sqrt(aa * bb))
          continue;
        isDone = false;
        const double zeta = (bb - aa) / (2 * ab);
        const double tangent =
            std::copysign(1 / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
        const double cosine = 1 / std::sqrt(1 + tangent * tangent), sine = cosine * tangent;
        rotate(a, b, columns, cosine, sine);
        rotate(&turns[i * rows], &turns[j * rows], rows, cosine, sine);
      }
  }
}

namespace {
/// The cost of a rank: the numbers that are left, and the part of the squares that is lost.
struct RankCost {
  double numbers, lost;
};
} // namespace

static RankCost costOf(const RankedWeight &weight, int64_t rank) {
  if (rank == 0)
    return {static_cast<double>(weight.rows * weight.columns), 0};
  double all = 0, rest = 0;
  for (auto [i, square] : llvm::enumerate(weight.squares)) {
    all += square;
    rest += static_cast<int64_t>(i) < rank ? 0 : square;
  }
  return {static_cast<double>(rank * (weight.rows + weight.columns)), all > 0 ? rest / all : 0};
}

/// The rank at which the lost part and the price of the numbers are least together.
static int64_t rankAt(const RankedWeight &weight, double price) {
  int64_t best = 0;
  double least = price * costOf(weight, 0).numbers;
  for (int64_t rank = 1; rank * (weight.rows + weight.columns) < weight.rows * weight.columns;
       ++rank) {
    const RankCost cost = costOf(weight, rank);
    if (const double sum = cost.lost + price * cost.numbers; sum < least) {
      least = sum;
      best = rank;
    }
  }
  return best;
}

std::optional<std::vector<int64_t>> chooseRanks(llvm::ArrayRef<RankedWeight> weights,
                                                double share) {
  double all = 0;
  for (const RankedWeight &weight : weights)
    all += costOf(weight, 0).numbers;
  auto ranksAt = [&](double price) -> std::optional<std::vector<int64_t>> {
    std::vector<int64_t> ranks;
    double left = 0;
    for (const RankedWeight &weight : weights) {
      ranks.push_back(rankAt(weight, price));
      left += costOf(weight, ranks.back()).numbers;
    }
    return left <= share * all ? std::optional(std::move(ranks)) : std::nullopt;
  };
  // A number is worth less than all that can be lost; then the least price that saves enough.
  double low = 0, high = 2;
  auto best = ranksAt(high);
  for (int step = 0; best && step < 100; ++step) {
    const double price = (low + high) / 2;
    if (auto ranks = ranksAt(price)) {
      best = std::move(ranks);
      high = price;
    } else {
      low = price;
    }
  }
  return best;
}

/// The rows of w L made orthogonal, the squares of their lengths, and the rotation that did so.
static std::vector<double> turned(llvm::ArrayRef<double> weights, int64_t rows,
                                  llvm::ArrayRef<double> moment, double dampening,
                                  std::vector<double> &turns) {
  std::vector<double> seen = seenThrough(weights, rows, moment, dampening);
  orthogonalize(seen, rows, turns);
  const int64_t columns = static_cast<int64_t>(weights.size()) / rows;
  std::vector<double> squares(rows);
  for (int64_t i = 0; i < rows; ++i)
    squares[i] = dot(&seen[i * columns], &seen[i * columns], columns);
  return squares;
}

std::vector<double> singularSquares(llvm::ArrayRef<double> weights, int64_t rows,
                                    llvm::ArrayRef<double> moment, double dampening) {
  std::vector<double> turns, squares = turned(weights, rows, moment, dampening, turns);
  std::sort(squares.begin(), squares.end(), std::greater<>());
  return squares;
}

LowRankFactors factorLowRank(llvm::ArrayRef<double> weights, int64_t rows,
                             llvm::ArrayRef<double> moment, double dampening, int64_t rank) {
  const int64_t columns = static_cast<int64_t>(weights.size()) / rows;
  assert(rank > 0 && rank <= rows && "as many vectors as there are rows, at most");
  std::vector<double> turns;
  const std::vector<double> squares = turned(weights, rows, moment, dampening, turns);
  std::vector<int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return squares[a] != squares[b] ? squares[a] > squares[b] : a < b;
  });
  LowRankFactors factors;
  factors.left.resize(rows * rank);
  factors.right.assign(rank * columns, 0);
  for (int64_t k = 0; k < rank; ++k)
    for (int64_t row = 0; row < rows; ++row) {
      const double part = turns[order[k] * rows + row];
      factors.left[row * rank + k] = part;
      for (int64_t column = 0; column < columns; ++column)
        factors.right[k * columns + column] += part * weights[row * columns + column];
    }
  double all = 0, rest = 0;
  for (int64_t i = 0; i < rows; ++i) {
    all += squares[order[i]];
    rest += i < rank ? 0 : squares[order[i]];
  }
  factors.lost = all > 0 ? rest / all : 0;
  return factors;
}

} // namespace dlc
