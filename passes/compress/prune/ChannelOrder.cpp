//===- ChannelOrder.cpp - An order of channels in which zeros cost least ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/ChannelOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace dlc {

static constexpr int64_t kFour = 4;
/// A gain below this part of what all readers hold is rounding.
static constexpr double kLeastGain = 1e-7;

/// The sum over all rows of the two largest of four numbers.
static double keptOf(const float *a, const float *b, const float *c, const float *d, int64_t rows) {
#pragma clang fp reassociate(on)
  // Sums of 64 rows in f32, these in f64: fast, and close enough.
  constexpr int64_t kBlock = 64;
  double total = 0;
  for (int64_t begin = 0; begin < rows; begin += kBlock) {
    const int64_t end = std::min(rows, begin + kBlock);
    float sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      const float ab = a[i] + b[i], cd = c[i] + d[i],
                  mixed = std::max(a[i], b[i]) + std::max(c[i], d[i]);
      sum += std::max(std::max(ab, cd), mixed);
    }
    total += sum;
  }
  return total;
}

double ChannelReader::kept() const {
  assert(columns.size() % kFour == 0 && "whole fours");
  double sum = 0;
  for (size_t first = 0; first < columns.size(); first += kFour)
    sum += keptOf(columns[first].data(), columns[first + 1].data(), columns[first + 2].data(),
                  columns[first + 3].data(), rows);
  return sum;
}

namespace {

/// A reader whose columns move by their addresses.
class Neighbours {
public:
  explicit Neighbours(const ChannelReader &reader) : reader(reader) {
    double all = 0;
    for (const std::vector<float> &column : reader.columns) {
      columns.push_back(column.data());
      all = std::accumulate(column.begin(), column.end(), all);
    }
    scale = all > 0 ? 1 / all : 0;
    for (size_t four = 0; four < columns.size() / kFour; ++four)
      kept.push_back(keptNow(four));
  }

  /// What `a` and `b` changing places would add.
  double gainOf(size_t a, size_t b) {
    swap(a, b);
    double gain = 0;
    for (size_t four : foursOf(a, b))
      gain += keptNow(four) - kept[four];
    swap(a, b);
    return gain * scale;
  }
  void take(size_t a, size_t b) {
    swap(a, b);
    for (size_t four : foursOf(a, b))
      kept[four] = keptNow(four);
  }
  /// How many rows of four a look at a pair reads.
  int64_t costOf(size_t a, size_t b) const {
    return static_cast<int64_t>(foursOf(a, b).size()) * reader.rows;
  }

private:
  double keptNow(size_t four) const {
    const float *const *first = columns.data() + four * kFour;
    return keptOf(first[0], first[1], first[2], first[3], reader.rows);
  }
  void swap(size_t a, size_t b) {
    for (auto [one, other] : llvm::zip_equal(reader.ofChannel[a], reader.ofChannel[b]))
      std::swap(columns[one], columns[other]);
  }
  /// The fours that hold columns of either; none where these stay among themselves.
  llvm::SmallVector<size_t, 8> foursOf(size_t a, size_t b) const {
    llvm::SmallVector<size_t, 8> fours;
    for (size_t channel : {a, b})
      for (int64_t column : reader.ofChannel[channel])
        fours.push_back(column / kFour);
    llvm::sort(fours);
    fours.erase(llvm::unique(fours), fours.end());
    if (fours.size() == 1)
      fours.clear();
    return fours;
  }

  const ChannelReader &reader;
  std::vector<const float *> columns;
  std::vector<double> kept; // by four
  double scale;
};

} // namespace

std::vector<size_t> orderChannels(std::vector<ChannelReader> &readers, size_t channels,
                                  int64_t budget) {
  std::vector<size_t> order(channels);
  std::iota(order.begin(), order.end(), 0);
  std::vector<Neighbours> all(readers.begin(), readers.end());
  for (bool isBetter = true; isBetter && budget > 0;) {
    isBetter = false;
    for (size_t a = 0; a < channels; ++a)
      for (size_t b = a + 1; b < channels && budget > 0; ++b) {
        double gain = 0;
        for (Neighbours &reader : all) {
          budget -= reader.costOf(a, b);
          gain += reader.gainOf(a, b);
        }
        if (gain <= kLeastGain * static_cast<double>(readers.size()))
          continue;
        for (Neighbours &reader : all)
          reader.take(a, b);
        std::swap(order[a], order[b]);
        isBetter = true;
      }
  }
  for (ChannelReader &reader : readers) {
    std::vector<std::vector<float>> before = reader.columns;
    for (size_t place = 0; place < channels; ++place)
      for (auto [to, from] :
           llvm::zip_equal(reader.ofChannel[place], reader.ofChannel[order[place]]))
        reader.columns[to] = std::move(before[from]);
  }
  return order;
}

} // namespace dlc
