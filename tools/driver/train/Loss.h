//===- Loss.h - What a training makes small -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_LOSS_H
#define DLC_TOOLS_DRIVER_TRAIN_LOSS_H

#include "tools/driver/train/Snippet.h"

#include <map>

namespace dlc {

/// The values of the step that a loss may name, then its targets.
struct LossInputs {
  std::vector<mlir::Value> values;        // inputs and outputs of the model
  std::vector<Declared> targets;          // new inputs of the step
  std::map<std::string, int64_t> classes; // how many classes a target names
};

/// Fills the snippet: its inputs are `used.values` and then `used.targets`, its outputs the loss
/// and the metrics. A name that the model does not have is a target: the classes of the first
/// tensor for losses of class indices, else of its type. An ExitCode, reported unless it is kOk.
int makeLoss(const TrainingOptions &text, mlir::func::FuncOp model, Snippet &snippet,
             LossInputs &used);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_LOSS_H
