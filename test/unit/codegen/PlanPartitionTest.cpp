//===- PlanPartitionTest.cpp - Which plan serves which shapes -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/variants/PlanPartition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

using namespace dlc::codegen;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<PlanSample> samplesOf(const std::vector<int64_t> &values,
                                  const std::vector<std::function<double(int64_t)>> &plans) {
  std::vector<PlanSample> samples;
  for (int64_t value : values) {
    samples.push_back({value, {}});
    for (const auto &plan : plans)
      samples.back().costs.push_back(plan(value));
  }
  return samples;
}

std::vector<int64_t> powers(int64_t most) {
  std::vector<int64_t> values;
  for (int64_t value = 1; value <= most; value *= 2)
    values.push_back(value);
  return values;
}
} // namespace

// Each of two plans is the better one on its side of 64.
TEST(PlanPartitionTest, TwoPlans) {
  PlanPartition partition =
      partitionPlans(samplesOf(powers(4096), {[](int64_t n) { return 64.0 + double(n) / 4; },
                                              [](int64_t n) { return double(n) * 1.25 + 1; }}),
                     4);
  ASSERT_EQ(partition.parts.size(), 2u);
  EXPECT_EQ(partition.parts[0].plan, 1u);
  EXPECT_EQ(partition.parts[0].least, 1);
  EXPECT_EQ(partition.parts[0].most, 32);
  EXPECT_EQ(partition.parts[1].plan, 0u);
  EXPECT_EQ(partition.parts[1].least, 64);
  EXPECT_EQ(partition.parts[1].most, 4096);
}

// A plan that is one percent faster is not worth a kernel; one that is faster nowhere is never
// taken.
TEST(PlanPartitionTest, NoPartWithoutGain) {
  PlanPartition partition =
      partitionPlans(samplesOf(powers(4096), {[](int64_t n) { return double(n); },
                                              [](int64_t n) { return 0.99 * double(n); },
                                              [](int64_t n) { return 2.0 * double(n); }}),
                     4);
  ASSERT_EQ(partition.parts.size(), 1u);
  EXPECT_EQ(partition.parts[0].plan, 0u);
}

// A plan that cannot be is never taken, even where it would be the only other one.
TEST(PlanPartitionTest, NeverTheImpossible) {
  PlanPartition partition =
      partitionPlans(samplesOf(powers(1024), {[](int64_t n) { return 1000.0 * double(n); },
                                              [](int64_t n) { return n > 8 ? kInfinity : 1.0; }}),
                     4);
  ASSERT_EQ(partition.parts.size(), 2u);
  EXPECT_EQ(partition.parts[0].plan, 1u);
  EXPECT_EQ(partition.parts[0].most, 8);
}

// Shapes of one value of the divider are told apart by nothing: they get one plan.
TEST(PlanPartitionTest, OneValueOnePlan) {
  std::vector<PlanSample> samples = {{7, {1, 100}}, {7, {100, 1}}, {9, {1, 100}}};
  PlanPartition partition = partitionPlans(samples, 4);
  for (const PlanPart &part : partition.parts)
    EXPECT_TRUE(part.least == part.most || (part.least == 7 && part.most == 9));
}

// The dynamic program against all divisions, of random costs.
TEST(PlanPartitionTest, IsTheBestDivision) {
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> cost(1, 4);
  for (int round = 0; round < 50; ++round) {
    std::vector<PlanSample> samples;
    for (int64_t value = 0; value < 8; ++value)
      samples.push_back({value, {cost(engine), cost(engine), cost(engine)}});
    auto lossOf = [&](size_t from, size_t to) {
      double least = kInfinity;
      for (size_t plan = 0; plan < 3; ++plan) {
        double loss = plan == 0 ? 0 : 0.02;
        for (size_t i = from; i < to; ++i)
          loss += std::log(samples[i].costs[plan] /
                           *std::min_element(samples[i].costs.begin(), samples[i].costs.end())) /
                  8;
        least = std::min(least, loss);
      }
      return least;
    };
    std::function<double(size_t, size_t)> best = [&](size_t from, size_t parts) {
      double least = lossOf(from, 8);
      for (size_t to = from + 1; parts > 1 && to < 8; ++to)
        least = std::min(least, lossOf(from, to) + best(to, parts - 1));
      return least;
    };
    for (size_t most : {1, 2, 4}) {
      PlanPartition partition = partitionPlans(samples, most);
      EXPECT_NEAR(partition.loss, best(0, most), 1e-12);
      EXPECT_LE(partition.parts.size(), most);
      EXPECT_EQ(partition.parts.front().least, 0);
      EXPECT_EQ(partition.parts.back().most, 7);
    }
  }
}
