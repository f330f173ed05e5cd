//===- RangeEstimatorTest.cpp - Ranges that 8 bits hold, by each method -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/RangeEstimator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace dlc;

static RangeEstimator estimate(RangeMethod method, const std::vector<std::vector<float>> &batches,
                               bool isSymmetric = false) {
  RangeEstimator estimator(method, isSymmetric);
  for (const std::vector<float> &batch : batches)
    estimator.observe(batch.data(), batch.size());
  for (const std::vector<float> &batch : batches)
    estimator.count(batch.data(), batch.size());
  return estimator;
}

/// `count` numbers of a normal distribution of deviation 1, and one of 100.
static std::vector<float> normalWithOutlier(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(random);
  numbers.front() = 100;
  return numbers;
}

TEST(RangeEstimator, MinMaxTakesAllAndZero) {
  Range range = estimate(RangeMethod::minmax, {{3, 4}, {2, 7}}).range();
  EXPECT_EQ(range.low, 0);
  EXPECT_EQ(range.high, 7);
  range = estimate(RangeMethod::minmax, {{-3, -4}}).range();
  EXPECT_EQ(range.low, -4);
  EXPECT_EQ(range.high, 0);
}

TEST(RangeEstimator, SymmetricRangesReachAsFarBothWays) {
  std::vector<float> numbers = normalWithOutlier(20'000);
  for (float &number : numbers)
    number = std::max(number, -0.5F);
  for (RangeMethod method : choicesOf<RangeMethod>(kRangeMethodNames)) {
    const RangeEstimator symmetric = estimate(method, {numbers}, true);
    EXPECT_EQ(symmetric.range().low, -symmetric.range().high) << nameOf(method);
    // Half of the steps are for numbers that never come.
    EXPECT_LT(symmetric.signalToNoise(symmetric.range()),
              estimate(method, {numbers}).signalToNoise(estimate(method, {numbers}).range()))
        << nameOf(method);
  }
  EXPECT_EQ(estimate(RangeMethod::mse, {{0, 0}}, true).range().high, 0);
}

TEST(RangeEstimator, AverageMovesTowardsEachBatch) {
  Range range = estimate(RangeMethod::average, {{-1, 10}, {-1, 20}}).range();
  EXPECT_NEAR(range.low, -1, 1e-12);
  EXPECT_NEAR(range.high, 0.9 * 10 + 0.1 * 20, 1e-12);
}

TEST(RangeEstimator, PercentileLeavesTheOutlierOut) {
  // Two of 200,000 are a hundred-thousandth: the outlier and one more.
  RangeEstimator estimator = estimate(RangeMethod::percentile, {normalWithOutlier(200'000)});
  EXPECT_FLOAT_EQ(static_cast<float>(estimator.extent().high), 100);
  EXPECT_LT(estimator.range().high, 6);
  EXPECT_GT(estimator.range().high, 3.5);
}

TEST(RangeEstimator, ErrorAndInformationTradeRoundingForCutting) {
  std::vector<float> numbers = normalWithOutlier(200'000);
  for (RangeMethod method : {RangeMethod::mse, RangeMethod::entropy}) {
    RangeEstimator estimator = estimate(method, {numbers});
    // The steps get finer for 199,999 numbers, and the one outside loses less than they win.
    EXPECT_LT(estimator.range().high, 90) << nameOf(method);
    EXPECT_GE(estimator.range().high, 3);
    EXPECT_LT(estimator.range().low, -2.5);
  }
}

TEST(RangeEstimator, ErrorIsLeastAmongShrunkenRanges) {
  RangeEstimator estimator = estimate(RangeMethod::mse, {normalWithOutlier(20'000)});
  double best = estimator.signalToNoise(estimator.range());
  Range seen = estimator.extent();
  for (int percent = 10; percent <= 100; ++percent)
    EXPECT_LE(estimator.signalToNoise({seen.low * percent / 100, seen.high * percent / 100}),
              best + 1e-9);
}

TEST(RangeEstimator, SignalToNoiseIsThatOfTheNumbers) {
  // Evenly spread numbers in 256 steps: the signal is 1/3, the noise a step squared / 12.
  std::vector<float> numbers;
  for (int i = 0; i < 100'000; ++i)
    numbers.push_back(static_cast<float>(i) / 100'000);
  RangeEstimator estimator = estimate(RangeMethod::minmax, {numbers});
  EXPECT_NEAR(estimator.signalToNoise(estimator.range()), 10 * std::log10(4.0 * 255 * 255), 0.1);
  // Half of the range cut off: (1/8)^2-odd errors swamp everything.
  EXPECT_LT(estimator.signalToNoise({0, 0.5}), 15);
}

TEST(RangeEstimator, ZerosCostNothing) {
  RangeEstimator zeros = estimate(RangeMethod::mse, {{0, 0, 0}});
  EXPECT_EQ(zeros.range().low, 0);
  EXPECT_EQ(zeros.range().high, 0);
  EXPECT_TRUE(std::isinf(zeros.signalToNoise(zeros.range())));
}

TEST(RangeEstimator, CountsWhatNoRangeHolds) {
  float infinity = std::numeric_limits<float>::infinity();
  RangeEstimator estimator =
      estimate(RangeMethod::entropy, {{1, infinity, -infinity, std::nanf(""), 2}});
  EXPECT_EQ(estimator.numNotFinite(), 3);
  EXPECT_EQ(estimator.extent().high, 2);
}
