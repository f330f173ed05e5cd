//===- DLGridSample.cpp - Images read at the places that a grid holds ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body reads the place of its element along each dim first, then the elements around it: one,
// two or four along each dim. All channels share a place.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/window/Interpolation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

/// Dims in front of those that are sampled: N and C.
static constexpr unsigned kOuterDims = 2;
/// Bicubic reads four elements along each dim: 64 of a volume for each of the result.
static constexpr unsigned kMostSpatial = 3;

static unsigned spatialDims(GridSampleOp op) { return typeOf(op.getX()).getRank() - kOuterDims; }

/// Elements that are read along each dim.
static unsigned tapsOf(StringRef mode) {
  return mode == "bicubic" ? 4 : mode == "bilinear" ? 2 : 1;
}

//===- Type -----------------------------------------------------------------------------------===//

LogicalResult GridSampleOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), grid = typeOf(adaptor.getGrid());
  StringRef name = getOperationName(), mode = adaptor.getMode(), padding = adaptor.getPaddingMode();
  if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
    return emitOptionalError(location, "'", name, "' has mode = '", mode,
                             "'; expected 'bilinear', 'nearest' or 'bicubic'");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return emitOptionalError(location, "'", name, "' has padding_mode = '", padding,
                             "'; expected 'zeros', 'border' or 'reflection'");
  Dims image = getDims(x), places = getDims(grid);
  int64_t spatial = x.getRank() - kOuterDims;
  if (spatial < 1 || spatial > kMostSpatial || grid.getRank() != x.getRank() ||
      !isConstant(places.back(), spatial) || places[0] != image[0])
    return emitOptionalError(
        location, "'", name,
        "' needs x [N, C, H, W] and a grid [N, ..., 2] of the same N, or [N, C, "
        "L] and [N, ..., 1], or [N, C, D, H, W] and [N, ..., 3], got ",
        text(adaptor.getX()), " and ", text(adaptor.getGrid()));
  if (tapsOf(mode) > 1 && !isa<FloatType>(x.getElementType()))
    return emitOptionalError(location, "'", name, "' in mode '", mode, "' needs floats, got ",
                             text(adaptor.getX()));
  for (AffineExpr dim : ArrayRef(image).drop_front(kOuterDims))
    if (isConstant(dim, 0))
      return emitOptionalError(location, "'", name, "' of ", text(adaptor.getX()),
                               ", which is empty");
  Dims dims(image.begin(), image.begin() + kOuterDims);
  dims.append(places.begin() + 1, places.end() - 1);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

//===- Places ---------------------------------------------------------------------------------===//

namespace {
/// Where a point of the grid lies along one of the sampled dims, counted from 0. All numbers are
/// scalars, in the compute type of the grid: the lanes of vectors are channels.
struct GridPlace {
  mutable GridSampleOp op; // accessors of ops are not const
  BodyContext &context;
  unsigned axis;
  Value read; // of the grid, -1 to 1

  Scalar number(Value value) const {
    return {context.builder, context.loc, value, ScalarKind::floating};
  }
  /// Elements of the dim.
  Scalar size() const {
    Type i64 = context.builder.getI64Type();
    Value extent = arith::IndexCastOp::create(context.builder, context.loc, i64,
                                              context.extent(dimsOf(op.getX())[kOuterDims + axis]));
    return Scalar(context.builder, context.loc, extent, ScalarKind::signedInt)
        .convertTo(grid().elementType(), ScalarKind::floating);
  }
  Scalar grid() const { return number(context.lane(read)); }
  bool aligns() const { return op.getAlignCorners().value_or(false); }

  Scalar place() const {
    Scalar from0 = select(isNan(grid()), 0.0, grid() + 1.0);
    if (aligns())
      return from0 / 2.0 * (size() - 1.0);
    return (from0 * size() - 1.0) / 2.0;
  }
  /// Mirrored at both ends until it lies between.
  Scalar reflected(Scalar at) const {
    const double low = aligns() ? 0.0 : -0.5;
    Scalar span = aligns() ? size() - 1.0 : size();
    Scalar distance = abs(at - low), times = floor(distance / span);
    Scalar rest = distance - times * span;
    Scalar isOdd = times - floor(times / 2.0) * 2.0 == 1.0;
    Scalar mirrored = select(isOdd, span - rest, rest) + low;
    return select(span <= 0.0, 0.0, mirrored);
  }
  /// The place after padding; with zeros, at most an element or two outside of the image.
  Scalar bounded(Scalar at) const {
    if (op.getPaddingMode() == "zeros")
      return min(max(at, -3.0), size() + 1.0);
    if (op.getPaddingMode() == "reflection")
      at = reflected(at);
    return min(max(at, 0.0), size() - 1.0);
  }
  /// The place whose neighbours are read.
  Scalar middle() const {
    const unsigned taps = tapsOf(op.getMode());
    if (taps == 1)
      return round(bounded(place()));
    // Each neighbour of a cubic is bounded by itself.
    return taps == 2 ? bounded(place()) : min(max(place(), -kFar), kFar);
  }
  /// The index of neighbour `tap`.
  Scalar index(unsigned tap) const {
    const unsigned taps = tapsOf(op.getMode());
    Scalar at = floor(middle());
    if (taps == 4)
      at = bounded(at + (static_cast<double>(tap) - 1.0));
    else if (tap != 0)
      at = at + 1.0;
    return at.convertTo(context.builder.getI64Type(), ScalarKind::signedInt);
  }
  SmallVector<Scalar, 4> weights() const {
    Scalar at = middle(), part = at - floor(at);
    if (tapsOf(op.getMode()) == 4)
      return cubicWeights(part);
    return {1.0 - part, part};
  }

  /// Beyond it floats have no fractions that count.
  static constexpr double kFar = 0x1p30;
};
} // namespace

//===- Loops ----------------------------------------------------------------------------------===//

LoopNest GridSampleOp::getLoopNest() {
  MLIRContext *context = getContext();
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size(), spatial = spatialDims(*this), taps = tapsOf(getMode());
  nest.indexDims.resize(rank);
  SmallVector<AffineExpr> loops = loopsOf(context, 0, rank);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(rank, kMaxSymbols, results, context);
  };
  SmallVector<AffineExpr> point = {loops[0]};
  point.append(loops.begin() + kOuterDims, loops.end());
  point.push_back(nullptr);
  for (unsigned axis = 0; axis < spatial; ++axis) {
    // The last number of a point is that of the first dim.
    point.back() = constantDim(spatial - 1 - axis, context);
    nest.results.push_back({1, map(point)});
  }
  SmallVector<AffineExpr> element(kOuterDims + spatial, constantDim(0, context));
  element[0] = loops[0], element[1] = loops[1];
  llvm::SmallBitVector computed(kOuterDims + spatial);
  computed.set(kOuterDims, kOuterDims + spatial);
  unsigned neighbours = 1;
  for (unsigned axis = 0; axis < spatial; ++axis)
    neighbours *= taps;
  for (unsigned neighbour = 0; neighbour < neighbours; ++neighbour)
    nest.results.push_back({0, map(element), /*checked=*/true, 0.0, computed});
  return nest;
}

/// The digits of the number of a neighbour, to the base of the taps, tell which one it is along
/// each axis.
Value GridSampleOp::emitCoordinate(BodyContext &context, bool, unsigned access, unsigned dim,
                                   ValueRange earlier) {
  unsigned axis = dim - kOuterDims, tap = access - spatialDims(*this);
  for (unsigned i = 0; i < axis; ++i)
    tap /= tapsOf(getMode());
  Scalar index = GridPlace{*this, context, axis, earlier[axis]}.index(tap % tapsOf(getMode()));
  return arith::IndexCastOp::create(context.builder, context.loc, context.builder.getIndexType(),
                                    index.value());
}

Value GridSampleOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  const unsigned spatial = spatialDims(*this), taps = tapsOf(getMode());
  if (taps == 1)
    return args[spatial];
  auto number = [&](Value value) {
    return Scalar(context.builder, context.loc, value, ScalarKind::floating);
  };
  auto shape = dyn_cast<VectorType>(args[spatial].getType());
  SmallVector<Scalar> values;
  for (Value arg : args.drop_front(spatial))
    values.push_back(number(arg));
  // The last dim first: each of its neighbours is an equal part of the values.
  for (unsigned axis = spatial; axis-- > 0;) {
    SmallVector<Scalar, 4> weights;
    for (Scalar weight : GridPlace{*this, context, axis, args[axis]}.weights()) {
      Value value = weight.convertTo(values.front().elementType(), ScalarKind::floating).value();
      weights.push_back(number(shape ? context.splat(value, shape) : value));
    }
    sumNeighbours(values, weights);
  }
  return values.front().value();
}

} // namespace dlc::dl
