//===- IndexGradients.cpp - Derivatives of reads at positions that a tensor holds ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element that was read several times gets the sum of the gradients. Positions outside the
// tensor read NaN; they contribute to no gradient.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

using namespace mlir;

namespace dlc::dl {

/// Returns zeros of `dims` with `dy` added along `axis` at the positions in `index`. `index` has
/// the dims of `dy`.
static Term scattered(Derivation &d, const Dims &dims, const Term &dy, int64_t axis,
                      const Term &index) {
  Term zeros(d.b.full(dims, dy.dtype(), 0), d.b);
  return zeros.make<ScatterAddOp>(static_cast<uint64_t>(axis), index, dy);
}

static void derive(Derivation &d, GatherOp op) {
  d.add(0, scattered(d, d.dims(), d.dy(), d.axis(op.getDim()), d.x(1)));
}

/// Turns negative positions, which count from the end of a dim of `size`, into others.
static Term fromFront(Derivation &d, const Term &index, AffineExpr size) {
  return where(index < 0.0, index + d.size(size, index.dtype()), index);
}

static void derive(Derivation &d, TakeAlongDimOp op) {
  int64_t axis = d.axis(op.getDim());
  Dims all = d.dy().dims(), zeros = all;
  zeros[axis] = d.dims()[axis]; // x may be repeated along the other dims
  Term dx = scattered(d, zeros, d.dy(), axis, fromFront(d, d.x(1), zeros[axis]).broadcast(all));
  d.add(0, dx.summedTo(d.dims()));
}

static void derive(Derivation &d, IndexSelectOp op) {
  int64_t axis = d.axis(op.getDim());
  Dims all = d.dy().dims(), along(all.size(), d.dim(1));
  along[axis] = all[axis];
  d.add(0, scattered(d, d.dims(), d.dy(), axis, d.x(1).reshape(along).broadcast(all)));
}

/// Returns the gradient of a table whose rows were read. Positions in `index` count from the front.
static Term scatteredRows(Derivation &d, const Dims &dims, const Term &index) {
  Dims rows(dims), along(dims.size(), d.dim(1));
  rows[0] = along[0] = normalize(product(index.dims(), d.b.getContext()));
  return scattered(d, dims, d.dy().reshape(rows), 0, index.reshape(along).broadcast(rows));
}

static void derive(Derivation &d, IndexOp) {
  d.add(0, scatteredRows(d, d.dims(), fromFront(d, d.x(1), d.dims()[0])));
}

/// The row `padding_idx` is not trained.
static void derive(Derivation &d, EmbeddingOp op) {
  if (!d.wants(1))
    return;
  Dims dims = d.dims(1), column{dims[0], d.dim(1)};
  Term rows = scatteredRows(d, dims, d.x(0));
  if (std::optional<int64_t> padding = op.getPaddingIdx()) {
    AffineExpr row = *padding < 0 ? normalize(dims[0] + *padding) : d.dim(*padding);
    Term positions = d.arange(dims[0]), padded = d.size(row, positions.dtype());
    rows = where((positions < padded).reshape(column).broadcast(dims), rows,
                 where((positions > padded).reshape(column).broadcast(dims), rows, 0.0));
  }
  d.add(1, rows);
}

/// Returns the gradient of src: `dy` at the position of each element, and 0 if that lies outside.
static Term gathered(Derivation &d, const Term &dy, int64_t axis) {
  Term index = d.x(1), isInside = index < d.size(d.dims()[axis], index.dtype());
  return where(index < 0.0, 0.0,
               where(isInside, dy.make<GatherOp>(index, static_cast<uint64_t>(axis)), 0.0));
}

/// The result is x with src added at the positions.
static void derive(Derivation &d, ScatterAddOp op) {
  d.add(0, d.dy());
  if (d.wants(2))
    d.add(2, gathered(d, d.dy(), d.axis(op.getDim())));
}

/// Returns `x` with zeros at the positions.
static Term zeroed(Derivation &d, const Term &x, int64_t axis) {
  return x.make<ScatterOp>(static_cast<uint64_t>(axis), d.x(1), Value(), d.b.getF64FloatAttr(0),
                           StringAttr());
}

/// The result is x with src written at the positions. If several values are written at one place,
/// each of them gets the gradient of the place, as in PyTorch.
static void derive(Derivation &d, ScatterOp op) {
  if (op.getReduce())
    return d.refuse("'scatter' by " + *op.getReduce(), "; dlc knows that without reduce");
  int64_t axis = d.axis(op.getDim());
  if (d.wants(0))
    d.add(0, zeroed(d, d.dy(), axis));
  if (d.wants(2))
    d.add(2, gathered(d, d.dy(), axis));
}

/// Derives a mean, a maximum or a minimum. The elements that count get equal shares.
static void deriveShares(Derivation &d, ScatterReduceOp op, int64_t axis) {
  auto counts = [&](const Term &elements, const Term &result) {
    return op.getReduce() == "mean" ? Term(d.b.fullLike(elements.value(), 1), d.b)
                                    : elements.equals(result).cast(d.dtype());
  };
  Term ofX = counts(d.x(), d.y()), ofSrc = counts(d.x(2), gathered(d, d.y(), axis));
  if (!op.getIncludeSelf())
    ofX = zeroed(d, ofX, axis);
  Term count = ofX.make<ScatterAddOp>(static_cast<uint64_t>(axis), d.x(1), ofSrc);
  Term share = d.dy() / where(count.equals(0.0), 1.0, count);
  d.add(0, ofX * share);
  if (d.wants(2))
    d.add(2, ofSrc * gathered(d, share, axis));
}

static void derive(Derivation &d, ScatterReduceOp op) {
  int64_t axis = d.axis(op.getDim());
  StringRef reduce = op.getReduce();
  if (reduce == "prod")
    return d.refuse("'scatter_reduce' by prod", "; dlc knows those by sum, mean, amax and amin");
  if (reduce != "sum")
    return deriveShares(d, op, axis);
  d.add(0, op.getIncludeSelf() ? d.dy() : zeroed(d, d.dy(), axis));
  if (d.wants(2))
    d.add(2, gathered(d, d.dy(), axis));
}

/// The values of topk stand where its positions say.
static void derive(Derivation &d, TopkOp op) {
  d.add(0, scattered(d, d.dims(), d.dy(), d.axis(op.getDim()), d.y(1)));
}

ArrayRef<GradientRule> indexGradients() {
  return rulesOf<GatherOp, TakeAlongDimOp, IndexSelectOp, IndexOp, EmbeddingOp, ScatterAddOp,
                 ScatterOp, ScatterReduceOp, TopkOp>();
}

} // namespace dlc::dl
