//===- DLContraction.cpp - Types and loops of convolutions and matrix products ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::dl {

/// Type of the accumulator: f64 for f64, f32 for other floats, the integer type itself (products wrap).
static Type accumulatorType(Type elementType) { return computeType(elementType); }

Value emitProduct(BodyContext &context, ValueRange args, Type elementType) {
  ScalarKind kind = scalarKind(elementType);
  Scalar x(context.builder, context.loc, args[0], kind),
      y(context.builder, context.loc, args[1], kind);
  return (x * y).convertTo(accumulatorType(elementType), kind).value();
}

Value emitBias(BodyContext &context, ValueRange args, ValueRange accs, Type elementType) {
  if (args.empty())
    return accs.front();
  ScalarKind kind = scalarKind(elementType);
  return (Scalar(context.builder, context.loc, accs.front(), kind) +
          Scalar(context.builder, context.loc, args.front(), kind))
      .value();
}

static LogicalResult checkSameElement(std::optional<Location> location, StringRef op,
                                      ValueRange operands) {
  Type first = getElementTypeOrSelf(operands.front().getType());
  for (Value operand : operands)
    if (Type type = getElementTypeOrSelf(operand.getType()); type != first)
      return emitOptionalError(location, "'", op, "' needs operands of one dtype, got ", first,
                               " and ", type);
  return success();
}

/// Bias of one number for each of `channels`.
static LogicalResult checkBias(std::optional<Location> location, StringRef op, Value bias,
                               AffineExpr channels) {
  if (!bias)
    return success();
  auto type = cast<RankedTensorType>(bias.getType());
  if (type.getRank() != 1 || getDims(type)[0] != channels)
    return emitOptionalError(location, "'", op, "' needs a bias of ", text(channels),
                             " elements, got ", text(type));
  return success();
}

//===- conv2d -------------------------------------------------------------------------------------===//

namespace {
/// Padding before and after each of the two spatial dims.
struct Padding2d {
  int64_t low[2], high[2];
  explicit Padding2d(ArrayRef<int64_t> padding) {
    bool symmetric = padding.size() == 2;
    for (int i = 0; i < 2; ++i) {
      low[i] = padding[i];
      high[i] = padding[symmetric ? i : i + 2];
    }
  }
};
} // namespace

LogicalResult Conv2dOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto weight = cast<RankedTensorType>(adaptor.getWeight().getType());
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  if (x.getRank() != 4 || weight.getRank() != 4)
    return emitOptionalError(location, "'", name,
                             "' needs x [N, C, H, W] and weight [K, C/groups, R, S], got ", text(x),
                             " and ", text(weight));
  ArrayRef<int64_t> stride = adaptor.getStride(), padding = adaptor.getPadding(),
                    dilation = adaptor.getDilation();
  if (stride.size() != 2 || dilation.size() != 2 || (padding.size() != 2 && padding.size() != 4))
    return emitOptionalError(location, "'", name,
                             "' needs 2 strides, 2 dilations and 2 or 4 paddings");
  for (int i = 0; i < 2; ++i)
    if (stride[i] < 1 || dilation[i] < 1)
      return emitOptionalError(location, "'", name, "' needs stride and dilation of at least 1");
  for (int64_t width : padding)
    if (width < 0)
      return emitOptionalError(location, "'", name, "' needs padding of at least 0, got ", width);
  int64_t groups = adaptor.getGroups();
  Dims xDims = getDims(x), wDims = getDims(weight);
  auto channels = asConstant(xDims[1]), outChannels = asConstant(wDims[0]),
       groupChannels = asConstant(wDims[1]);
  if (!channels || !outChannels || !groupChannels || !asConstant(wDims[2]) || !asConstant(wDims[3]))
    return emitOptionalError(location, "'", name, "' needs static channels and window, got ",
                             text(x), " and ", text(weight));
  if (groups < 1 || *channels % groups || *outChannels % groups)
    return emitOptionalError(location, "'", name, "' has groups = ", groups, ", which must divide ",
                             *channels, " input and ", *outChannels, " output channels");
  if (*groupChannels * groups != *channels)
    return emitOptionalError(location, "'", name, "' has ", *channels,
                             " input channels; its weight ", text(weight),
                             " with groups = ", groups, " takes ", *groupChannels * groups);
  if (failed(checkBias(location, name, adaptor.getBias(), wDims[0])))
    return failure();
  Padding2d pad(padding);
  Dims dims = {xDims[0], wDims[0]};
  for (int i = 0; i < 2; ++i) {
    AffineExpr room =
        xDims[2 + i] + (pad.low[i] + pad.high[i]) - (wDims[2 + i] - 1) * dilation[i] - 1;
    if (auto size = asConstant(normalize(room)); size && *size < 0)
      return emitOptionalError(location, "'", name, "' has a window of ", text(wDims[2 + i]),
                               " with dilation ", dilation[i], ", larger than the padded input of ",
                               text(xDims[2 + i] + (pad.low[i] + pad.high[i])));
    dims.push_back(room.floorDiv(stride[i]) + 1);
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest Conv2dOp::getLoopNest() {
  MLIRContext *context = getContext();
  Dims wDims = getDims(cast<RankedTensorType>(getWeight().getType()));
  LoopNest nest;
  nest.parallel = getDims(cast<RankedTensorType>(getType()));
  nest.indexDims.resize(4);
  nest.reduction.assign(wDims.begin() + 1, wDims.end());
  nest.stages = {Combiner::add};
  nest.isProduct = true;
  SmallVector<AffineExpr, 7> d;
  for (unsigned i = 0; i < 7; ++i)
    d.push_back(getAffineDimExpr(i, context));
  Padding2d pad(getPadding());
  int64_t groups = getGroups(), perGroup = *asConstant(wDims[0]) / groups,
          groupChannels = *asConstant(wDims[1]);
  AffineExpr channel = groups == 1 ? d[4] : d[1].floorDiv(perGroup) * groupChannels + d[4];
  SmallVector<AffineExpr> xMap = {d[0], channel};
  bool checked = false;
  for (int i = 0; i < 2; ++i) {
    xMap.push_back(d[2 + i] * getStride()[i] + d[5 + i] * getDilation()[i] - pad.low[i]);
    checked |= pad.low[i] > 0 || pad.high[i] > 0;
  }
  nest.terms.push_back({0, AffineMap::get(7, kMaxSymbols, xMap, context), checked, 0.0});
  nest.terms.push_back({1, AffineMap::get(7, kMaxSymbols, {d[1], d[4], d[5], d[6]}, context)});
  if (getBias())
    nest.results.push_back({2, AffineMap::get(4, kMaxSymbols, {d[1]}, context)});
  return nest;
}

//===- linear -------------------------------------------------------------------------------------===//

LogicalResult LinearOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto weight = cast<RankedTensorType>(adaptor.getWeight().getType());
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  if (x.getRank() < 1 || weight.getRank() != 2)
    return emitOptionalError(location, "'", name, "' needs x [..., K] and weight [N, K], got ",
                             text(x), " and ", text(weight));
  Dims dims = getDims(x), wDims = getDims(weight);
  if (dims.back() != wDims[1])
    return emitOptionalError(location, "'", name, "' has ", text(wDims[1]),
                             " input features, but the last dim of x is ", text(dims.back()));
  if (failed(checkBias(location, name, adaptor.getBias(), wDims[0])))
    return failure();
  dims.back() = wDims[0];
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest LinearOp::getLoopNest() {
  MLIRContext *context = getContext();
  LoopNest nest;
  nest.parallel = getDims(cast<RankedTensorType>(getType()));
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  nest.reduction = {getDims(cast<RankedTensorType>(getWeight().getType()))[1]};
  nest.stages = {Combiner::add};
  nest.isProduct = true;
  AffineExpr n = getAffineDimExpr(rank - 1, context), k = getAffineDimExpr(rank, context);
  SmallVector<AffineExpr> xMap;
  for (unsigned dim = 0; dim + 1 < rank; ++dim)
    xMap.push_back(getAffineDimExpr(dim, context));
  xMap.push_back(k);
  nest.terms.push_back({0, AffineMap::get(rank + 1, kMaxSymbols, xMap, context)});
  nest.terms.push_back({1, AffineMap::get(rank + 1, kMaxSymbols, {n, k}, context)});
  if (getBias())
    nest.results.push_back({2, AffineMap::get(rank, kMaxSymbols, {n}, context)});
  return nest;
}

//===- matmul -------------------------------------------------------------------------------------===//

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto other = cast<RankedTensorType>(adaptor.getOther().getType());
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  int64_t xRank = x.getRank(), otherRank = other.getRank(), rank = std::max(xRank, otherRank);
  if (xRank < 2 || otherRank < 2)
    return emitOptionalError(location, "'", name, "' needs operands of rank 2 or more, got ",
                             text(x), " and ", text(other),
                             "; reshape a vector to [1, K] or [K, 1]");
  Dims a = getDims(x), b = getDims(other), dims(rank, constantDim(1, context));
  if (a[xRank - 1] != b[otherRank - 2])
    return emitOptionalError(location, "'", name,
                             "' needs as many columns of x as rows of other, got ",
                             text(a[xRank - 1]), " and ", text(b[otherRank - 2]));
  for (int64_t back = 3; back <= rank; ++back) {
    AffineExpr p = back <= xRank ? a[xRank - back] : constantDim(1, context);
    AffineExpr q = back <= otherRank ? b[otherRank - back] : constantDim(1, context);
    if (p != q && !isConstant(p, 1) && !isConstant(q, 1))
      return emitOptionalError(location, "'", name, "' cannot broadcast the leading dims of ",
                               text(x), " and ", text(other));
    dims[rank - back] = isConstant(p, 1) ? q : p;
  }
  dims[rank - 2] = a[xRank - 2];
  dims[rank - 1] = b[otherRank - 1];
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest MatmulOp::getLoopNest() {
  MLIRContext *context = getContext();
  LoopNest nest;
  nest.parallel = getDims(cast<RankedTensorType>(getType()));
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  auto x = cast<RankedTensorType>(getX().getType()),
       other = cast<RankedTensorType>(getOther().getType());
  nest.reduction = {getDims(x).back()};
  nest.stages = {Combiner::add};
  nest.isProduct = true;
  AffineExpr k = getAffineDimExpr(rank, context);
  // Leading dims are aligned at their ends; a dim of size 1 is read at 0.
  auto leading = [&](RankedTensorType type) {
    SmallVector<AffineExpr> map;
    Dims dims = getDims(type);
    for (int64_t dim = 0; dim + 2 < type.getRank(); ++dim) {
      unsigned loop = rank - type.getRank() + dim;
      bool repeated = isConstant(dims[dim], 1) && !isConstant(nest.parallel[loop], 1);
      map.push_back(repeated ? constantDim(0, context) : getAffineDimExpr(loop, context));
    }
    return map;
  };
  SmallVector<AffineExpr> xMap = leading(x), otherMap = leading(other);
  xMap.append({getAffineDimExpr(rank - 2, context), k});
  otherMap.append({k, getAffineDimExpr(rank - 1, context)});
  nest.terms.push_back({0, AffineMap::get(rank + 1, kMaxSymbols, xMap, context)});
  nest.terms.push_back({1, AffineMap::get(rank + 1, kMaxSymbols, otherMap, context)});
  return nest;
}

} // namespace dlc::dl
