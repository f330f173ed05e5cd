//===- AnswerTally.cpp - Which classes two models answer ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/AnswerTally.h"

#include <algorithm>
#include <cmath>

namespace dlc {

int64_t AnswerTally::numClasses(const HostTensor &output, int64_t rows) {
  bool isBatched = !output.dims.empty() && output.dims[0] == rows;
  if (!isBatched && rows != 1)
    return 0;
  auto isWide = [](int64_t dim) { return dim != 1; };
  if (std::count_if(output.dims.begin() + isBatched, output.dims.end(), isWide) != 1)
    return 0;
  int64_t classes = rows ? output.size() / rows : 0;
  return classes > 1 ? classes : 0;
}

/// The first of the largest numbers of a row; NaN counts as the largest, as for NumPy.
static int64_t answer(const HostTensor &output, int64_t row, int64_t classes) {
  int64_t best = 0;
  double largest = output.at(row * classes);
  for (int64_t i = 1; i < classes && !std::isnan(largest); ++i) {
    double value = output.at(row * classes + i);
    if (value > largest || std::isnan(value)) {
      largest = value;
      best = i;
    }
  }
  return best;
}

void AnswerTally::add(const HostTensor &before, const HostTensor &after, int64_t more,
                      const int64_t *labels) {
  int64_t classes = numClasses(before, more);
  for (int64_t row = 0; row < more; ++row) {
    int64_t first = answer(before, row, classes), second = answer(after, row, classes);
    agreeing += first == second;
    if (!labels)
      continue;
    bool wasRight = first == labels[row], isRight = second == labels[row];
    rightBefore += wasRight;
    rightAfter += isRight;
    gained += isRight && !wasRight;
    lost += wasRight && !isRight;
  }
  rows += more;
}

double mcNemar(int64_t gained, int64_t lost) {
  // Terms in logarithms: 2^n and the binomials leave the range of f64 from some 1,000 samples on.
  auto total = static_cast<double>(gained + lost);
  double tail = 0;
  for (int64_t i = 0; i <= std::min(gained, lost); ++i) {
    auto k = static_cast<double>(i);
    tail += std::exp(std::lgamma(total + 1) - std::lgamma(k + 1) - std::lgamma(total - k + 1) -
                     total * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

} // namespace dlc
