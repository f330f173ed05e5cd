//===- SecondMoment.h - The inputs of a product, multiplied by themselves -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product with weights is y = x w^T for each group g, where each row of the matrix x is what one
// sum reads: of a convolution a window of the input (im2col), with zeros for the padding. Columns
// are the reduction loops of the op in their order (LoopNest.h): of a convolution channel, then
// window row, then window column, as its weight is stored.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_SECONDMOMENT_H
#define DLC_PASSES_COMPRESS_PRUNE_SECONDMOMENT_H

#include "ir/dl/base/DLBuilder.h"

namespace dlc {

/// The shape of x in a product with weights.
struct ProductShape {
  int64_t groups;  // independent products side by side: of a convolution its groups
  int64_t columns; // numbers that one sum reads
};

/// The shape of what operand `activation` (0 or 1) of `product` is read as. Nothing where the op is
/// no product of two floats, where a dim of the activation repeats, or where columns or groups are
/// symbolic.
std::optional<ProductShape> productShape(mlir::Operation *product, unsigned activation);

/// [groups, columns + 1, columns + 1]: for each group the sum over all rows of the outer product of
/// the row of x with that of `reference`, which is read as the activation is, and often is it. Each
/// row is followed by a 1: the last column holds the sums of the columns of x, the last row those
/// of `reference`, and the last element is the number of rows. In f32, f64 where the activation is
/// f64. The product must have a ProductShape.
mlir::Value buildSecondMoment(mlir::Operation *product, unsigned activation, mlir::Value reference,
                              dl::Builder &builder);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_SECONDMOMENT_H
