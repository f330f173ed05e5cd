//===- DLRegion.cpp - Ops over regions of images ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLBuilder.h"
#include "ir/dl/DLContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

/// Images [N, C, H, W], regions [K, 5] of the same dtype, bins in two dims. The result [K, C, bins...].
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
                            text(x), " and ", text(boxes));
    return std::nullopt;
  }
  return Dims{getDims(boxes)[0], getDims(x)[1], constantDim(size[0], x.getContext()),
              constantDim(size[1], x.getContext())};
}

//===- roi_align ----------------------------------------------------------------------------------===//

LogicalResult RegionSamplesOp::inferReturnTypes(MLIRContext *context,
                                                std::optional<Location> location, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  auto dims = inferRegions<RegionSamplesOp>(location, adaptor);
  if (!dims)
    return failure();
  if (adaptor.getMode() != "avg" && adaptor.getMode() != "max")
    return emitOptionalError(location, "'", getOperationName(), "' has mode = '", adaptor.getMode(),
                             "'; expected 'avg' or 'max'");
  for (unsigned i = 0; i < 2; ++i) {
    AffineExpr most = dimsOf(adaptor.getX())[2 + i].floorDiv(adaptor.getOutputSize()[i]) + 1;
    auto ratio = static_cast<int64_t>(adaptor.getSamplingRatio());
    dims->push_back(ratio > 0 ? constantDim(ratio, context) : normalize(most));
  }
  types.push_back(makeTensor(*dims, typeOf(adaptor.getX()).getElementType()));
  return success();
}

namespace {
/// What a body knows of one dim of a point: where it stands, and whether it is one at all.
struct RegionPoint {
  RegionSamplesOp op;
  BodyContext &context;
  ValueRange box;
  unsigned axis; // 0: down, 1: to the right

  Scalar scalar(Value value) const {
    return {context.builder, context.loc, value, ScalarKind::floating};
  }
  /// An index value as a number like those of the box.
  Scalar number(Value index) const {
    Value integer = arith::IndexCastOp::create(context.builder, context.loc,
                                               context.builder.getI64Type(), index);
    Scalar like = scalar(box.front());
    Value real = Scalar(context.builder, context.loc, integer, ScalarKind::signedInt)
                     .convertTo(like.elementType(), ScalarKind::floating)
                     .value();
    if (auto vector = dyn_cast<VectorType>(like.value().getType()))
      real = context.splat(real, vector);
    return scalar(real);
  }
  bool isGiven() { return static_cast<int64_t>(op.getSamplingRatio()) > 0; }
  Scalar begin() {
    return scalar(box[2 - axis]) * scale() - offset(); // x1, y1, x2, y2 behind the image's number
  }
  double scale() { return op.getSpatialScale().convertToDouble(); }
  double offset() { return op.getAligned() ? 0.5 : 0.0; }
  /// The length of a bin.
  Scalar bin() {
    Scalar length = scalar(box[4 - axis]) * scale() - offset() - begin();
    if (!op.getAligned())
      length = max(length, 1.0);
    return length / static_cast<double>(op.getOutputSize()[axis]);
  }
  Scalar count() {
    return isGiven() ? scalar(box.front()).constant(static_cast<double>(op.getSamplingRatio()))
                     : ceil(bin());
  }
  Scalar last() { return number(context.extent(dimsOf(op.getX())[2 + axis])) - 1.0; }
  Scalar place() {
    Scalar step = bin() / max(count(), 1.0);
    return begin() + number(context.parallel[2 + axis]) * bin() +
           (number(context.parallel[4 + axis]) + 0.5) * step;
  }
  /// The element before the point; the first and last one serve a bit beyond.
  Scalar low() { return min(floor(max(place(), 0.0)), last()); }
  /// The share of the element behind the point.
  Scalar highShare() { return select(low() >= last(), 0.0, max(place(), 0.0) - low()); }
  /// At most an element outside the image.
  Scalar isInside() {
    Scalar at = place();
    return (at >= -1.0) & (at <= last() + 1.0);
  }
  /// Among the points of its bin.
  Scalar isCounted() { return number(context.parallel[4 + axis]) < count(); }
};
} // namespace

static constexpr unsigned kBoxReads =
    5; // image, x1, y1, x2, y2; then four elements around the point

LoopNest RegionSamplesOp::getLoopNest() {
  MLIRContext *context = getContext();
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  nest.indexDims.set(2, rank);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(rank, kMaxSymbols, results, context);
  };
  AffineExpr region = getAffineDimExpr(0, context), channel = getAffineDimExpr(1, context),
             zero = constantDim(0, context);
  for (unsigned i = 0; i < kBoxReads; ++i)
    nest.results.push_back({1, map({region, constantDim(i, context)})});
  llvm::SmallBitVector computed(4, true);
  computed.reset(1);
  for (unsigned corner = 0; corner < 4; ++corner)
    nest.results.push_back({0, map({zero, channel, zero, zero}), /*checked=*/true,
                            std::numeric_limits<double>::quiet_NaN(), computed});
  return nest;
}

/// Bit 1 of a corner's number says below the point, bit 0 to its right.
Value RegionSamplesOp::emitCoordinate(BodyContext &context, bool, unsigned access, unsigned dim,
                                      ValueRange earlier) {
  OpBuilder &builder = context.builder;
  Type i64 = builder.getI64Type();
  ValueRange box = earlier.take_front(kBoxReads);
  if (dim == 0)
    return emitPosition(context, box.front(), getBoxes(), getX(), 0, /*wraps=*/false);
  RegionPoint point{*this, context, box, dim - 2};
  Scalar at = point.low();
  if ((access - kBoxReads) >> (3 - dim) & 1)
    at = min(at + 1.0, point.last());
  return arith::IndexCastOp::create(builder, context.loc, builder.getIndexType(),
                                    at.convertTo(i64, ScalarKind::signedInt).value());
}

Value RegionSamplesOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  ValueRange box = args.take_front(kBoxReads), corners = args.drop_front(kBoxReads);
  RegionPoint y{*this, context, box, 0}, x{*this, context, box, 1};
  bool isMax = getMode() == "max";
  Scalar down = y.highShare(), right = x.highShare();
  Scalar shares[] = {(1.0 - down) * (1.0 - right), (1.0 - down) * right, down * (1.0 - right),
                     down * right};
  Scalar value = shares[0] * y.scalar(corners[0]);
  for (unsigned corner = 1; corner < 4; ++corner) {
    Scalar term = shares[corner] * y.scalar(corners[corner]);
    value = isMax ? max(value, term) : value + term;
  }
  value = select(y.isInside() & x.isInside(), value, 0.0);
  if (isMax) {
    if (y.isGiven())
      return value.value();
    // What is no point never wins; of a bin without points the result is 0.
    Scalar hasPoints = (y.count() > 0.0) & (x.count() > 0.0);
    Scalar other = select(hasPoints, value.lowest(), value.constant(0));
    return select(y.isCounted() & x.isCounted(), value, other).value();
  }
  value = value / max(y.count() * x.count(), 1.0);
  if (!y.isGiven())
    value = select(y.isCounted() & x.isCounted(), value, 0.0);
  return value.value();
}

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

SmallVector<Value> RoiAlignOp::decompose(Builder &b) {
  // Shares of 16-bit floats are rounded once, when they are all there.
  Type dtype = typeOf(getX()).getElementType(), compute = computeType(dtype);
  Value points = b.make<RegionSamplesOp>(b.cast(getX(), compute), b.cast(getBoxes(), compute),
                                         getOutputSizeAttr(), getSpatialScaleAttr(),
                                         getSamplingRatioAttr(), getAlignedAttr(), getModeAttr());
  SmallVector<int64_t> last = {4, 5};
  return {b.cast(getMode() == "max" ? b.make<AmaxOp>(points, last, false)
                                    : b.make<SumOp>(points, last, false, TypeAttr()),
                 dtype)};
}

//===- roi_pool -----------------------------------------------------------------------------------===//

LogicalResult RoiPoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto dims = inferRegions<RoiPoolOp>(location, adaptor);
  if (!dims)
    return failure();
  types.push_back(makeTensor(*dims, typeOf(adaptor.getX()).getElementType()));
  return success();
}

namespace {
/// The bins of all regions along one dim of the images, [K, bins]: where they begin, and the first element behind.
struct Bins {
  Value begin, end;
};
} // namespace

/// To the nearest integer, halves away from 0, as i64.
static Value roundedAway(Builder &b, Value x) {
  Value size = b.make<AbsOp>(x), whole = b.make<FloorOp>(size);
  Value isUp = b.make<GeOp>(b.make<SubOp>(size, whole), b.fullLike(x, 0.5));
  Value nearest = b.make<AddOp>(whole, b.cast(isUp, typeOf(x).getElementType()));
  return b.cast(b.make<MulOp>(nearest, b.make<SignOp>(x)), b.getI64Type());
}

static Bins binsOf(Builder &b, Value boxes, int64_t axis, int64_t count, AffineExpr extent) {
  MLIRContext *context = b.getContext();
  Type i64 = b.getI64Type();
  Dims dims = {dimsOf(boxes)[0], constantDim(count, context)},
       column = {dims[0], constantDim(1, context)};
  auto edge = [&](int64_t position) {
    return b.broadcast(b.reshape(roundedAway(b, b.select(boxes, 1, position)), column), dims);
  };
  Value first = edge(2 - axis);
  Value size = b.make<AddOp>(b.make<SubOp>(edge(4 - axis), first), b.fullLike(first, 1));
  size = b.make<MaximumOp>(size, b.fullLike(size, 1));
  Value bin = b.broadcast(
      b.make<ArangeOp>(dimsMap(dims[1], context), AffineMapAttr(), uint64_t(1), TypeAttr()), dims);
  Value divisor = b.fullLike(size, static_cast<double>(count));
  auto edgeOf = [&](Value number, int64_t more) {
    Value product = b.make<MulOp>(number, size);
    product = b.make<AddOp>(product, b.fullLike(product, static_cast<double>(more)));
    Value at = b.make<AddOp>(b.make<FloorDivideOp>(product, divisor), first);
    Value last =
        b.broadcast(b.make<ScalarTensorOp>(dimsMap(extent, context), TypeAttr::get(i64)), dims);
    return b.make<MinimumOp>(b.make<MaximumOp>(at, b.fullLike(at, 0)), last);
  };
  return {edgeOf(bin, 0), edgeOf(b.make<AddOp>(bin, b.fullLike(bin, 1)), count - 1)};
}

/// The largest of x [K, C, ..., S] over the elements of each bin, along the last dim: [K, C, ..., bins].
static Value largestOf(Builder &b, Value x, const Bins &bins) {
  MLIRContext *context = b.getContext();
  Dims dims = dimsOf(x);
  AffineExpr extent = dims.back(), count = dimsOf(bins.begin)[1];
  Dims marks = {dims[0], count, extent};
  auto spread = [&](Value edge) { return b.broadcast(b.unsqueeze(edge, -1), marks); };
  Value at = b.broadcast(
      b.make<ArangeOp>(dimsMap(extent, context), AffineMapAttr(), uint64_t(1), TypeAttr()), marks);
  Value isIn = b.make<LogicalAndOp>(b.make<GeOp>(at, spread(bins.begin)),
                                    b.make<LtOp>(at, spread(bins.end)));
  dims.insert(dims.end() - 1, count);
  Dims mark(dims.size(), constantDim(1, context));
  mark.front() = dims.front();
  mark[mark.size() - 2] = count;
  mark.back() = extent;
  Value values = b.broadcast(b.unsqueeze(x, -2), dims);
  values = b.make<WhereOp>(b.broadcast(b.reshape(isIn, mark), dims), values,
                           b.fullLike(values, -std::numeric_limits<double>::infinity()));
  return b.make<AmaxOp>(values, ArrayRef<int64_t>{static_cast<int64_t>(dims.size()) - 1}, false);
}

SmallVector<Value> RoiPoolOp::decompose(Builder &b) {
  MLIRContext *context = getContext();
  Dims image = dimsOf(getX()), result = dimsOf(getY());
  Type compute = computeType(typeOf(getX()).getElementType());
  Value boxes = b.cast(getBoxes(), compute);
  Value scaled = b.make<MulOp>(boxes, b.fullLike(boxes, getSpatialScale().convertToDouble()));
  Bins rows = binsOf(b, scaled, 0, getOutputSize()[0], image[2]),
       columns = binsOf(b, scaled, 1, getOutputSize()[1], image[3]);
  Value number = b.cast(b.select(boxes, 1, 0), b.getI64Type());
  // One dim after the other: over rows first, which then are few.
  Value images = b.make<IndexSelectOp>(getX(), number, uint64_t(0));
  Value y = b.permute(images, {0, 1, 3, 2});
  y = largestOf(b, b.permute(largestOf(b, y, rows), {0, 1, 3, 2}), columns);
  auto isEmpty = [&](const Bins &bins, unsigned dim) {
    Dims dims(4, constantDim(1, context));
    dims[0] = result[0];
    dims[dim] = result[dim];
    return b.broadcast(b.reshape(b.make<GeOp>(bins.begin, bins.end), dims), result);
  };
  return {b.make<WhereOp>(b.make<LogicalOrOp>(isEmpty(rows, 2), isEmpty(columns, 3)),
                          b.fullLike(y, 0), y)};
}

} // namespace dlc::dl
