//===- TappedRun.cpp - A copy of a model with more results, run on a user's data ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/TappedRun.h"

#include "passes/Pipelines.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/calibrate/CpuProgram.h"
#include "tools/driver/run/SampleFeed.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

int runTapped(ModuleOp copy, const CalibrationOptions &calibration, const std::string &what,
              const Progress &progress,
              const std::function<int(const std::vector<HostTensor> &, int64_t)> &read,
              int64_t &samples) {
  progress(what);
  PassManager manager(copy.getContext());
  // A module that is simplified already stays as it is.
  addPhase(manager, Phase::simplify, {});
  if (failed(manager.run(copy)))
    return kInternal;
  auto package = compileCpuProgram(copy);
  if (failed(package))
    return kUnsupported;
  CpuProgram program;
  SampleFeed feed;
  if (int code = program.open(*package))
    return code;
  if (int code = feed.open(calibration.data, program.getModule()))
    return code;
  feed.setBatch(calibration.batch);
  std::vector<dlc_tensor> inputs;
  for (int64_t done = 0; feed.next(inputs);) {
    if (int code = program.run(inputs))
      return code;
    if (int code = read(program.outputs, feed.rows()))
      return code;
    done += feed.rows();
    progress(llvm::formatv("{0}, {1} of {2}", what, done, feed.numSamples()).str());
  }
  samples = feed.numSamples() - feed.numLeftOut();
  return kOk;
}

} // namespace dlc
