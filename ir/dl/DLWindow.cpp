//===- DLWindow.cpp - Types and loops of pooling ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

namespace {
/// A 2-D window over dims 2 and 3 of an [N, C, H, W] tensor.
struct Window2d {
  ArrayRef<int64_t> kernel, stride, padding, dilation;
  bool ceilMode;

  LogicalResult infer(StringRef op, std::optional<Location> location, RankedTensorType x,
                      SmallVectorImpl<Type> &types) const;
  LoopNest nest(RankedTensorType x, RankedTensorType y, double fill) const;
};
} // namespace

static constexpr int64_t kNoDilation[] = {1, 1};

LogicalResult Window2d::infer(StringRef op, std::optional<Location> location, RankedTensorType x,
                              SmallVectorImpl<Type> &types) const {
  if (x.getRank() != 4)
    return emitOptionalError(location, "'", op, "' needs x [N, C, H, W], got ", text(x));
  if (kernel.size() != 2 || stride.size() != 2 || padding.size() != 2 || dilation.size() != 2)
    return emitOptionalError(
        location, "'", op,
        "' needs 2 numbers for each of kernel_size, stride, padding and dilation");
  Dims in = getDims(x), dims = {in[0], in[1]};
  for (int i = 0; i < 2; ++i) {
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
                               text(normalize(in[2 + i] + 2 * padding[i])));
    if (!ceilMode) {
      dims.push_back(room.floorDiv(stride[i]) + 1);
      continue;
    }
    if (!size)
      return emitOptionalError(location, "'", op,
                               "' with ceil_mode needs a static height and width, got ", text(x));
    // The last window must begin inside the input or its left padding.
    int64_t count = llvm::divideCeil(*size, stride[i]) + 1;
    if ((count - 1) * stride[i] >= *asConstant(in[2 + i]) + padding[i])
      --count;
    dims.push_back(constantDim(count, x.getContext()));
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest Window2d::nest(RankedTensorType x, RankedTensorType y, double fill) const {
  MLIRContext *context = x.getContext();
  LoopNest nest;
  nest.parallel = getDims(y);
  nest.indexDims.resize(4);
  SmallVector<AffineExpr> map = {getAffineDimExpr(0, context), getAffineDimExpr(1, context)};
  for (unsigned i = 0; i < 2; ++i) {
    nest.reduction.push_back(constantDim(kernel[i], context));
    map.push_back(getAffineDimExpr(2 + i, context) * stride[i] +
                  getAffineDimExpr(4 + i, context) * dilation[i] - padding[i]);
  }
  bool checked = ceilMode || padding[0] > 0 || padding[1] > 0;
  nest.terms.push_back({0, AffineMap::get(6, kMaxSymbols, map, context), checked, fill});
  return nest;
}

static Window2d window(MaxPool2dOp op) {
  return {op.getKernelSize(), op.getStride().value_or(op.getKernelSize()), op.getPadding(),
          op.getDilation(), op.getCeilMode()};
}

static Window2d window(AvgPool2dOp op) {
  return {op.getKernelSize(), op.getStride().value_or(op.getKernelSize()), op.getPadding(),
          kNoDilation, op.getCeilMode()};
}

LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Window2d window{adaptor.getKernelSize(), adaptor.getStride().value_or(adaptor.getKernelSize()),
                  adaptor.getPadding(), adaptor.getDilation(), adaptor.getCeilMode()};
  return window.infer(getOperationName(), location,
                      cast<RankedTensorType>(adaptor.getX().getType()), types);
}

LoopNest MaxPool2dOp::getLoopNest() {
  LoopNest nest = window(*this).nest(cast<RankedTensorType>(getX().getType()),
                                     cast<RankedTensorType>(getType()),
                                     -std::numeric_limits<double>::infinity());
  nest.stages = {Combiner::max};
  return nest;
}

Value MaxPool2dOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

LogicalResult AvgPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Window2d window{adaptor.getKernelSize(), adaptor.getStride().value_or(adaptor.getKernelSize()),
                  adaptor.getPadding(), kNoDilation, adaptor.getCeilMode()};
  return window.infer(getOperationName(), location,
                      cast<RankedTensorType>(adaptor.getX().getType()), types);
}

/// Every window has the same number of counted elements.
static bool hasConstantDivisor(AvgPool2dOp op) {
  ArrayRef<int64_t> padding = op.getPadding();
  return !op.getCeilMode() && (op.getCountIncludePad() || (padding[0] == 0 && padding[1] == 0));
}

LoopNest AvgPool2dOp::getLoopNest() {
  LoopNest nest = window(*this).nest(cast<RankedTensorType>(getX().getType()),
                                     cast<RankedTensorType>(getType()), 0.0);
  nest.stages = {Combiner::add};
  if (!hasConstantDivisor(*this))
    nest.indexDims.set(2, 4);
  return nest;
}

Value AvgPool2dOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

Value AvgPool2dOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  Scalar sum(context.builder, context.loc, accs.front(), ScalarKind::floating);
  ArrayRef<int64_t> kernel = getKernelSize(), padding = getPadding();
  if (hasConstantDivisor(*this))
    return (sum / static_cast<double>(kernel[0] * kernel[1])).value();
  // Counted elements in each direction: the window clipped to the padded or to the plain input.
  OpBuilder &builder = context.builder;
  Dims in = getDims(cast<RankedTensorType>(getX().getType()));
  ArrayRef<int64_t> stride = getStride().value_or(kernel);
  std::optional<Scalar> count;
  for (unsigned i = 0; i < 2; ++i) {
    Scalar position(builder, context.loc, context.parallel[2 + i], ScalarKind::signedInt);
    int64_t margin = getCountIncludePad() ? padding[i] : 0;
    Scalar size(builder, context.loc, context.extent(in[2 + i]), ScalarKind::signedInt);
    Scalar begin = position * static_cast<double>(stride[i]) - static_cast<double>(padding[i]);
    Scalar end = min(begin + static_cast<double>(kernel[i]), size + static_cast<double>(margin));
    Scalar width = end - max(begin, -static_cast<double>(margin));
    count = count ? *count * width : width;
  }
  Value integer =
      arith::IndexCastOp::create(builder, context.loc, builder.getI64Type(), count->value());
  Type type = sum.elementType();
  Value divisor = Scalar(builder, context.loc, integer, ScalarKind::signedInt)
                      .convertTo(type, ScalarKind::floating)
                      .value();
  if (auto vector = dyn_cast<VectorType>(sum.value().getType()))
    divisor = context.splat(divisor, vector);
  return (sum / Scalar(builder, context.loc, divisor, ScalarKind::floating)).value();
}

} // namespace dlc::dl
