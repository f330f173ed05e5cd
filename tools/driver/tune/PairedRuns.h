//===- PairedRuns.h - Two compiled models, timed in turn ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TUNE_PAIREDRUNS_H
#define DLC_TOOLS_DRIVER_TUNE_PAIREDRUNS_H

#include "tools/driver/run/Session.h"

#include <map>
#include <string>
#include <vector>

namespace dlc {

/// A kernel over the runs of a model: by the name that compilers and people know it by, that of the
/// program's launch, whichever variant took its place.
struct TimedKernel {
  std::string plan; // that ran, as --force-plan names it
  std::string lines;
  double microseconds = 0; // of all its launches in one run: the median of the runs
};
using KernelTimes = std::map<std::string, TimedKernel>;

/// The models are run by turns, some runs each, so that both meet the same machine; the first run
/// of a turn, which finds the caches as the other model left them, does not count.
struct PairedRuns {
  std::string first, second; // model.bin files
  DeviceOptions device;
  std::vector<std::string> inputs; // as for `dlc run`; the others are random
  double seconds = 1;              // for both together, at least

  /// Each kernel of both; an ExitCode. Launches are timed one by one.
  int timeKernels(KernelTimes &ofFirst, KernelTimes &ofSecond) const;
  /// Milliseconds of a run of each, the median; an ExitCode. On a GPU its own time.
  int timeRuns(double &ofFirst, double &ofSecond) const;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TUNE_PAIREDRUNS_H
