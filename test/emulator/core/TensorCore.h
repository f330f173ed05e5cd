//===- TensorCore.h - numbers and places of the matrix units ----*- C++ -*-===//
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

//===-- Two of each four neighbours along k (2:4) -------------------------===//

/// Stored elements of a row, and the steps of k that they are spread over.
constexpr int kSparseStored = 16, kSparseDepth = 32;

/// Whether the places that lane `lane` of a warp brings are read.
inline bool bringsPlaces(int lane) { return lane % 4 < 2; }

/// Fails the calling thread where the two places of a group of four in `places` do not ascend.
void requireAscending(const char *what, uint32_t places);

/// The step of k of stored element `stored` in row `row` of 16; placesOf(lane) is a lane's word.
template <class PlacesOf> int sparseStep(int row, int stored, PlacesOf placesOf) {
  uint32_t places = placesOf(row % 8 * 4 + stored / 8);
  return stored / 2 * 4 + int(places >> (row / 8 * 16 + stored % 8 * 2) & 3);
}

} // namespace dlc::emu
