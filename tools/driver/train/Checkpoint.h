//===- Checkpoint.h - A training that goes on where it stopped ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_CHECKPOINT_H
#define DLC_TOOLS_DRIVER_TRAIN_CHECKPOINT_H

#include "tools/driver/train/StepProgram.h"
#include "tools/driver/train/step/FirstWeights.h"

namespace dlc {

/// How far a training has come.
struct TrainingPlace {
  int64_t epoch = 1; // that is running
  int64_t steps = 0; // of it that are done
  int64_t seed = 0;
};

/// Writes all states of the program and the place to a safetensors file. If that fails, the file is
/// as it was before. An ExitCode, reported unless it is kOk.
int writeCheckpoint(const std::string &path, StepProgram &program, const TrainingPlace &place);

/// Sets the states and the place to those of the file. kUsage if it belongs to another model or
/// optimizer.
int readCheckpoint(const std::string &path, StepProgram &program, TrainingPlace &place);

/// Writes what the weights begin with to a safetensors file.
int writeFirstWeights(const std::string &path, const std::vector<FirstWeight> &weights,
                      uint64_t seed);

/// Writes the states `names` of the program to a safetensors file.
int writeStates(const std::string &path, StepProgram &program,
                const std::vector<std::string> &names);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_CHECKPOINT_H
