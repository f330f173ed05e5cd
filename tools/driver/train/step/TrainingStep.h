//===- TrainingStep.h - A model becomes one step of its training --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_TRAIN_STEP_TRAININGSTEP_H
#define DLC_TOOLS_DRIVER_TRAIN_STEP_TRAININGSTEP_H

#include "tools/driver/train/step/FirstWeights.h"
#include "tools/driver/train/step/Snippet.h"

#include <map>

namespace dlc {

/// What the caller must know of a step to run it.
struct TrainingStep {
  std::vector<FirstWeight> weights;       // the trained ones, each a state of its name
  std::map<std::string, int64_t> classes; // how many classes a target names
};

/// Imports the model with its first weights. An ExitCode, reported unless it is kOk.
int importTrainedModel(const TrainedModel &trained, ImportedModel &model);

/// Turns the model into a step of training: forward, backward and update. Its states are the
/// trained weights, what the optimizer keeps of each, and the statistics of batches. Its inputs are
/// those of the model and the targets; its outputs are the loss and the metrics. An ExitCode,
/// reported unless it is kOk.
int makeTrainingStep(ImportedModel &model, const TrainingOptions &options, TrainingStep &step);

/// Turns the model into the part of the step that computes gradients. Its inputs are those of the
/// model, the targets and the weights by name; its outputs are the loss, the metrics and the
/// gradient of each weight, NAME.grad. An ExitCode, reported unless it is kOk.
int makeGradients(ImportedModel &model, const TrainingOptions &options, TrainingStep &step);

/// Turns the model into the part of the step that changes the weights. Its inputs are the gradients
/// and the weights; its outputs are the new weights, NAME.next; its states are what the optimizer
/// keeps. An ExitCode, reported unless it is kOk.
int makeUpdate(ImportedModel &model, const TrainingOptions &options, TrainingStep &step);

/// Turns the model into an evaluation: the loss and the metrics of inference, with the weights of
/// `step` as states that stay as they are. If `step` has none, they are those that the options
/// train, and the statistics of norms; it gets them. An ExitCode, reported unless it is kOk.
int makeEvaluation(ImportedModel &model, const TrainingOptions &options, TrainingStep &step);

/// The module as IR that `dlc compile --compile-from=import` reads.
std::string irOf(mlir::ModuleOp module);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_STEP_TRAININGSTEP_H
