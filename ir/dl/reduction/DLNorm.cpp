//===- DLNorm.cpp - Types and loops of normalizations -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/reduction/DLNorm.h"

#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc::dl {

//===- batch_norm -----------------------------------------------------------------------------===//

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  if (x.getRank() < 2)
    return emitOptionalError(location, "'", name, "' needs x [N, C, ...], got ",
                             text(adaptor.getX()));
  if (adaptor.getAffine().size() != 0 && adaptor.getAffine().size() != 2)
    return emitOptionalError(location, "'", name, "' needs weight and bias together, or neither");
  AffineExpr channels = getDims(x)[1];
  for (Value operand : adaptor.getOperands().drop_front()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getRank() != 1 || getDims(type)[0] != channels ||
        type.getElementType() != x.getElementType())
      return emitOptionalError(location, "'", name, "' needs statistics, weight and bias of ",
                               text(channels, adaptor.getOperands()), " ", x.getElementType(),
                               " elements, got ", text(operand));
  }
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return success();
}

LoopNest BatchNormOp::getLoopNest() {
  LoopNest nest = elementwiseNest(*this);
  MLIRContext *context = getContext();
  AffineMap channel =
      AffineMap::get(nest.parallel.size(), kMaxSymbols, {getAffineDimExpr(1, context)}, context);
  for (Access &access : llvm::drop_begin(nest.results))
    access.map = channel;
  return nest;
}

Value BatchNormOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  auto scalar = [&](unsigned i) {
    return Scalar(context.builder, context.loc, args[i], ScalarKind::floating);
  };
  Scalar y = (scalar(0) - scalar(1)) / sqrt(scalar(2) + getEps().convertToDouble());
  if (args.size() == 5)
    y = y * scalar(3) + scalar(4);
  return y.value();
}

//===- Rows of their own mean and variance ----------------------------------------------------===//

/// A nest over x whose stages reduce `dims`; x is read at its own index too, and so is each of
/// `affine`, at `affineDims`.
static LoopNest rowNest(Operation *op, ArrayRef<int64_t> dims, ArrayRef<int64_t> affineDims,
                        ArrayRef<Combiner> stages) {
  LoopNest nest = elementwiseNest(op);
  MLIRContext *context = op->getContext();
  int64_t rank = nest.parallel.size();
  nest.stages.assign(stages.begin(), stages.end());
  SmallVector<AffineExpr> term(identityAccess(rank, context).getResults());
  for (int64_t dim : dims) {
    term[dim] = getAffineDimExpr(rank + nest.reduction.size(), context);
    nest.reduction.push_back(nest.parallel[dim]);
  }
  nest.terms.push_back({0, AffineMap::get(nest.numLoops(), kMaxSymbols, term, context)});
  SmallVector<AffineExpr> affine;
  for (int64_t dim : affineDims)
    affine.push_back(getAffineDimExpr(dim, context));
  for (Access &access : llvm::drop_begin(nest.results))
    access.map = AffineMap::get(rank, kMaxSymbols, affine, context);
  return nest;
}

static SmallVector<int64_t> lastDims(int64_t rank, int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(rank - count, rank));
}

/// Fails unless `affine` is at most weight and bias, of the dims and dtype that are given.
static LogicalResult checkAffine(StringRef op, std::optional<Location> location, ValueRange affine,
                                 size_t most, ArrayRef<AffineExpr> dims, Type element) {
  if (affine.size() > most)
    return emitOptionalError(location, "'", op, "' takes at most ", most,
                             most == 1 ? " weight" : " of weight and bias");
  auto expected = makeTensor(dims, element);
  for (Value value : affine)
    if (!sameShapeAndElement(value.getType(), expected))
      return emitOptionalError(location, "'", op, "' needs a weight",
                               most == 2 ? " and a bias" : "", " of ", text(expected, value),
                               ", got ", text(value));
  return success();
}

static LogicalResult inferLastDims(StringRef op, std::optional<Location> location,
                                   ValueRange operands, size_t most, ArrayRef<int64_t> shape,
                                   SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(operands.front());
  Dims dims = getDims(x);
  bool fits = !shape.empty() && shape.size() <= dims.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = isConstant(dims[dims.size() - shape.size() + i], shape[i]);
  if (!fits) {
    std::string expected;
    for (int64_t size : shape)
      expected += (expected.empty() ? "" : ", ") + std::to_string(size);
    return emitOptionalError(location, "'", op, "' needs a tensor whose last dims are [", expected,
                             "], its normalized_shape, got ", text(operands.front()));
  }
  ArrayRef<AffineExpr> last = ArrayRef<AffineExpr>(dims).take_back(shape.size());
  if (failed(checkAffine(op, location, operands.drop_front(), most, last, x.getElementType())))
    return failure();
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LogicalResult StandardizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  for (ArrayRef<int64_t> list : {adaptor.getDims(), adaptor.getAffineDims()})
    for (int64_t dim : list)
      if (dim < 0 || dim >= x.getRank())
        return emitOptionalError(location, "'", getOperationName(), "' has dim ", dim,
                                 "; expected 0 to ", x.getRank() - 1);
  Dims dims = dimsOf(adaptor.getX()), affine;
  for (int64_t dim : adaptor.getAffineDims())
    affine.push_back(dims[dim]);
  if (failed(checkAffine(getOperationName(), location, adaptor.getAffine(), 2, affine,
                         x.getElementType())))
    return failure();
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
LoopNest StandardizeOp::getLoopNest() {
  return rowNest(*this, getDims(), getAffineDims(), {Combiner::add, Combiner::add});
}
Value StandardizeOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args,
                              ValueRange accs) {
  return varianceTerm(context, stage, getLoopNest().reduction, args, accs);
}
Value StandardizeOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  auto scalar = [&](Value value) {
    return Scalar(context.builder, context.loc, value, ScalarKind::floating);
  };
  Scalar x = scalar(args[0]), count = numTerms(context, getLoopNest().reduction, x);
  Scalar mean = scalar(accs[0]) / count, variance = scalar(accs[1]) / count;
  Scalar y = (x - mean) * (1.0 / sqrt(variance + getEps().convertToDouble()));
  if (args.size() > 1)
    y = y * scalar(args[1]);
  if (args.size() > 2)
    y = y + scalar(args[2]);
  return y.value();
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferLastDims(getOperationName(), location, adaptor.getOperands(), 1,
                       adaptor.getNormalizedShape(), types);
}
double epsilonOf(RmsNormOp op) {
  auto element = cast<FloatType>(typeOf(op.getX()).getElementType());
  return op.getEps() ? op.getEps()->convertToDouble()
                     : std::ldexp(1.0, 1 - static_cast<int>(element.getFPMantissaWidth()));
}

LoopNest RmsNormOp::getLoopNest() {
  SmallVector<int64_t> dims = lastDims(typeOf(getX()).getRank(), getNormalizedShape().size());
  return rowNest(*this, dims, dims, Combiner::add);
}
Value RmsNormOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  Scalar x(context.builder, context.loc, args.front(), ScalarKind::floating);
  return (x * x).value();
}
Value RmsNormOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  auto scalar = [&](Value value) {
    return Scalar(context.builder, context.loc, value, ScalarKind::floating);
  };
  Scalar x = scalar(args[0]);
  Scalar mean = scalar(accs[0]) / numTerms(context, getLoopNest().reduction, x);
  Scalar y = x * (1.0 / sqrt(mean + epsilonOf(*this)));
  if (args.size() > 1)
    y = y * scalar(args[1]);
  return y.value();
}

//===- Made of those --------------------------------------------------------------------------===//

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferLastDims(getOperationName(), location, adaptor.getOperands(), 2,
                       adaptor.getNormalizedShape(), types);
}
SmallVector<Value> LayerNormOp::decompose(Builder &builder) {
  SmallVector<int64_t> dims = lastDims(typeOf(getX()).getRank(), getNormalizedShape().size());
  return {builder.make<StandardizeOp>(getX(), getAffine(), dims, dims, getEps())};
}

/// Channels and, of `groups` of them, one weight each.
static LogicalResult inferChannels(StringRef op, std::optional<Location> location, Value value,
                                   ValueRange affine, int64_t groups,
                                   SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(value);
  if (x.getRank() < 2)
    return emitOptionalError(location, "'", op, "' needs x [N, C, ...], got ", text(value));
  Dims dims = getDims(x);
  if (groups < 1 || normalize(dims[1] % groups) != constantDim(0, x.getContext()))
    return emitOptionalError(location, "'", op, "' needs a number of channels that ", groups,
                             " groups divide, got ", text(value));
  if (failed(checkAffine(op, location, affine, 2, dims[1], x.getElementType())))
    return failure();
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LogicalResult GroupNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferChannels(getOperationName(), location, adaptor.getX(), adaptor.getAffine(),
                       adaptor.getNumGroups(), types);
}
SmallVector<Value> GroupNormOp::decompose(Builder &builder) {
  Dims dims = dimsOf(getX());
  int64_t groups = getNumGroups(), rank = dims.size();
  AffineExpr channels = normalize(dims[1].floorDiv(groups));
  // [N, C, ...] as [N, groups, C / groups, ...]: views.
  Dims split = dims;
  split[1] = channels;
  split.insert(split.begin() + 1, constantDim(groups, getContext()));
  SmallVector<Value> affine;
  for (Value value : getAffine())
    affine.push_back(builder.reshape(value, {split[1], channels}));
  Value y =
      builder.make<StandardizeOp>(builder.reshape(getX(), split), affine,
                                  lastDims(rank + 1, rank - 1), ArrayRef<int64_t>{1, 2}, getEps());
  return {builder.reshape(y, dims)};
}

LogicalResult InstanceNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (typeOf(adaptor.getX()).getRank() < 3)
    return emitOptionalError(location, "'", getOperationName(),
                             "' needs x [N, C, ...] with dims "
                             "after the channels, got ",
                             text(adaptor.getX()));
  return inferChannels(getOperationName(), location, adaptor.getX(), adaptor.getAffine(),
                       /*groups=*/1, types);
}
SmallVector<Value> InstanceNormOp::decompose(Builder &builder) {
  int64_t rank = typeOf(getX()).getRank();
  return {builder.make<StandardizeOp>(getX(), getAffine(), lastDims(rank, rank - 2),
                                      ArrayRef<int64_t>{1}, getEps())};
}

LogicalResult NormalizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  if (!wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank()))
    return failure();
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return success();
}
SmallVector<Value> NormalizeOp::decompose(Builder &builder) {
  int64_t dim = getDim();
  Value norm = builder.make<NormOp>(getX(), getP(), dim, /*keepdim=*/true);
  Value least = builder.fullLike(norm, getEps().convertToDouble());
  Value divisor = builder.make<MaximumOp>(norm, least);
  return {builder.make<DivOp>(getX(), builder.broadcast(divisor, dimsOf(getX())))};
}

} // namespace dlc::dl
