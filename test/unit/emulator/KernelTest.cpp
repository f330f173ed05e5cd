//===- KernelTest.cpp - whole kernels on the emulator -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/emulator/EmuDevice.h"
#include <cmath>
#include <random>

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

INSTANTIATE_TEST_SUITE_P(Policies, KernelTest, ::testing::Values("order", "reverse", "random:7"));

} // namespace
} // namespace dlc::test
