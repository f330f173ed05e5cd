//===- DLConvolution.cpp - Types and loops of convolutions --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/contraction/DLContraction.h"

using namespace mlir;

namespace dlc::dl {

namespace {
/// A convolution over any number of spatial dims.
struct Convolution {
  StringRef name;
  Value x, weight, bias;
  ArrayRef<int64_t> stride, padding, dilation;
  int64_t groups;

  template <typename Op>
  Convolution(StringRef name, Op op)
      : name(name), x(op.getX()), weight(op.getWeight()), bias(op.getBias()),
        stride(op.getStride()), padding(op.getPadding()), dilation(op.getDilation()),
        groups(op.getGroups()) {}

  LogicalResult infer(std::optional<Location> location, unsigned spatial,
                      SmallVectorImpl<Type> &types) const;
  LoopNest nest(RankedTensorType result) const;

private:
  int64_t low(unsigned i) const { return padding[i]; }
  int64_t high(unsigned i) const {
    return padding[padding.size() == stride.size() ? i : stride.size() + i];
  }
  LogicalResult inferSpatial(std::optional<Location> location, unsigned i, const Dims &xDims,
                             const Dims &wDims, Dims &dims) const;
};
} // namespace

/// Names of dims, for messages.
static StringRef pixels(unsigned spatial) {
  return spatial == 1 ? "L" : spatial == 2 ? "H, W" : "D, H, W";
}
static StringRef window(unsigned spatial) {
  return spatial == 1 ? "R" : spatial == 2 ? "R, S" : "Q, R, S";
}

LogicalResult Convolution::inferSpatial(std::optional<Location> location, unsigned i,
                                        const Dims &xDims, const Dims &wDims, Dims &dims) const {
  AffineExpr padded = xDims[2 + i] + (low(i) + high(i));
  AffineExpr room = padded - (wDims[2 + i] - 1) * dilation[i] - 1;
  if (auto size = asConstant(normalize(room)); size && *size < 0)
    return emitOptionalError(location, "'", name, "' has a window of ", text(wDims[2 + i], weight),
                             " with dilation ", dilation[i], ", larger than the padded input of ",
                             text(padded, x));
  dims.push_back(room.floorDiv(stride[i]) + 1);
  return success();
}

/// For an x whose last dim has the channels that the convolution takes, as TensorFlow and image
/// files have it: how to turn it.
static std::string hintForChannelsLast(Value image, AffineExpr groupChannels, int64_t groups) {
  Dims x = getDims(cast<RankedTensorType>(image.getType()));
  if (normalize(groupChannels * groups) != x.back())
    return "";
  std::string order = "0, " + std::to_string(x.size() - 1);
  for (size_t dim = 1; dim + 1 < x.size(); ++dim)
    order += ", " + std::to_string(dim);
  return "; the last dim of x is " + text(x.back(), image) +
         ": if its channels come last (NHWC), write permute(x, (" + order + "))";
}

LogicalResult Convolution::infer(std::optional<Location> location, unsigned spatial,
                                 SmallVectorImpl<Type> &types) const {
  auto xType = cast<RankedTensorType>(x.getType());
  auto wType = cast<RankedTensorType>(weight.getType());
  SmallVector<Value> operands = {x, weight};
  if (bias)
    operands.push_back(bias);
  if (failed(checkSameElement(location, name, operands)))
    return failure();
  if (xType.getRank() != spatial + 2 || wType.getRank() != spatial + 2)
    return emitOptionalError(location, "'", name, "' needs x [N, C, ", pixels(spatial),
                             "] and weight [K, C/groups, ", window(spatial), "], got ", text(x),
                             " and ", text(weight));
  if (stride.size() != spatial || dilation.size() != spatial ||
      (padding.size() != spatial && padding.size() != 2 * spatial))
    return emitOptionalError(location, "'", name, "' needs ", spatial,
                             spatial == 1 ? " stride, " : " strides, ", spatial,
                             spatial == 1 ? " dilation and " : " dilations and ", spatial, " or ",
                             2 * spatial, " paddings");
  for (unsigned i = 0; i < spatial; ++i)
    if (stride[i] < 1 || dilation[i] < 1)
      return emitOptionalError(location, "'", name, "' needs stride and dilation of at least 1");
  for (int64_t width : padding)
    if (width < 0)
      return emitOptionalError(location, "'", name, "' needs padding of at least 0, got ", width);
  Dims xDims = getDims(xType), wDims = getDims(wType);
  // In the derivative of a weight samples are channels, and what the result is worth is the window:
  // both may have symbols.
  auto outChannels = asConstant(wDims[0]);
  AffineExpr taken = normalize(wDims[1] * groups);
  bool isKnown = asConstant(xDims[1]) || normalize(xDims[1]) == taken;
  std::string hint = hintForChannelsLast(x, wDims[1], groups);
  if (!outChannels || !isKnown)
    return emitOptionalError(location, "'", name, "' needs static channels, got ", text(x), " and ",
                             text(weight), hint);
  auto channels = asConstant(xDims[1]);
  if (groups < 1 || *outChannels % groups || (channels && *channels % groups))
    return emitOptionalError(location, "'", name, "' has groups = ", groups, ", which must divide ",
                             text(xDims[1], x), " input and ", *outChannels, " output channels",
                             hint);
  if (normalize(xDims[1]) != taken)
    return emitOptionalError(location, "'", name, "' has ", text(xDims[1], x),
                             " input channels; its weight ", text(weight),
                             " with groups = ", groups, " takes ", text(taken, weight), hint);
  if (failed(checkBias(location, name, bias, wDims[0])))
    return failure();
  Dims dims = {xDims[0], wDims[0]};
  for (unsigned i = 0; i < spatial; ++i)
    if (failed(inferSpatial(location, i, xDims, wDims, dims)))
      return failure();
  types.push_back(makeTensor(dims, xType.getElementType()));
  return success();
}

LoopNest Convolution::nest(RankedTensorType result) const {
  MLIRContext *context = result.getContext();
  unsigned spatial = stride.size(), rank = spatial + 2;
  Dims wDims = getDims(cast<RankedTensorType>(weight.getType()));
  LoopNest nest;
  nest.parallel = getDims(result);
  nest.indexDims.resize(rank);
  nest.reduction.assign(wDims.begin() + 1, wDims.end());
  nest.stages = {Combiner::add};
  nest.isProduct = true;
  auto parallel = [&](unsigned dim) { return getAffineDimExpr(dim, context); };
  auto reduction = [&](unsigned dim) { return getAffineDimExpr(rank + dim, context); };
  int64_t perGroup = *asConstant(wDims[0]) / groups;
  SmallVector<AffineExpr> xMap = {parallel(0), reduction(0)}, wMap = {parallel(1), reduction(0)};
  if (groups != 1)
    xMap[1] = parallel(1).floorDiv(perGroup) * wDims[1] + reduction(0);
  bool checked = false;
  for (unsigned i = 0; i < spatial; ++i) {
    xMap.push_back(parallel(2 + i) * stride[i] + reduction(1 + i) * dilation[i] - low(i));
    wMap.push_back(reduction(1 + i));
    checked |= low(i) > 0 || high(i) > 0;
  }
  unsigned loops = nest.numLoops();
  nest.terms.push_back({0, AffineMap::get(loops, kMaxSymbols, xMap, context), checked, 0.0});
  nest.terms.push_back({1, AffineMap::get(loops, kMaxSymbols, wMap, context)});
  if (bias)
    nest.results.push_back({2, AffineMap::get(rank, kMaxSymbols, {parallel(1)}, context)});
  return nest;
}

LogicalResult Conv1dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return Convolution(getOperationName(), adaptor).infer(location, 1, types);
}
LogicalResult Conv2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return Convolution(getOperationName(), adaptor).infer(location, 2, types);
}
LogicalResult Conv3dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return Convolution(getOperationName(), adaptor).infer(location, 3, types);
}

LoopNest Conv1dOp::getLoopNest() {
  return Convolution(getOperationName(), *this).nest(cast<RankedTensorType>(getType()));
}
LoopNest Conv2dOp::getLoopNest() {
  return Convolution(getOperationName(), *this).nest(cast<RankedTensorType>(getType()));
}
LoopNest Conv3dOp::getLoopNest() {
  return Convolution(getOperationName(), *this).nest(cast<RankedTensorType>(getType()));
}

} // namespace dlc::dl
