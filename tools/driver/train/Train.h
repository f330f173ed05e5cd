//===- Train.h - dlc train: weights from data ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_TRAIN_H
#define DLC_TOOLS_DRIVER_TRAIN_TRAIN_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// `dlc train`: an ExitCode; everything is reported. `compile` compiles a module of IR.
int trainModel(const TrainOptions &options, int (*compile)(const CompileOptions &));

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_TRAIN_H
