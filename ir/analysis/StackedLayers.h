//===- StackedLayers.h - Recurrences whose steps run in waves -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a stack the gates of each layer are a linear product of what the layer below gives. One kernel
// can run them in waves: wave w takes step w of the lowest layer, step w - 1 of the next one, and
// so on. It adds up the product step by step, and keeps what is between the layers to itself.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_STACKEDLAYERS_H
#define DLC_IR_ANALYSIS_STACKEDLAYERS_H

#include "ir/dl/DLOps.h"
#include "ir/interfaces/Recurrent.h"

#include <optional>

namespace dlc {

/// The product that gives the gates of `above`; null where another op does.
dl::LinearOp productOfGates(RecurrentOpInterface above);

/// The layer whose y the product of `above` reads; null where there is none.
RecurrentOpInterface layerBelow(RecurrentOpInterface above);

/// Why the steps of `above` cannot run in waves with those of the layer below it, which there is;
/// nullopt where they can. It does not look at who else reads what.
std::optional<dl::NotFused> whyNotInWaves(RecurrentOpInterface above);

/// Returns true if `ops`, the recurrences of one kernel in program order, are the layers of a stack
/// from the lowest one on, rather than recurrences side by side.
bool areStacked(llvm::ArrayRef<RecurrentOpInterface> ops);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_STACKEDLAYERS_H
