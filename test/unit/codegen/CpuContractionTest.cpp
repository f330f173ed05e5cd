//===- CpuContractionTest.cpp - GEMM and convolution on the CPU against plain loops -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/CpuCases.h"

using namespace dlc;
using namespace dlc::test;

namespace {

//===- linear, matmul -------------------------------------------------------------------------===//

std::string linearSource(int64_t k, int64_t n) {
  std::string x = "tensor<?x" + std::to_string(k) + "xf32, #dl.t<[s0, " + std::to_string(k) + "]>>";
  std::string y = "tensor<?x" + std::to_string(n) + "xf32, #dl.t<[s0, " + std::to_string(n) + "]>>";
  std::string w = tensor({n, k}), b = tensor({n});
  return program("contraction", {{"x", x, false}, {"r", y, false}, {"w", w, true}, {"b", b, true}},
                 y,
                 "%0 = dl.linear %x, %w, %b : (" + x + ", " + w + ", " + b + ") -> " + y +
                     "\n%1 = dl.add %0, %r : (" + y + ", " + y + ") -> " + y +
                     "\n%2 = dl.relu %1 : (" + y + ") -> " + y + "\ndl.yield %2 : " + y);
}

std::vector<double> linear(const std::vector<float> &x, const std::vector<float> &w,
                           const std::vector<float> &b, const std::vector<float> &r, int64_t m,
                           int64_t k, int64_t n) {
  std::vector<double> y(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = b[j] + r[i * n + j];
      for (int64_t q = 0; q < k; ++q)
        sum += double(x[i * k + q]) * w[j * k + q];
      y[i * n + j] = std::max(sum, 0.0);
    }
  return y;
}

/// Multiples of 1/8 keep every sum exact, so that results must agree to the bit.
TEST(CpuContraction, LinearWithEpilogueAtBoundaryShapes) {
  for (auto [k, n] : {std::pair<int64_t, int64_t>{1, 1},
                      {3, 10},
                      {16, 16},
                      {17, 31},
                      {32, 33},
                      {9, 48},
                      {64, 65},
                      {2, 80},
                      {33, 8},
                      {5, 113}}) {
    CpuRunner runner(linearSource(k, n));
    ASSERT_TRUE(runner.isValid());
    for (int64_t m : {0, 1, 2, 3, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 33, 47, 48, 49, 63, 65, 97}) {
      auto x = numbers(m * k, 1), w = numbers(n * k, 2), b = numbers(n, 3), r = numbers(m * n, 4);
      std::vector<double> expected = linear(x, w, b, r, m, k, n);
      expectOnAll(runner, {toBytes(x), toBytes(r)}, {{"w", toBytes(w)}, {"b", toBytes(b)}}, {m},
                  expected, 0,
                  "m=" + std::to_string(m) + " k=" + std::to_string(k) + " n=" + std::to_string(n));
    }
  }
}

TEST(CpuContraction, MatmulOfTwoActivationsPacksAtRunTime) {
  for (auto [m, k, n] : {std::array<int64_t, 3>{1, 1, 1}, {7, 9, 15}, {16, 33, 17}, {50, 8, 40}}) {
    int64_t batch = 3;
    std::string x = tensor({batch, m, k}), other = tensor({batch, k, n}), y = tensor({batch, m, n});
    CpuRunner runner(program("contraction", {{"x", x, false}, {"w", other, false}}, y,
                             "%0 = dl.matmul %x, %w : (" + x + ", " + other + ") -> " + y +
                                 "\ndl.yield %0 : " + y));
    ASSERT_TRUE(runner.isValid());
    auto a = numbers(batch * m * k, 1), b = numbers(batch * k * n, 2);
    std::vector<double> expected(batch * m * n);
    for (int64_t q = 0; q < batch; ++q)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          for (int64_t p = 0; p < k; ++p)
            expected[(q * m + i) * n + j] +=
                double(a[(q * m + i) * k + p]) * b[(q * k + p) * n + j];
    expectOnAll(runner, {toBytes(a), toBytes(b)}, {}, {}, expected, 0, "m=" + std::to_string(m));
  }
}

/// What is added has fewer columns, with zeros on both sides of them: its lanes are tested.
TEST(CpuContraction, ResidualPaddedAlongTheColumns) {
  for (auto [m, k, n, left, right] : {std::array<int64_t, 5>{9, 20, 32, 8, 8},
                                      {50, 7, 33, 3, 20},
                                      {3, 16, 16, 0, 5},
                                      {1, 3, 40, 17, 0}}) {
    int64_t columns = n - left - right;
    std::string x = tensor({m, k}), w = tensor({n, k}), r = tensor({m, columns}),
                y = tensor({m, n});
    CpuRunner runner(program("contraction", {{"x", x, false}, {"r", r, false}, {"w", w, true}}, y,
                             "%0 = dl.linear %x, %w : (" + x + ", " + w + ") -> " + y +
                                 "\n%1 = dl.pad %r {pad = affine_map<() -> (" +
                                 std::to_string(left) + ", " + std::to_string(right) + ")>} : (" +
                                 r + ") -> " + y + "\n%2 = dl.add %0, %1 : (" + y + ", " + y +
                                 ") -> " + y + "\ndl.yield %2 : " + y));
    ASSERT_TRUE(runner.isValid());
    auto a = numbers(m * k, 1), b = numbers(n * k, 2), rest = numbers(m * columns, 3);
    std::vector<double> expected(m * n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        bool isInside = j >= left && j < n - right;
        expected[i * n + j] = isInside ? rest[i * columns + j - left] : 0;
        for (int64_t q = 0; q < k; ++q)
          expected[i * n + j] += double(a[i * k + q]) * b[j * k + q];
      }
    expectOnAll(runner, {toBytes(a), toBytes(rest)}, {{"w", toBytes(b)}}, {}, expected, 0,
                "n=" + std::to_string(n));
  }
}

//===- conv2d ---------------------------------------------------------------------------------===//

void checkConv(const Conv &v, bool channelsLast, bool preRelu = false) {
  std::string order = channelsLast ? "0, 2, 3, 1" : "";
  std::string x = tensor({v.n, v.c, v.h, v.w}, "f32", order),
              w = tensor({v.k, v.c / v.groups, v.r, v.s}), b = tensor({v.k});
  std::string y = tensor({v.n, v.k, v.outH(), v.outW()}, "f32", order);
  auto two = [](int64_t value) {
    return "array<i64: " + std::to_string(value) + ", " + std::to_string(value) + ">";
  };
  std::string body;
  if (preRelu)
    body = "%p = dl.neg %x : (" + x + ") -> " + x + "\n";
  body += "%0 = dl.conv2d " + std::string(preRelu ? "%p" : "%x") +
          ", %w, %b {stride = " + two(v.stride) + ", padding = " + two(v.pad) +
          ", dilation = " + two(v.dilation) + ", groups = " + std::to_string(v.groups) +
          " : i64} : (" + x + ", " + w + ", " + b + ") -> " + y + "\n%1 = dl.relu %0 : (" + y +
          ") -> " + y + "\ndl.yield %1 : " + y;
  CpuRunner runner(
      program("contraction", {{"x", x, false}, {"w", w, true}, {"b", b, true}}, y, body));
  ASSERT_TRUE(runner.isValid());
  auto input = numbers(v.n * v.c * v.h * v.w, 1),
       weight = numbers(v.k * (v.c / v.groups) * v.r * v.s, 2), bias = numbers(v.k, 3);
  std::vector<double> expected(v.n * v.k * v.outH() * v.outW());
  int64_t perGroup = v.k / v.groups, channels = v.c / v.groups;
  for (int64_t n = 0; n < v.n; ++n)
    for (int64_t k = 0; k < v.k; ++k)
      for (int64_t i = 0; i < v.outH(); ++i)
        for (int64_t j = 0; j < v.outW(); ++j) {
          double sum = bias[k];
          for (int64_t c = 0; c < channels; ++c)
            for (int64_t r = 0; r < v.r; ++r)
              for (int64_t s = 0; s < v.s; ++s) {
                int64_t row = i * v.stride + r * v.dilation - v.pad,
                        col = j * v.stride + s * v.dilation - v.pad;
                if (row < 0 || row >= v.h || col < 0 || col >= v.w)
                  continue;
                double value = input[at(channelsLast, n, k / perGroup * channels + c, row, col, v.c,
                                        v.h, v.w)];
                sum +=
                    (preRelu ? -value : value) * weight[((k * channels + c) * v.r + r) * v.s + s];
              }
          expected[at(channelsLast, n, k, i, j, v.k, v.outH(), v.outW())] = std::max(sum, 0.0);
        }
  expectOnAll(
      runner, {toBytes(input)}, {{"w", toBytes(weight)}, {"b", toBytes(bias)}}, {}, expected, 0,
      "conv c=" + std::to_string(v.c) + " h=" + std::to_string(v.h) + " k=" + std::to_string(v.k) +
          " r=" + std::to_string(v.r) + " stride=" + std::to_string(v.stride) +
          " pad=" + std::to_string(v.pad) + " groups=" + std::to_string(v.groups) +
          (channelsLast ? " channels-last" : " row-major"));
}

//  n  c  h  w   k  r  s  stride pad dilation groups
const Conv kConvs[] = {{2, 1, 28, 28, 32, 3, 3, 1, 1, 1, 1}, {1, 3, 9, 11, 16, 7, 7, 2, 3, 1, 1},
                       {1, 16, 7, 7, 33, 3, 3, 1, 1, 1, 1},  {2, 8, 15, 17, 10, 1, 1, 1, 0, 1, 1},
                       {1, 5, 8, 9, 48, 3, 2, 2, 1, 2, 1},   {3, 17, 3, 3, 7, 3, 3, 1, 1, 1, 1},
                       {1, 4, 1, 1, 16, 1, 1, 1, 0, 1, 1},   {1, 2, 5, 5, 3, 5, 5, 1, 2, 1, 1},
                       {1, 64, 14, 14, 64, 3, 3, 1, 1, 1, 1}};

TEST(CpuContraction, ConvolutionChannelsLast) {
  for (const Conv &conv : kConvs)
    checkConv(conv, true);
}
TEST(CpuContraction, ConvolutionRowMajor) {
  for (const Conv &conv : kConvs)
    checkConv(conv, false);
}
TEST(CpuContraction, ConvolutionReadsThroughAMapAndPadsWithZero) {
  checkConv({2, 8, 6, 6, 16, 3, 3, 1, 1, 1, 1}, true, true);
}
TEST(CpuContraction, GroupedAndDepthwiseConvolution) {
  for (bool channelsLast : {true, false}) {
    checkConv({1, 20, 9, 7, 20, 3, 3, 1, 1, 1, 20}, channelsLast);
    checkConv({2, 33, 6, 6, 33, 3, 3, 2, 1, 1, 33}, channelsLast);
    checkConv({1, 12, 6, 5, 18, 3, 3, 1, 1, 1, 3}, channelsLast);
  }
}

/// Groups of 2, 4 and 8 channels share vectors, the last of which may be a part; where the image
/// lies another way they do not.
TEST(CpuContraction, ConvolutionOfNarrowGroups) {
  //                     n   c  h  w   k  r  s  stride pad dilation groups
  const Conv kNarrow[] = {
      {1, 16, 7, 9, 16, 3, 3, 1, 1, 1, 2},    {2, 24, 8, 7, 24, 3, 3, 2, 1, 1, 6},
      {1, 20, 9, 7, 20, 3, 3, 1, 2, 2, 10},   {1, 40, 5, 5, 40, 3, 3, 1, 1, 1, 5},
      {1, 104, 7, 7, 104, 1, 1, 1, 0, 1, 13}, {3, 48, 4, 3, 48, 2, 3, 1, 0, 1, 6},
      {1, 12, 6, 5, 12, 5, 5, 1, 2, 1, 3},    {1, 8, 1, 1, 8, 3, 3, 1, 1, 1, 2},
      {1, 64, 14, 14, 64, 3, 3, 1, 1, 1, 16}};
  for (const Conv &conv : kNarrow) {
    checkConv(conv, true);
    checkConv(conv, false);
  }
  checkConv(kNarrow[1], true, /*preRelu=*/true);
}

/// One kernel over the whole range of a symbolic height and width.
TEST(CpuContraction, ConvolutionOfSymbolicSize) {
  std::string x = "tensor<2x3x?x?xf32, #dl.t<[2, 3, s0, s0], order = [0, 2, 3, 1]>>";
  std::string y = "tensor<2x20x?x?xf32, #dl.t<[2, 20, s0, s0], order = [0, 2, 3, 1]>>",
              w = tensor({20, 3, 3, 3});
  CpuRunner runner(program("contraction", {{"x", x, false}, {"w", w, true}}, y,
                           "%0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (" + x + ", " + w +
                               ") -> " + y + "\ndl.yield %0 : " + y));
  ASSERT_TRUE(runner.isValid());
  auto weight = numbers(20 * 27, 2);
  for (int64_t h : {0, 1, 2, 3, 7, 9, 17}) {
    auto input = numbers(2 * 3 * h * h, 1);
    std::vector<double> expected(2 * 20 * h * h);
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t k = 0; k < 20; ++k)
        for (int64_t i = 0; i < h; ++i)
          for (int64_t j = 0; j < h; ++j)
            for (int64_t tap = 0; tap < 27; ++tap) {
              int64_t c = tap / 9, row = i + tap / 3 % 3 - 1, col = j + tap % 3 - 1;
              if (row >= 0 && row < h && col >= 0 && col < h)
                expected[at(true, n, k, i, j, 20, h, h)] +=
                    input[at(true, n, c, row, col, 3, h, h)] * weight[k * 27 + tap];
            }
    expectOnAll(runner, {toBytes(input)}, {{"w", toBytes(weight)}}, {h}, expected, 0,
                "h=" + std::to_string(h));
  }
}

TEST(CpuContraction, MatmulWithSymbolicColumns) {
  std::string x = tensor({5, 6}), other = "tensor<6x?xf32, #dl.t<[6, s0]>>",
              y = "tensor<5x?xf32, #dl.t<[5, s0]>>";
  CpuRunner runner(program("contraction", {{"x", x, false}, {"w", other, false}}, y,
                           "%0 = dl.matmul %x, %w : (" + x + ", " + other + ") -> " + y +
                               "\ndl.yield %0 : " + y));
  ASSERT_TRUE(runner.isValid());
  auto a = numbers(30, 1);
  for (int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 33, 65}) {
    auto b = numbers(6 * n, 2);
    std::vector<double> expected(5 * n);
    for (int64_t i = 0; i < 5 * n; ++i)
      for (int64_t p = 0; p < 6; ++p)
        expected[i] += double(a[i / n * 6 + p]) * b[p * n + i % n];
    expectOnAll(runner, {toBytes(a), toBytes(b)}, {}, {n}, expected, 0, "n=" + std::to_string(n));
  }
}

//===- Other numbers --------------------------------------------------------------------------===//

TEST(CpuContraction, IntegersWrap) {
  int64_t m = 9, k = 20, n = 19;
  std::string x = tensor({m, k}, "i8"), w = tensor({n, k}, "i8"), y = tensor({m, n}, "i8");
  CpuRunner runner(
      program("contraction", {{"x", x, false}, {"w", w, true}}, y,
              "%0 = dl.linear %x, %w : (" + x + ", " + w + ") -> " + y + "\ndl.yield %0 : " + y));
  ASSERT_TRUE(runner.isValid());
  std::vector<int8_t> a(m * k), b(n * k), expected(m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = int8_t(i * 37 + 11);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = int8_t(i * 91 + 5);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t q = 0; q < k; ++q)
        expected[i * n + j] = int8_t(expected[i * n + j] + a[i * k + q] * b[j * k + q]);
  for (codegen::IsaVariant isa : codegen::kIsaVariants)
    if (runner.canRun(isa))
      EXPECT_EQ(fromBytes<int8_t>(runner.run(isa, {toBytes(a)}, {{"w", toBytes(b)}}).front()),
                expected);
}

/// Every number that a byte has, in no order that repeats.
template <typename T> std::vector<T> bytes(int64_t count, unsigned seed) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = T((i * 7919 + seed * 104729 + i / 13) % 256);
  return values;
}

void expectIntegers(CpuRunner &runner, const std::vector<Bytes> &inputs,
                    const std::map<std::string, Bytes> &weights,
                    const std::vector<int64_t> &symbols, const std::vector<int32_t> &expected,
                    const std::string &what) {
  for (codegen::IsaVariant isa : codegen::kIsaVariants) {
    if (!runner.canRun(isa))
      continue;
    SCOPED_TRACE(what + " on " + codegen::isaName(isa).str());
    for (int64_t parts : {1, 3})
      ASSERT_EQ(fromBytes<int32_t>(runner.run(isa, inputs, weights, symbols, parts).front()),
                expected);
  }
}

/// y = (x - zero point) w^T in i32, as a kernel reads it after narrow-products.
std::string integerLinear(int64_t k, int64_t n, const std::string &xType, int64_t zeroPoint,
                          const std::string &wType) {
  auto rows = [&](const std::string &type) {
    return "tensor<?x" + std::to_string(k) + "x" + type + ", #dl.t<[s0, " + std::to_string(k) +
           "]>>";
  };
  std::string x = rows(xType), wide = rows("i32"), w = tensor({n, k}, wType),
              wideW = tensor({n, k}, "i32"),
              y = "tensor<?x" + std::to_string(n) + "xi32, #dl.t<[s0, " + std::to_string(n) + "]>>";
  std::string body = "%a = dl.cast %x {dtype = i32} : (" + x + ") -> " + wide +
                     "\n%b = dl.cast %w {dtype = i32} : (" + w + ") -> " + wideW;
  if (zeroPoint)
    body += "\n%z = dl.full " + std::to_string(zeroPoint) + " : i32 -> " + wide +
            "\n%c = dl.sub %a, %z : (" + wide + ", " + wide + ") -> " + wide;
  body += std::string("\n%y = dl.linear ") + (zeroPoint ? "%c" : "%a") + ", %b : (" + wide + ", " +
          wideW + ") -> " + y + "\ndl.yield %y : " + y;
  return program("contraction", {{"x", x, false}, {"w", w, true}}, y, body);
}

template <typename X, typename W>
void checkIntegerLinear(const std::string &xType, int64_t zeroPoint, const std::string &wType) {
  for (auto [k, n] : {std::pair<int64_t, int64_t>{1, 5},
                      {2, 16},
                      {3, 17},
                      {4, 32},
                      {5, 31},
                      {8, 15},
                      {15, 33},
                      {16, 48},
                      {35, 64},
                      {64, 20},
                      {513, 16},
                      {1030, 35}}) {
    CpuRunner runner(integerLinear(k, n, xType, zeroPoint, wType));
    ASSERT_TRUE(runner.isValid());
    for (int64_t m : {0, 1, 2, 7, 8, 9, 33, 65}) {
      auto x = bytes<X>(m * k, 1);
      auto w = bytes<W>(n * k, 2);
      std::vector<int32_t> expected(m * n);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          for (int64_t q = 0; q < k; ++q)
            expected[i * n + j] += (int32_t(x[i * k + q]) - int32_t(zeroPoint)) * w[j * k + q];
      expectIntegers(runner, {toBytes(x)}, {{"w", toBytes(w)}}, {m}, expected,
                     xType + " " + wType + " zero point " + std::to_string(zeroPoint) + " m=" +
                         std::to_string(m) + " k=" + std::to_string(k) + " n=" + std::to_string(n));
    }
  }
}

TEST(CpuContraction, BytesWithAndWithoutAZeroPoint) {
  for (int64_t zeroPoint : {0, 1, 128, 255})
    checkIntegerLinear<uint8_t, int8_t>("ui8", zeroPoint, "i8");
}
TEST(CpuContraction, BytesTimesWiderWeights) {
  checkIntegerLinear<uint8_t, uint8_t>("ui8", 7, "ui8");
  checkIntegerLinear<uint8_t, int16_t>("ui8", 200, "i16");
}
TEST(CpuContraction, ShortIntegers) {
  checkIntegerLinear<int16_t, int8_t>("i16", 0, "i8");
  checkIntegerLinear<int16_t, int16_t>("i16", 0, "i16");
}

/// Taps outside of the image are 0, which u8 stores as the zero point. The last images have rows
/// enough to be cut into whole chunks; few channels are read four bytes at a time, but for the last
/// ones, after which no byte may be read.
TEST(CpuContraction, ConvolutionOfBytes) {
  for (bool channelsLast : {true, false})
    for (int64_t zeroPoint : {0, 131})
      for (Conv v :
           {Conv{1, 3, 6, 5, 18, 3, 3, 2, 1, 1, 1}, Conv{2, 16, 7, 7, 33, 3, 3, 1, 1, 1, 1},
            Conv{1, 70, 5, 6, 16, 3, 3, 1, 1, 1, 1}, Conv{1, 34, 4, 4, 32, 1, 1, 1, 0, 1, 1},
            Conv{1, 32, 5, 5, 32, 3, 3, 1, 1, 1, 2}, Conv{1, 3, 28, 32, 40, 7, 7, 2, 3, 1, 1},
            Conv{2, 3, 16, 14, 16, 3, 3, 1, 0, 1, 1}, Conv{1, 2, 16, 18, 33, 3, 3, 1, 1, 1, 1},
            Conv{1, 1, 16, 16, 16, 2, 2, 1, 0, 1, 1}, Conv{2, 16, 14, 14, 32, 1, 1, 1, 0, 1, 1},
            Conv{1, 8, 15, 14, 16, 3, 3, 1, 1, 1, 1}, Conv{2, 12, 28, 28, 16, 1, 1, 2, 0, 1, 1}}) {
        std::string order = channelsLast ? "0, 2, 3, 1" : "";
        int64_t channels = v.c / v.groups;
        auto image = [&](const std::string &type) {
          return tensor({v.n, v.c, v.h, v.w}, type, order);
        };
        std::string w = tensor({v.k, channels, v.r, v.s}, "i8"),
                    wideW = tensor({v.k, channels, v.r, v.s}, "i32"),
                    y = tensor({v.n, v.k, v.outH(), v.outW()}, "i32", order);
        auto two = [](int64_t value) {
          return "array<i64: " + std::to_string(value) + ", " + std::to_string(value) + ">";
        };
        std::string body = "%a = dl.cast %x {dtype = i32} : (" + image("ui8") + ") -> " +
                           image("i32") + "\n%b = dl.cast %w {dtype = i32} : (" + w + ") -> " +
                           wideW;
        if (zeroPoint)
          body += "\n%z = dl.full " + std::to_string(zeroPoint) + " : i32 -> " + image("i32") +
                  "\n%c = dl.sub %a, %z : (" + image("i32") + ", " + image("i32") + ") -> " +
                  image("i32");
        body += std::string("\n%y = dl.conv2d ") + (zeroPoint ? "%c" : "%a") +
                ", %b {stride = " + two(v.stride) + ", padding = " + two(v.pad) +
                ", groups = " + std::to_string(v.groups) + " : i64} : (" + image("i32") + ", " +
                wideW + ") -> " + y + "\ndl.yield %y : " + y;
        CpuRunner runner(
            program("contraction", {{"x", image("ui8"), false}, {"w", w, true}}, y, body));
        ASSERT_TRUE(runner.isValid());
        auto input = bytes<uint8_t>(v.n * v.c * v.h * v.w, 1);
        auto weight = bytes<int8_t>(v.k * channels * v.r * v.s, 2);
        std::vector<int32_t> expected(v.n * v.k * v.outH() * v.outW());
        int64_t perGroup = v.k / v.groups;
        for (int64_t n = 0; n < v.n; ++n)
          for (int64_t k = 0; k < v.k; ++k)
            for (int64_t i = 0; i < v.outH(); ++i)
              for (int64_t j = 0; j < v.outW(); ++j)
                for (int64_t tap = 0; tap < channels * v.r * v.s; ++tap) {
                  int64_t c = tap / (v.r * v.s), row = i * v.stride + tap / v.s % v.r - v.pad,
                          col = j * v.stride + tap % v.s - v.pad;
                  if (row < 0 || row >= v.h || col < 0 || col >= v.w)
                    continue;
                  expected[at(channelsLast, n, k, i, j, v.k, v.outH(), v.outW())] +=
                      (int32_t(input[at(channelsLast, n, k / perGroup * channels + c, row, col, v.c,
                                        v.h, v.w)]) -
                       int32_t(zeroPoint)) *
                      weight[k * channels * v.r * v.s + tap];
                }
        expectIntegers(runner, {toBytes(input)}, {{"w", toBytes(weight)}}, {}, expected,
                       "c=" + std::to_string(v.c) + " k=" + std::to_string(v.k) + " zero point " +
                           std::to_string(zeroPoint) +
                           (channelsLast ? " channels-last" : " row-major"));
      }
}

TEST(CpuContraction, HalfPrecisionAccumulatesInSingle) {
  int64_t m = 7, k = 40, n = 21;
  std::string x = tensor({m, k}, "f16"), w = tensor({n, k}, "f16"), y = tensor({m, n}, "f16");
  CpuRunner runner(
      program("contraction", {{"x", x, false}, {"w", w, true}}, y,
              "%0 = dl.linear %x, %w : (" + x + ", " + w + ") -> " + y + "\ndl.yield %0 : " + y));
  ASSERT_TRUE(runner.isValid());
  std::vector<_Float16> a(m * k), b(n * k), expected(m * n);
  auto p = numbers(m * k, 1), q = numbers(n * k, 2);
  std::copy(p.begin(), p.end(), a.begin());
  std::copy(q.begin(), q.end(), b.begin());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t z = 0; z < k; ++z)
        sum += float(a[i * k + z]) * float(b[j * k + z]);
      expected[i * n + j] = _Float16(sum);
    }
  for (codegen::IsaVariant isa : codegen::kIsaVariants)
    if (runner.canRun(isa))
      EXPECT_EQ(runner.run(isa, {toBytes(a)}, {{"w", toBytes(b)}}).front(), toBytes(expected));
}

TEST(CpuContraction, DoublesStayDoubles) {
  int64_t m = 11, k = 13, n = 35;
  std::string x = tensor({m, k}, "f64"), w = tensor({n, k}, "f64"), y = tensor({m, n}, "f64");
  CpuRunner runner(
      program("contraction", {{"x", x, false}, {"w", w, true}}, y,
              "%0 = dl.linear %x, %w : (" + x + ", " + w + ") -> " + y + "\ndl.yield %0 : " + y));
  ASSERT_TRUE(runner.isValid());
  // 2^-40 beside 1 is lost in f32.
  std::vector<double> a(m * k, 1 + 0x1p-40), b(n * k, 1.0), expected(m * n, k * (1 + 0x1p-40));
  for (codegen::IsaVariant isa : codegen::kIsaVariants)
    if (runner.canRun(isa))
      EXPECT_EQ(fromBytes<double>(runner.run(isa, {toBytes(a)}, {{"w", toBytes(b)}}).front()),
                expected);
}

} // namespace
