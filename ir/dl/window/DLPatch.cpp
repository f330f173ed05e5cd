//===- DLPatch.cpp - Images as the patches that a window shows, and back ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

namespace {
/// A window that slides over `spatial` dims.
struct Slide {
  StringRef name;
  ArrayRef<int64_t> kernel, dilation, padding, stride;

  template <typename Op>
  Slide(StringRef name, Op op, ArrayRef<int64_t> kernel)
      : name(name), kernel(kernel), dilation(op.getDilation()), padding(op.getPadding()),
        stride(op.getStride()) {}

  unsigned spatial() const { return kernel.size(); }
  LogicalResult check(std::optional<Location> location) const;
  /// How often it fits along each of `sizes`, dims of the module around `x`; nothing, reported,
  /// where it does not.
  std::optional<Dims> places(std::optional<Location> location, Value x,
                             ArrayRef<AffineExpr> sizes) const;
};
} // namespace

LogicalResult Slide::check(std::optional<Location> location) const {
  for (ArrayRef<int64_t> list : {dilation, padding, stride})
    if (list.size() != spatial())
      return emitOptionalError(
          location, "'", name,
          "' needs as many numbers of dilation, padding and stride as of kernel_size");
  for (auto [size, step, apart, width] : llvm::zip(kernel, stride, dilation, padding))
    if (size < 1 || step < 1 || apart < 1 || width < 0)
      return emitOptionalError(
          location, "'", name,
          "' needs kernel_size, stride and dilation of at least 1, and no negative padding");
  return success();
}

std::optional<Dims> Slide::places(std::optional<Location> location, Value x,
                                  ArrayRef<AffineExpr> sizes) const {
  Dims counts;
  for (unsigned i = 0; i < spatial(); ++i) {
    AffineExpr room = normalize(sizes[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1);
    if (asConstant(room).value_or(0) < 0) {
      (void)emitOptionalError(location, "'", name, "' has a window of ", kernel[i],
                              ", larger than the padded input of ",
                              text(normalize(sizes[i] + 2 * padding[i]), x));
      return std::nullopt;
    }
    counts.push_back(normalize(room.floorDiv(stride[i]) + 1));
  }
  return counts;
}

static Dims constantDims(ArrayRef<int64_t> numbers, MLIRContext *context) {
  Dims dims;
  for (int64_t number : numbers)
    dims.push_back(constantDim(number, context));
  return dims;
}

//===- patches, unfold ------------------------------------------------------------------------===//

LogicalResult PatchesOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  Slide slide(getOperationName(), adaptor, adaptor.getKernelSize());
  if (failed(slide.check(location)))
    return failure();
  if (x.getRank() != slide.spatial() + 2)
    return emitOptionalError(location, "'", getOperationName(), "' has a window of ",
                             slide.spatial(), " dims for ", text(adaptor.getX()),
                             "; expected [N, C] before");
  Dims in = getDims(x), dims = {in[0], in[1]};
  auto places = slide.places(location, adaptor.getX(), ArrayRef(in).drop_front(2));
  if (!places)
    return failure();
  llvm::append_range(dims, constantDims(slide.kernel, context));
  llvm::append_range(dims, *places);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest PatchesOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size(), spatial = getKernelSize().size();
  nest.indexDims.resize(rank);
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, 2);
  bool isPadded = false;
  for (unsigned i = 0; i < spatial; ++i) {
    map.push_back(getAffineDimExpr(2 + spatial + i, getContext()) * getStride()[i] +
                  getAffineDimExpr(2 + i, getContext()) * getDilation()[i] - getPadding()[i]);
    isPadded |= getPadding()[i] > 0;
  }
  nest.results = {{0, AffineMap::get(rank, kMaxSymbols, map, getContext()), isPadded, 0.0}};
  return nest;
}

Value PatchesOp::emitResult(BodyContext &, ValueRange args, ValueRange) { return args.front(); }

LogicalResult UnfoldOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  Slide slide(getOperationName(), adaptor, adaptor.getKernelSize());
  if (failed(slide.check(location)))
    return failure();
  if (x.getRank() != slide.spatial() + 2 || slide.spatial() != 2)
    return emitOptionalError(location, "'", getOperationName(),
                             "' needs x [N, C, H, W] and a window of two dims, got ",
                             text(adaptor.getX()));
  Dims in = getDims(x);
  auto places = slide.places(location, adaptor.getX(), ArrayRef(in).drop_front(2));
  if (!places)
    return failure();
  Dims window = constantDims(slide.kernel, context);
  types.push_back(
      makeTensor({in[0], normalize(in[1] * product(window, context)), product(*places, context)},
                 x.getElementType()));
  return success();
}

SmallVector<Value> UnfoldOp::decompose(Builder &b) {
  Value patches =
      b.make<PatchesOp>(getX(), getKernelSize(), getDilation(), getPadding(), getStride());
  return {b.reshape(patches, dimsOf(getY()))};
}

//===- overlap_add, fold ----------------------------------------------------------------------===//

LogicalResult OverlapAddOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  unsigned spatial = adaptor.getStride().size();
  Dims in = getDims(x), dims;
  SmallVector<int64_t> kernel;
  for (unsigned i = 0; i < spatial && 2 + i < in.size(); ++i)
    kernel.push_back(asConstant(in[2 + i]).value_or(0));
  AffineMap size = adaptor.getOutputSize();
  Slide slide(getOperationName(), adaptor, kernel);
  if (in.size() != 2 * spatial + 2 || size.getNumResults() != spatial || size.getNumDims() != 0)
    return emitOptionalError(location, "'", getOperationName(),
                             "' needs x [N, C, window..., places...] and an output_size of as many "
                             "dims as the window, got ",
                             text(adaptor.getX()));
  if (failed(slide.check(location)))
    return failure();
  dims = {in[0], in[1]};
  for (AffineExpr dim : size.getResults())
    dims.push_back(normalize(dim));
  auto places = slide.places(location, adaptor.getX(), ArrayRef(dims).drop_front(2));
  if (!places)
    return failure();
  if (ArrayRef(*places) != ArrayRef(in).drop_front(2 + spatial))
    return emitOptionalError(location, "'", getOperationName(), "' has x ", text(adaptor.getX()),
                             "; its last dims are not the places of such a window");
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

/// Strides that keep the place of a window from being negative while it is computed.
static int64_t spareStrides(OverlapAddOp op, unsigned i) {
  int64_t reach = op.getDilation()[i] * (*asConstant(dimsOf(op.getX())[2 + i]) - 1);
  return (reach + op.getStride()[i] - 1) / op.getStride()[i];
}

LoopNest OverlapAddOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size(), spatial = rank - 2;
  nest.stages = {Combiner::add};
  nest.indexDims.resize(rank + spatial);
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, 2), places;
  for (unsigned i = 0; i < spatial; ++i) {
    nest.reduction.push_back(dimsOf(getX())[2 + i]);
    AffineExpr tap = getAffineDimExpr(rank + i, getContext());
    int64_t stride = getStride()[i], spare = spareStrides(*this, i);
    AffineExpr begin = getAffineDimExpr(2 + i, getContext()) - tap * getDilation()[i] +
                       (getPadding()[i] + spare * stride);
    map.push_back(tap);
    places.push_back(begin.floorDiv(stride) - spare);
    if (getStride()[i] > 1) {
      nest.indexDims.set(2 + i);
      nest.indexDims.set(rank + i);
    }
  }
  map.append(places);
  nest.terms = {
      {0, AffineMap::get(rank + spatial, kMaxSymbols, map, getContext()), /*checked=*/true, 0.0}};
  return nest;
}

/// Where the window moves by more than one element, a tap meets an element only every so often.
Value OverlapAddOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  OpBuilder &builder = context.builder;
  Scalar x(builder, context.loc, args.front(), kindOf(getX()));
  auto integer = [&](Value index) {
    return Scalar(builder, context.loc,
                  arith::IndexCastOp::create(builder, context.loc, builder.getI64Type(), index),
                  ScalarKind::signedInt);
  };
  for (unsigned i = 0; i < getStride().size(); ++i) {
    int64_t stride = getStride()[i], spare = spareStrides(*this, i);
    if (stride == 1)
      continue;
    Scalar begin = integer(context.parallel[2 + i]) -
                   integer(context.reduction[i]) * static_cast<double>(getDilation()[i]) +
                   static_cast<double>(getPadding()[i] + spare * stride);
    Value meets = (remTrunc(begin, begin.constant(static_cast<double>(stride))) == 0.0).value();
    if (auto vector = dyn_cast<VectorType>(x.value().getType()))
      meets = context.splat(meets, VectorType::get(vector.getShape(), builder.getI1Type()));
    x = select(Scalar(builder, context.loc, meets, ScalarKind::boolean), x, 0.0);
  }
  return x.value();
}

LogicalResult FoldOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  Slide slide(getOperationName(), adaptor, adaptor.getKernelSize());
  if (failed(slide.check(location)))
    return failure();
  AffineMap size = adaptor.getOutputSize();
  Dims in = getDims(x), sizes;
  for (unsigned i = 0; i < slide.spatial(); ++i)
    if (size.getNumResults() == slide.spatial() || size.getNumResults() == 1)
      sizes.push_back(normalize(size.getResult(size.getNumResults() == 1 ? 0 : i)));
  Dim window = product(constantDims(slide.kernel, context), context);
  auto rows = in.size() == 3 ? asConstant(in[1]) : std::nullopt, taps = asConstant(window);
  if (sizes.size() != slide.spatial() || !rows || !taps || *taps < 1 || *rows % *taps != 0)
    return emitOptionalError(location, "'", getOperationName(), "' needs x [N, C * ",
                             text(window, adaptor.getOperands()),
                             ", places] and an output_size of ", slide.spatial(), " dims, got ",
                             text(adaptor.getX()));
  auto places = slide.places(location, adaptor.getX(), sizes);
  if (!places)
    return failure();
  if (product(*places, context) != in[2])
    return emitOptionalError(location, "'", getOperationName(), "' has ",
                             text(in[2], adaptor.getOperands()), " patches in ",
                             text(adaptor.getX()), "; such a window has ",
                             text(product(*places, context), adaptor.getOperands()), " places");
  Dims dims = {in[0], constantDim(*rows / *taps, context)};
  llvm::append_range(dims, sizes);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

SmallVector<Value> FoldOp::decompose(Builder &b) {
  Slide slide(getOperationName(), *this, getKernelSize());
  Dims result = dimsOf(getY()), apart = {result[0], result[1]};
  ArrayRef<AffineExpr> sizes = ArrayRef(result).drop_front(2);
  llvm::append_range(apart, constantDims(getKernelSize(), getContext()));
  llvm::append_range(apart, *slide.places(std::nullopt, getX(), sizes));
  return {b.make<OverlapAddOp>(b.reshape(getX(), apart), dimsMap(sizes, getContext()),
                               getDilation(), getPadding(), getStride())};
}

//===- max_unpool -----------------------------------------------------------------------------===//

template <typename Op>
static LogicalResult inferUnpool(std::optional<Location> location, typename Op::Adaptor adaptor,
                                 unsigned spatial, SmallVectorImpl<Type> &types) {
  StringRef name = Op::getOperationName();
  auto x = typeOf(adaptor.getX());
  ArrayRef<int64_t> kernel = adaptor.getKernelSize(), padding = adaptor.getPadding(),
                    stride = adaptor.getStride().value_or(kernel);
  Dims in = getDims(x);
  if (in.size() != spatial + 2 || in != dimsOf(adaptor.getIndices()) || kernel.size() != spatial ||
      stride.size() != spatial || padding.size() != spatial)
    return emitOptionalError(location, "'", name, "' needs x and indices of equal dims [N, C, ",
                             spatial, " more], and a number for each of these, got ",
                             text(adaptor.getX()), " and ", text(adaptor.getIndices()));
  for (auto [size, step, width] : llvm::zip(kernel, stride, padding))
    if (size < 1 || step < 1 || width < 0)
      return emitOptionalError(
          location, "'", name,
          "' needs kernel_size and stride of at least 1, and no negative padding");
  Dims dims = {in[0], in[1]};
  if (auto size = adaptor.getOutputSize()) {
    if (size->getNumResults() != spatial && size->getNumResults() != spatial + 2)
      return emitOptionalError(location, "'", name, "' has an output_size of ",
                               size->getNumResults(), " dims; expected ", spatial, " or ",
                               spatial + 2);
    for (AffineExpr dim : size->getResults().take_back(spatial))
      dims.push_back(normalize(dim));
  } else {
    for (unsigned i = 0; i < spatial; ++i)
      dims.push_back(normalize((in[2 + i] - 1) * stride[i] + kernel[i] - 2 * padding[i]));
  }
  for (AffineExpr dim : ArrayRef(dims).drop_front(2))
    if (auto size = asConstant(dim); size && *size < 1)
      return emitOptionalError(location, "'", name, "' of ", text(adaptor.getX()),
                               " gives a dim of size ", *size, "; expected 1 or more");
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

template <typename Op> static SmallVector<Value> decomposeUnpool(Op op, Builder &b) {
  auto flat = [&](Value value) {
    Dims dims = dimsOf(value);
    return b.reshape(value,
                     {dims[0], dims[1], product(ArrayRef(dims).drop_front(2), op.getContext())});
  };
  Value nothing = flat(b.fullLike(op.getY(), 0));
  Value y = b.make<ScatterOp>(nothing, uint64_t(2), flat(op.getIndices()), flat(op.getX()),
                              FloatAttr(), StringAttr());
  return {b.reshape(y, dimsOf(op.getY()))};
}

LogicalResult MaxUnpool1dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferUnpool<MaxUnpool1dOp>(location, adaptor, 1, types);
}
LogicalResult MaxUnpool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferUnpool<MaxUnpool2dOp>(location, adaptor, 2, types);
}
LogicalResult MaxUnpool3dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferUnpool<MaxUnpool3dOp>(location, adaptor, 3, types);
}
SmallVector<Value> MaxUnpool1dOp::decompose(Builder &b) { return decomposeUnpool(*this, b); }
SmallVector<Value> MaxUnpool2dOp::decompose(Builder &b) { return decomposeUnpool(*this, b); }
SmallVector<Value> MaxUnpool3dOp::decompose(Builder &b) { return decomposeUnpool(*this, b); }

} // namespace dlc::dl
