//===- GroupNorms.h - Weights of channels behind the view of a group norm -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_RAISE_GROUPNORMS_H
#define DLC_PASSES_RAISE_GROUPNORMS_H

#include "mlir/IR/PatternMatch.h"

namespace dlc {

/// Adds patterns by which a norm of groups takes in the weight and the bias that channels have
/// after the groups have been viewed as channels again: view(norm(x)) * w + b, x [N, groups, ...].
/// A weight of ones and a bias of zeros that the groups have, as ONNX's InstanceNormalization needs
/// some, goes.
void addGroupNorms(mlir::RewritePatternSet &patterns);

} // namespace dlc

#endif // DLC_PASSES_RAISE_GROUPNORMS_H
