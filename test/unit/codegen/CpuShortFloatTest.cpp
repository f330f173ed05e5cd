//===- CpuShortFloatTest.cpp - Products of f16 and bf16 on the CPU against plain loops --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/CpuCases.h"

#include <bit>
#include <limits>

using namespace dlc;
using namespace dlc::test;

namespace {

const std::string kTypes[] = {"bf16", "f16"};

/// Numbers that the type has, as they are stored.
Bytes stored(const std::vector<float> &values, const std::string &type) {
  if (type == "f16")
    return toBytes(std::vector<_Float16>(values.begin(), values.end()));
  std::vector<uint16_t> upper;
  for (float value : values)
    upper.push_back(uint16_t(std::bit_cast<uint32_t>(value) >> 16));
  return toBytes(upper);
}

bool hasCode(const CpuRunner &runner, const std::string &isa) {
  return llvm::any_of(runner.codes(),
                      [&](const codegen::CpuCode &code) { return code.isa == isa; });
}

/// y = x w^T, the sums stored in f32.
std::string linearSource(int64_t k, int64_t n, const std::string &type) {
  auto rows = [](int64_t columns, const std::string &element) {
    return "tensor<?x" + std::to_string(columns) + "x" + element + ", #dl.t<[s0, " +
           std::to_string(columns) + "]>>";
  };
  std::string x = rows(k, type), w = tensor({n, k}, type), sums = rows(n, type), y = rows(n, "f32");
  return program("contraction", {{"x", x, false}, {"w", w, true}}, y,
                 "%0 = dl.linear %x, %w : (" + x + ", " + w + ") -> " + sums +
                     "\n%1 = dl.cast %0 {dtype = f32} : (" + sums + ") -> " + y +
                     "\ndl.yield %1 : " + y);
}

/// Multiples of 1/8 below 2 have few digits, and all their sums are exact.
TEST(CpuShortFloat, LinearAccumulatesInSingle) {
  for (const std::string &type : kTypes)
    for (auto [k, n] : {std::pair<int64_t, int64_t>{1, 5},
                        {2, 16},
                        {3, 17},
                        {8, 15},
                        {9, 32},
                        {16, 48},
                        {17, 33},
                        {35, 64},
                        {255, 16},
                        {257, 20},
                        {1030, 81}}) {
      CpuRunner runner(linearSource(k, n, type));
      ASSERT_TRUE(runner.isValid());
      for (int64_t m : {0, 1, 2, 7, 8, 9, 33, 65}) {
        auto x = numbers(m * k, 1), w = numbers(n * k, 2);
        std::vector<double> expected(m * n);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            for (int64_t q = 0; q < k; ++q)
              expected[i * n + j] += double(x[i * k + q]) * w[j * k + q];
        expectOnAll(runner, {stored(x, type)}, {{"w", stored(w, type)}}, {m}, expected, 0,
                    type + " m=" + std::to_string(m) + " k=" + std::to_string(k) +
                        " n=" + std::to_string(n));
      }
    }
}

/// Of which the last step of an odd number stands by itself, too.
TEST(CpuShortFloat, SumsOfSymbolicLength) {
  for (const std::string &type : kTypes) {
    std::string x = "tensor<50x?x" + type + ", #dl.t<[50, s0]>>",
                w = "tensor<?x20x" + type + ", #dl.t<[s0, 20]>>", sums = tensor({50, 20}, type),
                y = tensor({50, 20});
    CpuRunner runner(program("contraction", {{"x", x, false}, {"w", w, false}}, y,
                             "%0 = dl.matmul %x, %w : (" + x + ", " + w + ") -> " + sums +
                                 "\n%1 = dl.cast %0 {dtype = f32} : (" + sums + ") -> " + y +
                                 "\ndl.yield %1 : " + y));
    ASSERT_TRUE(runner.isValid());
    for (int64_t k : {0, 1, 2, 3, 15, 16, 17, 255, 256, 257, 600}) {
      auto a = numbers(50 * k, 1), b = numbers(k * 20, 2);
      std::vector<double> expected(50 * 20);
      for (int64_t i = 0; i < 50 * 20; ++i)
        for (int64_t q = 0; q < k; ++q)
          expected[i] += double(a[i / 20 * k + q]) * b[q * 20 + i % 20];
      expectOnAll(runner, {stored(a, type), stored(b, type)}, {}, {k}, expected, 0,
                  type + " k=" + std::to_string(k));
    }
  }
}

void checkConv(const Conv &v, bool channelsLast, const std::string &type) {
  std::string order = channelsLast ? "0, 2, 3, 1" : "";
  int64_t channels = v.c / v.groups, perGroup = v.k / v.groups;
  std::string x = tensor({v.n, v.c, v.h, v.w}, type, order),
              w = tensor({v.k, channels, v.r, v.s}, type), b = tensor({v.k}, type);
  std::vector<int64_t> dims = {v.n, v.k, v.outH(), v.outW()};
  std::string sums = tensor(dims, type, order), y = tensor(dims, "f32", order);
  auto two = [](int64_t value) {
    return "array<i64: " + std::to_string(value) + ", " + std::to_string(value) + ">";
  };
  CpuRunner runner(program(
      "contraction", {{"x", x, false}, {"w", w, true}, {"b", b, true}}, y,
      "%0 = dl.conv2d %x, %w, %b {stride = " + two(v.stride) + ", padding = " + two(v.pad) +
          ", dilation = " + two(v.dilation) + ", groups = " + std::to_string(v.groups) +
          " : i64} : (" + x + ", " + w + ", " + b + ") -> " + sums +
          "\n%1 = dl.cast %0 {dtype = f32} : (" + sums + ") -> " + y + "\ndl.yield %1 : " + y));
  ASSERT_TRUE(runner.isValid());
  auto input = numbers(v.n * v.c * v.h * v.w, 1), weight = numbers(v.k * channels * v.r * v.s, 2),
       bias = numbers(v.k, 3);
  std::vector<double> expected(v.n * v.k * v.outH() * v.outW());
  for (int64_t n = 0; n < v.n; ++n)
    for (int64_t k = 0; k < v.k; ++k)
      for (int64_t i = 0; i < v.outH(); ++i)
        for (int64_t j = 0; j < v.outW(); ++j) {
          double sum = bias[k];
          for (int64_t tap = 0; tap < channels * v.r * v.s; ++tap) {
            int64_t c = tap / (v.r * v.s),
                    row = i * v.stride + tap / v.s % v.r * v.dilation - v.pad,
                    col = j * v.stride + tap % v.s * v.dilation - v.pad;
            if (row >= 0 && row < v.h && col >= 0 && col < v.w)
              sum += double(input[at(channelsLast, n, k / perGroup * channels + c, row, col, v.c,
                                     v.h, v.w)]) *
                     weight[k * channels * v.r * v.s + tap];
          }
          expected[at(channelsLast, n, k, i, j, v.k, v.outH(), v.outW())] = sum;
        }
  expectOnAll(runner, {stored(input, type)},
              {{"w", stored(weight, type)}, {"b", stored(bias, type)}}, {}, expected, 0,
              type + " c=" + std::to_string(v.c) + " h=" + std::to_string(v.h) +
                  " k=" + std::to_string(v.k) + " r=" + std::to_string(v.r) +
                  (channelsLast ? " channels-last" : " row-major"));
}

//  n  c  h  w   k  r  s  stride pad dilation groups
const Conv kConvs[] = {{2, 1, 28, 28, 32, 3, 3, 1, 1, 1, 1}, {1, 3, 9, 11, 16, 7, 7, 2, 3, 1, 1},
                       {1, 16, 7, 7, 33, 3, 3, 1, 1, 1, 1},  {2, 8, 15, 17, 10, 1, 1, 1, 0, 1, 1},
                       {1, 5, 8, 9, 48, 3, 2, 2, 1, 2, 1},   {3, 17, 3, 3, 7, 3, 3, 1, 1, 1, 1},
                       {1, 4, 1, 1, 16, 1, 1, 1, 0, 1, 1},   {1, 64, 14, 14, 64, 3, 3, 1, 1, 1, 1},
                       {1, 270, 4, 5, 32, 3, 3, 1, 1, 1, 1}, {1, 32, 5, 5, 32, 3, 3, 1, 1, 1, 2},
                       {1, 20, 9, 7, 20, 3, 3, 1, 1, 1, 20}};

TEST(CpuShortFloat, Convolution) {
  for (const std::string &type : kTypes) {
    for (const Conv &conv : kConvs)
      checkConv(conv, /*channelsLast=*/true, type);
    for (const Conv &conv : llvm::ArrayRef(kConvs).take_front(4))
      checkConv(conv, /*channelsLast=*/false, type);
  }
}

/// Infinity and NaN reach the columns that they belong to, and none beside them.
TEST(CpuShortFloat, NumbersThatAreNotFinite) {
  int64_t m = 9, k = 35, n = 18;
  for (const std::string &type : kTypes) {
    CpuRunner runner(linearSource(k, n, type));
    ASSERT_TRUE(runner.isValid());
    auto x = numbers(m * k, 1), w = numbers(n * k, 2);
    for (int64_t i = 0; i < m; ++i)
      x[i * k + 34] = x[i * k + 8] = 0.5f;
    x[2 * k + 34] = std::numeric_limits<float>::infinity();
    x[5 * k + 8] = std::numeric_limits<float>::quiet_NaN();
    w[7 * k + 34] = -1;
    std::vector<double> expected(m * n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t q = 0; q < k; ++q)
          expected[i * n + j] += double(x[i * k + q]) * w[j * k + q];
    expectOnAll(runner, {stored(x, type)}, {{"w", stored(w, type)}}, {m}, expected, 0, type);
  }
}

/// docs/compression.md says so: pairs of bf16 take numbers below 2^-126 for 0, and all else
/// multiplies them.
TEST(CpuShortFloat, PairsTakeSubnormalNumbersForZero) {
  int64_t m = 3, k = 16, n = 16;
  CpuRunner runner(linearSource(k, n, "bf16"));
  ASSERT_TRUE(runner.isValid());
  std::vector<float> x(m * k, 0x1p-130f), w(n * k, 0x1p100f);
  for (codegen::IsaVariant isa : codegen::kIsaVariants)
    if (runner.canRun(isa))
      EXPECT_EQ(
          fromBytes<float>(
              runner.run(isa, {stored(x, "bf16")}, {{"w", stored(w, "bf16")}}, {m}).front()),
          std::vector<float>(m * n, isa == codegen::IsaVariant::avx512Bf16 ? 0 : k * 0x1p-30f));
}

TEST(CpuShortFloat, CodeForPairsIsMadeWhereProductsOfBrainFloatsAre) {
  CpuRunner brain(linearSource(16, 16, "bf16")), half(linearSource(16, 16, "f16")),
      single(linearSource(16, 16, "f32")), oneStep(linearSource(1, 16, "bf16"));
  ASSERT_TRUE(brain.isValid() && half.isValid() && single.isValid() && oneStep.isValid());
  EXPECT_TRUE(hasCode(brain, "avx512_bf16"));
  EXPECT_FALSE(hasCode(brain, "avx512_vnni"));
  for (const CpuRunner *runner : {&half, &single, &oneStep})
    EXPECT_FALSE(hasCode(*runner, "avx512_bf16"));
}

} // namespace
