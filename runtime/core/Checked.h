//===- Checked.h - Integer arithmetic that reports overflow ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_CHECKED_H
#define DLC_RUNTIME_CORE_CHECKED_H

#include <cstdint>
#include <limits>

namespace dlc::rt {

/// Each stores the result and returns true, or returns false where it does not fit.
template <class T> bool checkedAdd(T a, T b, T &out) { return !__builtin_add_overflow(a, b, &out); }
template <class T> bool checkedMul(T a, T b, T &out) { return !__builtin_mul_overflow(a, b, &out); }

/// Rounds a non-negative `value` up to a multiple of `step`.
inline bool checkedAlign(int64_t value, int64_t step, int64_t &out) {
  if (!checkedAdd(value, step - 1, out))
    return false;
  out -= out % step;
  return true;
}

/// Division of shape expressions: the divisor is positive.
inline int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
inline int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
inline int64_t floorMod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_CHECKED_H
