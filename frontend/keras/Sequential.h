//===- Sequential.h - Models that are a list of Keras's layers ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_KERAS_SEQUENTIAL_H
#define DLC_FRONTEND_KERAS_SEQUENTIAL_H

#include "frontend/dl/lower/Lower.h"

namespace dlc::frontend {

/// Finds the layers, weights and types of `model.sequential` by building it once: a layer's weights
/// have shapes that follow from its input. Every error is reported.
void planSequential(Model &model, Diagnostics &diagnostics, mlir::MLIRContext *context);

/// As lowerForward, of a planned model.
void lowerSequential(Model &model, const BoundWeights &weights, Diagnostics &diagnostics,
                     mlir::ModuleOp module);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_KERAS_SEQUENTIAL_H
