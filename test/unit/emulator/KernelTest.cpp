//===- KernelTest.cpp - whole kernels on the emulator -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"
#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

namespace dlc::test {

namespace {

std::vector<float> randomFloats(size_t count, float scale = 1) {
  static std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::vector<float> values(count);
  for (float &value : values)
    value = uniform(generator);
  return values;
}

/// Each kernel runs under each policy, checked: no policy may change a bit, no report may be false.
class KernelTest : public CheckedTest {};

TEST_P(KernelTest, Elementwise) {
  Function kernel = compileFile("elementwise.cu", "elementwise");
  for (size_t n : {1, 2, 3, 4, 31, 1023, 1024, 1025, 5000}) {
    std::vector<float> x = randomFloats(n), z = randomFloats(n);
    DevicePtr y = allocate(n * sizeof(float));
    ASSERT_EQ(launch(kernel, {unsigned(n / 1024 + 1)}, {256}, 0, upload(x), upload(z), y, 1.5f,
                     0.25f, (long long)n),
              Result::Success)
        << report();
    std::vector<float> got = download<float>(y, n);
    for (size_t i = 0; i < n; ++i)
      ASSERT_EQ(got[i], std::max(x[i] * 1.5f + 0.25f, 0.0f) * z[i]) << i << " of " << n;
  }
}

TEST_P(KernelTest, Softmax) {
  Function kernel = compileFile("softmax.cu", "softmax");
  for (int cols : {1, 33, 255, 777}) {
    int rows = 5;
    std::vector<float> x = randomFloats(size_t(rows) * cols, 20);
    DevicePtr y = allocate(x.size() * sizeof(float));
    ASSERT_EQ(launch(kernel, {unsigned(rows)}, {256}, 0, upload(x), y, cols), Result::Success)
        << report();
    std::vector<float> got = download<float>(y, x.size());
    for (int r = 0; r < rows; ++r) {
      const float *row = &x[size_t(r) * cols];
      double top = *std::max_element(row, row + cols), sum = 0;
      for (int c = 0; c < cols; ++c)
        sum += std::exp(row[c] - top);
      for (int c = 0; c < cols; ++c)
        ASSERT_NEAR(got[size_t(r) * cols + c], std::exp(row[c] - top) / sum, 1e-6) << r << "," << c;
    }
  }
}

/// |got - exact| may be at most (K+2) roundings of each term, and one of the result.
void expectProduct(const std::vector<float> &got, const std::vector<float> &a,
                   const std::vector<float> &b, const std::vector<float> &bias, int m, int n, int k,
                   bool bIsTransposed, double storedUlp) {
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) {
      double exact = bias.empty() ? 0 : bias[col], sum = std::fabs(exact);
      for (int i = 0; i < k; ++i) {
        double term = double(a[size_t(row) * k + i]) *
                      b[bIsTransposed ? size_t(col) * k + i : size_t(i) * n + col];
        exact += term;
        sum += std::fabs(term);
      }
      ASSERT_NEAR(got[size_t(row) * n + col], exact,
                  (k + 2) * std::ldexp(sum, -24) + storedUlp * std::fabs(exact))
          << row << "," << col;
    }
}

TEST_P(KernelTest, GemmSimt) {
  Function kernel = compileFile("gemm_simt.cu", "gemm_simt");
  for (auto [m, n, k] : {std::tuple{1, 1, 1}, {64, 64, 16}, {65, 70, 33}}) {
    std::vector<float> a = randomFloats(size_t(m) * k), b = randomFloats(size_t(k) * n);
    DevicePtr c = allocate(size_t(m) * n * sizeof(float));
    ASSERT_EQ(launch(kernel, {unsigned(n + 63) / 64, unsigned(m + 63) / 64}, {256}, 0, upload(a),
                     upload(b), c, m, n, k),
              Result::Success)
        << report();
    expectProduct(download<float>(c, size_t(m) * n), a, b, {}, m, n, k, false, 0);
  }
}

std::vector<uint16_t> toBf16(std::vector<float> &values) {
  std::vector<uint16_t> bits;
  for (float &value : values) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    word = (word + 0x7fff + (word >> 16 & 1)) & 0xffff0000u;
    std::memcpy(&value, &word, sizeof value); // what is stored
    bits.push_back(uint16_t(word >> 16));
  }
  return bits;
}

std::vector<float> fromBf16(const std::vector<uint16_t> &bits) {
  std::vector<float> values(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    uint32_t word = uint32_t(bits[i]) << 16;
    std::memcpy(&values[i], &word, sizeof word);
  }
  return values;
}

TEST_P(KernelTest, Gemm80) {
  constexpr unsigned kShared = 3 * (128 * 32 + 32 * 128) * 2;
  Function kernel = compileFile("gemm80.cu", "gemm80");
  ASSERT_EQ(api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, kShared),
            Result::Success);
  int m = 150, n = 136, k = 104;
  std::vector<float> a = randomFloats(size_t(m) * k), b = randomFloats(size_t(k) * n),
                     bias = randomFloats(n);
  std::vector<uint16_t> a16 = toBf16(a), b16 = toBf16(b);
  DevicePtr c = allocate(size_t(m) * n * 2);
  ASSERT_EQ(launch(kernel, {unsigned(n + 127) / 128, unsigned(m + 127) / 128}, {128}, kShared,
                   upload(a16), upload(b16), c, upload(bias), m, n, k),
            Result::Success)
      << report();
  expectProduct(fromBf16(download<uint16_t>(c, size_t(m) * n)), a, b, bias, m, n, k, false,
                1.0 / 256);
}

TEST_P(KernelTest, Gemm90) {
  constexpr unsigned kShared = 4 * (128 * 64 + 128 * 64) * 2 + 64;
  Function kernel = compileFile("gemm90.cu", "gemm90");
  ASSERT_EQ(api.funcSetAttribute(kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, kShared),
            Result::Success);
  int m = 200, n = 136, k = 328;
  std::vector<float> a = randomFloats(size_t(m) * k), b = randomFloats(size_t(n) * k),
                     bias = randomFloats(n);
  DevicePtr a16 = upload(toBf16(a)), b16 = upload(toBf16(b)), c = allocate(size_t(m) * n * 2);
  TensorMap mapA = describe(TensorMapType::Bf16, a16, m, k, 128);
  TensorMap mapB = describe(TensorMapType::Bf16, b16, n, k, 128);
  ASSERT_EQ(launch(kernel, {3}, {384}, kShared, mapA, mapB, c, upload(bias), m, n, k),
            Result::Success)
      << report();
  expectProduct(fromBf16(download<uint16_t>(c, size_t(m) * n)), a, b, bias, m, n, k, true,
                1.0 / 256);
}

INSTANTIATE_TEST_SUITE_P(Policies, KernelTest, ::testing::Values("order", "reverse", "random:7"));

} // namespace
} // namespace dlc::test
