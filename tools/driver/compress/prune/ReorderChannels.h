//===- ReorderChannels.h - Channels change places before zeros are chosen -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_PRUNE_REORDERCHANNELS_H
#define DLC_TOOLS_DRIVER_COMPRESS_PRUNE_REORDERCHANNELS_H

#include "tools/driver/compress/prune/CalibratedPruning.h"

namespace dlc {

/// Gives the channels of the model an order in which two zeros among each four neighbours of the
/// `chosen` weights cost little: by the squares of the weights, with data times the mean squares of
/// what they are multiplied with. Channels of all layers that hang together move together, so that
/// the model computes what it did. Layers of `weights` that --skip names keep their order. An
/// ExitCode, reported unless it is kOk.
int reorderChannels(PrunedModel &model, mlir::ModuleOp plain,
                    llvm::ArrayRef<PrunableWeight> weights, llvm::ArrayRef<ChosenWeight> chosen,
                    const PruneOptions &options, PruneReport::Reordering &report);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_PRUNE_REORDERCHANNELS_H
