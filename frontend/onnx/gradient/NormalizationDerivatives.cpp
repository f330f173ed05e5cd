//===- NormalizationDerivatives.cpp - Of normalizations -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"

using namespace mlir;

namespace dlc::onnx {

/// A tensor of one dim, or of the last ones, along the dims of x: 1 elsewhere.
static dl::Dims along(Derivation &d, int64_t axis) {
  dl::Dims dims(d.dims().size(), d.dim(1));
  dims[axis] = d.dims()[axis];
  return dims;
}

static Term scaled(Derivation &d, const Term &x, unsigned weight, ArrayRef<AffineExpr> dims) {
  return d.op->getNumOperands() > weight ? x * d.x(weight).reshape(dims) : x;
}

/// Of weight and bias, operands `weight` and the next, which have the dims `dims` in x.
static void addAffine(Derivation &d, const Term &normal, unsigned weight,
                      ArrayRef<AffineExpr> dims) {
  if (d.op->getNumOperands() > weight && d.wants(weight))
    d.add(weight, (d.dy() * normal).summedTo(dims).reshape(d.dims(weight)));
  if (d.op->getNumOperands() > weight + 1 && d.wants(weight + 1))
    d.add(weight + 1, d.dy().summedTo(dims).reshape(d.dims(weight + 1)));
}

/// Mean 0 and variance 1 over `axes` of x under `dims`, then weight and bias along `affine`.
static void deriveStandardized(Derivation &d, ArrayRef<AffineExpr> dims, ArrayRef<int64_t> axes,
                               ArrayRef<AffineExpr> affine) {
  auto mean = [&](const Term &x) { return x.call("mean", {itemList(axes), item(true)}); };
  Term x = d.x().reshape(dims), centred = x - mean(x);
  Term inverse = (mean(centred * centred) + d.real("eps", 1e-5)).call("rsqrt");
  Term normal = centred * inverse;
  if (d.wants(0)) {
    Term part = scaled(d, d.dy(), 1, affine).reshape(dims);
    Term dx = inverse * (part - mean(part) - normal * mean(part * normal));
    d.add(0, dx.reshape(d.dims()));
  }
  addAffine(d, normal.reshape(d.dims()), 1, affine);
}

/// The last dims, as many as `normalized_shape` has; weights have those alone.
static SmallVector<int64_t> lastAxes(Derivation &d, dl::Dims &affine) {
  auto rank = static_cast<int64_t>(d.dims().size());
  auto count = static_cast<int64_t>(d.integers("normalized_shape").size());
  affine = d.dims();
  for (int64_t i = 0; i < rank - count; ++i)
    affine[i] = d.dim(1);
  return llvm::to_vector(llvm::seq<int64_t>(rank - count, rank));
}

static void deriveLayerNorm(Derivation &d) {
  dl::Dims affine;
  SmallVector<int64_t> axes = lastAxes(d, affine);
  deriveStandardized(d, d.dims(), axes, affine);
}

static void deriveInstanceNorm(Derivation &d) {
  auto rank = static_cast<int64_t>(d.dims().size());
  deriveStandardized(d, d.dims(), llvm::to_vector(llvm::seq<int64_t>(2, rank)), along(d, 1));
}

static void deriveGroupNorm(Derivation &d) {
  dl::Dims dims = d.dims(), grouped{dims[0], d.dim(d.integer("num_groups", 1))};
  AffineExpr each = dims[1].floorDiv(d.integer("num_groups", 1));
  grouped.push_back(dl::normalize(each));
  grouped.append(dims.begin() + 2, dims.end());
  auto rank = static_cast<int64_t>(grouped.size());
  deriveStandardized(d, grouped, llvm::to_vector(llvm::seq<int64_t>(2, rank)), along(d, 1));
}

static void deriveRmsNorm(Derivation &d) {
  dl::Dims affine;
  SmallVector<int64_t> axes = lastAxes(d, affine);
  auto mean = [&](const Term &x) { return x.call("mean", {itemList(axes), item(true)}); };
  Term inverse = (mean(d.x() * d.x()) + d.real("eps", 0)).call("rsqrt");
  Term normal = d.x() * inverse;
  if (d.wants(0)) {
    Term part = scaled(d, d.dy(), 1, affine);
    d.add(0, inverse * (part - normal * mean(part * normal)));
  }
  addAffine(d, normal, 1, affine);
}

/// By stored statistics: operands are x, mean, variance, and perhaps weight and bias.
static void deriveBatchNorm(Derivation &d) {
  dl::Dims channels = along(d, 1);
  Term inverse = (d.x(2) + d.real("eps", 1e-5)).call("rsqrt").reshape(channels);
  Term normal = (d.x(0) - d.x(1).reshape(channels)) * inverse;
  Term part = scaled(d, d.dy(), 3, channels) * inverse;
  d.add(0, part);
  if (d.wants(1))
    d.add(1, -part.summedTo(channels).reshape(d.dims(1)));
  if (d.wants(2))
    d.add(2, (part * normal * inverse).summedTo(channels).reshape(d.dims(2)) * -0.5);
  addAffine(d, normal, 3, channels);
}

llvm::ArrayRef<DerivativeRule> normalizationDerivatives() {
  static const DerivativeRule rules[] = {
      {"dl.layer_norm", deriveLayerNorm},       {"dl.group_norm", deriveGroupNorm},
      {"dl.instance_norm", deriveInstanceNorm}, {"dl.rms_norm", deriveRmsNorm},
      {"dl.batch_norm", deriveBatchNorm},
  };
  return rules;
}

} // namespace dlc::onnx
