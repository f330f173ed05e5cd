//===- dlc_totals.cuh - totals of a product in shared memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_device.cuh"

namespace dlc {

/// The numbers that a product multiplies: floats of 16 bits or rounded to tf32, bytes, or e4m3.
enum { kFloats, kBytes, kFloat8 };
template <class Config> DLC_DEV constexpr int number_kind() {
  if constexpr (sizeof(typename Config::type) > 1)
    return kFloats;
  else
    return Config::float8 != 0 ? kFloat8 : kBytes;
}

/// Totals of a product are floats, or integers that wrap.
DLC_DEV float add_totals(float a, float b) { return a + b; }
DLC_DEV i32 add_totals(i32 a, i32 b) { return add_wrap(a, b); }

/// COUNT neighbouring totals.
template <int COUNT, class Total> DLC_DEV vec<Total, COUNT> load_totals(const Total *at) {
  vec<Total, COUNT> totals;
#pragma unroll
  for (int e = 0; e < COUNT; e += COUNT < 4 ? 1 : 4)
    if constexpr (COUNT < 4) {
      totals[e] = at[e];
    } else {
      vec<Total, 4> part = load<4>(at + e);
      totals[e] = part[0];
      totals[e + 1] = part[1];
      totals[e + 2] = part[2];
      totals[e + 3] = part[3];
    }
  return totals;
}

/// The same of WINDOW neighbouring rows, one after the other; room up to a multiple of four totals.
template <int WINDOW, int COUNT, class Total> DLC_DEV auto load_window(const Total *at, int pitch) {
  if constexpr (WINDOW == 1) {
    return load_totals<COUNT>(at);
  } else {
    vec<Total, (WINDOW * COUNT + 3) / 4 * 4> totals;
#pragma unroll
    for (int row = 0; row < WINDOW; ++row) {
      vec<Total, COUNT> part = load_totals<COUNT>(at + row * pitch);
#pragma unroll
      for (int e = 0; e < COUNT; ++e)
        totals[row * COUNT + e] = part[e];
    }
    return totals;
  }
}

} // namespace dlc
