//===- FlowPlan.h - The steps of a flow, and when its tensors are needed no more -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_FLOW_FLOWPLAN_H
#define DLC_RUNTIME_CORE_FLOW_FLOWPLAN_H

#include "runtime/schema/module_generated.h"

#include <cstdint>
#include <vector>

namespace dlc::rt {

struct PlannedStep {
  const schema::StepEntry *entry;
  std::vector<uint32_t> dead; ///< slots of the step's block that no later step needs
  std::vector<uint32_t>
      moved; ///< of a loop: initial slots that nothing needs once the loop has begun
};

struct PlannedBlock {
  std::vector<PlannedStep> steps;
  std::vector<uint32_t> own; ///< slots that a pass of the block writes
};

/// The blocks of a verified flow.
std::vector<PlannedBlock> planFlow(const schema::Flow &flow, size_t numArguments);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_FLOW_FLOWPLAN_H
