//===- TensorCore.h - number formats of the matrix units --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace dlc::emu {

/// The value of a bf16 or f16.
inline float widen(uint16_t bits, bool isBf16) {
  if (isBf16) {
    uint32_t word = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}

/// The value of an e4m3.
inline float widenFloat8(uint8_t bits) {
  int exponent = bits >> 3 & 15, mantissa = bits & 7;
  float magnitude = exponent == 15 && mantissa == 7 ? NAN
                    : exponent == 0 ? std::ldexp(float(mantissa), -9)
                                    : std::ldexp(float(8 + mantissa), exponent - 10);
  return bits & 128 ? -magnitude : magnitude;
}

} // namespace dlc::emu
