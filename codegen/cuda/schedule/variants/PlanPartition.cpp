//===- PlanPartition.cpp - Which plan serves which shapes ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/variants/PlanPartition.h"

#include "ir/machine/EstimateMargins.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace dlc::codegen {

/// Smaller differences between losses come from rounding.
static constexpr double kNothing = 1e-9;

PlanPartition partitionPlans(std::vector<PlanSample> samples, size_t mostParts) {
  assert(!samples.empty() && mostParts > 0);
  std::sort(samples.begin(), samples.end(),
            [](const PlanSample &a, const PlanSample &b) { return a.value < b.value; });
  const size_t plans = samples.front().costs.size();
  // Samples of one value stay together: group g is [begins[g], begins[g + 1]).
  std::vector<size_t> begins;
  for (size_t i = 0; i < samples.size(); ++i)
    if (i == 0 || samples[i].value != samples[i - 1].value)
      begins.push_back(i);
  const size_t groups = begins.size();
  begins.push_back(samples.size());
  // sums[p][g]: the regret of plan p over the groups before g.
  std::vector<std::vector<double>> sums(plans, std::vector<double>(groups + 1));
  for (size_t p = 0; p < plans; ++p)
    for (size_t g = 0; g < groups; ++g) {
      sums[p][g + 1] = sums[p][g];
      for (size_t i = begins[g]; i < begins[g + 1]; ++i) {
        const std::vector<double> &costs = samples[i].costs;
        double best = *std::min_element(costs.begin(), costs.end());
        sums[p][g + 1] += std::isinf(costs[p]) ? 1e6 : std::log(costs[p] / best);
      }
    }
  auto bestOf = [&](size_t from, size_t to) {
    std::pair<double, size_t> best = {std::numeric_limits<double>::infinity(), 0};
    for (size_t p = 0; p < plans; ++p) {
      double loss = (sums[p][to] - sums[p][from]) / double(samples.size()) +
                    (p == 0 ? 0 : kMargins.priceOfPart);
      if (loss < best.first)
        best = {loss, p};
    }
    return best;
  };
  // best[k][g]: the least loss of the groups before g in k + 1 parts, where the last one begins,
  // and its plan.
  struct Step {
    double loss = std::numeric_limits<double>::infinity();
    size_t from = 0, plan = 0;
  };
  std::vector<std::vector<Step>> best(mostParts, std::vector<Step>(groups + 1));
  for (size_t to = 1; to <= groups; ++to)
    for (size_t from = 0; from < to; ++from) {
      auto [loss, plan] = bestOf(from, to);
      if (from == 0)
        best[0][to] = {loss, 0, plan};
      for (size_t k = 1; from > 0 && k < mostParts; ++k)
        if (best[k - 1][from].loss + loss < best[k][to].loss - kNothing)
          best[k][to] = {best[k - 1][from].loss + loss, from, plan};
    }
  size_t last = 0;
  for (size_t k = 1; k < mostParts; ++k)
    if (best[k][groups].loss < best[last][groups].loss - kNothing)
      last = k;
  PlanPartition result;
  result.loss = best[last][groups].loss;
  for (size_t to = groups; to > 0; --last) {
    const Step &step = best[last][to];
    result.parts.push_back(
        {samples[begins[step.from]].value, samples[begins[to] - 1].value, step.plan});
    to = step.from;
    if (to == 0)
      break;
  }
  std::reverse(result.parts.begin(), result.parts.end());
  return result;
}

} // namespace dlc::codegen
