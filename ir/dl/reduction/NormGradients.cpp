//===- NormGradients.cpp - Derivatives of normalizations ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"
#include "ir/dl/reduction/DLNorm.h"

using namespace mlir;

namespace dlc::dl {

/// Returns dims of 1, but for `axis`: the dims that a weight of channels is reshaped to.
static Dims along(Derivation &d, int64_t axis) {
  Dims dims(d.rank(), d.dim(1));
  dims[axis] = d.dims()[axis];
  return dims;
}

/// Returns `x` times operand `weight`, or `x` if the op does not have that operand.
static Term scaled(Derivation &d, const Term &x, unsigned weight, ArrayRef<AffineExpr> dims) {
  return d.has(weight) ? x * d.x(weight).reshape(dims) : x;
}

/// Adds the gradients of weight and bias, which were applied to `normal`.
static void addAffine(Derivation &d, const Term &normal, unsigned weight,
                      ArrayRef<AffineExpr> dims) {
  if (d.wants(weight))
    d.add(weight, (d.dy() * normal).summedTo(dims).reshape(d.dims(weight)));
  if (d.wants(weight + 1))
    d.add(weight + 1, d.dy().summedTo(dims).reshape(d.dims(weight + 1)));
}

/// Derives a normalization of x, reshaped to `dims`, by its mean and deviation along `axes`. Weight
/// and bias are reshaped to `affine`.
static void deriveStandardized(Derivation &d, ArrayRef<AffineExpr> dims, ArrayRef<int64_t> axes,
                               ArrayRef<AffineExpr> affine, const APFloat &eps) {
  Term x = d.x().reshape(dims), centred = x - x.mean(axes);
  Term inverse = ((centred * centred).mean(axes) + eps.convertToDouble()).make<RsqrtOp>();
  Term normal = centred * inverse;
  if (d.wants(0)) {
    Term part = scaled(d, d.dy(), 1, affine).reshape(dims);
    Term dx = inverse * (part - part.mean(axes) - normal * (part * normal).mean(axes));
    d.add(0, dx.reshape(d.dims()));
  }
  addAffine(d, normal.reshape(d.dims()), 1, affine);
}

/// Returns the last `count` axes. Sets `affine` to their dims, and 1 for the others.
static SmallVector<int64_t> lastAxes(Derivation &d, size_t count, Dims &affine) {
  auto first = d.rank() - static_cast<int64_t>(count);
  affine = d.dims();
  for (int64_t i = 0; i < first; ++i)
    affine[i] = d.dim(1);
  return llvm::to_vector(llvm::seq<int64_t>(first, d.rank()));
}

static void derive(Derivation &d, LayerNormOp op) {
  Dims affine;
  SmallVector<int64_t> axes = lastAxes(d, op.getNormalizedShape().size(), affine);
  deriveStandardized(d, d.dims(), axes, affine, op.getEps());
}

static void derive(Derivation &d, StandardizeOp op) {
  Dims affine(d.rank(), d.dim(1));
  for (int64_t axis : op.getAffineDims())
    affine[axis] = d.dims()[axis];
  deriveStandardized(d, d.dims(), op.getDims(), affine, op.getEps());
}

static void derive(Derivation &d, InstanceNormOp op) {
  deriveStandardized(d, d.dims(), llvm::to_vector(llvm::seq<int64_t>(2, d.rank())), along(d, 1),
                     op.getEps());
}

static void derive(Derivation &d, GroupNormOp op) {
  auto groups = static_cast<int64_t>(op.getNumGroups());
  Dims dims = d.dims(), grouped{dims[0], d.dim(groups), normalize(dims[1].floorDiv(groups))};
  grouped.append(dims.begin() + 2, dims.end());
  auto rank = static_cast<int64_t>(grouped.size());
  deriveStandardized(d, grouped, llvm::to_vector(llvm::seq<int64_t>(2, rank)), along(d, 1),
                     op.getEps());
}

static void derive(Derivation &d, RmsNormOp op) {
  Dims affine;
  SmallVector<int64_t> axes = lastAxes(d, op.getNormalizedShape().size(), affine);
  Term square = (d.x() * d.x()).mean(axes);
  Term inverse = (square + epsilonOf(op)).make<RsqrtOp>();
  Term normal = d.x() * inverse;
  if (d.wants(0)) {
    Term part = scaled(d, d.dy(), 1, affine);
    d.add(0, inverse * (part - normal * (part * normal).mean(axes)));
  }
  addAffine(d, normal, 1, affine);
}

/// The mean and the variance are operands.
static void derive(Derivation &d, BatchNormOp op) {
  Dims channels = along(d, 1);
  Term inverse = (d.x(2).reshape(channels) + op.getEps().convertToDouble()).make<RsqrtOp>();
  Term centred = d.x() - d.x(1).reshape(channels);
  Term part = scaled(d, d.dy(), 3, channels) * inverse;
  d.add(0, part);
  if (d.wants(1))
    d.add(1, (-part).summedTo(channels).reshape(d.dims(1)));
  if (d.wants(2))
    d.add(2, (part * centred * (inverse * inverse) * -0.5).summedTo(channels).reshape(d.dims(2)));
  addAffine(d, centred * inverse, 3, channels);
}

ArrayRef<GradientRule> normGradients() {
  return rulesOf<LayerNormOp, StandardizeOp, InstanceNormOp, GroupNormOp, RmsNormOp, BatchNormOp>();
}

} // namespace dlc::dl
