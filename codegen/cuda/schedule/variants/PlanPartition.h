//===- PlanPartition.h - Which plan serves which shapes -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_PLANPARTITION_H
#define DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_PLANPARTITION_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc::codegen {

/// Shapes at which plans are compared: `value` is what parts are told apart by, costs[p] what plan
/// p takes, in any unit, infinite where it cannot be.
struct PlanSample {
  int64_t value;
  std::vector<double> costs;
};

/// The samples from one value to another, both of them included, and the plan that serves them.
struct PlanPart {
  int64_t least, most;
  size_t plan;
};

struct PlanPartition {
  std::vector<PlanPart> parts; ///< in the order of their values
  /// The mean over the samples of the logarithm of what the part's plan takes of the best one's
  /// time, and a price for each part whose plan is not plan 0, which costs nothing: that one is
  /// there in any case.
  double loss = 0;
};

/// Divides the samples (in any order, at least one) into at most `mostParts` parts, so that the
/// loss is least: a dynamic program over the values. A part pays where it saves a fiftieth of the
/// time, as a mean over all shapes.
PlanPartition partitionPlans(std::vector<PlanSample> samples, size_t mostParts);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_PLANPARTITION_H
