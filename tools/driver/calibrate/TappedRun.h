//===- TappedRun.h - A copy of a model with more results, run on a user's data ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_TAPPEDRUN_H
#define DLC_TOOLS_DRIVER_CALIBRATE_TAPPEDRUN_H

#include "tools/driver/base/CompileOptions.h"
#include "tools/driver/base/Progress.h"
#include "tools/driver/run/Tensors.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <vector>

namespace dlc {

/// Runs `copy`, a model as it was imported or as phase `simplify` left it, on the data of
/// `calibration`, batch after batch in f32 on the CPU. `copy` is used up. After each batch `read`
/// gets all results, in their order, and how many samples the batch had; it gives an ExitCode, and
/// all but kOk end the run. `samples` is how many were run, and `progress` is told so after `what`.
/// An ExitCode; all but kOk are reported.
int runTapped(mlir::ModuleOp copy, const CalibrationOptions &calibration, const std::string &what,
              const Progress &progress,
              const std::function<int(const std::vector<HostTensor> &, int64_t)> &read,
              int64_t &samples);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_TAPPEDRUN_H
