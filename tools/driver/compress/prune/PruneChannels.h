//===- PruneChannels.h - dlc prune --pattern channels -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNECHANNELS_H
#define DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNECHANNELS_H

#include "tools/driver/compress/prune/PrunedModel.h"

namespace dlc {

/// Takes channels out of the model until `options.sparsity` of its multiplications are gone, and
/// writes a smaller text and smaller weights. `weights` are those of `plain`, a copy of the model
/// in which only plain products are left. An ExitCode, reported unless it is kOk.
int pruneChannels(PrunedModel &model, mlir::ModuleOp plain, llvm::ArrayRef<PrunableWeight> weights,
                  const PruneOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNECHANNELS_H
