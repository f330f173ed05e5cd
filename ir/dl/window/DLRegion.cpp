//===- DLRegion.cpp - Ops over regions of images ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both are loops over the bins of regions and over what may lie in one: all points, or all elements
// of the image. A box says which of them do, so that schedules can leave out the others
// (LoopNest::spanned). All channels of a bin share its places.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

/// Images [N, C, H, W], regions [K, 5] of the same dtype, bins in two dims. The result [K, C,
/// bins...].
template <typename Op>
static std::optional<Dims> inferRegions(std::optional<Location> location,
                                        typename Op::Adaptor adaptor) {
  StringRef name = Op::getOperationName();
  auto x = typeOf(adaptor.getX()), boxes = typeOf(adaptor.getBoxes());
  if (failed(checkSameElement(location, name, {adaptor.getX(), adaptor.getBoxes()})))
    return std::nullopt;
  ArrayRef<int64_t> size = adaptor.getOutputSize();
  if (x.getRank() != 4 || boxes.getRank() != 2 || !isConstant(getDims(boxes)[1], 5) ||
      size.size() != 2 || size[0] < 1 || size[1] < 1) {
    (void)emitOptionalError(location, "'", name,
                            "' needs x [N, C, H, W], boxes [K, 5] and an output_size of two "
                            "numbers of at least 1, got ",
                            text(adaptor.getX()), " and ", text(adaptor.getBoxes()));
    return std::nullopt;
  }
  return Dims{getDims(boxes)[0], getDims(x)[1], constantDim(size[0], x.getContext()),
              constantDim(size[1], x.getContext())};
}

//===- Regions --------------------------------------------------------------------------------===//

/// What every body reads first: the number of an image, x1, y1, x2, y2.
static constexpr unsigned kBoxReads = 5;
/// Loops over the bins of a region, down and to the right; those over what may lie in a bin.
static constexpr unsigned kBinLoops = 2, kInsideLoops = 4;

/// Loops over the result [K, C, bins...] and over what lies `inside` of a bin; terms begin with the
/// reads of a box.
static LoopNest regionNest(Operation *op, const Dims &inside, Combiner combiner) {
  MLIRContext *context = op->getContext();
  LoopNest nest;
  nest.parallel = dimsOf(op->getResult(0));
  nest.reduction = inside;
  nest.stages = {combiner};
  nest.indexDims.resize(nest.numLoops());
  nest.indexDims.set(kBinLoops, nest.numLoops());
  auto boxReads = [&](unsigned numLoops) {
    SmallVector<Access, 4> reads;
    for (unsigned i = 0; i < kBoxReads; ++i)
      reads.push_back(
          {1, AffineMap::get(numLoops, kMaxSymbols,
                             {getAffineDimExpr(0, context), constantDim(i, context)}, context)});
    return reads;
  };
  nest.terms = boxReads(nest.numLoops());
  nest.results = boxReads(nest.parallel.size());
  nest.spanReads = nest.results;
  return nest;
}

/// A read of the channel's elements; of the image and of `computed` dims emitCoordinate gives
/// indices that lie inside.
static Access imageRead(const LoopNest &nest, Value x, ArrayRef<unsigned> computed) {
  MLIRContext *context = x.getContext();
  Dims dims = dimsOf(x);
  SmallVector<AffineExpr> map = {constantDim(0, context), getAffineDimExpr(1, context),
                                 getAffineDimExpr(kInsideLoops, context),
                                 getAffineDimExpr(kInsideLoops + 1, context)};
  llvm::SmallBitVector isComputed(dims.size());
  for (unsigned dim : computed) {
    map[dim] = constantDim(0, context);
    isComputed.set(dim);
  }
  // No index lies inside of a symbolic dim that turns out to be empty.
  bool isChecked = llvm::any_of(
      isComputed.set_bits(), [&](unsigned dim) { return asConstant(dims[dim]).value_or(0) < 1; });
  return {0, AffineMap::get(nest.numLoops(), kMaxSymbols, map, context), isChecked,
          std::numeric_limits<double>::quiet_NaN(), isComputed};
}

namespace {
/// What a body knows of a region. All numbers are scalars: the lanes of vectors are channels.
struct Region {
  BodyContext &context;
  Value x;
  SmallVector<Scalar, kBoxReads> box;
  double scale;

  Region(BodyContext &context, Value x, ValueRange reads, const APFloat &scale)
      : context(context), x(x), scale(scale.convertToDouble()) {
    for (Value read : reads.take_front(kBoxReads))
      box.emplace_back(context.builder, context.loc, context.lane(read), ScalarKind::floating);
  }

  /// Coordinates along `axis`, 0 down and 1 to the right.
  Scalar first(unsigned axis) const { return box[2 - axis] * scale; }
  Scalar last(unsigned axis) const { return box[4 - axis] * scale; }

  Scalar integer(Value index) const {
    Type i64 = context.builder.getI64Type();
    return {context.builder, context.loc,
            arith::IndexCastOp::create(context.builder, context.loc, i64, index),
            ScalarKind::signedInt};
  }
  Scalar integer(Scalar real) const {
    return real.convertTo(context.builder.getI64Type(), ScalarKind::signedInt);
  }
  /// An index value as a number like those of the box.
  Scalar real(Value index) const {
    return integer(index).convertTo(box.front().elementType(), ScalarKind::floating);
  }
  Value index(Scalar integer) const {
    return arith::IndexCastOp::create(context.builder, context.loc, context.builder.getIndexType(),
                                      integer.value());
  }
  /// Elements of a dim of the images.
  Value extent(unsigned dim) const { return context.extent(dimsOf(x)[dim]); }
  /// The index of the image nearest to the region's; it is that one where there is such an image.
  Value image() const { return index(max(min(integer(box[0]), integer(extent(0)) - 1.0), 0.0)); }
  Scalar hasImage() const {
    Scalar number = integer(box[0]);
    return (number >= 0.0) & (number < integer(extent(0)));
  }
};
} // namespace

/// A scalar as what meets `like`.
static Scalar spread(BodyContext &context, Scalar scalar, Value like) {
  auto shape = dyn_cast<VectorType>(like.getType());
  return shape ? Scalar(context.builder, context.loc, context.splat(scalar.value(), shape),
                        scalar.getKind())
               : scalar;
}

static Scalar floating(BodyContext &context, Value value) {
  return {context.builder, context.loc, value, ScalarKind::floating};
}

//===- roi_align ------------------------------------------------------------------------------===//

LogicalResult RoiAlignOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto dims = inferRegions<RoiAlignOp>(location, adaptor);
  if (!dims)
    return failure();
  if (adaptor.getMode() != "avg" && adaptor.getMode() != "max")
    return emitOptionalError(location, "'", getOperationName(), "' has mode = '", adaptor.getMode(),
                             "'; expected 'avg' or 'max'");
  types.push_back(makeTensor(*dims, typeOf(adaptor.getX()).getElementType()));
  return success();
}

namespace {
/// The points of a bin along one axis.
struct RegionPoints {
  RoiAlignOp op;
  const Region &region;
  unsigned axis;

  bool isGiven() { return static_cast<int64_t>(op.getSamplingRatio()) > 0; }
  double offset() { return op.getAligned() ? 0.5 : 0.0; }
  Scalar begin() { return region.first(axis) - offset(); }
  /// The length of a bin.
  Scalar bin() {
    Scalar length = region.last(axis) - offset() - begin();
    if (!op.getAligned())
      length = max(length, 1.0);
    return length / static_cast<double>(op.getOutputSize()[axis]);
  }
  Scalar count() {
    return isGiven() ? region.box.front().constant(static_cast<double>(op.getSamplingRatio()))
                     : ceil(bin());
  }
  Scalar step() { return bin() / max(count(), 1.0); }
  Scalar last() { return region.real(region.extent(2 + axis)) - 1.0; }
  /// Where the bin of the loops begins.
  Scalar origin() {
    return begin() + region.real(region.context.parallel[kBinLoops + axis]) * bin();
  }
  Scalar placeOf(Scalar number) { return origin() + (number + 0.5) * step(); }
  /// The number of the point at `place`, with a fraction.
  Scalar numberAt(Scalar place) { return (place - origin()) / step() - 0.5; }
  /// Points before the image, but for one at most: they add nothing and are left out.
  Scalar skipped() { return min(max(floor(numberAt(last().constant(-1.0))), 0.0), count()); }
  /// The points that are left, up to one after the image at least.
  Scalar visited() { return min(ceil(numberAt(last() + 1.0)) + 1.0, count()) - skipped(); }
  /// Whether the bin has points beyond the image.
  Scalar isCut() {
    return (placeOf(last().constant(0.0)) < -1.0) | (placeOf(count() - 1.0) > last() + 1.0);
  }
  // The methods below describe the point that the loops are at.

  Scalar number() {
    Scalar at = region.real(region.context.reduction[axis]);
    return isGiven() ? at : at + skipped();
  }
  Scalar place() { return placeOf(number()); }
  /// The element before the point; the first and last one serve a bit beyond.
  Scalar low() { return min(floor(max(place(), 0.0)), last()); }
  /// The share of the element behind the point.
  Scalar highShare() { return select(low() >= last(), 0.0, max(place(), 0.0) - low()); }
  /// At most an element outside the image.
  Scalar isInside() {
    Scalar at = place();
    return (at >= -1.0) & (at <= last() + 1.0);
  }
  Scalar isCounted() { return number() < count(); }
};
} // namespace

/// Points that a bin visits beyond two for each element of the image: points are more than half an
/// element apart.
static constexpr int64_t kMostOutside = 5;

LoopNest RoiAlignOp::getLoopNest() {
  Dims points;
  bool isGiven = static_cast<int64_t>(getSamplingRatio()) > 0;
  for (unsigned axis = 0; axis < 2; ++axis)
    points.push_back(isGiven ? constantDim(getSamplingRatio(), getContext())
                             : normalize(dimsOf(getX())[2 + axis] * 2 + kMostOutside));
  LoopNest nest = regionNest(*this, points, getMode() == "max" ? Combiner::max : Combiner::add);
  for (unsigned corner = 0; corner < 4; ++corner)
    nest.terms.push_back(imageRead(nest, getX(), {0, 2, 3}));
  nest.spanned.resize(points.size(), !isGiven);
  return nest;
}

/// Bit 1 of a corner's number says below the point, bit 0 to its right.
Value RoiAlignOp::emitCoordinate(BodyContext &context, bool, unsigned access, unsigned dim,
                                 ValueRange earlier) {
  Region region(context, getX(), earlier, getSpatialScale());
  if (dim == 0)
    return region.image();
  RegionPoints points{*this, region, dim - 2};
  Scalar at = points.low();
  if ((access - kBoxReads) >> (3 - dim) & 1)
    at = min(at + 1.0, points.last());
  return region.index(region.integer(at));
}

Value RoiAlignOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  Region region(context, getX(), args, getSpatialScale());
  ValueRange corners = args.drop_front(kBoxReads);
  RegionPoints y{*this, region, 0}, x{*this, region, 1};
  bool isMax = getMode() == "max";
  Scalar down = y.highShare(), right = x.highShare();
  Scalar shares[] = {(1.0 - down) * (1.0 - right), (1.0 - down) * right, down * (1.0 - right),
                     down * right};
  auto weighed = [&](unsigned corner) {
    return spread(context, shares[corner], corners[corner]) * floating(context, corners[corner]);
  };
  Scalar value = weighed(0);
  for (unsigned corner = 1; corner < 4; ++corner)
    value = isMax ? max(value, weighed(corner)) : value + weighed(corner);
  value =
      select(region.hasImage(), value, value.constant(std::numeric_limits<double>::quiet_NaN()));
  value = select(y.isInside() & x.isInside(), value, value.constant(0));
  if (y.isGiven())
    return value.value();
  // What is no point adds nothing and never wins.
  return select(y.isCounted() & x.isCounted(), value, isMax ? value.lowest() : value.constant(0))
      .value();
}

Span RoiAlignOp::emitSpan(BodyContext &context, unsigned loop, ValueRange args) {
  Region region(context, getX(), args, getSpatialScale());
  RegionPoints points{*this, region, loop};
  Scalar most = region.integer(context.extent(getLoopNest().reduction[loop]));
  Scalar count = max(min(region.integer(points.visited()), most), 0.0);
  return {region.index(count.constant(0)), region.index(count)};
}

Value RoiAlignOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  Region region(context, getX(), args, getSpatialScale());
  RegionPoints y{*this, region, 0}, x{*this, region, 1};
  Scalar total = floating(context, accs.front());
  if (getMode() != "max")
    return (total / spread(context, max(y.count() * x.count(), 1.0), total.value())).value();
  // Points beyond the image are 0, and so is a bin without points.
  if (!y.isGiven()) {
    total = select(y.isCut() | x.isCut(), max(total, 0.0), total);
    total = select((y.count() > 0.0) & (x.count() > 0.0), total, total.constant(0));
  }
  return total.value();
}

//===- roi_pool -------------------------------------------------------------------------------===//

LogicalResult RoiPoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto dims = inferRegions<RoiPoolOp>(location, adaptor);
  if (!dims)
    return failure();
  types.push_back(makeTensor(*dims, typeOf(adaptor.getX()).getElementType()));
  return success();
}

namespace {
/// The elements of a bin along one axis, in whole numbers: where they begin, and the first one
/// behind.
struct RegionBin {
  RoiPoolOp op;
  const Region &region;
  unsigned axis;

  /// To the nearest integer, halves away from 0.
  Scalar rounded(Scalar x) {
    Scalar size = abs(x), whole = floor(size);
    Scalar nearest = select(size - whole >= 0.5, whole + 1.0, whole);
    return region.integer(select(x < 0.0, -nearest, nearest));
  }
  Scalar edge(Scalar number, double more) {
    Scalar first = rounded(region.first(axis));
    Scalar size = max(rounded(region.last(axis)) - first + 1.0, 1.0);
    auto bins = static_cast<double>(op.getOutputSize()[axis]);
    Scalar at = divFloor(number * size + more, number.constant(bins)) + first;
    return min(max(at, 0.0), region.integer(region.extent(2 + axis)));
  }
  Scalar number() { return region.integer(region.context.parallel[kBinLoops + axis]); }
  Scalar begin() { return edge(number(), 0); }
  Scalar end() { return edge(number() + 1.0, static_cast<double>(op.getOutputSize()[axis]) - 1); }
  Scalar isEmpty() { return begin() >= end(); }
  /// Of the element that the loops stand at.
  Scalar isInside() {
    Scalar at = region.integer(region.context.reduction[axis]);
    return (at >= begin()) & (at < end());
  }
};
} // namespace

LoopNest RoiPoolOp::getLoopNest() {
  Dims image = dimsOf(getX());
  LoopNest nest = regionNest(*this, {image[2], image[3]}, Combiner::max);
  nest.terms.push_back(imageRead(nest, getX(), {0}));
  nest.spanned.resize(2, true);
  return nest;
}

Value RoiPoolOp::emitCoordinate(BodyContext &context, bool, unsigned, unsigned,
                                ValueRange earlier) {
  return Region(context, getX(), earlier, getSpatialScale()).image();
}

Value RoiPoolOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  Region region(context, getX(), args, getSpatialScale());
  RegionBin y{*this, region, 0}, x{*this, region, 1};
  Scalar value = floating(context, args.back());
  value =
      select(region.hasImage(), value, value.constant(std::numeric_limits<double>::quiet_NaN()));
  return select(y.isInside() & x.isInside(), value, value.lowest()).value();
}

Span RoiPoolOp::emitSpan(BodyContext &context, unsigned loop, ValueRange args) {
  Region region(context, getX(), args, getSpatialScale());
  RegionBin bin{*this, region, loop};
  return {region.index(bin.begin()), region.index(bin.end())};
}

Value RoiPoolOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  Region region(context, getX(), args, getSpatialScale());
  RegionBin y{*this, region, 0}, x{*this, region, 1};
  Scalar largest = floating(context, accs.front());
  return select(y.isEmpty() | x.isEmpty(), largest.constant(0), largest).value();
}

} // namespace dlc::dl
