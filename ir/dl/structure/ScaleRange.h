//===- ScaleRange.h - Which scales may become part of weights -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_STRUCTURE_SCALERANGE_H
#define DLC_IR_DL_STRUCTURE_SCALERANGE_H

#include "ir/dl/base/DLTypes.h"

#include <cmath>
#include <optional>

namespace dlc {

/// How large numbers are without their signs. NaN counts as infinite.
struct Magnitudes {
  double least, most;

  static Magnitudes of(double number) {
    double size = std::isnan(number) ? HUGE_VAL : std::abs(number);
    return {size, size};
  }
  Magnitudes with(Magnitudes other) const {
    return {std::min(least, other.least), std::max(most, other.most)};
  }
  /// Returns true for the magnitudes of scales that passes move from one operand of a product to
  /// the other, or behind it, and combine: what they round leaves the range of f32 no earlier than
  /// the written order does, unless other operands are within 2^20 of its ends. 0 has no reciprocal
  /// and loses the sign of what it scales.
  bool areOfScales() const { return least >= 0x1p-20 && most <= kMost; }

  static constexpr double kMost = 0x1p20;
};

/// A DenseF64ArrayAttr on a dl.weight: `least` and `most`, where they are not of scales. Weights
/// without it have ordinary numbers, or none yet, or too many to be scales.
inline constexpr llvm::StringLiteral kMagnitudes = "dl.magnitudes";
/// Tensors with more elements are not looked at.
inline constexpr int64_t kMostScales = 1 << 16;

/// Returns the magnitudes of the numbers that `value`, which depends on weights alone, is a product
/// of: those of dl.weight and dl.full, through views, products, quotients and roots. nullopt if
/// each of them is of scales, as other ops' results are taken to be.
std::optional<Magnitudes> unusualMagnitudes(mlir::Value value);

} // namespace dlc

#endif // DLC_IR_DL_STRUCTURE_SCALERANGE_H
