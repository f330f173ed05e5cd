//===- PackedMatrix.cpp - A matrix of weights in few bits ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/PackedMatrix.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dlc {

/// The largest code, and the smallest: of 8 bits both signs have as many.
static int highest(unsigned bits) { return bits == 8 ? 127 : 15; }
static int lowest(unsigned bits) { return bits == 8 ? -127 : 0; }

/// Steps in which an end of the range is drawn in, and the part of it that each step takes off.
static constexpr int kSteps = 20;
static constexpr double kStep = 0.025;

int WeightGrid::codeOf(double weight, unsigned bits) const {
  const double steps = std::nearbyint(weight / scale) + zero;
  return static_cast<int>(std::clamp<double>(steps, lowest(bits), highest(bits)));
}

/// The grid from `low` to `high`, which lie on both sides of 0 or at it.
static WeightGrid gridOver(double low, double high, unsigned bits) {
  WeightGrid grid;
  const double range = bits == 8 ? std::max(-low, high) : high - low;
  grid.scale = static_cast<float>(range / highest(bits));
  if (!(grid.scale > 0))
    return {};
  if (bits != 8)
    grid.zero = std::clamp(static_cast<int>(std::nearbyint(-low / grid.scale)), 0, highest(bits));
  return grid;
}

static double errorOf(const WeightGrid &grid, llvm::ArrayRef<double> weights,
                      llvm::ArrayRef<double> importance, unsigned bits) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double error = weights[i] - grid.numberOf(grid.codeOf(weights[i], bits));
    sum += error * error * (importance.empty() ? 1 : importance[i]);
  }
  return sum;
}

WeightGrid fitGrid(llvm::ArrayRef<double> weights, llvm::ArrayRef<double> importance,
                   unsigned bits) {
  assert(importance.empty() || importance.size() == weights.size());
  double low = 0, high = 0;
  for (double weight : weights) {
    low = std::min(low, weight);
    high = std::max(high, weight);
  }
  WeightGrid best = gridOver(low, high, bits);
  double least = errorOf(best, weights, importance, bits);
  auto consider = [&](double lowPart, double highPart) {
    const WeightGrid grid = gridOver(low * lowPart, high * highPart, bits);
    const double error = errorOf(grid, weights, importance, bits);
    if (error < least) {
      least = error;
      best = grid;
    }
  };
  for (int step = 1; step <= kSteps && least > 0; ++step) {
    const double part = 1 - step * kStep;
    consider(part, part);
    if (bits == 8) // one number for both ends
      continue;
    consider(part, 1);
    consider(1, part);
  }
  return best;
}

PackedMatrix roundToNearest(llvm::ArrayRef<float> weights, int64_t rows, int64_t columns,
                            WeightFormat format) {
  assert(static_cast<int64_t>(weights.size()) == rows * columns);
  PackedMatrix packed{format, rows, columns, {}, {}};
  packed.codes.resize(weights.size());
  const int64_t group = format.bits == 8 ? columns : format.group;
  llvm::SmallVector<double> numbers;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t begin = 0; begin < columns; begin += group) {
      const int64_t place = row * columns + begin, count = std::min(group, columns - begin);
      numbers.assign(weights.begin() + place, weights.begin() + place + count);
      const WeightGrid grid = fitGrid(numbers, {}, format.bits);
      packed.grids.push_back(grid);
      for (int64_t i = 0; i < count; ++i)
        packed.codes[place + i] = static_cast<int8_t>(grid.codeOf(numbers[i], format.bits));
    }
  return packed;
}

std::vector<uint8_t> PackedMatrix::codeBytes() const {
  if (format.bits == 8)
    return {codes.begin(), codes.end()};
  const int64_t half = (columns + 1) / 2;
  std::vector<uint8_t> bytes(rows * half);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      bytes[row * half + column % half] |=
          static_cast<uint8_t>(codes[row * columns + column] << (column < half ? 0 : 4));
  return bytes;
}

std::vector<uint8_t> PackedMatrix::scaleBytes() const {
  std::vector<uint8_t> bytes(grids.size() * sizeof(float));
  for (size_t i = 0; i < grids.size(); ++i)
    llvm::support::endian::write32le(bytes.data() + i * sizeof(float),
                                     llvm::bit_cast<uint32_t>(grids[i].scale));
  return bytes;
}

std::vector<uint8_t> PackedMatrix::zeroBytes() const {
  std::vector<uint8_t> bytes;
  for (const WeightGrid &grid : grids)
    bytes.push_back(static_cast<uint8_t>(grid.zero));
  return bytes;
}

} // namespace dlc
