//===- PruneReport.h - What dlc prune did, for people and programs ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_PRUNEREPORT_H
#define DLC_TOOLS_DRIVER_PRUNEREPORT_H

#include "frontend/weights/SafetensorsFile.h"
#include "passes/compress/MagnitudeMask.h"
#include "tools/driver/Compiler.h"

namespace dlc {

/// A weight of a product or convolution, and what became of it.
struct PrunedWeight {
  std::string path; // in the new model
  const frontend::StoredTensor *tensor;
  ZeroEffect effect;
  std::string whyKept; // empty: it was pruned
};

struct PruneReport {
  std::vector<PrunedWeight> weights; // in program order
  ZeroEffect total() const;
};

/// A line for each weight: dims, zeros before and after, what was removed; and a line for all.
std::string tableOf(const PruneReport &report);
/// The same with exact counts, as --report writes it.
std::string jsonOf(const PruneReport &report, const PruneOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_PRUNEREPORT_H
