//===- Loss.h - What a training makes small -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_STEP_LOSS_H
#define DLC_TOOLS_DRIVER_TRAIN_STEP_LOSS_H

#include "tools/driver/train/step/Snippet.h"

#include <map>

namespace dlc {

/// The values of the step that a loss may name, then its targets.
struct LossInputs {
  std::vector<mlir::Value> values;        // inputs and outputs of the model
  std::vector<Declared> targets;          // new inputs of the step
  std::map<std::string, int64_t> classes; // how many classes a target names
};

/// Fills the snippet. Its inputs are `used.values` and then `used.targets`; its outputs are the
/// loss and the metrics. A name that the model does not have is a target. Its type is that of
/// --target, or follows from the function and the first tensor of its call. An ExitCode, reported
/// unless it is kOk.
int makeLoss(const TrainingOptions &text, mlir::func::FuncOp model, Snippet &snippet,
             LossInputs &used);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_STEP_LOSS_H
