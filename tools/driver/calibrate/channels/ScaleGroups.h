//===- ScaleGroups.h - Activations and weights that share scales of their channels --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_CHANNELS_SCALEGROUPS_H
#define DLC_TOOLS_DRIVER_CALIBRATE_CHANNELS_SCALEGROUPS_H

#include "passes/compress/quantize/PackableWeights.h"

namespace dlc {

/// Activations whose channels are divided by the same s
/// (passes/compress/quantize/ActivationScales.h), and the weights that are multiplied by it: of two
/// weights that read one activation, and of two activations that are multiplied by one weight, both
/// are in one group.
struct ScaleGroup {
  llvm::SmallVector<mlir::Value> activations;
  llvm::SmallVector<size_t> weights; // their places among the weights that were found
  double exponent = 0;
  std::vector<float> inverse; // 1 / s of each channel; empty: they stay as they are
};

/// The groups of `found`, in the order of the weights. Weights that stay in f32, on all targets or
/// on some, and tables that look-ups take rows of are in none.
std::vector<ScaleGroup> scaleGroupsOf(llvm::ArrayRef<PackableWeight> found);

/// Makes the products of the group's weights read their activations divided by s.
void divideActivations(mlir::func::FuncOp function, llvm::ArrayRef<PackableWeight> found,
                       const ScaleGroup &group);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_CHANNELS_SCALEGROUPS_H
