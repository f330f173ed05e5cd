//===- Interpolation.h - Weighted sums of neighbours --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_WINDOW_INTERPOLATION_H
#define DLC_IR_DL_WINDOW_INTERPOLATION_H

#include "ir/scalar/Scalar.h"

namespace dlc::dl {

/// The weights of the elements at -1, 0, 1 and 2 for a place `part` after the one at 0, from 0 to
/// 1: Keys's polynomials with a = -0.75, which PyTorch and ONNX use.
inline llvm::SmallVector<Scalar, 4> cubicWeights(Scalar part) {
  constexpr double a = -0.75;
  auto inner = [](Scalar d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  auto outer = [](Scalar d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  Scalar rest = 1.0 - part;
  return {outer(part + 1.0), inner(part), inner(rest), outer(rest + 1.0)};
}

/// `values` are equal parts, one for each neighbour along a dim; they become their sum with
/// `weights`, one part.
inline void sumNeighbours(llvm::SmallVectorImpl<Scalar> &values, llvm::ArrayRef<Scalar> weights) {
  size_t part = values.size() / weights.size();
  for (size_t i = 0; i < part; ++i) {
    Scalar sum = values[i] * weights[0];
    for (size_t neighbour = 1; neighbour < weights.size(); ++neighbour)
      sum = sum + values[neighbour * part + i] * weights[neighbour];
    values[i] = sum;
  }
  values.resize(part, weights[0]);
}

} // namespace dlc::dl

#endif // DLC_IR_DL_WINDOW_INTERPOLATION_H
