//===- ActivationScalesTest.cpp - Channels that matter more, rounded more finely ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/ActivationScales.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace dlc;

namespace {

constexpr int64_t kRows = 24, kColumns = 64, kVectors = 200;
constexpr WeightFormat kGroupsOfFour = {.bits = 4, .group = 32};

std::vector<float> normal(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> numbers;
  std::vector<float> result(count);
  for (float &number : result)
    number = numbers(generator);
  return result;
}

/// Vectors of which few channels are far larger than the others.
std::vector<float> withLargeChannels(float factor) {
  std::vector<float> vectors = normal(kVectors * kColumns, 5);
  for (int64_t i = 0; i < kVectors; ++i)
    for (int64_t channel : {3, 20, 41})
      vectors[i * kColumns + channel] *= factor;
  return vectors;
}

SecondMoments momentsOf(const std::vector<float> &vectors, int64_t columns) {
  SecondMoments moments(columns);
  moments.add(vectors.data(), static_cast<int64_t>(vectors.size()) / columns);
  return moments;
}

/// The sum of squares of (W - P / s) x over all x, where P are the rounded numbers of W s.
double errorByDefinition(const std::vector<float> &weights, const std::vector<float> &vectors,
                         const std::vector<double> &scales) {
  std::vector<float> scaled(weights);
  for (size_t i = 0; i < scaled.size(); ++i)
    scaled[i] = static_cast<float>(scaled[i] * scales[i % kColumns]);
  const PackedMatrix packed = roundToNearest(scaled, kRows, kColumns, kGroupsOfFour);
  double sum = 0;
  for (int64_t i = 0; i < kVectors; ++i)
    for (int64_t row = 0; row < kRows; ++row) {
      double error = 0;
      for (int64_t j = 0; j < kColumns; ++j)
        error += (weights[row * kColumns + j] - packed.at(row, j) / scales[j]) *
                 vectors[i * kColumns + j];
      sum += error * error;
    }
  return sum;
}

/// s by its formula, from the vectors.
std::vector<double> scalesByDefinition(const std::vector<float> &vectors, double exponent) {
  std::vector<double> scales(kColumns);
  for (size_t i = 0; i < vectors.size(); ++i)
    scales[i % kColumns] += std::abs(vectors[i]) / double(kVectors);
  double least = HUGE_VAL, most = 0;
  for (double &scale : scales) {
    scale = std::pow(scale, exponent);
    least = std::min(least, scale);
    most = std::max(most, scale);
  }
  for (double &scale : scales)
    scale /= std::sqrt(least * most);
  return scales;
}

TEST(ActivationScales, MeansOfMagnitudes) {
  const std::vector<float> few = {1, -2, 0, -3, 4, 0}, more = {5, 0, 0};
  const SecondMoments one = momentsOf(few, 3), other = momentsOf(more, 3);
  EXPECT_EQ(meanMagnitudes({&one}), (std::vector<double>{2, 3, 0}));
  EXPECT_EQ(meanMagnitudes({&one, &other}), (std::vector<double>{3, 2, 0}));
  SecondMoments both = one;
  both += other;
  EXPECT_EQ(meanMagnitudes({&both}), (std::vector<double>{3, 2, 0}));
}

TEST(ActivationScales, GeometricMeanOfTheEndsIsOne) {
  const std::vector<double> magnitudes = {4, 0, 0.25, 1, 16};
  const std::vector<float> halves = inverseScales(magnitudes, 0.5);
  // The roots are 2, 0.5, 1 and 4; their ends have the geometric mean of the roots of 2.
  const double middle = std::sqrt(0.5 * 4);
  const double expected[] = {middle / 2, 1, middle / 0.5, middle, middle / 4};
  for (size_t i = 0; i < magnitudes.size(); ++i)
    EXPECT_FLOAT_EQ(halves[i], static_cast<float>(expected[i]));
  EXPECT_TRUE(areOnes(inverseScales(magnitudes, 0)));
  EXPECT_FALSE(areOnes(halves));
  EXPECT_TRUE(areOnes(inverseScales({3, 3, 3, 0}, 0.7))) << "no channel differs";
  EXPECT_TRUE(areOnes(inverseScales({0, 0}, 0.7))) << "nothing was seen";
  EXPECT_EQ(inverseScales({1e-30, 1e30}, 1), (std::vector<float>{1e4F, 1e-4F}));
}

TEST(ActivationScales, MomentsOfMultipliedVectors) {
  const std::vector<float> vectors = normal(7 * 5, 1), factors = {0.5, 2, 1, 0, 4};
  std::vector<float> multiplied(vectors);
  for (size_t i = 0; i < multiplied.size(); ++i)
    multiplied[i] *= factors[i % 5];
  const SecondMoments got = momentsOf(vectors, 5).multipliedBy(factors),
                      expected = momentsOf(multiplied, 5);
  EXPECT_EQ(got.count(), 7);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(got.sumOfMagnitudes(i), expected.sumOfMagnitudes(i), 1e-6);
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_NEAR(got.at(i, j), expected.at(i, j), 1e-5);
  }
  EXPECT_EQ(scaledWeights({1, 2, 3, 4}, {0.5, 0.25}), (std::vector<float>{2, 8, 6, 16}));
}

TEST(ActivationScales, SearchFindsTheLeastErrorByDefinition) {
  for (float factor : {1.F, 8.F, 60.F}) {
    const std::vector<float> weights = normal(kRows * kColumns, 9),
                             vectors = withLargeChannels(factor);
    const SecondMoments moments = momentsOf(vectors, kColumns);
    ExponentSearch search(meanMagnitudes({&moments}));
    search.add(weights, kRows, kGroupsOfFour, moments);
    double best = 0, least = HUGE_VAL, unscaled = 0;
    for (int step = 0; step <= 10; ++step) {
      const double error =
          errorByDefinition(weights, vectors, scalesByDefinition(vectors, step / 10.0));
      if (step == 0)
        unscaled = error;
      if (error < least) {
        least = error;
        best = step / 10.0;
      }
    }
    EXPECT_EQ(search.best(), best) << "factor " << factor;
    if (factor > 1) {
      EXPECT_GT(search.best(), 0);
      EXPECT_LT(least, 0.5 * unscaled) << "factor " << factor;
    }
  }
}

TEST(ActivationScales, ScaledWeightsLoseLessWithErrorFeedback) {
  const std::vector<float> weights = normal(kRows * kColumns, 9), vectors = withLargeChannels(40);
  const SecondMoments moments = momentsOf(vectors, kColumns);
  ExponentSearch search(meanMagnitudes({&moments}));
  search.add(weights, kRows, kGroupsOfFour, moments);
  const std::vector<float> inverse = inverseScales(meanMagnitudes({&moments}), search.best()),
                           scaled = scaledWeights(weights, inverse);
  const SecondMoments divided = moments.multipliedBy(inverse);
  const OutputError nearest = outputErrorOf(
                        weights, roundToNearest(weights, kRows, kColumns, kGroupsOfFour), moments),
                    own = outputErrorOf(
                        scaled, roundWithFeedback(scaled, kRows, kColumns, kGroupsOfFour, divided),
                        divided);
  EXPECT_NEAR(own.squares, nearest.squares, 1e-5 * nearest.squares) << "the products are the same";
  EXPECT_LT(own.errors, 0.3 * nearest.errors);
}

TEST(ActivationScales, SearchServesAllWeightsOfAnActivation) {
  const std::vector<float> vectors = withLargeChannels(60);
  const SecondMoments moments = momentsOf(vectors, kColumns);
  const std::vector<double> magnitudes = meanMagnitudes({&moments});
  const std::vector<float> one = normal(kRows * kColumns, 21), other = normal(kRows * kColumns, 22);
  std::vector<float> both(one);
  both.insert(both.end(), other.begin(), other.end());
  ExponentSearch apart(magnitudes), together(magnitudes), none(magnitudes);
  apart.add(one, kRows, kGroupsOfFour, moments);
  apart.add(other, kRows, kGroupsOfFour, moments);
  together.add(both, 2 * kRows, kGroupsOfFour, moments);
  EXPECT_EQ(apart.best(), together.best());
  EXPECT_EQ(none.best(), 0) << "of equal ones the smallest";
}

} // namespace
