//===- TargetSearch.h - The layers in f32 of each target's model --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_PRECISION_TARGETSEARCH_H
#define DLC_TOOLS_DRIVER_PRECISION_TARGETSEARCH_H

#include "tools/driver/precision/PrecisionSearch.h"

namespace dlc {

/// The results of all searches: their tables, and one JSON object.
struct TargetSearchReport {
  std::string text, json;
};

/// Searches the module of each target in `module`, which is what phase `compress` left
/// (PrecisionSearch::run); a target whose model is the same as one before it takes over what was
/// found for that. An ExitCode; all but kOk are reported. `option` and `progress` are those of a
/// search.
int searchTargets(mlir::ModuleOp module, const PrecisionGoal &goal, const std::string &option,
                  const std::function<void(const std::string &)> &progress,
                  TargetSearchReport &report);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_PRECISION_TARGETSEARCH_H
