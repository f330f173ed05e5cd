//===- CalibratedPruning.h - Zeros chosen by what the layers read -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_PRUNE_CALIBRATEDPRUNING_H
#define DLC_TOOLS_DRIVER_COMPRESS_PRUNE_CALIBRATEDPRUNING_H

#include "tools/driver/compress/prune/PruneReport.h"
#include "tools/driver/compress/prune/PrunedModel.h"

namespace dlc {

/// A weight that is to be pruned, and its line of the report, which is filled.
struct ChosenWeight {
  const PrunableWeight *weight;
  const PrunedModel::Place *place;
  PrunedWeight *report;
};

/// Why what the products read says nothing about the weight, a part of a sentence; empty where it
/// does. `isGrouped`: zeros are chosen among four neighbours.
std::string whyNotCalibrated(const PrunableWeight &weight, bool isGrouped);

/// Prunes `chosen` by options.method, wanda or sparsegpt, on the data of options.calibration. The
/// weights are ops of `plain`, a copy of the model in which only plain products are left. Layers
/// are pruned in the order in which they are computed, each on what it reads when all before it are
/// pruned; wanda with the pattern global needs all at once and sees the model as it was. An
/// ExitCode, reported unless it is kOk.
int pruneCalibrated(PrunedModel &model, mlir::ModuleOp plain, llvm::ArrayRef<ChosenWeight> chosen,
                    const PruneOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_PRUNE_CALIBRATEDPRUNING_H
