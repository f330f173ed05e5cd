//===- TensorCore.h - number formats of the matrix units --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
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

} // namespace dlc::emu
