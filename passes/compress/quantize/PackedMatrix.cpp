//===- PackedMatrix.cpp - A matrix of weights in few bits ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/PackedMatrix.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dlc {

/// Steps in which an end of the range is drawn in, and the part of it that each step takes off.
static constexpr int kSteps = 20;
static constexpr double kStep = 0.025;

int WeightGrid::codeOf(double weight, const WeightFormat &format) const {
  const double steps = std::nearbyint(weight / scale) + zero;
  return static_cast<int>(std::clamp<double>(steps, format.lowest(), format.highest()));
}

/// The grid from `low` to `high`, which lie on both sides of 0 or at it.
static WeightGrid gridOver(double low, double high, const WeightFormat &format) {
  WeightGrid grid;
  if (format.isSymmetric) {
    grid.zero = format.symmetricZero();
    const double below = grid.zero - format.lowest(), above = format.highest() - grid.zero;
    grid.scale = static_cast<float>(std::max(-low / below, high / above));
  } else {
    grid.scale = static_cast<float>((high - low) / format.highest());
  }
  if (!(grid.scale > 0))
    return {1, grid.zero};
  if (!format.isSymmetric)
    grid.zero =
        std::clamp(static_cast<int>(std::nearbyint(-low / grid.scale)), 0, format.highest());
  return grid;
}

static double errorOf(const WeightGrid &grid, llvm::ArrayRef<double> weights,
                      llvm::ArrayRef<double> importance, const WeightFormat &format) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double error = weights[i] - grid.numberOf(grid.codeOf(weights[i], format));
    sum += error * error * (importance.empty() ? 1 : importance[i]);
  }
  return sum;
}

WeightGrid fitGrid(llvm::ArrayRef<double> weights, llvm::ArrayRef<double> importance,
                   const WeightFormat &format) {
  assert(importance.empty() || importance.size() == weights.size());
  double low = 0, high = 0;
  for (double weight : weights) {
    low = std::min(low, weight);
    high = std::max(high, weight);
  }
  WeightGrid best = gridOver(low, high, format);
  double least = errorOf(best, weights, importance, format);
  auto consider = [&](double lowPart, double highPart) {
    const WeightGrid grid = gridOver(low * lowPart, high * highPart, format);
    const double error = errorOf(grid, weights, importance, format);
    if (error < least) {
      least = error;
      best = grid;
    }
  };
  for (int step = 1; step <= kSteps && least > 0; ++step) {
    const double part = 1 - step * kStep;
    consider(part, part);
    if (format.isSymmetric) // one number for both ends
      continue;
    consider(part, 1);
    consider(1, part);
  }
  return best;
}

WeightGrid fitGridOfAll(llvm::ArrayRef<float> weights, int64_t rows,
                        llvm::ArrayRef<double> importance, const WeightFormat &format) {
  const std::vector<double> numbers(weights.begin(), weights.end());
  std::vector<double> repeated;
  for (int64_t row = 0; row < rows; ++row)
    repeated.insert(repeated.end(), importance.begin(), importance.end());
  return fitGrid(numbers, repeated, format);
}

PackedMatrix roundToNearest(llvm::ArrayRef<float> weights, int64_t rows, int64_t columns,
                            WeightFormat format) {
  assert(static_cast<int64_t>(weights.size()) == rows * columns);
  PackedMatrix packed{format, rows, columns, {}, {}};
  packed.codes.resize(weights.size());
  const int64_t group = format.group == 0 ? columns : format.group;
  if (format.isPerTensor)
    packed.grids = {fitGridOfAll(weights, rows, {}, format)};
  llvm::SmallVector<double> numbers;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t begin = 0; begin < columns; begin += group) {
      const int64_t place = row * columns + begin, count = std::min(group, columns - begin);
      numbers.assign(weights.begin() + place, weights.begin() + place + count);
      if (!format.isPerTensor)
        packed.grids.push_back(fitGrid(numbers, {}, format));
      const WeightGrid &grid = packed.grids.back();
      for (int64_t i = 0; i < count; ++i)
        packed.codes[place + i] = static_cast<int16_t>(grid.codeOf(numbers[i], format));
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
