//===- DLDeform.cpp - Convolution whose taps are shifted one by one -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

namespace {
/// What both ops share: a window over x, and a shift for each tap of it.
struct Shifts {
  StringRef name;
  Value x, offset, mask;
  SmallVector<int64_t, 2> kernel;
  ArrayRef<int64_t> stride, padding, dilation;

  template <typename Op>
  Shifts(StringRef name, Op op, ArrayRef<int64_t> kernel)
      : name(name), x(op.getX()), offset(op.getOffset()), mask(op.getMask()), kernel(kernel),
        stride(op.getStride()), padding(op.getPadding()), dilation(op.getDilation()) {}

  int64_t taps() const { return kernel[0] * kernel[1]; }
  /// Channels of x that share their shifts.
  int64_t channelsOfGroup() const {
    return *asConstant(dimsOf(x)[1]) * 2 * taps() / *asConstant(dimsOf(offset)[1]);
  }
  LogicalResult check(std::optional<Location> location) const;
};
} // namespace

LogicalResult Shifts::check(std::optional<Location> location) const {
  SmallVector<Value> operands = {x, offset};
  if (mask)
    operands.push_back(mask);
  if (failed(checkSameElement(location, name, operands)))
    return failure();
  for (ArrayRef<int64_t> list : {ArrayRef<int64_t>(kernel), stride, dilation})
    if (list.size() != 2 || list[0] < 1 || list[1] < 1)
      return emitOptionalError(
          location, "'", name,
          "' needs a window, stride and dilation of two numbers of at least 1");
  bool hasRanks = typeOf(x).getRank() == 4 && typeOf(offset).getRank() == 4;
  auto channels = hasRanks ? asConstant(dimsOf(x)[1]) : std::nullopt,
       shifts = hasRanks ? asConstant(dimsOf(offset)[1]) : std::nullopt;
  if (padding.size() != 2 || padding[0] < 0 || padding[1] < 0 || !channels || !shifts ||
      *shifts < 1 || *shifts % (2 * taps()) != 0 || *channels % (*shifts / (2 * taps())) != 0)
    return emitOptionalError(location, "'", name,
                             "' needs x [N, C, H, W], two paddings of at least 0 and offset [N, "
                             "2 * groups * ",
                             taps(), ", ...] where groups divide C, got ", text(x), " and ",
                             text(offset));
  Dims in = dimsOf(x), expected = {in[0], constantDim(*shifts, x.getContext())};
  for (unsigned i = 0; i < 2; ++i) {
    AffineExpr room = normalize(in[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1);
    expected.push_back(normalize(room.floorDiv(stride[i]) + 1));
  }
  Type element = typeOf(x).getElementType();
  if (dimsOf(offset) != expected)
    return emitOptionalError(location, "'", name, "' has offset ", text(offset),
                             " for a window with the places of ",
                             text(makeTensor(expected, element), x));
  expected[1] = constantDim(*shifts / 2, x.getContext());
  if (mask && dimsOf(mask) != expected)
    return emitOptionalError(location, "'", name, "' has mask ", text(mask), "; expected ",
                             text(makeTensor(expected, element), x));
  return success();
}

//===- deform_patches -------------------------------------------------------------------------===//

LogicalResult DeformPatchesOp::inferReturnTypes(MLIRContext *context,
                                                std::optional<Location> location, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  Shifts shifts(getOperationName(), adaptor, adaptor.getKernelSize());
  if (failed(shifts.check(location)))
    return failure();
  Dims in = dimsOf(adaptor.getX()), places = dimsOf(adaptor.getOffset());
  types.push_back(makeTensor({in[0], in[1], constantDim(shifts.kernel[0], context),
                              constantDim(shifts.kernel[1], context), places[2], places[3]},
                             typeOf(adaptor.getX()).getElementType()));
  return success();
}

LoopNest DeformPatchesOp::getLoopNest() {
  MLIRContext *context = getContext();
  Shifts shifts(getOperationName(), *this, getKernelSize());
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  nest.indexDims.set(2, rank);
  SmallVector<AffineExpr> loops = loopsOf(context, 0, rank);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(rank, kMaxSymbols, results, context);
  };
  AffineExpr zero = constantDim(0, context);
  bool isShared = isConstant(dimsOf(getX())[1], shifts.channelsOfGroup());
  AffineExpr group = isShared ? zero : loops[1].floorDiv(shifts.channelsOfGroup());
  AffineExpr tap = group * shifts.taps() + loops[2] * getKernelSize()[1] + loops[3];
  for (int64_t axis = 0; axis < 2; ++axis)
    nest.results.push_back({1, map({loops[0], tap * 2 + axis, loops[4], loops[5]})});
  llvm::SmallBitVector computed(4);
  computed.set(2, 4);
  for (unsigned corner = 0; corner < 4; ++corner)
    nest.results.push_back(
        {0, map({loops[0], loops[1], zero, zero}), /*checked=*/true, 0.0, computed});
  if (getMask())
    nest.results.push_back({2, map({loops[0], tap, loops[4], loops[5]})});
  return nest;
}

/// Where a tap stands along `axis` (0: down), no farther outside than an element.
static Scalar placeOf(DeformPatchesOp op, BodyContext &context, unsigned axis, Value shift) {
  OpBuilder &builder = context.builder;
  Scalar moved(builder, context.loc, shift, ScalarKind::floating);
  auto integer = [&](Value index) {
    return Scalar(builder, context.loc,
                  arith::IndexCastOp::create(builder, context.loc, builder.getI64Type(), index),
                  ScalarKind::signedInt);
  };
  auto real = [&](Scalar number) {
    Value value = number.convertTo(moved.elementType(), ScalarKind::floating).value();
    if (auto vector = dyn_cast<VectorType>(shift.getType()))
      value = context.splat(value, vector);
    return Scalar(builder, context.loc, value, ScalarKind::floating);
  };
  Scalar tap = integer(context.parallel[4 + axis]) * static_cast<double>(op.getStride()[axis]) +
               integer(context.parallel[2 + axis]) * static_cast<double>(op.getDilation()[axis]) -
               static_cast<double>(op.getPadding()[axis]);
  Scalar extent = real(integer(context.extent(dimsOf(op.getX())[2 + axis])));
  return min(max(real(tap) + moved, -1.0), extent);
}

/// Accesses 2 to 5 read around the tap: bit 1 of their number, counted from there, says below it,
/// bit 0 to its right.
Value DeformPatchesOp::emitCoordinate(BodyContext &context, bool, unsigned access, unsigned dim,
                                      ValueRange earlier) {
  OpBuilder &builder = context.builder;
  unsigned axis = dim - 2;
  Scalar at = floor(placeOf(*this, context, axis, earlier[axis]));
  if ((access - 2) >> (1 - axis) & 1)
    at = at + 1.0;
  return arith::IndexCastOp::create(
      builder, context.loc, builder.getIndexType(),
      at.convertTo(builder.getI64Type(), ScalarKind::signedInt).value());
}

Value DeformPatchesOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  auto number = [&](Value value) {
    return Scalar(context.builder, context.loc, value, ScalarKind::floating);
  };
  Scalar y = placeOf(*this, context, 0, args[0]), x = placeOf(*this, context, 1, args[1]);
  Scalar down = y - floor(y), right = x - floor(x);
  Scalar above = (1.0 - right) * number(args[2]) + right * number(args[3]);
  Scalar below = (1.0 - right) * number(args[4]) + right * number(args[5]);
  Scalar value = (1.0 - down) * above + down * below;
  // An element outside all is 0, also where its neighbour is infinite.
  value = select((y <= -1.0) | (x <= -1.0), 0.0, value);
  return (getMask() ? value * number(args[6]) : value).value();
}

//===- deform_conv2d --------------------------------------------------------------------------===//

LogicalResult DeformConv2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto x = typeOf(adaptor.getX()), weight = typeOf(adaptor.getWeight());
  if (!weight.hasStaticShape() || weight.getRank() != 4)
    return emitOptionalError(location, "'", name,
                             "' needs a static weight [K, C/groups, R, S], got ",
                             text(adaptor.getWeight()));
  if (failed(checkSameElement(location, name, {adaptor.getX(), adaptor.getWeight()})) ||
      failed(checkBias(location, name, adaptor.getBias(), getDims(weight)[0])))
    return failure();
  Shifts shifts(name, adaptor, weight.getShape().drop_front(2));
  if (failed(shifts.check(location)))
    return failure();
  int64_t channels = *asConstant(getDims(x)[1]), taken = weight.getDimSize(1);
  if (taken < 1 || channels < 1 || channels % taken != 0 ||
      weight.getDimSize(0) % (channels / taken) != 0)
    return emitOptionalError(location, "'", name, "' has ", text(adaptor.getX()), " and weight ",
                             text(adaptor.getWeight()), "; expected channels in equal groups");
  Dims places = dimsOf(adaptor.getOffset());
  types.push_back(
      makeTensor({getDims(x)[0], getDims(weight)[0], places[2], places[3]}, x.getElementType()));
  return success();
}

SmallVector<Value> DeformConv2dOp::decompose(Builder &b) {
  RankedTensorType weight = typeOf(getWeight());
  ArrayRef<int64_t> window = weight.getShape().drop_front(2);
  Value patches = b.make<DeformPatchesOp>(getX(), getOffset(), getMask(), window, getStride(),
                                          getPadding(), getDilation());
  // The taps of a channel become channels: what remains is a convolution of one tap.
  Dims dims = dimsOf(patches), places = dimsOf(getY());
  int64_t channels = *asConstant(dims[1]), taps = window[0] * window[1];
  auto number = [&](int64_t value) { return constantDim(value, getContext()); };
  Value columns = b.reshape(patches, {dims[0], number(channels * taps), places[2], places[3]});
  Value factors = b.reshape(getWeight(),
                            {places[1], number(weight.getDimSize(1) * taps), number(1), number(1)});
  SmallVector<int64_t> ones(2, 1), zeros(2, 0);
  auto groups = static_cast<uint64_t>(channels / weight.getDimSize(1));
  return {b.make<Conv2dOp>(columns, factors, getBias(), ones, zeros, ones, groups)};
}

} // namespace dlc::dl
