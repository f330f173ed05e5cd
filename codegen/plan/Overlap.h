//===- Overlap.h - By how much two boxes overlap ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_OVERLAP_H
#define DLC_CODEGEN_PLAN_OVERLAP_H

#include "ir/scalar/Scalar.h"

#include <array>

namespace dlc::codegen {

/// A box or a vector of boxes: low0, low1, high0, high1, in compute type.
using Corners = std::array<Scalar, 4>;

/// min(high) - max(low) along an axis; of a NaN any number, since the area of its box is NaN too.
inline Scalar commonExtent(const Corners &a, const Corners &b, unsigned axis) {
  Scalar high = select(a[axis + 2] < b[axis + 2], a[axis + 2], b[axis + 2]);
  Scalar low = select(a[axis] > b[axis], a[axis], b[axis]);
  return high - low;
}

inline Scalar areaOf(const Corners &a) { return (a[2] - a[0]) * (a[3] - a[1]); }

/// Whether the intersection of the boxes over their union lies above `threshold`
/// (LineWork::Kind::suppress).
inline Scalar overlaps(const Corners &a, Scalar areaOfA, const Corners &b, Scalar areaOfB,
                       Scalar threshold) {
  auto positive = [](Scalar extent) { return select(extent > 0.0, extent, 0.0); };
  Scalar common = positive(commonExtent(a, b, 0)) * positive(commonExtent(a, b, 1));
  return common / (areaOfA + areaOfB - common) > threshold;
}

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_OVERLAP_H
