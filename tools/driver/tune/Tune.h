//===- Tune.h - Which plan of each kernel is the fastest on this machine ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TUNE_TUNE_H
#define DLC_TOOLS_DRIVER_TUNE_TUNE_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Compiles the model by its own plans and, once for each round of candidates, by others; runs each
/// of these files in turn with the first one, and writes the plans that were faster (PlanFile.h).
/// `compile` is `dlc compile`. An ExitCode.
int tuneModel(const TuneOptions &options, int (*compile)(const CompileOptions &));

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TUNE_TUNE_H
