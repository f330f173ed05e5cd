//===- CpuBlockSparseTest.cpp - Products with stored blocks of a weight against plain loops ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/CpuCases.h"

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr int64_t kRows = 16; // of a block

/// A weight [n, k] of which about `percent` of the blocks are stored, as what the kernel reads and
/// whole.
struct Blocks {
  int64_t n, k;
  std::vector<float> values, dense;
  std::vector<int32_t> columns, starts = {0};

  Blocks(int64_t n, int64_t k, int64_t percent) : n(n), k(k), dense(n * k) {
    auto all = numbers(n * k, 7);
    for (int64_t first = 0; first < n; first += kRows) {
      const int64_t share = first / kRows % 3 == 1 ? percent / 2 : percent; // uneven panels
      for (int64_t column = 0; column < k; ++column) {
        if ((column * 61 + first * 7 + column / 9) % 100 >= share)
          continue;
        columns.push_back(static_cast<int32_t>(column));
        for (int64_t row = first; row < first + kRows; ++row) {
          values.push_back(row < n ? all[row * k + column] : 0);
          if (row < n)
            dense[row * k + column] = all[row * k + column];
        }
      }
      starts.push_back(static_cast<int32_t>(columns.size()));
    }
    if (columns.empty()) { // no tensor is empty; a NaN in a block of no panel is not read
      columns = {0};
      values.assign(kRows, std::nanf(""));
    }
  }

  std::map<std::string, Bytes> weights() const {
    return {{"v", toBytes(values)}, {"c", toBytes(columns)}, {"s", toBytes(starts)}};
  }
  std::vector<Operand> operands() const {
    return {{"v", tensor({static_cast<int64_t>(columns.size()), kRows}), true},
            {"c", tensor({static_cast<int64_t>(columns.size())}, "i32"), true},
            {"s", tensor({static_cast<int64_t>(starts.size())}, "i32"), true}};
  }
  /// The op on %x and what operands() names; `more` are operands behind these with their types.
  std::string op(const std::string &x, const std::string &y, int64_t dim,
                 const std::string &attributes = "", const std::string &bias = "") const {
    std::string types = x;
    for (const Operand &operand : operands())
      types += ", " + operand.type;
    return "%0 = dl.block_sparse_linear %x, %v, %c, %s" + std::string(bias.empty() ? "" : ", %b") +
           " {features = " + std::to_string(n) + " : i64, dim = " + std::to_string(dim) + " : i64" +
           attributes + "} : (" + types + (bias.empty() ? "" : ", " + bias) + ") -> " + y + "\n";
  }
};

std::vector<Operand> with(std::vector<Operand> front, const std::vector<Operand> &back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

std::string rowsOf(int64_t columns) {
  std::string count = std::to_string(columns);
  return "tensor<?x" + count + "xf32, #dl.t<[s0, " + count + "]>>";
}

/// With a bias, a residual and a relu, for numbers of rows on both sides of whole blocks of them.
TEST(CpuBlockSparse, LinearWithEpilogueAtBoundaryShapes) {
  for (auto [k, n, percent] : {std::array<int64_t, 3>{1, 1, 100},
                               {3, 10, 50},
                               {17, 31, 30},
                               {64, 16, 0},
                               {40, 65, 10},
                               {33, 8, 60},
                               {130, 113, 20}}) {
    Blocks w(n, k, percent);
    std::string x = rowsOf(k), y = rowsOf(n), bias = tensor({n});
    CpuRunner runner(
        program("block_sparse",
                with({{"x", x, false}, {"r", y, false}, {"b", bias, true}}, w.operands()), y,
                w.op(x, y, 1, "", bias) + "%1 = dl.add %0, %r : (" + y + ", " + y + ") -> " + y +
                    "\n%2 = dl.relu %1 : (" + y + ") -> " + y + "\ndl.yield %2 : " + y));
    ASSERT_TRUE(runner.isValid());
    auto weights = w.weights();
    auto b = numbers(n, 3);
    weights["b"] = toBytes(b);
    for (int64_t m : {0, 1, 2, 3, 5, 6, 7, 8, 11, 12, 23, 24, 25, 31, 47, 48, 49, 97}) {
      auto a = numbers(m * k, 1), r = numbers(m * n, 4);
      std::vector<double> expected(m * n);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = b[j] + r[i * n + j];
          for (int64_t q = 0; q < k; ++q)
            sum += double(a[i * k + q]) * w.dense[j * k + q];
          expected[i * n + j] = std::max(sum, 0.0);
        }
      expectOnAll(runner, {toBytes(a), toBytes(r)}, weights, {m}, expected, 0,
                  "m=" + std::to_string(m) + " k=" + std::to_string(k) + " n=" + std::to_string(n));
    }
  }
}

/// A NaN or an infinity of x reaches the results whose stored blocks read it, and no others.
TEST(CpuBlockSparse, SkipsWhatZeroBlocksWouldRead) {
  const int64_t k = 20, n = 32;
  Blocks w(n, k, 50);
  std::string x = tensor({1, k}), y = tensor({1, n});
  CpuRunner runner(program("block_sparse", with({{"x", x, false}}, w.operands()), y,
                           w.op(x, y, 1) + "dl.yield %0 : " + y));
  ASSERT_TRUE(runner.isValid());
  auto a = numbers(k, 1);
  a[4] = std::nanf("");
  std::vector<double> expected(n);
  for (int64_t j = 0; j < n; ++j)
    for (int32_t i = w.starts[j / kRows]; i < w.starts[j / kRows + 1]; ++i)
      expected[j] += double(a[w.columns[i]]) * w.values[i * kRows + j % kRows];
  expectOnAll(runner, {toBytes(a)}, w.weights(), {}, expected, 0, "nan");
}

/// Columns and starts that a damaged file may hold: what is read lies inside.
TEST(CpuBlockSparse, ReadsNothingOutsideForWrongPlaces) {
  const int64_t k = 9, n = 40;
  Blocks w(n, k, 60);
  std::string x = tensor({30, k}), y = tensor({30, n});
  CpuRunner runner(program("block_sparse", with({{"x", x, false}}, w.operands()), y,
                           w.op(x, y, 1) + "dl.yield %0 : " + y));
  ASSERT_TRUE(runner.isValid());
  auto weights = w.weights();
  for (size_t i = 0; i < w.columns.size(); ++i)
    w.columns[i] = i % 2 ? INT32_MAX : INT32_MIN;
  w.starts = {-5, INT32_MAX, 3, INT32_MIN};
  for (codegen::IsaVariant isa : codegen::kIsaVariants)
    if (runner.canRun(isa))
      runner.run(isa, {toBytes(numbers(30 * k, 1))}, w.weights());
}

/// A convolution of one tap, with and without steps, whose channels lie last, or apart.
TEST(CpuBlockSparse, ConvolutionOfOneTap) {
  for (auto [n, channels, height, width, filters, step] :
       {std::array<int64_t, 6>{2, 20, 5, 7, 33, 1},
        {1, 16, 1, 1, 16, 1},
        {3, 7, 9, 8, 48, 2},
        {1, 64, 7, 7, 40, 3}})
    for (bool channelsLast : {false, true}) {
      const int64_t outH = (height - 1) / step + 1, outW = (width - 1) / step + 1;
      std::string order = channelsLast ? "0, 2, 3, 1" : "";
      std::string x = tensor({n, channels, height, width}, "f32", order),
                  y = tensor({n, filters, outH, outW}, "f32", order), bias = tensor({filters});
      Blocks w(filters, channels, 40);
      std::string steps = std::to_string(step);
      CpuRunner runner(program(
          "block_sparse", with({{"x", x, false}, {"b", bias, true}}, w.operands()), y,
          w.op(x, y, 1, step == 1 ? "" : ", steps = array<i64: 1, 1, " + steps + ", " + steps + ">",
               bias) +
              "%1 = dl.relu %0 : (" + y + ") -> " + y + "\ndl.yield %1 : " + y));
      ASSERT_TRUE(runner.isValid());
      auto a = numbers(n * channels * height * width, 1), b = numbers(filters, 2);
      auto weights = w.weights();
      weights["b"] = toBytes(b);
      std::vector<double> expected(n * filters * outH * outW);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t f = 0; f < filters; ++f)
          for (int64_t h = 0; h < outH; ++h)
            for (int64_t v = 0; v < outW; ++v) {
              double sum = b[f];
              for (int64_t c = 0; c < channels; ++c)
                sum +=
                    double(a[at(channelsLast, i, c, h * step, v * step, channels, height, width)]) *
                    w.dense[f * channels + c];
              expected[at(channelsLast, i, f, h, v, filters, outH, outW)] = std::max(sum, 0.0);
            }
      expectOnAll(runner, {toBytes(a)}, weights, {}, expected, 0,
                  "filters=" + std::to_string(filters) + " step=" + steps);
    }
}

} // namespace
