//===- ProductStatisticsTest.cpp - Moments of what products read, against plain loops ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/ProductStatistics.h"

#include "frontend/arrays/NpzFile.h"
#include "ir/dl/DLOps.h"
#include "passes/compress/prune/SecondMoment.h"
#include "tools/driver/base/ExitCode.h"
#include "tools/driver/source/Dialects.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <unistd.h>

using namespace mlir;
using namespace dlc;

namespace {

constexpr int64_t kSamples = 5; // in batches of two: the last one has one

/// One product of a model's input x: its sums come from what `row` appends for each sample.
class ProductStatisticsTest : public testing::Test {
protected:
  ProductStatisticsTest() {
    DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
  }
  ~ProductStatisticsTest() override { std::remove(path.c_str()); }

  /// Reads a function @forward and writes samples of `size` numbers, of dims `dims`.
  void open(const std::string &function, const std::vector<int64_t> &dims) {
    module = parseSourceString<ModuleOp>(
        "module attributes {dl.symbols = [#dl.symbol<\"N\", 1, 2>]} {" + function + "}",
        context.get());
    ASSERT_TRUE(module);
    size = 1;
    for (int64_t dim : dims)
      size *= dim;
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    x.resize(kSamples * size);
    for (float &value : x)
      value = normal(random);
    shape = dims;
    shape.insert(shape.begin(), kSamples);
  }

  int measure(ProductStatistics &statistics, unsigned activation = 0, StringRef reference = "") {
    std::vector<uint8_t> raw(x.size() * sizeof(float));
    std::memcpy(raw.data(), x.data(), raw.size());
    std::string bytes;
    EXPECT_FALSE(frontend::writeNpz(
        bytes, {{"x", *frontend::elementTypeNamed("f32"), shape, std::move(raw)}}));
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    std::vector<TappedProduct> products;
    module->walk([&](Operation *op) {
      if (productShape(op, activation))
        products.push_back({op, activation});
    });
    CalibrationOptions calibration;
    calibration.data = path;
    calibration.batch = 2;
    return measureProducts(*module, products, calibration, readPackedWeight, reference, statistics);
  }

  /// `read(sample, row, group, column)` is the matrix x.
  void expect(const InputMoment &moment, int64_t groups, int64_t rows, int64_t columns,
              const std::function<double(const float *, int64_t, int64_t, int64_t)> &read) {
    ASSERT_EQ(moment.groups, groups);
    ASSERT_EQ(moment.columns, columns);
    EXPECT_EQ(moment.rows, static_cast<double>(rows * kSamples));
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t k = 0; k < columns; ++k) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j) {
          double product = 0;
          for (int64_t n = 0; n < kSamples; ++n)
            for (int64_t row = 0; row < rows; ++row) {
              const float *sample = x.data() + n * size;
              product += read(sample, row, group, k) * read(sample, row, group, j);
              sum += j == 0 ? read(sample, row, group, k) : 0;
            }
          EXPECT_NEAR(moment.productsOf(group)[k * columns + j], product, 1e-4) << k << ", " << j;
        }
        EXPECT_NEAR(moment.sumsOf(group)[k], sum, 1e-4) << k;
      }
  }

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  std::string path = testing::TempDir() + "moments-" + std::to_string(getpid()) + ".npz";
  std::vector<float> x;
  std::vector<int64_t> shape;
  int64_t size = 0;
};

TEST_F(ProductStatisticsTest, WindowsOfAConvolution) {
  // Stride 2 x 1, unequal paddings, dilation and two groups: outputs are 3 x 4.
  open(R"(func.func @forward(%x: tensor<?x4x5x6xf32, #dl.t<[s0, 4, 5, 6]>> {dl.name = "x"})
      -> (tensor<?x6x3x4xf32, #dl.t<[s0, 6, 3, 4]>> {dl.name = "y"}) {
    %w = dl.weight "w" : tensor<6x2x2x3xf32>
    %0 = dl.conv2d %x, %w {stride = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>,
        dilation = array<i64: 1, 2>, groups = 2 : i64} :
        (tensor<?x4x5x6xf32, #dl.t<[s0, 4, 5, 6]>>, tensor<6x2x2x3xf32>)
        -> tensor<?x6x3x4xf32, #dl.t<[s0, 6, 3, 4]>>
    return %0 : tensor<?x6x3x4xf32, #dl.t<[s0, 6, 3, 4]>>
  })",
       {4, 5, 6});
  ProductStatistics statistics;
  ASSERT_EQ(measure(statistics), kOk);
  EXPECT_EQ(statistics.samples, kSamples);
  ASSERT_EQ(statistics.moments.size(), 1u);
  expect(statistics.moments[0], 2, 12, 12,
         [](const float *sample, int64_t row, int64_t group, int64_t column) {
           int64_t channel = group * 2 + column / 6, tall = row / 4 * 2 + column % 6 / 3 - 1,
                   wide = row % 4 + column % 3 * 2;
           bool isPadding = tall < 0 || tall >= 5 || wide >= 6;
           return isPadding ? 0.0 : sample[(channel * 5 + tall) * 6 + wide];
         });
}

TEST_F(ProductStatisticsTest, RowsOfLinearLayersAndWhatIsBeforeThem) {
  open(R"(func.func @forward(%x: tensor<?x3x4xf32, #dl.t<[s0, 3, 4]>> {dl.name = "x"})
      -> (tensor<?x3x2xf32, #dl.t<[s0, 3, 2]>> {dl.name = "y"}) {
    %w = dl.weight "w" : tensor<2x4xf32>
    %v = dl.weight "v" : tensor<2x4xf32>
    %r = dl.relu %x : (tensor<?x3x4xf32, #dl.t<[s0, 3, 4]>>) -> tensor<?x3x4xf32, #dl.t<[s0, 3, 4]>>
    %0 = dl.linear %x, %w : (tensor<?x3x4xf32, #dl.t<[s0, 3, 4]>>, tensor<2x4xf32>) -> tensor<?x3x2xf32, #dl.t<[s0, 3, 2]>>
    %1 = dl.linear %r, %v : (tensor<?x3x4xf32, #dl.t<[s0, 3, 4]>>, tensor<2x4xf32>) -> tensor<?x3x2xf32, #dl.t<[s0, 3, 2]>>
    %2 = dl.add %0, %1 : (tensor<?x3x2xf32, #dl.t<[s0, 3, 2]>>, tensor<?x3x2xf32, #dl.t<[s0, 3, 2]>>) -> tensor<?x3x2xf32, #dl.t<[s0, 3, 2]>>
    return %2 : tensor<?x3x2xf32, #dl.t<[s0, 3, 2]>>
  })",
       {3, 4});
  ProductStatistics statistics;
  ASSERT_EQ(measure(statistics), kOk);
  ASSERT_EQ(statistics.moments.size(), 2u);
  auto read = [](const float *sample, int64_t row, int64_t, int64_t column) {
    return sample[row * 4 + column];
  };
  expect(statistics.moments[0], 1, 3, 4, read);
  expect(statistics.moments[1], 1, 3, 4, [&](const float *sample, int64_t row, int64_t, int64_t k) {
    return std::max(0.0f, read(sample, row, 0, k));
  });
}

TEST_F(ProductStatisticsTest, GroupsOfABatchedProductWithItsWeightFirst) {
  open(R"(func.func @forward(%x: tensor<?x2x4x3xf32, #dl.t<[s0, 2, 4, 3]>> {dl.name = "x"})
      -> (tensor<?x2x5x3xf32, #dl.t<[s0, 2, 5, 3]>> {dl.name = "y"}) {
    %w = dl.weight "w" : tensor<2x5x4xf32>
    %0 = dl.matmul %w, %x : (tensor<2x5x4xf32>, tensor<?x2x4x3xf32, #dl.t<[s0, 2, 4, 3]>>) -> tensor<?x2x5x3xf32, #dl.t<[s0, 2, 5, 3]>>
    return %0 : tensor<?x2x5x3xf32, #dl.t<[s0, 2, 5, 3]>>
  })",
       {2, 4, 3});
  ProductStatistics statistics;
  ASSERT_EQ(measure(statistics, /*activation=*/1), kOk);
  ASSERT_EQ(statistics.moments.size(), 1u);
  expect(statistics.moments[0], 2, 3, 4,
         [](const float *sample, int64_t row, int64_t group, int64_t column) {
           return sample[(group * 4 + column) * 3 + row];
         });
}

TEST_F(ProductStatisticsTest, RefusesWhatIsNotFinite) {
  open(R"(func.func @forward(%x: tensor<?x4xf32, #dl.t<[s0, 4]>> {dl.name = "x"})
      -> (tensor<?x2xf32, #dl.t<[s0, 2]>> {dl.name = "y"}) {
    %w = dl.weight "w" : tensor<2x4xf32>
    %l = dl.log %x : (tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
    %0 = dl.linear %l, %w : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dl.t<[s0, 2]>>
    return %0 : tensor<?x2xf32, #dl.t<[s0, 2]>>
  })",
       {4});
  ProductStatistics statistics;
  testing::internal::CaptureStderr();
  EXPECT_EQ(measure(statistics), kModelError);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "reads numbers that are NaN or infinite, or too large to be squared in f32; "
                "expected smaller, finite numbers"),
            std::string::npos);
}

} // namespace
