//===- PruneLowRank.h - dlc prune --pattern low-rank --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNELOWRANK_H
#define DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNELOWRANK_H

#include "tools/driver/compress/prune/PrunedModel.h"

namespace dlc {

/// Makes of each linear layer two, with so narrow a value between them that the share
/// `options.sparsity` of its multiplications is gone, and writes the new text and weights.
/// `weights` are those of `plain`, a copy of the model in which only plain products are left. An
/// ExitCode, reported unless it is kOk.
int pruneLowRank(PrunedModel &model, mlir::ModuleOp plain, llvm::ArrayRef<PrunableWeight> weights,
                 const PruneOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNELOWRANK_H
