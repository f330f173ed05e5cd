//===- DLWindow.cpp - Types and loops of pooling ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

namespace {
/// A window over the dims of an [N, C, ...] tensor behind the first two.
struct Window {
  ArrayRef<int64_t> kernel, stride, padding, dilation;
  bool ceilMode;

  LogicalResult infer(StringRef op, std::optional<Location> location, Value x, unsigned spatial,
                      SmallVectorImpl<Type> &types) const;
  LoopNest nest(RankedTensorType x, RankedTensorType y, double fill) const;
};

/// The divisor of a mean.
struct Mean {
  bool countsPadding;
  std::optional<int64_t> divisor;

  template <typename Op>
  explicit Mean(Op op) : countsPadding(op.getCountIncludePad()), divisor(op.getDivisorOverride()) {}
  /// Every window is divided by the same number.
  bool isConstant(const Window &window) const;
  Value emit(BodyContext &context, const Window &window, RankedTensorType x, Value sum) const;
};
} // namespace

static constexpr int64_t kNoDilation[] = {1, 1, 1};

static StringRef pixels(unsigned spatial) {
  return spatial == 1 ? "L" : spatial == 2 ? "H, W" : "D, H, W";
}

LogicalResult Window::infer(StringRef op, std::optional<Location> location, Value x,
                            unsigned spatial, SmallVectorImpl<Type> &types) const {
  if (typeOf(x).getRank() != spatial + 2)
    return emitOptionalError(location, "'", op, "' needs x [N, C, ", pixels(spatial), "], got ",
                             text(x));
  for (ArrayRef<int64_t> list : {kernel, stride, padding, dilation})
    if (list.size() != spatial)
      return emitOptionalError(location, "'", op, "' needs ", spatial,
                               spatial == 1 ? " number" : " numbers",
                               " for each of kernel_size, stride, padding and dilation");
  Dims in = dimsOf(x), dims = {in[0], in[1]};
  for (unsigned i = 0; i < spatial; ++i) {
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1)
      return emitOptionalError(location, "'", op,
                               "' needs kernel_size, stride and dilation of at least 1");
    if (padding[i] < 0 || padding[i] * 2 > kernel[i])
      return emitOptionalError(location, "'", op, "' has padding ", padding[i],
                               "; expected 0 to half of the window of ", kernel[i]);
    AffineExpr room = normalize(in[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1);
    auto size = asConstant(room);
    if (size && *size < 0)
      return emitOptionalError(location, "'", op, "' has a window of ", kernel[i],
                               ", larger than the padded input of ",
                               text(normalize(in[2 + i] + 2 * padding[i]), x));
    if (!ceilMode) {
      dims.push_back(room.floorDiv(stride[i]) + 1);
      continue;
    }
    // The last window must begin inside the input or its left padding. It does where a window
    // reaches from the padding behind to the next one's begin; else as many count as begin there.
    bool reaches = dilation[i] * (kernel[i] - 1) + 1 - padding[i] >= stride[i];
    dims.push_back(reaches ? normalize(quotientUp(room, stride[i]) + 1)
                           : quotientUp(in[2 + i] + padding[i], stride[i]));
  }
  types.push_back(makeTensor(dims, typeOf(x).getElementType()));
  return success();
}

LoopNest Window::nest(RankedTensorType x, RankedTensorType y, double fill) const {
  MLIRContext *context = x.getContext();
  LoopNest nest;
  nest.parallel = getDims(y);
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  SmallVector<AffineExpr> map = {getAffineDimExpr(0, context), getAffineDimExpr(1, context)};
  bool checked = ceilMode;
  for (unsigned i = 0; i + 2 < rank; ++i) {
    nest.reduction.push_back(constantDim(kernel[i], context));
    map.push_back(getAffineDimExpr(2 + i, context) * stride[i] +
                  getAffineDimExpr(rank + i, context) * dilation[i] - padding[i]);
    checked |= padding[i] > 0;
  }
  nest.terms.push_back(
      {0, AffineMap::get(nest.numLoops(), kMaxSymbols, map, context), checked, fill});
  return nest;
}

//===- max ------------------------------------------------------------------------------------===//

template <typename Op> static Window maxWindow(Op op) {
  return {op.getKernelSize(), op.getStride().value_or(op.getKernelSize()), op.getPadding(),
          op.getDilation(), op.getCeilMode()};
}

template <typename Op> static LoopNest maxNest(Op op) {
  LoopNest nest = maxWindow(op).nest(cast<RankedTensorType>(op.getX().getType()),
                                     cast<RankedTensorType>(op.getType()),
                                     -std::numeric_limits<double>::infinity());
  nest.stages = {Combiner::max};
  return nest;
}

template <typename Op>
static LogicalResult inferMax(std::optional<Location> location, typename Op::Adaptor adaptor,
                              unsigned spatial, SmallVectorImpl<Type> &types) {
  return maxWindow(adaptor).infer(Op::getOperationName(), location, adaptor.getX(), spatial, types);
}

LogicalResult MaxPool1dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferMax<MaxPool1dOp>(location, adaptor, 1, types);
}
LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferMax<MaxPool2dOp>(location, adaptor, 2, types);
}
LogicalResult MaxPool3dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferMax<MaxPool3dOp>(location, adaptor, 3, types);
}
LoopNest MaxPool1dOp::getLoopNest() { return maxNest(*this); }
LoopNest MaxPool2dOp::getLoopNest() { return maxNest(*this); }
LoopNest MaxPool3dOp::getLoopNest() { return maxNest(*this); }

//===- max with its position ------------------------------------------------------------------===//

template <typename Op>
static LogicalResult inferPositions(std::optional<Location> location, typename Op::Adaptor adaptor,
                                    unsigned spatial, SmallVectorImpl<Type> &types) {
  if (failed(inferMax<Op>(location, adaptor, spatial, types)))
    return failure();
  types.back() = withElementType(cast<RankedTensorType>(types.back()),
                                 IntegerType::get(types.back().getContext(), 64));
  return success();
}

template <typename Op> static LoopNest positionsNest(Op op) {
  LoopNest nest = maxNest(op);
  nest.stages = {Combiner::argmax};
  nest.indexDims.set(2, nest.parallel.size());
  return nest;
}

/// From the number of an element in its window to that in its image. Padding is found where all
/// values are the lowest ones, and stands before them or behind: the first of them counts.
template <typename Op> static Value emitPositions(Op op, BodyContext &context, Value found) {
  OpBuilder &builder = context.builder;
  Window window = maxWindow(op);
  Dims in = dimsOf(op.getX());
  unsigned spatial = window.kernel.size();
  Type i64 = builder.getI64Type();
  // Where a vector moves, its lanes are neighbours in another dim: channels.
  auto lanes = dyn_cast<VectorType>(found.getType());
  auto integer = [&](Value index) {
    Value number = arith::IndexCastOp::create(builder, context.loc, i64, index);
    return Scalar(builder, context.loc, lanes ? context.splat(number, lanes) : number,
                  ScalarKind::signedInt);
  };
  Scalar rest(builder, context.loc, found, ScalarKind::signedInt);
  SmallVector<Scalar> place(spatial, rest), first(spatial, rest), extent(spatial, rest);
  Scalar inside = rest == rest;
  for (unsigned i = spatial; i-- > 0;) {
    auto step = static_cast<double>(window.dilation[i]);
    Scalar begin = integer(context.parallel[2 + i]) * static_cast<double>(window.stride[i]) -
                   static_cast<double>(window.padding[i]);
    Scalar number = i == 0 ? rest : remTrunc(rest, rest.constant(window.kernel[i]));
    rest = divTrunc(rest, rest.constant(window.kernel[i]));
    extent[i] = integer(context.extent(in[2 + i]));
    place[i] = begin + number * step;
    // Steps until the window enters the input.
    Scalar before = divTrunc(max(-begin, 0.0) + (step - 1), begin.constant(step));
    first[i] = begin + before * step;
    inside = inside & (place[i] >= 0.0) & (place[i] < extent[i]);
  }
  auto flat = [&](ArrayRef<Scalar> indices) {
    Scalar position = indices[0];
    for (unsigned i = 1; i < spatial; ++i)
      position = position * extent[i] + indices[i];
    return position;
  };
  return select(inside, flat(place), flat(first)).value();
}

LogicalResult MaxPositions1dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                 Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPositions<MaxPositions1dOp>(location, adaptor, 1, types);
}
LogicalResult MaxPositions2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                 Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPositions<MaxPositions2dOp>(location, adaptor, 2, types);
}
LoopNest MaxPositions1dOp::getLoopNest() { return positionsNest(*this); }
LoopNest MaxPositions2dOp::getLoopNest() { return positionsNest(*this); }
Value MaxPositions1dOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  return emitPositions(*this, context, accs.front());
}
Value MaxPositions2dOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  return emitPositions(*this, context, accs.front());
}

template <typename Op>
static LogicalResult inferBoth(std::optional<Location> location, typename Op::Adaptor adaptor,
                               unsigned spatial, SmallVectorImpl<Type> &types) {
  return success(succeeded(inferMax<Op>(location, adaptor, spatial, types)) &&
                 succeeded(inferPositions<Op>(location, adaptor, spatial, types)));
}

template <typename Pool, typename Positions, typename Op>
static SmallVector<Value> decomposeBoth(Op op, Builder &b) {
  auto make = [&]<typename Made>() {
    return b.make<Made>(op.getX(), op.getKernelSizeAttr(), op.getStrideAttr(), op.getPaddingAttr(),
                        op.getDilationAttr(), op.getCeilModeAttr());
  };
  return {make.template operator()<Pool>(), make.template operator()<Positions>()};
}

LogicalResult MaxPool1dWithIndicesOp::inferReturnTypes(MLIRContext *,
                                                       std::optional<Location> location,
                                                       Adaptor adaptor,
                                                       SmallVectorImpl<Type> &types) {
  return inferBoth<MaxPool1dWithIndicesOp>(location, adaptor, 1, types);
}
LogicalResult MaxPool2dWithIndicesOp::inferReturnTypes(MLIRContext *,
                                                       std::optional<Location> location,
                                                       Adaptor adaptor,
                                                       SmallVectorImpl<Type> &types) {
  return inferBoth<MaxPool2dWithIndicesOp>(location, adaptor, 2, types);
}
SmallVector<Value> MaxPool1dWithIndicesOp::decompose(Builder &b) {
  return decomposeBoth<MaxPool1dOp, MaxPositions1dOp>(*this, b);
}
SmallVector<Value> MaxPool2dWithIndicesOp::decompose(Builder &b) {
  return decomposeBoth<MaxPool2dOp, MaxPositions2dOp>(*this, b);
}

//===- mean -----------------------------------------------------------------------------------===//

bool Mean::isConstant(const Window &window) const {
  bool isPadded = llvm::any_of(window.padding, [](int64_t width) { return width != 0; });
  return divisor || (!window.ceilMode && (countsPadding || !isPadded));
}

Value Mean::emit(BodyContext &context, const Window &window, RankedTensorType x,
                 Value accumulator) const {
  Scalar sum(context.builder, context.loc, accumulator, ScalarKind::floating);
  if (isConstant(window)) {
    int64_t elements = 1;
    for (int64_t size : window.kernel)
      elements *= size;
    return (sum / static_cast<double>(divisor.value_or(elements))).value();
  }
  // Counted elements in each direction: the window clipped to the padded or to the plain input.
  OpBuilder &builder = context.builder;
  Dims in = getDims(x);
  std::optional<Scalar> count;
  for (unsigned i = 0; i < window.kernel.size(); ++i) {
    Scalar position(builder, context.loc, context.parallel[2 + i], ScalarKind::signedInt);
    double margin = countsPadding ? window.padding[i] : 0;
    Scalar size(builder, context.loc, context.extent(in[2 + i]), ScalarKind::signedInt);
    Scalar begin =
        position * static_cast<double>(window.stride[i]) - static_cast<double>(window.padding[i]);
    Scalar end = min(begin + static_cast<double>(window.kernel[i]), size + margin);
    Scalar width = end - max(begin, -margin);
    count = count ? *count * width : width;
  }
  Value integer =
      arith::IndexCastOp::create(builder, context.loc, builder.getI64Type(), count->value());
  Value number = Scalar(builder, context.loc, integer, ScalarKind::signedInt)
                     .convertTo(sum.elementType(), ScalarKind::floating)
                     .value();
  if (auto vector = dyn_cast<VectorType>(sum.value().getType()))
    number = context.splat(number, vector);
  return (sum / Scalar(builder, context.loc, number, ScalarKind::floating)).value();
}

template <typename Op> static Window meanWindow(Op op, unsigned spatial) {
  return {op.getKernelSize(), op.getStride().value_or(op.getKernelSize()), op.getPadding(),
          ArrayRef<int64_t>(kNoDilation).take_front(spatial), op.getCeilMode()};
}

template <typename Op>
static LogicalResult inferMean(std::optional<Location> location, typename Op::Adaptor adaptor,
                               unsigned spatial, SmallVectorImpl<Type> &types) {
  if (adaptor.getDivisorOverride() == 0)
    return emitOptionalError(location, "'", Op::getOperationName(),
                             "' has divisor_override 0; expected another number");
  return meanWindow(adaptor, spatial)
      .infer(Op::getOperationName(), location, adaptor.getX(), spatial, types);
}

template <typename Op> static LoopNest meanNest(Op op) {
  auto y = cast<RankedTensorType>(op.getType());
  Window window = meanWindow(op, y.getRank() - 2);
  LoopNest nest = window.nest(cast<RankedTensorType>(op.getX().getType()), y, 0.0);
  nest.stages = {Combiner::add};
  if (!Mean(op).isConstant(window))
    nest.indexDims.set(2, y.getRank());
  return nest;
}

template <typename Op> static Value emitMean(Op op, BodyContext &context, Value sum) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  return Mean(op).emit(context, meanWindow(op, x.getRank() - 2), x, sum);
}

LogicalResult AvgPool1dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferMean<AvgPool1dOp>(location, adaptor, 1, types);
}
LogicalResult AvgPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferMean<AvgPool2dOp>(location, adaptor, 2, types);
}
LogicalResult AvgPool3dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferMean<AvgPool3dOp>(location, adaptor, 3, types);
}
LoopNest AvgPool1dOp::getLoopNest() { return meanNest(*this); }
LoopNest AvgPool2dOp::getLoopNest() { return meanNest(*this); }
LoopNest AvgPool3dOp::getLoopNest() { return meanNest(*this); }
Value AvgPool1dOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  return emitMean(*this, context, accs.front());
}
Value AvgPool2dOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  return emitMean(*this, context, accs.front());
}
Value AvgPool3dOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  return emitMean(*this, context, accs.front());
}

} // namespace dlc::dl
