//===- Accuracy.h - How far results may lie from a reference ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERPRETER_ACCURACY_H
#define DLC_IR_INTERPRETER_ACCURACY_H

#include "ir/interpreter/Tensor.h"

#include <optional>
#include <string>

namespace dlc {

/// A float may lie from its reference by `ulps` units of the last place, in its type, of the
/// reference plus `ofLargest` times the largest finite number of the reference tensor. Integers and
/// bools are equal.
struct Tolerance {
  double ulps = 0.0;
  double ofLargest = 0.0;
};

/// What two runs of the reference interpreter may differ by when a pass only regrouped arithmetic:
/// far above the rounding of double, far below that of float.
inline constexpr Tolerance kSameMeaning{0.0, 1e-10};

/// Distance between neighbouring numbers of the float format `type` around `value`.
double ulp(mlir::Type type, double value);

/// None where `actual` is close to `expected`; else a sentence about how many elements are not and
/// the worst of them. NaN is close to NaN alone; an infinity to itself and to what rounds to it.
std::optional<std::string> compareTensors(const Tensor &actual, const Tensor &expected,
                                          Tolerance tolerance);

} // namespace dlc

#endif // DLC_IR_INTERPRETER_ACCURACY_H
