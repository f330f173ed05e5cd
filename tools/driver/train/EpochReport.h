//===- EpochReport.h - What a training tells while it runs --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_EPOCHREPORT_H
#define DLC_TOOLS_DRIVER_TRAIN_EPOCHREPORT_H

#include "tools/driver/base/CompileOptions.h"

#include <chrono>

namespace dlc {

/// Lines of a run: one on standard output for each epoch, a bar on a terminal, and an object for
/// each epoch in the file of --log.
class EpochLog {
public:
  EpochLog(const TrainOptions &options, std::vector<std::string> names)
      : options(options), names(std::move(names)) {}

private:
  friend class EpochReport;
  const TrainOptions &options;
  std::vector<std::string> names;              // of the loss and the metrics
  std::string lines;                           // of the file, so far
  std::chrono::steady_clock::time_point shown; // when the bar was
};

/// One epoch.
class EpochReport {
public:
  EpochReport(EpochLog &log, int64_t epoch, int64_t numBatches);
  /// The results of a batch of `rows` samples. Shows them on a terminal.
  void add(const std::vector<double> &results, int64_t rows);
  void addValidation(const std::vector<double> &results, int64_t rows);
  int64_t numSteps() const { return steps; }
  /// Prints the epoch; an ExitCode, reported unless it is kOk.
  int finish();

private:
  using Clock = std::chrono::steady_clock;
  /// Means over samples.
  struct Means {
    std::vector<double> sums;
    int64_t rows = 0;
    void add(const std::vector<double> &results, int64_t count);
  };
  std::string describe(const Means &means, const std::string &prefix) const;
  void show();

  EpochLog &log;
  int64_t epoch, numBatches, steps = 0;
  Means training, validation;
  Clock::time_point begin = Clock::now();
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_EPOCHREPORT_H
