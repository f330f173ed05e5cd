//===- CpuScheduleTest.cpp - Maps, reductions and windows on the CPU against plain loops -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/CpuCases.h"

#include <limits>

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr int64_t kBoundaries[] = {0,  1,  2,  3,  7,  8,  9,   15,  16, 17,
                                   31, 32, 33, 63, 64, 65, 127, 128, 129};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string unary(const std::string &op, const std::string &x, const std::string &y) {
  return "%0 = dl." + op + " : (" + x + ") -> " + y + "\ndl.yield %0 : " + y;
}

//===- Maps -----------------------------------------------------------------------------------===//

TEST(CpuMap, SymbolicFlatMapAtBoundaryShapes) {
  std::string t = "tensor<?x3xf32, #dl.t<[s0, 3]>>";
  CpuRunner runner(program("map", {{"x", t, false}, {"z", t, false}}, t,
                           "%0 = dl.mul %x, %z : (" + t + ", " + t + ") -> " + t +
                               "\n%1 = dl.relu %0 : (" + t + ") -> " + t +
                               "\n%2 = dl.sub %1, %x : (" + t + ", " + t + ") -> " + t +
                               "\ndl.yield %2 : " + t));
  ASSERT_TRUE(runner.isValid());
  for (int64_t n : {0, 1, 2, 5, 7, 8, 11, 16, 21, 33, 1000}) {
    auto x = numbers(3 * n, 1), z = numbers(3 * n, 2);
    std::vector<double> expected;
    for (int64_t i = 0; i < 3 * n; ++i)
      expected.push_back(std::max(x[i] * z[i], 0.0f) - x[i]);
    expectOnAll(runner, {toBytes(x), toBytes(z)}, {}, {n}, expected, 0, "n=" + std::to_string(n));
  }
}

TEST(CpuMap, RowsWithBroadcastOperands) {
  for (int64_t c : kBoundaries) {
    std::string x = tensor({2, 3, c}), b = tensor({c}), s = "tensor<f32>";
    CpuRunner runner(program(
        "map", {{"x", x, false}, {"b", b, false}, {"s", s, false}}, x,
        "%0 = dl.broadcast %b : (" + b + ") -> " + x + "\n%1 = dl.broadcast %s : (" + s + ") -> " +
            x + "\n%2 = dl.add %x, %0 : (" + x + ", " + x + ") -> " + x +
            "\n%3 = dl.mul %2, %1 : (" + x + ", " + x + ") -> " + x + "\ndl.yield %3 : " + x));
    ASSERT_TRUE(runner.isValid());
    auto v = numbers(6 * c, 1), bias = numbers(c, 2), scale = numbers(1, 5);
    std::vector<double> expected;
    for (int64_t i = 0; i < 6 * c; ++i)
      expected.push_back((v[i] + bias[i % c]) * scale[0]);
    expectOnAll(runner, {toBytes(v), toBytes(bias), toBytes(scale)}, {}, {}, expected, 0,
                "c=" + std::to_string(c));
  }
}

TEST(CpuMap, BroadcastAlongTheRow) {
  std::string x = tensor({5, 19}), b = tensor({5, 1});
  CpuRunner runner(program("map", {{"x", x, false}, {"b", b, false}}, x,
                           "%0 = dl.broadcast %b : (" + b + ") -> " + x +
                               "\n%1 = dl.sub %x, %0 : (" + x + ", " + x + ") -> " + x +
                               "\ndl.yield %1 : " + x));
  ASSERT_TRUE(runner.isValid());
  auto v = numbers(95, 1), bias = numbers(5, 2);
  std::vector<double> expected;
  for (int64_t i = 0; i < 95; ++i)
    expected.push_back(v[i] - bias[i / 19]);
  expectOnAll(runner, {toBytes(v), toBytes(bias)}, {}, {}, expected, 0, "");
}

TEST(CpuMap, TransposeSlicePadAndCat) {
  std::string x = tensor({4, 21}), p = tensor({21, 4}), s = tensor({21, 3}), q = tensor({21, 6}),
              c = tensor({21, 10});
  CpuRunner runner(
      program("map", {{"x", x, false}}, c,
              "%0 = dl.permute %x {dims = array<i64: 1, 0>} : (" + x + ") -> " + p + "\n" +
                  "%1 = dl.slice %0 {dim = 1 : i64, start = 1 : i64} : (" + p + ") -> " + s + "\n" +
                  "%2 = dl.pad %1 {pad = affine_map<() -> (1, 2)>, value = 7.0 : f64} : (" + s +
                  ") -> " + q + "\n" + "%3 = dl.cat %0, %2 {dim = 1 : i64} : (" + p + ", " + q +
                  ") -> " + c + "\ndl.yield %3 : " + c));
  ASSERT_TRUE(runner.isValid());
  auto v = numbers(84, 1);
  std::vector<double> expected;
  for (int64_t i = 0; i < 21; ++i)
    for (int64_t j = 0; j < 10; ++j)
      expected.push_back(j < 4 ? v[j * 21 + i] : j == 4 || j > 7 ? 7.0 : v[(j - 4) * 21 + i]);
  expectOnAll(runner, {toBytes(v)}, {}, {}, expected, 0, "");
}

TEST(CpuMap, LayoutConversionsBothWays) {
  std::string nchw = tensor({2, 5, 3, 4}), nhwc = tensor({2, 5, 3, 4}, "f32", "0, 2, 3, 1");
  auto v = numbers(120, 1);
  std::vector<double> same(v.begin(), v.end()), moved(120);
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 5; ++c)
      for (int64_t i = 0; i < 12; ++i)
        moved[(n * 12 + i) * 5 + c] = v[(n * 5 + c) * 12 + i];
  CpuRunner there(
      program("map", {{"x", nchw, false}}, nhwc, unary("convert_layout %x", nchw, nhwc)));
  ASSERT_TRUE(there.isValid());
  expectOnAll(there, {toBytes(v)}, {}, {}, moved, 0, "to channels-last");
  CpuRunner back(
      program("map", {{"x", nhwc, false}}, nchw, unary("convert_layout %x", nhwc, nchw)));
  ASSERT_TRUE(back.isValid());
  expectOnAll(back, {toBytes(std::vector<float>(moved.begin(), moved.end()))}, {}, {}, same, 0,
              "to row-major");
}

TEST(CpuMap, MathFunctionsNeedNoLibrary) {
  std::string t = tensor({37});
  for (std::string op : {"exp", "log", "tanh", "sigmoid", "gelu", "sqrt"}) {
    CpuRunner runner(program("map", {{"x", t, false}}, t, unary(op + " %x", t, t)));
    ASSERT_TRUE(runner.isValid());
    for (const codegen::CpuCode &code : runner.codes())
      EXPECT_TRUE(code.imports.empty()) << op;
    auto x = numbers(37, 1);
    std::vector<double> expected;
    for (double v : x)
      expected.push_back(op == "exp"       ? std::exp(v)
                         : op == "log"     ? std::log(v)
                         : op == "tanh"    ? std::tanh(v)
                         : op == "sqrt"    ? std::sqrt(v)
                         : op == "sigmoid" ? 1 / (1 + std::exp(-v))
                                           : 0.5 * v * (1 + std::erf(v * std::sqrt(0.5))));
    expectOnAll(runner, {toBytes(x)}, {}, {}, expected, 1e-6, op);
  }
}

/// Rounds once to nearest even, NaN kept: f32 -> bf16 and f64 -> f16 are our own bit arithmetic.
TEST(CpuMap, CastsRoundToNearestEven) {
  std::vector<float> x = {0.0f,          -0.0f,       1.0f,     1.00390625f, 1.01171875f,
                          3.4e38f,       -3.4e38f,    1e-40f,   kNan,        INFINITY,
                          65504.f,       65519.9f,    65520.0f, 5.9e-8f,     2.9e-8f,
                          1.0009765625f, 0.33333334f, 2049.f,   2051.f};
  std::string f32 = tensor({19}), bf16 = tensor({19}, "bf16"), f16 = tensor({19}, "f16"),
              f64 = tensor({19}, "f64");
  CpuRunner toBf16(
      program("map", {{"x", f32, false}}, bf16, unary("cast %x {dtype = bf16}", f32, bf16)));
  CpuRunner toF16(
      program("map", {{"x", f64, false}}, f16, unary("cast %x {dtype = f16}", f64, f16)));
  CpuRunner fromBf16(
      program("map", {{"x", bf16, false}}, f32, unary("cast %x {dtype = f32}", bf16, f32)));
  ASSERT_TRUE(toBf16.isValid() && toF16.isValid() && fromBf16.isValid());
  std::vector<double> wide;
  for (float v : x)
    wide.push_back(v + v * 0x1p-40); // would round twice through f32
  for (codegen::IsaVariant isa : codegen::kIsaVariants) {
    if (!toBf16.canRun(isa))
      continue;
    auto b = fromBytes<uint16_t>(toBf16.run(isa, {toBytes(x)}).front());
    auto h = fromBytes<_Float16>(toF16.run(isa, {toBytes(wide)}).front());
    auto w = fromBytes<float>(fromBf16.run(isa, {toBytes(b)}).front());
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        EXPECT_TRUE(std::isnan(w[i]) && std::isnan(float(h[i])));
        continue;
      }
      uint32_t bits;
      std::memcpy(&bits, &x[i], 4);
      EXPECT_EQ(b[i], uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16)) << x[i];
      uint32_t widened = uint32_t(b[i]) << 16;
      EXPECT_EQ(std::memcmp(&w[i], &widened, 4), 0) << x[i];
      EXPECT_EQ(h[i], _Float16(wide[i])) << x[i];
    }
  }
}

TEST(CpuMap, BoolsAndIntegers) {
  std::string f = tensor({21}), b = tensor({21}, "i1"), u = tensor({21}, "ui8"),
              i = tensor({21}, "i64");
  CpuRunner toBool(program("map", {{"x", f, false}}, b, unary("cast %x {dtype = i1}", f, b)));
  CpuRunner fromBool(program("map", {{"x", b, false}}, i, unary("cast %x {dtype = i64}", b, i)));
  CpuRunner bytes(
      program("map", {{"x", u, false}, {"z", u, false}}, u,
              "%0 = dl.maximum %x, %z : (" + u + ", " + u + ") -> " + u + "\ndl.yield %0 : " + u));
  ASSERT_TRUE(toBool.isValid() && fromBool.isValid() && bytes.isValid());
  auto x = numbers(21, 3);
  x[4] = 0;
  std::vector<uint8_t> bools, p, q, larger;
  std::vector<int64_t> ints;
  for (int k = 0; k < 21; ++k) {
    bools.push_back(x[k] != 0);
    ints.push_back(x[k] != 0);
    p.push_back(uint8_t(k * 50));
    q.push_back(uint8_t(200 - k * 3));
    larger.push_back(std::max(p.back(), q.back()));
  }
  for (codegen::IsaVariant isa : codegen::kIsaVariants) {
    if (!toBool.canRun(isa))
      continue;
    EXPECT_EQ(toBool.run(isa, {toBytes(x)}).front(), toBytes(bools));
    EXPECT_EQ(fromBool.run(isa, {toBytes(bools)}).front(), toBytes(ints));
    EXPECT_EQ(bytes.run(isa, {toBytes(p), toBytes(q)}).front(), toBytes(larger));
  }
}

//===- Reductions -----------------------------------------------------------------------------===//

/// Sum, mean and largest value along each dim of [5, n, 3] and along the last dim of [3, n].
TEST(CpuReduction, AlongEveryDim) {
  for (int64_t n : kBoundaries) {
    for (int64_t dim : {0, 1, 2}) {
      std::array<int64_t, 3> dims = {5, n, 3};
      if (dim == 2)
        dims = {5, 3, n};
      std::vector<int64_t> kept;
      for (int64_t d = 0; d < 3; ++d)
        if (d != dim)
          kept.push_back(dims[d]);
      int64_t inner = dim == 2 ? 1 : dim == 1 ? dims[2] : dims[1] * dims[2], length = dims[dim];
      int64_t outer = dims[0] * dims[1] * dims[2] == 0
                          ? (length == 0 ? kept[0] * kept[1] / std::max<int64_t>(inner, 1) : 0)
                          : dims[0] * dims[1] * dims[2] / (inner * length);
      std::string x = tensor({dims[0], dims[1], dims[2]}), y = tensor(kept);
      auto v = numbers(dims[0] * dims[1] * dims[2], 1);
      for (std::string op : {"sum", "mean", "amax"}) {
        if (op == "amax" && length == 0)
          continue; // refused by the op
        CpuRunner runner(
            program("reduce", {{"x", x, false}}, y,
                    unary(op + " %x {dim = array<i64: " + std::to_string(dim) + ">}", x, y)));
        ASSERT_TRUE(runner.isValid());
        std::vector<double> expected;
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = 0; i < inner; ++i) {
            double sum = 0, largest = -INFINITY;
            for (int64_t r = 0; r < length; ++r) {
              sum += v[(o * length + r) * inner + i];
              largest = std::max<double>(largest, v[(o * length + r) * inner + i]);
            }
            expected.push_back(op == "sum"    ? sum
                               : op == "mean" ? float(sum) / float(length)
                                              : largest);
          }
        expectOnAll(runner, {toBytes(v)}, {}, {}, expected, 0,
                    op + " n=" + std::to_string(n) + " dim=" + std::to_string(dim));
      }
    }
  }
}

TEST(CpuReduction, WholeTensorAndSeveralDims) {
  std::string x = tensor({3, 17, 5}), all = "tensor<f32>", two = tensor({17});
  auto v = numbers(255, 1);
  double sum = 0;
  std::vector<double> perMiddle(17);
  for (int64_t i = 0; i < 255; ++i) {
    sum += v[i];
    perMiddle[i / 5 % 17] += v[i];
  }
  CpuRunner whole(program("reduce", {{"x", x, false}}, all, unary("sum %x", x, all)));
  CpuRunner middle(
      program("reduce", {{"x", x, false}}, two, unary("sum %x {dim = array<i64: 0, 2>}", x, two)));
  ASSERT_TRUE(whole.isValid() && middle.isValid());
  expectOnAll(whole, {toBytes(v)}, {}, {}, {sum}, 0, "all");
  expectOnAll(middle, {toBytes(v)}, {}, {}, perMiddle, 0, "dims 0 and 2");
}

TEST(CpuReduction, LargestPropagatesNan) {
  for (int64_t position : {0, 5, 64, 70}) {
    std::string x = tensor({1, 71}), y = tensor({1});
    CpuRunner runner(
        program("reduce", {{"x", x, false}}, y, unary("amax %x {dim = array<i64: 1>}", x, y)));
    ASSERT_TRUE(runner.isValid());
    auto v = numbers(71, 1);
    v[position] = kNan;
    expectOnAll(runner, {toBytes(v)}, {}, {}, {kNan}, 0, "NaN at " + std::to_string(position));
  }
}

TEST(CpuReduction, ArgmaxTakesTheFirstAndNanBeforeAll) {
  for (int64_t n : kBoundaries) {
    if (n == 0)
      continue;
    for (int64_t dim : {0, 1}) {
      int64_t rows = 6;
      std::string x = dim ? tensor({rows, n}) : tensor({n, rows}), y = tensor({rows}, "i64");
      CpuRunner runner(program("reduce", {{"x", x, false}}, y,
                               unary("argmax %x {dim = " + std::to_string(dim) + " : i64}", x, y)));
      ASSERT_TRUE(runner.isValid());
      auto v = numbers(rows * n, 1);
      auto index = [&](int64_t row, int64_t i) { return dim ? row * n + i : i * rows + row; };
      v[index(2, n - 1)] = kNan;
      v[index(3, n / 2)] = kNan;
      for (int64_t i = 0; i < n; ++i)
        v[index(4, i)] = -INFINITY;
      std::vector<int64_t> expected;
      for (int64_t row = 0; row < rows; ++row) {
        int64_t best = 0;
        for (int64_t i = 1; i < n && !std::isnan(v[index(row, best)]); ++i)
          if (std::isnan(v[index(row, i)]) || v[index(row, i)] > v[index(row, best)])
            best = i;
        expected.push_back(best);
      }
      for (codegen::IsaVariant isa : codegen::kIsaVariants)
        if (runner.canRun(isa))
          EXPECT_EQ(fromBytes<int64_t>(runner.run(isa, {toBytes(v)}).front()), expected)
              << "n=" << n << " dim=" << dim;
    }
  }
}

TEST(CpuReduction, SoftmaxAlongEveryDim) {
  for (int64_t n : {1, 2, 3, 7, 10, 16, 17, 33, 65, 129}) {
    for (int64_t dim : {0, 1, 2}) {
      std::array<int64_t, 3> dims = {4, 5, 6};
      dims[dim] = n;
      int64_t inner = dim == 2   ? 1
                      : dim == 1 ? dims[2]
                                 : dims[1] * dims[2],
              total = dims[0] * dims[1] * dims[2];
      std::string t = tensor({dims[0], dims[1], dims[2]});
      auto v = numbers(total, 1);
      for (std::string op : {"softmax", "log_softmax"}) {
        CpuRunner runner(
            program("reduce", {{"x", t, false}}, t,
                    unary(op + " %x {dim = " + std::to_string(dim) + " : i64}", t, t)));
        ASSERT_TRUE(runner.isValid());
        std::vector<double> expected(total);
        for (int64_t o = 0; o < total / inner / n; ++o)
          for (int64_t i = 0; i < inner; ++i) {
            double sum = 0;
            for (int64_t r = 0; r < n; ++r)
              sum += std::exp(double(v[(o * n + r) * inner + i]));
            for (int64_t r = 0; r < n; ++r) {
              double value = v[(o * n + r) * inner + i];
              expected[(o * n + r) * inner + i] =
                  op == "softmax" ? std::exp(value) / sum : value - std::log(sum);
            }
          }
        expectOnAll(runner, {toBytes(v)}, {}, {}, expected, 2e-6,
                    op + " n=" + std::to_string(n) + " dim=" + std::to_string(dim));
      }
    }
  }
}

//===- Windows --------------------------------------------------------------------------------===//

TEST(CpuWindow, PoolingInBothLayouts) {
  struct Pool {
    int64_t c, h, w, k, stride, pad;
  };
  for (const Pool &p :
       {Pool{3, 7, 9, 2, 2, 0}, {17, 8, 8, 3, 2, 1}, {64, 6, 6, 2, 2, 0}, {33, 5, 4, 5, 1, 2}}) {
    for (bool last : {true, false}) {
      int64_t n = 2, oh = (p.h + 2 * p.pad - p.k) / p.stride + 1,
              ow = (p.w + 2 * p.pad - p.k) / p.stride + 1;
      std::string order = last ? "0, 2, 3, 1" : "";
      std::string x = tensor({n, p.c, p.h, p.w}, "f32", order),
                  y = tensor({n, p.c, oh, ow}, "f32", order);
      auto at = [&](int64_t b, int64_t c, int64_t i, int64_t j, int64_t H, int64_t W) {
        return last ? ((b * H + i) * W + j) * p.c + c : ((b * p.c + c) * H + i) * W + j;
      };
      auto v = numbers(n * p.c * p.h * p.w, 1);
      auto two = [](int64_t value) {
        return "array<i64: " + std::to_string(value) + ", " + std::to_string(value) + ">";
      };
      for (std::string op : {"max_pool2d", "avg_pool2d", "avg_pool2d_own"}) {
        bool own = op == "avg_pool2d_own";
        std::string attributes = " %x {kernel_size = " + two(p.k) + ", stride = " + two(p.stride) +
                                 ", padding = " + two(p.pad) +
                                 (own ? ", count_include_pad = false}" : "}");
        CpuRunner runner(program("window", {{"x", x, false}}, y,
                                 unary((own ? "avg_pool2d" : op) + attributes, x, y)));
        ASSERT_TRUE(runner.isValid());
        std::vector<double> expected(n * p.c * oh * ow);
        for (int64_t b = 0; b < n; ++b)
          for (int64_t c = 0; c < p.c; ++c)
            for (int64_t i = 0; i < oh; ++i)
              for (int64_t j = 0; j < ow; ++j) {
                double sum = 0, largest = -INFINITY, count = 0;
                for (int64_t r = 0; r < p.k; ++r)
                  for (int64_t s = 0; s < p.k; ++s) {
                    int64_t row = i * p.stride + r - p.pad, col = j * p.stride + s - p.pad;
                    if (row < 0 || row >= p.h || col < 0 || col >= p.w)
                      continue;
                    double value = v[at(b, c, row, col, p.h, p.w)];
                    sum += value;
                    largest = std::max(largest, value);
                    ++count;
                  }
                expected[at(b, c, i, j, oh, ow)] =
                    op == "max_pool2d" ? largest : sum / (own ? count : double(p.k * p.k));
              }
        expectOnAll(runner, {toBytes(v)}, {}, {}, expected, 1e-6,
                    op + " c=" + std::to_string(p.c) + (last ? " channels-last" : " row-major"));
      }
    }
  }
}

} // namespace
