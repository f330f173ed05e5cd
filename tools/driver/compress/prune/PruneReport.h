//===- PruneReport.h - What dlc prune did, for people and programs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNEREPORT_H
#define DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNEREPORT_H

#include "frontend/arrays/SafetensorsFile.h"
#include "passes/compress/prune/MagnitudeMask.h"
#include "tools/driver/base/CompileOptions.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

/// A weight of a product or convolution, and what became of it.
struct PrunedWeight {
  std::string path; // in the new model
  const frontend::StoredTensor *tensor;
  ZeroEffect effect;
  std::string whyKept; // empty: it was pruned
  /// The Euclidean length of the change of what the layer gives on the data of --calib, as a part
  /// of that of what it gave.
  std::optional<double> outputError = std::nullopt;
};

struct PruneReport {
  /// Channels that changed places, and the part of the weights' worth that 2:4 keeps, in their own
  /// order and in the new one: of the squares, with data times the mean squares of what they are
  /// multiplied with.
  struct Reordering {
    int64_t channels = 0;
    double keptBefore = 0, keptAfter = 0;
  };
  std::vector<PrunedWeight> weights; // in program order
  std::optional<Reordering> reordering = std::nullopt;
  ZeroEffect total() const;
};

/// A model that has become smaller.
struct SmallerReport {
  struct Weight {
    std::string path;
    std::vector<int64_t> before, after; // dims; without `before` it is new, without `after` it went
  };
  std::vector<Weight> weights;                                // in the order of the file
  double multiplicationsBefore = 0, multiplicationsAfter = 0; // of one run, symbolic dims as 1
};

/// A line for each weight: dims before and after; and one for all.
std::string tableOf(const SmallerReport &report);
std::string jsonOf(const SmallerReport &report, const PruneOptions &options);

/// Writes --report and prints the table, as far as the options ask for them; an ExitCode, reported
/// unless it is kOk.
int finishReport(const SmallerReport &report, const PruneOptions &options);
int finishReport(const PruneReport &report, const PruneOptions &options);

/// A line for each weight: dims, zeros before and after, what was removed; and a line for all.
std::string tableOf(const PruneReport &report);
/// The same with exact counts, as --report writes it.
std::string jsonOf(const PruneReport &report, const PruneOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNEREPORT_H
