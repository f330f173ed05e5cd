//===- PackedMatrix.h - A matrix of weights in few bits -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain arrays of numbers: what a model does with them is PackableWeights.h's subject. A code c
// means (c - zero point) * scale.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_QUANTIZE_PACKEDMATRIX_H
#define DLC_PASSES_COMPRESS_QUANTIZE_PACKEDMATRIX_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dlc {

/// How weights are written, and which of them share a grid.
struct WeightFormat {
  unsigned bits = 8; // 4 or 8
  int64_t group =
      0; // neighbours of a row that share a grid, the last ones may be fewer; 0: the whole row
  // All grids have one zero point, and as many numbers below 0 as above, 4 bits one more below
  bool isSymmetric = false;
  bool isPerTensor = false; // all weights share one grid; `group` is 0 then

  /// The grids of a row.
  int64_t groupsOf(int64_t columns) const { return group == 0 ? 1 : (columns + group - 1) / group; }
  /// The smallest and the largest code: i8 for symmetric grids of 8 bits, else u8.
  int lowest() const { return bits == 8 && isSymmetric ? -127 : 0; }
  int highest() const { return bits == 4 ? 15 : isSymmetric ? 127 : 255; }
  /// The zero point of all symmetric grids.
  int symmetricZero() const { return bits == 8 ? 0 : 8; }
};

/// The scale and the zero point of a group.
struct WeightGrid {
  float scale = 1;
  int zero = 0;

  /// The nearest code, ties to even, and the number that it means.
  int codeOf(double weight, const WeightFormat &format) const;
  double numberOf(int code) const { return static_cast<double>((code - zero)) * scale; }
};

/// The grid with the least sum of weighted squares of errors among those that take in all numbers,
/// or less of either end, which is cut off. `importance` has one number for each weight, all at
/// least 0; empty: all count alike. Zeros alone give scale 1. Weights are finite.
WeightGrid fitGrid(llvm::ArrayRef<double> weights, llvm::ArrayRef<double> importance,
                   const WeightFormat &format);

/// The grid of all of `weights`, rows x columns, for a format with one; `importance` has a number
/// for each column.
WeightGrid fitGridOfAll(llvm::ArrayRef<float> weights, int64_t rows,
                        llvm::ArrayRef<double> importance, const WeightFormat &format);

struct PackedMatrix {
  WeightFormat format;
  int64_t rows = 0, columns = 0;
  std::vector<int16_t> codes; // row by row
  std::vector<WeightGrid>
      grids; // row by row, the groups of a row in order; one of a format with one for all

  WeightGrid &gridAt(int64_t row, int64_t column) { return grids[gridIndex(row, column)]; }
  const WeightGrid &gridAt(int64_t row, int64_t column) const {
    return grids[gridIndex(row, column)];
  }
  double at(int64_t row, int64_t column) const {
    return gridAt(row, column).numberOf(codes[row * columns + column]);
  }

  /// The bytes of [rows, columns] of 8 bits, or of [rows, half] with half = (columns + 1) / 2: in
  /// the low bits of byte i of a row the code of column i, in the high ones that of column half +
  /// i.
  std::vector<uint8_t> codeBytes() const;
  /// The bytes of f32[rows, groups] and of u8[rows, groups], or of f32[1, 1] and u8[1, 1].
  std::vector<uint8_t> scaleBytes() const, zeroBytes() const;

  int64_t gridIndex(int64_t row, int64_t column) const {
    if (format.isPerTensor)
      return 0;
    return row * format.groupsOf(columns) + (format.group == 0 ? 0 : column / format.group);
  }
};

/// Writes each weight of `weights`, rows x columns, as the nearest number of a grid fitted to its
/// group alone.
PackedMatrix roundToNearest(llvm::ArrayRef<float> weights, int64_t rows, int64_t columns,
                            WeightFormat format);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_QUANTIZE_PACKEDMATRIX_H
