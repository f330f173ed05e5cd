//===- ShapeGradients.cpp - Derivatives of ops that move elements -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

using namespace mlir;

namespace dlc::dl {

static void derive(Derivation &d, ReshapeOp) { d.add(0, d.dy().reshape(d.dims())); }
static void derive(Derivation &d, UnsqueezeOp) { d.add(0, d.dy().reshape(d.dims())); }
static void derive(Derivation &d, SqueezeOp) { d.add(0, d.dy().reshape(d.dims())); }
static void derive(Derivation &d, FlattenOp) { d.add(0, d.dy().reshape(d.dims())); }
static void derive(Derivation &d, BroadcastOp) { d.add(0, d.dy().summedTo(d.dims())); }
static void derive(Derivation &d, ExpandOp) { d.add(0, d.dy().summedTo(d.dims())); }

static void derive(Derivation &d, PermuteOp op) {
  SmallVector<int64_t> back(op.getDims().size());
  for (auto [position, dim] : llvm::enumerate(op.getDims()))
    back[d.axis(dim)] = static_cast<int64_t>(position);
  d.add(0, d.dy().permute(back));
}

static void derive(Derivation &d, TransposeOp op) {
  d.add(0, Term(d.b.transpose(d.dy().value(), d.axis(op.getDim0()), d.axis(op.getDim1())), d.b));
}

static void derive(Derivation &d, FlipOp op) { d.add(0, d.dy().make<FlipOp>(op.getDims())); }

/// Sums `dy` over the `count` repetitions of dim `axis`. The result has `dims`. The repetitions are
/// an outer dim, or an inner one if `isBehind`.
static Term gathered(Derivation &d, const Term &dy, const Dims &dims, int64_t axis, int64_t count,
                     bool isBehind) {
  Dims apart(dims);
  int64_t of = isBehind ? axis + 1 : axis;
  apart.insert(apart.begin() + of, d.dim(count));
  return dy.reshape(apart).sum({of}, /*keepsDims=*/false);
}

static void derive(Derivation &d, RepeatOp op) {
  auto repeats = llvm::to_vector(op.getRepeats());
  Dims dims = d.dims(), now = d.dy().dims();
  if (repeats.size() < dims.size()) // of the last dims
    repeats.insert(repeats.begin(), dims.size() - repeats.size(), 1);
  size_t added = repeats.size() - dims.size();
  Term dx = d.dy();
  for (size_t i = 0; i < repeats.size(); ++i) {
    now[i] = i < added ? d.dim(1) : dims[i - added];
    if (repeats[i] != 1)
      dx = gathered(d, dx, now, static_cast<int64_t>(i), repeats[i], /*isBehind=*/false);
  }
  d.add(0, dx.reshape(dims));
}

static void derive(Derivation &d, RepeatInterleaveOp op) {
  d.add(0, gathered(d, d.dy(), d.dims(), d.axis(op.getDim()), static_cast<int64_t>(op.getRepeats()),
                    /*isBehind=*/true));
}

/// Returns zeros in the dims of x with `dy` from `start` on along `axis`.
static Term placed(Derivation &d, const Term &dy, int64_t axis, AffineExpr start) {
  return dy.padded(axis, start, d.dims()[axis] - start - dy.dims()[axis]);
}

static void derive(Derivation &d, SliceOp op) {
  auto step = static_cast<int64_t>(op.getStep());
  int64_t axis = d.axis(op.getDim()), start = op.getStart().value_or(0);
  AffineExpr size = d.dims()[axis], from = d.dim(start);
  if (start < 0) // of a dim that is shorter, from its begin
    from = asConstant(size) && *asConstant(size) < -start ? d.dim(0) : size + start;
  Term dy = d.dy();
  Dims dims = dy.dims();
  if (isConstant(dims[axis], 0))
    return d.add(0, d.zeros(d.dims()));
  if (step > 1) {
    Dims apart = dims;
    apart.insert(apart.begin() + axis + 1, d.dim(1));
    dims[axis] = normalize(dims[axis] * step);
    dy = dy.reshape(apart).padded(axis + 1, d.dim(0), d.dim(step - 1)).reshape(dims);
  }
  d.add(0, placed(d, dy, axis, from));
}

static void derive(Derivation &d, NarrowOp op) {
  int64_t axis = d.axis(op.getDim());
  AffineExpr start = op.getStart().getResult(0);
  bool isFromEnd = asConstant(start).value_or(0) < 0;
  d.add(0, placed(d, d.dy(), axis, isFromEnd ? d.dims()[axis] + start : start));
}

static void derive(Derivation &d, PartOp op) {
  d.add(0, placed(d, d.dy(), d.axis(op.getDim()), op.getStart().getResult(0)));
}

static void derive(Derivation &d, SelectOp op) {
  int64_t axis = d.axis(op.getDim()), index = op.getIndex();
  Dims one = d.dims();
  AffineExpr at = index < 0 ? one[axis] + index : d.dim(index);
  one[axis] = d.dim(1);
  d.add(0, placed(d, d.dy().reshape(one), axis, at));
}

/// Returns, for each index of the padded dim of `length`, the index of the dim of `size` that it
/// repeats.
static Term shownIndex(Derivation &d, StringRef mode, AffineExpr size, AffineExpr length,
                       AffineExpr low, AffineExpr high) {
  Type i64 = d.b.getI64Type();
  Term index = d.arange(length) - d.size(low, i64), last = d.size(size - 1, i64);
  if (mode == "circular") { // what negative widths leave goes round
    int64_t before = std::min<int64_t>(0, asConstant(low).value_or(0));
    int64_t behind = std::min<int64_t>(0, asConstant(high).value_or(0));
    Term round = d.size(size + before + behind, i64), end = d.size(size + behind - 1, i64);
    return where(index < static_cast<double>(-before), index + round,
                 where(index > end, index - round, index));
  }
  if (mode == "replicate")
    return where(index < 0.0, 0.0, where(index > last, last, index));
  assert(mode == "reflect");
  index = index.make<AbsOp>();
  return last - (last - index).make<AbsOp>();
}

static void derive(Derivation &d, PadOp op) {
  Term dx = d.dy();
  ArrayRef<AffineExpr> widths = op.getPad().getResults();
  for (size_t i = 0; 2 * i < widths.size(); ++i) {
    int64_t axis = d.rank() - 1 - static_cast<int64_t>(i);
    AffineExpr low = widths[2 * i], high = widths[2 * i + 1];
    if (op.getMode() == "constant") {
      dx = dx.padded(axis, -low, -high);
      continue;
    }
    if (isConstant(low, 0) && isConstant(high, 0))
      continue;
    Dims padded = dx.dims(), along(padded.size(), d.dim(1)), dims = padded;
    along[axis] = padded[axis];
    dims[axis] = d.dims()[axis];
    Term index = shownIndex(d, op.getMode(), dims[axis], padded[axis], low, high);
    dx = d.zeros(dims).make<ScatterAddOp>(static_cast<uint64_t>(axis),
                                          index.reshape(along).broadcast(padded), dx);
  }
  d.add(0, dx);
}

static void derive(Derivation &d, CatOp op) {
  int64_t axis = d.axis(op.getDim());
  AffineExpr start = d.dim(0);
  for (unsigned i = 0; i < d.op->getNumOperands(); ++i) {
    AffineExpr length = d.dims(i)[axis];
    if (d.wants(i))
      d.add(i, d.dy().narrowed(axis, start, length));
    start = normalize(start + length);
  }
}

static void derive(Derivation &d, StackOp op) {
  auto dim = static_cast<int64_t>(op.getDim());
  int64_t axis = dim < 0 ? dim + d.rank() + 1 : dim;
  for (unsigned i = 0; i < d.op->getNumOperands(); ++i)
    if (d.wants(i))
      d.add(i, Term(d.b.select(d.dy().value(), axis, static_cast<int64_t>(i)), d.b));
}

static void derive(Derivation &d, DropoutOp) { d.add(0, d.dy()); }

static void derive(Derivation &d, RollOp op) {
  auto back = llvm::map_to_vector(op.getShifts(), [](int64_t shift) { return -shift; });
  d.add(0, d.dy().make<RollOp>(ArrayRef<int64_t>(back), op.getDims()));
}

/// Derives an op that moves elements. To find where each element of the result comes from, the op
/// is applied to the numbers of x's elements, which begin with 1. A 0 in its result means that the
/// element does not come from x.
template <typename Op, typename... Args>
static void deriveMoved(Derivation &d, const Args &...args) {
  AffineExpr count = normalize(product(d.dims(), d.b.getContext()));
  Term numbers = (d.arange(count) + 1.0).reshape(d.dims()).make<Op>(args...) - 1.0;
  Dims flat{normalize(product(d.dy().dims(), d.b.getContext()))};
  Term dx =
      d.zeros({count}).make<ScatterAddOp>(uint64_t(0), numbers.reshape(flat), d.dy().reshape(flat));
  d.add(0, dx.reshape(d.dims()));
}
static void derive(Derivation &d, UnfoldDimOp op) {
  deriveMoved<UnfoldDimOp>(d, op.getDimension(), op.getSize(), op.getStep());
}
static void derive(Derivation &d, DepthToSpaceOp op) {
  deriveMoved<DepthToSpaceOp>(d, op.getBlock(), op.getCrop(), op.getGroups());
}

static void derive(Derivation &d, PixelUnshuffleOp op) {
  deriveMoved<PixelUnshuffleOp>(d, op.getDownscaleFactor());
}

static void derive(Derivation &d, TrilOp op) { d.add(0, d.dy().make<TrilOp>(op.getDiagonal())); }
static void derive(Derivation &d, TriuOp op) { d.add(0, d.dy().make<TriuOp>(op.getDiagonal())); }

ArrayRef<GradientRule> shapeGradients() {
  return rulesOf<ReshapeOp, UnsqueezeOp, SqueezeOp, FlattenOp, BroadcastOp, ExpandOp, PermuteOp,
                 TransposeOp, FlipOp, RepeatOp, RepeatInterleaveOp, SliceOp, NarrowOp, PartOp,
                 SelectOp, PadOp, CatOp, StackOp, DropoutOp, RollOp, UnfoldDimOp, DepthToSpaceOp,
                 PixelUnshuffleOp, TrilOp, TriuOp>();
}

} // namespace dlc::dl
