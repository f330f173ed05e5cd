//===- DLConvTranspose.cpp - Transposed convolutions as convolutions ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With stride s, index o of the result is fed through the taps r with r*dilation = o + padding (mod
// s). Results of one remainder form a convolution over x of ceil(R/s) taps, so that all s of them
// are the channels of one convolution at the resolution of x; dl.depth_to_space then lays the
// remainders out side by side. What is done to the weights is done at load.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::dl {

namespace {
struct Transposed {
  StringRef name;
  Value x, weight, bias;
  ArrayRef<int64_t> stride, padding, outputPadding, dilation;
  int64_t groups;

  template <typename Op>
  Transposed(StringRef name, Op op)
      : name(name), x(op.getX()), weight(op.getWeight()), bias(op.getBias()),
        stride(op.getStride()), padding(op.getPadding()), outputPadding(op.getOutputPadding()),
        dilation(op.getDilation()), groups(op.getGroups()) {}

  LogicalResult infer(std::optional<Location> location, unsigned spatial,
                      SmallVectorImpl<Type> &types) const;
  Value decompose(Builder &b) const;

private:
  int64_t spatial() const { return stride.size(); }
  int64_t windowOf(unsigned i) const { return *asConstant(dimsOf(weight)[2 + i]); }
  /// The result's size less size(x) * stride.
  int64_t growth(unsigned i) const {
    return dilation[i] * (windowOf(i) - 1) + outputPadding[i] + 1 - 2 * padding[i] - stride[i];
  }
  Value rearrange(Builder &b, Value w, SmallVectorImpl<int64_t> &taps) const;
};
} // namespace

LogicalResult Transposed::infer(std::optional<Location> location, unsigned count,
                                SmallVectorImpl<Type> &types) const {
  static constexpr StringLiteral kSizes[] = {"L", "H, W", "D, H, W"},
                                 kTaps[] = {"R", "R, S", "Q, R, S"};
  RankedTensorType xType = typeOf(x), wType = typeOf(weight);
  SmallVector<Value> operands = {x, weight};
  if (bias)
    operands.push_back(bias);
  if (failed(checkSameElement(location, name, operands)))
    return failure();
  if (xType.getRank() != count + 2 || wType.getRank() != count + 2)
    return emitOptionalError(location, "'", name, "' needs x [N, C, ", kSizes[count - 1],
                             "] and weight [C, K/groups, ", kTaps[count - 1], "], got ", text(x),
                             " and ", text(weight));
  for (ArrayRef<int64_t> list : {stride, padding, outputPadding, dilation})
    if (list.size() != count)
      return emitOptionalError(location, "'", name, "' needs ", count,
                               " numbers for each of stride, padding, output_padding and dilation");
  Dims xDims = getDims(xType), wDims = getDims(wType);
  auto channels = asConstant(xDims[1]), inChannels = asConstant(wDims[0]),
       perGroup = asConstant(wDims[1]);
  if (!channels || !wType.hasStaticShape())
    return emitOptionalError(location, "'", name, "' needs static channels and window, got ",
                             text(x), " and ", text(weight));
  if (groups < 1 || *channels % groups)
    return emitOptionalError(location, "'", name, "' has groups = ", groups, ", which must divide ",
                             *channels, " input channels");
  if (*channels != *inChannels)
    return emitOptionalError(location, "'", name, "' has ", *channels,
                             " input channels; its weight ", text(weight), " takes ", *inChannels);
  AffineExpr outChannels = constantDim(*perGroup * groups, xType.getContext());
  if (failed(checkBias(location, name, bias, outChannels)))
    return failure();
  Dims dims = {xDims[0], outChannels};
  for (unsigned i = 0; i < count; ++i) {
    if (stride[i] < 1 || dilation[i] < 1 || windowOf(i) < 1)
      return emitOptionalError(location, "'", name,
                               "' needs a window, stride and dilation of at least 1");
    if (padding[i] < 0)
      return emitOptionalError(location, "'", name, "' needs padding of at least 0, got ",
                               padding[i]);
    if (outputPadding[i] < 0 || outputPadding[i] >= std::max(stride[i], dilation[i]))
      return emitOptionalError(location, "'", name, "' has output_padding ", outputPadding[i],
                               "; expected 0 or more, and less than stride or dilation");
    dims.push_back(normalize(xDims[2 + i] * stride[i] + growth(i)));
    if (asConstant(dims.back()).value_or(1) < 1)
      return emitOptionalError(location, "'", name, "' would give ", text(dims.back(), x),
                               " elements along dim ", 2 + i, " of ", text(x),
                               "; expected less padding");
  }
  types.push_back(makeTensor(dims, xType.getElementType()));
  return success();
}

/// The elements of dim `dim` from the last to the first.
static Value reversed(Builder &b, Value x, int64_t dim) {
  int64_t size = *asConstant(dimsOf(x)[dim]);
  SmallVector<Value> parts;
  for (int64_t i = size - 1; i >= 0; --i)
    parts.push_back(b.slice(x, dim, i, i + 1));
  return size > 1 ? b.make<CatOp>(parts, dim) : x;
}

/// [C, K/groups, R, ...] -> [K * strides, C/groups, taps, ...], channels in the order of
/// dl.depth_to_space.
Value Transposed::rearrange(Builder &b, Value w, SmallVectorImpl<int64_t> &taps) const {
  auto dim = [&](int64_t size) { return b.getAffineConstantExpr(size); };
  for (int64_t i = 0; i < spatial(); ++i) {
    int64_t window = windowOf(i);
    // Taps that lie apart: zeros between them, or left to the convolution where every tap meets
    // every result.
    if (stride[i] > 1 && dilation[i] > 1) {
      Dims dims = dimsOf(w);
      w = b.pad(b.unsqueeze(w, 3 + i), 3 + i, 0, dilation[i] - 1);
      dims[2 + i] = dim(window * dilation[i]);
      window = dilation[i] * (window - 1) + 1;
      w = b.slice(b.reshape(w, dims), 2 + i, 0, window);
    }
    taps.push_back(llvm::divideCeil(window, stride[i]));
    w = b.pad(w, 2 + i, 0, taps.back() * stride[i] - window);
  }
  // [g, phases, K/g, C/g, taps...]; of each spatial dim the phases leave the window, one dim at a
  // time.
  Dims dims = dimsOf(w);
  int64_t channels = *asConstant(dims[0]), perGroup = *asConstant(dims[1]), phases = 1;
  Dims apart = {dim(groups), dim(channels / groups), dim(1), dim(perGroup)};
  apart.append(dims.begin() + 2, dims.end());
  SmallVector<int64_t> order = {0, 2, 3, 1};
  for (int64_t i = 0; i < spatial(); ++i)
    order.push_back(4 + i);
  w = b.permute(b.reshape(w, apart), order);
  for (int64_t i = 0; i < spatial(); ++i) {
    Dims split = dimsOf(w);
    split[4 + i] = dim(stride[i]);
    split.insert(split.begin() + 4 + i, dim(taps[i]));
    w = reversed(b, b.reshape(w, split), 4 + i);
    order = llvm::to_vector(llvm::seq<int64_t>(0, split.size()));
    order.erase(order.begin() + 5 + i);
    order.insert(order.begin() + 2, 5 + i);
    Dims joined = dimsOf(w);
    joined.erase(joined.begin() + 5 + i);
    joined[1] = dim(phases *= stride[i]);
    w = b.reshape(b.permute(w, order), joined);
  }
  Dims merged = {dim(groups * phases * perGroup), dim(channels / groups)};
  for (int64_t count : taps)
    merged.push_back(dim(count));
  return b.reshape(w, merged);
}

Value Transposed::decompose(Builder &b) const {
  auto dim = [&](int64_t size) { return b.getAffineConstantExpr(size); };
  SmallVector<int64_t> taps, low, high, crop(2 * spatial()), spread(spatial(), 1);
  Value w = rearrange(b, weight, taps);
  bool isCropped = false, isPadded = false;
  for (int64_t i = 0; i < spatial(); ++i) {
    if (stride[i] == 1)
      spread[i] = dilation[i];
    // The low-resolution results from `first` on hold results from 0 to the last one.
    int64_t first = padding[i] / stride[i], reach = spread[i] * (taps[i] - 1);
    int64_t last = llvm::divideCeilSigned(growth(i) + padding[i], stride[i]); // less size(x)
    low.push_back(reach - first);
    high.push_back(last - first - low.back() + reach);
    crop[i] = padding[i] - first * stride[i];
    crop[spatial() + i] = (last - first) * stride[i] - crop[i] - growth(i);
    isPadded |= low.back() != 0 || high.back() != 0;
    isCropped |= low.back() < 0 || high.back() < 0;
  }
  Value input = x;
  if (isCropped) {
    for (int64_t i = 0; i < spatial(); ++i)
      input = b.pad(input, 2 + i, low[i], high[i]);
    isPadded = false;
  }
  SmallVector<int64_t> ones(spatial(), 1), widths(2 * spatial());
  if (isPadded)
    widths.assign(low);
  if (isPadded && low != high)
    widths.append(high);
  if (!isPadded)
    widths.resize(spatial());
  int64_t phases = 1;
  for (int64_t step : stride)
    phases *= step;
  Value repeated = bias;
  if (bias && phases > 1) {
    int64_t perGroup = *asConstant(dimsOf(weight)[1]);
    repeated = b.reshape(bias, {dim(groups), dim(1), dim(perGroup)});
    repeated = b.broadcast(repeated, {dim(groups), dim(phases), dim(perGroup)});
    repeated = b.reshape(repeated, {dim(groups * phases * perGroup)});
  }
  uint64_t count = groups;
  Value y = spatial() == 1   ? b.make<Conv1dOp>(input, w, repeated, ones, widths, spread, count)
            : spatial() == 2 ? b.make<Conv2dOp>(input, w, repeated, ones, widths, spread, count)
                             : b.make<Conv3dOp>(input, w, repeated, ones, widths, spread, count);
  if (phases == 1 && llvm::all_of(crop, [](int64_t width) { return width == 0; }))
    return y;
  return b.make<DepthToSpaceOp>(y, stride, crop, uint64_t(groups));
}

LogicalResult ConvTranspose1dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return Transposed(getOperationName(), adaptor).infer(location, 1, types);
}
LogicalResult ConvTranspose2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return Transposed(getOperationName(), adaptor).infer(location, 2, types);
}
LogicalResult ConvTranspose3dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return Transposed(getOperationName(), adaptor).infer(location, 3, types);
}
SmallVector<Value> ConvTranspose1dOp::decompose(Builder &builder) {
  return {Transposed(getOperationName(), *this).decompose(builder)};
}
SmallVector<Value> ConvTranspose2dOp::decompose(Builder &builder) {
  return {Transposed(getOperationName(), *this).decompose(builder)};
}
SmallVector<Value> ConvTranspose3dOp::decompose(Builder &builder) {
  return {Transposed(getOperationName(), *this).decompose(builder)};
}

//===- depth_to_space -------------------------------------------------------------------------===//

static int64_t productOf(ArrayRef<int64_t> numbers) {
  int64_t product = 1;
  for (int64_t number : numbers)
    product *= number;
  return product;
}

LogicalResult DepthToSpaceOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  RankedTensorType x = typeOf(adaptor.getX());
  ArrayRef<int64_t> block = adaptor.getBlock(), crop = adaptor.getCrop();
  if (x.getRank() < 3 || static_cast<int64_t>(block.size()) != x.getRank() - 2 ||
      crop.size() != 2 * block.size())
    return emitOptionalError(location, "'", name,
                             "' needs x [N, C, ...], a block for each spatial dim and two crops");
  auto isBelow = [](int64_t least) { return [least](int64_t number) { return number < least; }; };
  if (llvm::any_of(block, isBelow(1)) || llvm::any_of(crop, isBelow(0)))
    return emitOptionalError(location, "'", name,
                             "' needs blocks of at least 1 and crops of at least 0");
  Dims in = getDims(x);
  auto channels = asConstant(in[1]);
  int64_t groups = adaptor.getGroups(), phases = productOf(block);
  if (!channels || groups < 1 || *channels % (phases * groups))
    return emitOptionalError(location, "'", name, "' needs a static number of channels that ",
                             phases * groups, " divides, got ", text(adaptor.getX()));
  Dims dims = {in[0], constantDim(*channels / phases, context)};
  for (unsigned i = 0; i < block.size(); ++i) {
    dims.push_back(normalize(in[2 + i] * block[i] - (crop[i] + crop[block.size() + i])));
    if (asConstant(dims.back()).value_or(0) < 0)
      return emitOptionalError(location, "'", name, "' crops more than there is of ",
                               text(adaptor.getX()));
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest DepthToSpaceOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = getDims(typeOf(getY()));
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  auto loop = [&](unsigned dim) { return getAffineDimExpr(dim, getContext()); };
  AffineExpr phase = getAffineConstantExpr(0, getContext());
  SmallVector<AffineExpr> map = {loop(0), loop(1)};
  for (unsigned i = 0; i + 2 < rank; ++i) {
    AffineExpr at = loop(2 + i) + getCrop()[i];
    phase = phase * getBlock()[i] + at % getBlock()[i];
    map.push_back(at.floorDiv(getBlock()[i]));
  }
  int64_t groups = getGroups(), perGroup = *asConstant(nest.parallel[1]) / groups,
          phases = productOf(getBlock());
  if (groups == 1)
    map[1] = phase * perGroup + loop(1);
  else
    map[1] =
        loop(1).floorDiv(perGroup) * (phases * perGroup) + phase * perGroup + loop(1) % perGroup;
  nest.results.push_back({0, AffineMap::get(rank, kMaxSymbols, map, getContext())});
  return nest;
}

Value DepthToSpaceOp::emitResult(BodyContext &, ValueRange args, ValueRange) {
  return args.front();
}

LogicalResult PixelShuffleOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  int64_t factor = adaptor.getUpscaleFactor();
  auto channels = x.getRank() == 4 ? asConstant(getDims(x)[1]) : std::nullopt;
  if (factor < 1 || !channels || *channels % (factor * factor))
    return emitOptionalError(location, "'", getOperationName(), "' with upscale_factor ", factor,
                             " needs x [N, C*factor*factor, H, W], got ", text(adaptor.getX()));
  Dims in = getDims(x);
  types.push_back(makeTensor(
      {in[0], constantDim(*channels / (factor * factor), context), in[2] * factor, in[3] * factor},
      x.getElementType()));
  return success();
}

SmallVector<Value> PixelShuffleOp::decompose(Builder &builder) {
  int64_t factor = getUpscaleFactor();
  uint64_t channels = *asConstant(dimsOf(getY())[1]);
  return {builder.make<DepthToSpaceOp>(getX(), ArrayRef<int64_t>{factor, factor},
                                       ArrayRef<int64_t>{0, 0, 0, 0}, channels)};
}

} // namespace dlc::dl
