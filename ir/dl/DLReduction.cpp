//===- DLReduction.cpp - Types and loops of reductions and normalizations --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace dlc::dl {

//===- Reductions over a set of dims --------------------------------------------------------------===//

/// The reduced dims, all of them where `dims` is empty; nullopt after an error.
static std::optional<llvm::SmallBitVector>
reducedDims(std::optional<Location> location, StringRef op, ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallBitVector reduced(rank, dims.empty());
  for (int64_t dim : dims) {
    auto wrapped = wrapDim(location, op, dim, rank);
    if (!wrapped)
      return std::nullopt;
    if (reduced.test(*wrapped)) {
      (void)emitOptionalError(location, "'", op, "' names dim ", dim, " twice");
      return std::nullopt;
    }
    reduced.set(*wrapped);
  }
  return reduced;
}

static LogicalResult inferReduction(StringRef op, std::optional<Location> location,
                                    RankedTensorType x, ArrayRef<int64_t> dim, bool keepdim,
                                    Type element, SmallVectorImpl<Type> &types) {
  auto reduced = reducedDims(location, op, dim, x.getRank());
  if (!reduced)
    return failure();
  Dims dims;
  for (auto [position, size] : llvm::enumerate(getDims(x))) {
    if (!reduced->test(position))
      dims.push_back(size);
    else if (keepdim)
      dims.push_back(constantDim(1, x.getContext()));
  }
  types.push_back(makeTensor(dims, element));
  return success();
}

/// Largest and argmax have no value over nothing.
static LogicalResult refuseEmpty(StringRef op, std::optional<Location> location, RankedTensorType x,
                                 ArrayRef<int64_t> dim) {
  auto reduced = reducedDims(std::nullopt, op, dim, x.getRank());
  if (!reduced)
    return success(); // reported by inferReduction
  for (unsigned position : reduced->set_bits())
    if (isConstant(getDims(x)[position], 0))
      return emitOptionalError(location, "'", op, "' over dim ", position, " of ", text(x),
                               ", which is empty");
  return success();
}

static LoopNest reductionNest(Value x, Type result, ArrayRef<int64_t> dim, bool keepdim,
                              Combiner combiner) {
  auto type = cast<RankedTensorType>(x.getType());
  MLIRContext *context = type.getContext();
  Dims dims = getDims(type);
  llvm::SmallBitVector reduced = *reducedDims(std::nullopt, "", dim, type.getRank());
  LoopNest nest;
  nest.parallel = getDims(cast<RankedTensorType>(result));
  nest.indexDims.resize(nest.parallel.size());
  nest.stages = {combiner};
  SmallVector<AffineExpr> map;
  unsigned parallel = 0;
  for (int64_t position = 0; position < type.getRank(); ++position) {
    if (!reduced.test(position)) {
      map.push_back(getAffineDimExpr(parallel++, context));
      continue;
    }
    parallel += keepdim;
    map.push_back(getAffineDimExpr(nest.parallel.size() + nest.reduction.size(), context));
    nest.reduction.push_back(dims[position]);
  }
  nest.terms.push_back({0, AffineMap::get(nest.numLoops(), kMaxSymbols, map, context)});
  return nest;
}

/// Sums of integers and bools are i64, as in PyTorch.
static Type sumType(Type element) {
  return isa<FloatType>(element) ? element : IntegerType::get(element.getContext(), 64);
}

LogicalResult SumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        sumType(x.getElementType()), types);
}
LoopNest SumOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::add);
}
Value SumOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  Type target = sumType(getElementTypeOrSelf(getX()));
  return Scalar(context.builder, context.loc, args.front(), kindOf(getX()))
      .convertTo(computeType(target), scalarKind(target))
      .value();
}

LogicalResult MeanOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        x.getElementType(), types);
}
LoopNest MeanOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::add);
}
Value MeanOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}
Value MeanOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  Scalar sum(context.builder, context.loc, accs.front(), ScalarKind::floating);
  AffineExpr terms = product(getLoopNest().reduction, getContext());
  if (auto count = asConstant(terms))
    return (sum / static_cast<double>(*count)).value();
  Value integer = arith::IndexCastOp::create(context.builder, context.loc,
                                             context.builder.getI64Type(), context.extent(terms));
  Value count = Scalar(context.builder, context.loc, integer, ScalarKind::signedInt)
                    .convertTo(sum.elementType(), ScalarKind::floating)
                    .value();
  if (auto vector = dyn_cast<VectorType>(sum.value().getType()))
    count = context.splat(count, vector);
  return (sum / Scalar(context.builder, context.loc, count, ScalarKind::floating)).value();
}

LogicalResult AmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  if (failed(refuseEmpty(getOperationName(), location, x, adaptor.getDim())))
    return failure();
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        x.getElementType(), types);
}
LoopNest AmaxOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::max);
}
Value AmaxOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

static SmallVector<int64_t, 1> asList(std::optional<int64_t> dim) {
  return dim ? SmallVector<int64_t, 1>{*dim} : SmallVector<int64_t, 1>{};
}

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto dim = asList(adaptor.getDim());
  if (failed(refuseEmpty(getOperationName(), location, x, dim)))
    return failure();
  return inferReduction(getOperationName(), location, x, dim, adaptor.getKeepdim(),
                        IntegerType::get(context, 64), types);
}
LoopNest ArgmaxOp::getLoopNest() {
  return reductionNest(getX(), getType(), asList(getDim()), getKeepdim(), Combiner::argmax);
}
Value ArgmaxOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

//===- max with its position ----------------------------------------------------------------------===//

LogicalResult MaxDimOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  if (failed(refuseEmpty(getOperationName(), location, x, adaptor.getDim())))
    return failure();
  for (Type element : {x.getElementType(), Type(IntegerType::get(context, 64))})
    if (failed(inferReduction(getOperationName(), location, x, adaptor.getDim(),
                              adaptor.getKeepdim(), element, types)))
      return failure();
  return success();
}

SmallVector<Value> MaxDimOp::decompose(Builder &builder) {
  int64_t dim = getDim();
  return {builder.make<AmaxOp>(getX(), dim, getKeepdim()),
          builder.make<ArgmaxOp>(getX(), getDimAttr(), getKeepdim())};
}

//===- softmax ------------------------------------------------------------------------------------===//

static LogicalResult inferAlongDim(StringRef op, std::optional<Location> location, Value x,
                                   int64_t dim, SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(x.getType());
  if (!wrapDim(location, op, dim, type.getRank()))
    return failure();
  types.push_back(makeTensor(getDims(type), type.getElementType()));
  return success();
}

/// Stages max and sum over `dim`; the result reads x at its own index.
static LoopNest softmaxNest(Value x, int64_t dim) {
  auto type = cast<RankedTensorType>(x.getType());
  MLIRContext *context = type.getContext();
  int64_t rank = type.getRank();
  if (dim < 0)
    dim += rank;
  LoopNest nest;
  nest.parallel = getDims(type);
  nest.indexDims.resize(rank);
  nest.reduction = {nest.parallel[dim]};
  nest.stages = {Combiner::max, Combiner::add};
  SmallVector<AffineExpr> map;
  for (int64_t position = 0; position < rank; ++position)
    map.push_back(getAffineDimExpr(position == dim ? rank : position, context));
  nest.terms.push_back({0, AffineMap::get(rank + 1, kMaxSymbols, map, context)});
  nest.results.push_back({0, identityAccess(rank, context)});
  return nest;
}

/// Stage 0: x. Stage 1: exp(x - largest).
static Value softmaxTerm(BodyContext &context, unsigned stage, ValueRange args, ValueRange accs) {
  if (stage == 0)
    return args.front();
  Scalar x(context.builder, context.loc, args.front(), ScalarKind::floating);
  return exp(x - Scalar(context.builder, context.loc, accs[0], ScalarKind::floating)).value();
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAlongDim(getOperationName(), location, adaptor.getX(), adaptor.getDim(), types);
}
LoopNest SoftmaxOp::getLoopNest() { return softmaxNest(getX(), getDim()); }
Value SoftmaxOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args, ValueRange accs) {
  return softmaxTerm(context, stage, args, accs);
}
Value SoftmaxOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  auto scalar = [&](Value value) {
    return Scalar(context.builder, context.loc, value, ScalarKind::floating);
  };
  return (exp(scalar(args[0]) - scalar(accs[0])) / scalar(accs[1])).value();
}

LogicalResult LogSoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAlongDim(getOperationName(), location, adaptor.getX(), adaptor.getDim(), types);
}
LoopNest LogSoftmaxOp::getLoopNest() { return softmaxNest(getX(), getDim()); }
Value LogSoftmaxOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args,
                             ValueRange accs) {
  return softmaxTerm(context, stage, args, accs);
}
Value LogSoftmaxOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  auto scalar = [&](Value value) {
    return Scalar(context.builder, context.loc, value, ScalarKind::floating);
  };
  return (scalar(args[0]) - scalar(accs[0]) - log(scalar(accs[1]))).value();
}

//===- batch_norm ---------------------------------------------------------------------------------===//

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  if (x.getRank() < 2)
    return emitOptionalError(location, "'", name, "' needs x [N, C, ...], got ", text(x));
  if (adaptor.getAffine().size() != 0 && adaptor.getAffine().size() != 2)
    return emitOptionalError(location, "'", name, "' needs weight and bias together, or neither");
  AffineExpr channels = getDims(x)[1];
  for (Value operand : adaptor.getOperands().drop_front()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getRank() != 1 || getDims(type)[0] != channels ||
        type.getElementType() != x.getElementType())
      return emitOptionalError(location, "'", name, "' needs statistics, weight and bias of ",
                               text(channels), " ", x.getElementType(), " elements, got ",
                               text(type));
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

} // namespace dlc::dl
