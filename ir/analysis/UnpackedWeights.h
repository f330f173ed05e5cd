//===- UnpackedWeights.h - Weights that are stored in few bits ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model may hold its weights in integers of 4 or 8 bits and say in plain arithmetic what numbers
// they stand for. Computed once at load, these numbers would take the memory that the few bits
// save. What reads them computes them instead, each time: memory moves far fewer bytes, and the
// arithmetic hides behind that.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_UNPACKEDWEIGHTS_H
#define DLC_IR_ANALYSIS_UNPACKEDWEIGHTS_H

#include "ir/analysis/FusionLegality.h"

namespace dlc {

/// True where `value` holds floats that a few maps compute from weights of far fewer bytes, most of
/// which are integers of 8 bits or less, or that dl.expand_two_of_four makes of two of each four.
bool isUnpacked(mlir::Value value, WeightDependence &weights);

/// True where `use` is a read that may compute the element that it needs: of the second operand of
/// a matrix product, or of a table at computed places.
bool mayUnpack(mlir::OpOperand &use);

/// Copies the maps that make such a value to before its reader, which alone uses the copies, and
/// returns these in program order: no op among them has two users.
llvm::SmallVector<mlir::Operation *> unpackFor(mlir::OpOperand &use, WeightDependence &weights);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_UNPACKEDWEIGHTS_H
