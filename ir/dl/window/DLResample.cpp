//===- DLResample.cpp - Filters between resolutions ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the taps of a filter over an image with zeros between its elements, only each up-th meets an
// element. Which is the first one depends on the remainder of the place: the loops run over those
// alone.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"

using namespace mlir;

namespace dlc::dl {

/// Dims of the image x, spread by `up`, padded, filtered by f (of one dim: in both ways) and
/// thinned by `down`. Numbers of x stand before those of y.
static FailureOr<Dims> resampledDims(std::optional<Location> location, StringRef name, Value x,
                                     Value f, ArrayRef<int64_t> up, ArrayRef<int64_t> down,
                                     ArrayRef<int64_t> padding) {
  if (llvm::any_of(llvm::concat<const int64_t>(up, down), [](int64_t n) { return n < 1; }))
    return emitOptionalError(location, "'", name, "' needs up and down of at least 1");
  Dims dims = dimsOf(x);
  for (unsigned axis = 0; axis < 2; ++axis) {
    unsigned at = 1 - axis;
    int64_t taps = typeOf(f).getDimSize(typeOf(f).getRank() == 1 ? 0 : axis);
    AffineExpr room =
        normalize(dims[2 + axis] * up[at] + padding[2 * at] + padding[2 * at + 1] - taps);
    if (asConstant(room).value_or(0) < 0)
      return emitOptionalError(location, "'", name, "' has a filter ", text(f),
                               ", larger than the padded image of ", text(x));
    dims[2 + axis] = normalize(room.floorDiv(down[at]) + 1);
  }
  return dims;
}

LogicalResult ResampleOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), f = typeOf(adaptor.getF());
  StringRef name = getOperationName();
  ArrayRef<int64_t> up = adaptor.getUp(), down = adaptor.getDown(), padding = adaptor.getPadding();
  if (failed(checkSameElement(location, name, {adaptor.getX(), adaptor.getF()})))
    return failure();
  if (x.getRank() != 4 || f.getRank() != 2 || !f.hasStaticShape() || f.getNumElements() < 1 ||
      up.size() != 2 || down.size() != 2 || padding.size() != 4)
    return emitOptionalError(location, "'", name,
                             "' needs x [N, C, H, W], a filter of static dims, and 2, 2 and 4 "
                             "numbers of up, down and padding, got ",
                             text(adaptor.getX()), " and ", text(adaptor.getF()));
  auto dims = resampledDims(location, name, adaptor.getX(), adaptor.getF(), up, down, padding);
  if (failed(dims))
    return failure();
  types.push_back(makeTensor(*dims, x.getElementType()));
  return success();
}

LoopNest ResampleOp::getLoopNest() {
  MLIRContext *context = getContext();
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  nest.stages = {Combiner::add};
  nest.indexDims.resize(nest.parallel.size());
  SmallVector<AffineExpr> image = loopsOf(context, 0, 2), filter;
  for (unsigned axis = 0; axis < 2; ++axis) {
    int64_t up = getUp()[1 - axis], down = getDown()[1 - axis], low = getPadding()[2 * (1 - axis)];
    int64_t taps = typeOf(getF()).getDimSize(axis);
    nest.reduction.push_back(constantDim((taps + up - 1) / up, context));
    AffineExpr place = getAffineDimExpr(2 + axis, context),
               step = getAffineDimExpr(4 + axis, context);
    // The window begins at place * down - low of the spread image; low = turns * up + rest.
    int64_t rest = ((low % up) + up) % up, turns = (low - rest) / up;
    image.push_back((place * down + (up - 1 - rest)).floorDiv(up) - turns + step);
    AffineExpr tap = (place * ((up - down % up) % up) + rest) % up + step * up;
    filter.push_back(getFlipFilter() ? tap : taps - 1 - tap);
  }
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(nest.numLoops(), kMaxSymbols, results, context);
  };
  nest.terms = {{0, map(image), /*checked=*/true, 0.0}, {1, map(filter), /*checked=*/true, 0.0}};
  return nest;
}

Value ResampleOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  return emitProduct(context, args, typeOf(getX()).getElementType());
}

Value ResampleOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  Scalar sum(context.builder, context.loc, accs.front(), ScalarKind::floating);
  return (sum * getGain().convertToDouble()).value();
}

//===- upfirdn2d ------------------------------------------------------------------------------===//

/// One number, [x, y] or [left, right, top, bottom] as the last; nothing of other lists.
static SmallVector<int64_t> widthsOf(ArrayRef<int64_t> padding) {
  if (padding.size() == 2)
    return {padding[0], padding[0], padding[1], padding[1]};
  return SmallVector<int64_t>(padding);
}

LogicalResult Upfirdn2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), f = typeOf(adaptor.getF());
  StringRef name = getOperationName();
  ArrayRef<int64_t> up = adaptor.getUp(), down = adaptor.getDown();
  SmallVector<int64_t> padding = widthsOf(adaptor.getPadding());
  if (x.getRank() != 4 || f.getRank() < 1 || f.getRank() > 2 || !f.hasStaticShape() ||
      f.getNumElements() < 1 || up.size() != 2 || down.size() != 2 || padding.size() != 4)
    return emitOptionalError(location, "'", name,
                             "' needs x [N, C, H, W], a filter of one or two static dims, 2 "
                             "numbers of up and down and 2 or 4 of padding, got ",
                             text(adaptor.getX()), " and ", text(adaptor.getF()));
  auto dims = resampledDims(location, name, adaptor.getX(), adaptor.getF(), up, down, padding);
  if (failed(dims))
    return failure();
  types.push_back(makeTensor(*dims, x.getElementType()));
  return success();
}

SmallVector<Value> Upfirdn2dOp::decompose(Builder &b) {
  Type dtype = typeOf(getX()).getElementType();
  Value f = b.cast(getF(), dtype);
  SmallVector<int64_t> padding = widthsOf(getPadding());
  auto resample = [&](Value x, Value filter, ArrayRef<int64_t> up, ArrayRef<int64_t> down,
                      ArrayRef<int64_t> widths, FloatAttr gain) {
    return b.make<ResampleOp>(x, filter, b.getDenseI64ArrayAttr(up), b.getDenseI64ArrayAttr(down),
                              b.getDenseI64ArrayAttr(widths), getFlipFilterAttr(), gain);
  };
  if (typeOf(f).getRank() == 2)
    return {resample(getX(), f, getUp(), getDown(), padding, getGainAttr())};
  // Along x, then along y.
  Dim taps = dimsOf(f)[0], one = constantDim(1, getContext());
  Value y = resample(getX(), b.reshape(f, {one, taps}), {getUp()[0], 1}, {getDown()[0], 1},
                     {padding[0], padding[1], 0, 0}, b.getF64FloatAttr(1.0));
  return {resample(y, b.reshape(f, {taps, one}), {1, getUp()[1]}, {1, getDown()[1]},
                   {0, 0, padding[2], padding[3]}, getGainAttr())};
}

} // namespace dlc::dl
