//===- AssignmentProblemTest.cpp - The cheapest choices, against all of them --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/layout/AssignmentProblem.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace dlc;

namespace {

/// A problem, and the same again to be tried choice by choice.
struct Instance {
  struct Pair {
    unsigned first, second;
    std::vector<float> costs;
  };
  AssignmentProblem problem;
  std::vector<std::vector<float>> variables;
  std::vector<Pair> pairs;

  void variable(std::vector<float> costs) {
    problem.addVariable(costs);
    variables.push_back(std::move(costs));
  }
  void pair(unsigned first, unsigned second, std::vector<float> costs) {
    problem.addPair(first, second, costs);
    pairs.push_back({first, second, std::move(costs)});
  }
  float costOf(const std::vector<unsigned> &choices) const {
    float cost = 0;
    for (size_t i = 0; i < variables.size(); ++i)
      cost += variables[i][choices[i]];
    for (const Pair &pair : pairs)
      cost +=
          pair.costs[choices[pair.first] * variables[pair.second].size() + choices[pair.second]];
    return cost;
  }
  float least() const {
    float best = std::numeric_limits<float>::infinity();
    std::vector<unsigned> choices(variables.size(), 0);
    for (bool isDone = false; !isDone;) {
      best = std::min(best, costOf(choices));
      isDone = true;
      for (size_t i = 0; i < choices.size() && isDone; ++i) {
        isDone = ++choices[i] == variables[i].size();
        if (isDone)
          choices[i] = 0;
      }
    }
    return best;
  }
};

struct Draw {
  std::mt19937 random{1};
  int upTo(int most) { return std::uniform_int_distribution<int>(0, most)(random); }
  std::vector<float> costs(size_t count) {
    std::vector<float> costs(count);
    for (float &cost : costs)
      cost = static_cast<float>(upTo(9)); // whole numbers: sums are exact
    return costs;
  }
  void variable(Instance &instance) { instance.variable(costs(1 + upTo(3))); }
  void pair(Instance &instance, unsigned first, unsigned second) {
    instance.pair(first, second,
                  costs(instance.variables[first].size() * instance.variables[second].size()));
  }
};

TEST(AssignmentProblem, HasNoChoicesWithoutVariables) {
  EXPECT_TRUE(AssignmentProblem().solve().empty());
}

TEST(AssignmentProblem, TakesTheFirstOfEqualCosts) {
  Instance instance;
  instance.variable({1, 0, 0});
  EXPECT_EQ(instance.problem.solve(), std::vector<unsigned>{1});
}

TEST(AssignmentProblem, SolvesChainsWithResidualConnections) {
  // 0 - 1 - 2 - 3 - 4 - ..., each third variable connected with the one two after it as well, and
  // some pairs given twice, in both directions.
  Draw draw;
  for (int round = 0; round < 200; ++round) {
    Instance instance;
    for (unsigned i = 0; i < 8; ++i)
      draw.variable(instance);
    for (unsigned i = 0; i + 1 < 8; ++i)
      draw.pair(instance, i, i + 1);
    for (unsigned i = 0; i + 2 < 8; i += 3)
      draw.pair(instance, i + 2, i);
    draw.pair(instance, 1, 0);
    EXPECT_EQ(instance.costOf(instance.problem.solve()), instance.least());
  }
}

TEST(AssignmentProblem, GuessesNearTheBestWhereAllAreConnected) {
  Draw draw;
  float found = 0, least = 0, first = 0;
  for (int round = 0; round < 100; ++round) {
    Instance instance;
    for (unsigned i = 0; i < 6; ++i)
      draw.variable(instance);
    for (unsigned i = 0; i < 6; ++i)
      for (unsigned j = 0; j < i; ++j)
        draw.pair(instance, i, j);
    found += instance.costOf(instance.problem.solve());
    least += instance.least();
    first += instance.costOf(std::vector<unsigned>(6, 0));
  }
  EXPECT_LT(found, 1.2F * least);
  EXPECT_GT(first, 1.2F * least);
}

} // namespace
