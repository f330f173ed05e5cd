//===- SparsityAllocationTest.cpp - How many zeros each weight gets -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/SparsityAllocation.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dlc;

namespace {

/// Costs scale * share^power at steps of a hundredth.
SensitivityCurve curveOf(uint64_t numbers, double scale, double power) {
  SensitivityCurve curve;
  curve.numbers = numbers;
  for (int i = 0; i <= 100; ++i)
    curve.points.push_back({i / 100.0, scale * std::pow(i / 100.0, power)});
  return curve;
}

double costOf(const SensitivityCurve &curve, double share) {
  const double at = share * 100;
  const auto low = static_cast<size_t>(std::min(std::floor(at), 99.0));
  const double part = at - static_cast<double>(low);
  return curve.points[low].cost * (1 - part) + curve.points[low + 1].cost * part;
}

TEST(SparsityAllocation, MeetsTheTotalAtTheLeastCost) {
  const std::vector<SensitivityCurve> curves = {curveOf(100, 1, 2), curveOf(1000, 1, 3),
                                                curveOf(300, 5, 2)};
  for (double total : {0.1, 0.5, 0.9}) {
    const std::vector<double> shares = allocateSparsity(curves, total);
    double zeros = 0, cost = 0;
    for (size_t i = 0; i < curves.size(); ++i) {
      zeros += shares[i] * static_cast<double>(curves[i].numbers);
      cost += costOf(curves[i], shares[i]);
    }
    EXPECT_NEAR(zeros, total * 1400, 1e-9);
    // No other division of a fine grid is better.
    for (double a = 0; a <= 1; a += 0.02)
      for (double b = 0; b <= 1; b += 0.02) {
        const double c = (total * 1400 - 100 * a - 1000 * b) / 300;
        if (c >= 0 && c <= 1)
          EXPECT_GE(costOf(curves[0], a) + costOf(curves[1], b) + costOf(curves[2], c),
                    cost - 1e-9);
      }
  }
}

TEST(SparsityAllocation, TakesTheHullOfCostsThatAreNoise) {
  SensitivityCurve noisy;
  noisy.numbers = 10;
  noisy.points = {{0, 0}, {0.2, 0.5}, {0.4, 0.1}, {0.6, 0.4}, {0.8, 0.9}};
  const std::vector<double> shares = allocateSparsity({noisy, curveOf(10, 100, 2)}, 0.3);
  EXPECT_NEAR(shares[0], 0.6, 0.02);
  EXPECT_NEAR(shares[0] + shares[1], 0.6, 1e-9);
}

TEST(SparsityAllocation, EndsWhereTheCurvesEnd) {
  SensitivityCurve half;
  half.numbers = 10;
  half.points = {{0, 0}, {0.5, 1}};
  EXPECT_EQ(allocateSparsity({half, half}, 0.9), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(allocateSparsity({}, 0.9), std::vector<double>());
  SensitivityCurve none;
  none.points = {{0, 0}, {0.5, 0}};
  EXPECT_EQ(allocateSparsity({none}, 0.5), std::vector<double>{0});
}

} // namespace
