//===- Product.cpp - matrix products on the host ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/cublaslt/Product.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace dlc::cuda {

/// Columns of d that are summed together, so that a's panel is read once for all of them.
static constexpr int64_t kBlock = 32;

size_t bytesOf(BlasType type) { return type == BlasType::F32 ? 4 : 2; }

static float fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// Keeps the upper bits of the number, `dropped` fewer; to nearest, ties to even.
static uint32_t roundBits(float value, unsigned dropped) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value))
    return bits | 0x400000;
  bits += (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return bits >> dropped << dropped;
}

static float load(const Matrix &m, int64_t at, bool tf32) {
  switch (m.type) {
  case BlasType::F16: {
    _Float16 value;
    std::memcpy(&value, static_cast<char *>(m.data) + at * 2, 2);
    return float(value);
  }
  case BlasType::Bf16: {
    uint16_t bits;
    std::memcpy(&bits, static_cast<char *>(m.data) + at * 2, 2);
    return fromBf16(bits);
  }
  case BlasType::F32:
    break;
  }
  float value;
  std::memcpy(&value, static_cast<char *>(m.data) + at * 4, 4);
  if (tf32) {
    uint32_t bits = roundBits(value, 13);
    std::memcpy(&value, &bits, sizeof(value));
  }
  return value;
}

static void store(const Matrix &m, int64_t at, float value) {
  char *to = static_cast<char *>(m.data) + at * int64_t(bytesOf(m.type));
  if (m.type == BlasType::F32) {
    std::memcpy(to, &value, 4);
  } else if (m.type == BlasType::F16) {
    _Float16 half = _Float16(value);
    std::memcpy(to, &half, 2);
  } else {
    uint16_t bits = uint16_t(roundBits(value, 16) >> 16);
    std::memcpy(to, &bits, 2);
  }
}

void multiply(const Matrix &a, bool transposeA, const Matrix &b, bool transposeB, const Matrix &d,
              float alpha, int64_t batch, bool tf32) {
  int64_t m = d.rows, n = d.columns, depth = transposeA ? a.rows : a.columns;
  std::vector<float> panel(size_t(m * depth)), column(static_cast<size_t>(depth)),
      totals(static_cast<size_t>(m * kBlock));
  for (int64_t i = 0; i < batch; ++i) {
    // panel[k][r] = op(a)(r, k)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t r = 0; r < m; ++r)
        panel[size_t(k * m + r)] =
            load(a, i * a.batchStride + (transposeA ? k + r * a.step : r + k * a.step), tf32);
    for (int64_t first = 0; first < n; first += kBlock) {
      int64_t columns = std::min(kBlock, n - first);
      std::vector<float> factors(static_cast<size_t>(depth * columns));
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t k = 0; k < depth; ++k)
          factors[size_t(k * columns + c)] = load(
              b,
              i * b.batchStride + (transposeB ? first + c + k * b.step : k + (first + c) * b.step),
              tf32);
      std::fill(totals.begin(), totals.end(), 0.0f);
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t c = 0; c < columns; ++c) {
          const float *from = &panel[size_t(k * m)];
          float *total = &totals[size_t(c * m)], factor = factors[size_t(k * columns + c)];
          for (int64_t r = 0; r < m; ++r)
            total[r] = total[r] + from[r] * factor;
        }
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < m; ++r)
          store(d, i * d.batchStride + (first + c) * d.step + r, alpha * totals[size_t(c * m + r)]);
    }
  }
}

} // namespace dlc::cuda
