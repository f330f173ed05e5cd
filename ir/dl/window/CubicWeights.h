//===- CubicWeights.h - What four neighbours count in an interpolation by cubics -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_CUBICWEIGHTS_H
#define DLC_IR_DL_CUBICWEIGHTS_H

#include "ir/scalar/Scalar.h"

namespace dlc::dl {

/// The weights of the elements at -1, 0, 1 and 2 for a place `part` behind the one at 0, from 0 to 1: Keys's polynomials with
/// a = -0.75, which PyTorch and ONNX use.
inline llvm::SmallVector<Scalar, 4> cubicWeights(Scalar part) {
  constexpr double a = -0.75;
  auto inner = [](Scalar d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  auto outer = [](Scalar d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  Scalar rest = 1.0 - part;
  return {outer(part + 1.0), inner(part), inner(rest), outer(rest + 1.0)};
}

} // namespace dlc::dl

#endif // DLC_IR_DL_CUBICWEIGHTS_H
