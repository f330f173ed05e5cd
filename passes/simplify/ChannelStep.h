//===- ChannelStep.h - A product with or a sum of one number for each channel -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_SIMPLIFY_CHANNELSTEP_H
#define DLC_PASSES_SIMPLIFY_CHANNELSTEP_H

#include "ir/analysis/FusionLegality.h"
#include "ir/dl/base/DLBuilder.h"

namespace dlc {

/// x * v, x / v, x + v or x - v, where v depends on weights alone and varies along one dim of x. A
/// number is none: it costs nothing where it stands, and weights that are stored keep what is known
/// of them.
struct ChannelStep {
  mlir::Value x;
  /// The values of v, with dims of size 1 or without.
  mlir::Value numbers;
  /// The dim that v varies along.
  int64_t dim = -1;
  bool isScale = false;
  /// v is a divisor or is subtracted.
  bool isInverse = false;

  /// Builds the factor of x, or the term that is added to it, as a tensor of one dim.
  mlir::Value vector(dl::Builder &builder) const;
};

/// Returns the step that `op` is, if its dtype is a float of 32 bits or more.
std::optional<ChannelStep> channelStepOf(mlir::Operation *op, WeightDependence &weights);

/// `vector`, of one dim, repeated to `dims`, of which it is dim `dim`.
mlir::Value alongDim(dl::Builder &builder, mlir::Value vector,
                     llvm::ArrayRef<mlir::AffineExpr> dims, int64_t dim);

bool isWideFloat(mlir::Value value);

/// Returns true if what folding `step` rounds leaves the range of f32 no earlier than what it is
/// made of does: by the numbers of weights, as far as they are known
/// (ir/dl/structure/ScaleRange.h).
bool keepsRange(const ChannelStep &step);
/// The same of a batch norm. Its gains may be small, and 0: its shift hides what that loses.
bool keepsRange(dl::BatchNormOp norm);

/// Builds the scale of a batch norm, of one dim: its gain over the root of variance + eps.
mlir::Value scaleOf(dl::BatchNormOp norm, dl::Builder &builder);

/// The annotations of both ops are equal, and neither is to be a kernel of its own.
bool sameAnnotations(mlir::Operation *a, mlir::Operation *b);

} // namespace dlc

#endif // DLC_PASSES_SIMPLIFY_CHANNELSTEP_H
