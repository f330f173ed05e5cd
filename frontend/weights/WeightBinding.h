//===- WeightBinding.h - A model's parameters and the tensors of a file ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_WEIGHTS_WEIGHTBINDING_H
#define DLC_FRONTEND_WEIGHTS_WEIGHTBINDING_H

#include "frontend/dl/Lower.h"
#include "frontend/weights/SafetensorsFile.h"

namespace dlc::frontend {

/// Finds each parameter of `model` in `file` by its path. Reports, with the nearest name, those that are missing or have
/// another shape, and tensors of the file that no layer owns; the latter at `clause`. Reads the bytes only where it is to hash them.
BoundWeights bindWeights(const Model &model, const SafetensorsFile &file, llvm::SMLoc clause,
                         Diagnostics &diagnostics, mlir::MLIRContext *context, bool withHashes);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_WEIGHTS_WEIGHTBINDING_H
