//===- DLBlockSparse.cpp - Products with weights whose blocks of zeros are not stored ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

/// The reads of a term: where its panel begins and ends, its column, the element of x there, and
/// the weight.
enum Term : unsigned { kStart, kEnd, kColumn, kElement, kValue };

LogicalResult BlockSparseLinearOp::inferReturnTypes(MLIRContext *context,
                                                    std::optional<Location> location,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  RankedTensorType x = typeOf(adaptor.getX()), values = typeOf(adaptor.getValues()),
                   columns = typeOf(adaptor.getColumns()), starts = typeOf(adaptor.getStarts());
  const int64_t features = adaptor.getFeatures(), dim = adaptor.getDim();
  if (failed(checkSameElement(location, name, {adaptor.getX(), adaptor.getValues()})) ||
      (adaptor.getBias() &&
       failed(checkSameElement(location, name, {adaptor.getX(), adaptor.getBias()}))))
    return failure();
  if (dim < 0 || dim >= x.getRank() || features < 1)
    return emitOptionalError(location, "'", name, "' needs one of the dims of ",
                             text(adaptor.getX()), " and a feature or more, got dim ", dim, " and ",
                             features);
  Dims dims = getDims(x), blocks = getDims(values);
  const AffineExpr panels = constantDim(llvm::divideCeil(features, kPanel), context);
  if (blocks.size() != 2 || !isConstant(blocks[1], kPanel) || isConstant(blocks[0], 0) ||
      getDims(columns) != Dims{blocks[0]} || getDims(starts) != Dims{panels + 1})
    return emitOptionalError(location, "'", name, "' needs values [B, ", kPanel,
                             "], columns [B], and starts [",
                             text(panels + 1, adaptor.getOperands()), "] for ", features,
                             " features, got ", text(adaptor.getValues()), ", ",
                             text(adaptor.getColumns()), " and ", text(adaptor.getStarts()));
  if (isConstant(dims[dim], 0))
    return emitOptionalError(location, "'", name, "' needs a column of x, got ",
                             text(adaptor.getX()));
  if (failed(checkBias(location, name, adaptor.getBias(), constantDim(features, context))))
    return failure();
  ArrayRef<int64_t> steps = adaptor.getSteps();
  if (!steps.empty() &&
      (steps.size() != dims.size() || llvm::any_of(steps, [](int64_t step) { return step < 1; })))
    return emitOptionalError(location, "'", name, "' needs a step of 1 or more for each dim of ",
                             text(adaptor.getX()));
  for (auto [place, step] : llvm::enumerate(steps))
    if (step > 1)
      dims[place] = normalize((dims[place] - 1).floorDiv(step) + 1);
  dims[dim] = constantDim(features, context);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest BlockSparseLinearOp::getLoopNest() {
  MLIRContext *context = getContext();
  const auto dim = static_cast<unsigned>(getDim());
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  const unsigned rank = nest.parallel.size();
  const AffineExpr blocks = dimsOf(getValues())[0];
  nest.reduction = {blocks};
  nest.stages = {Combiner::add};
  nest.indexDims.resize(rank + 1);
  nest.indexDims.set(rank);
  nest.spanned.resize(1, true);
  const auto panels = static_cast<int64_t>(llvm::divideCeil(getFeatures(), kPanel));
  nest.meanSpans = {normalize(blocks.ceilDiv(panels))};

  const AffineExpr feature = getAffineDimExpr(dim, context),
                   block = getAffineDimExpr(rank, context), panel = feature.floorDiv(kPanel);
  auto map = [&](unsigned loops, ArrayRef<AffineExpr> indices) {
    return AffineMap::get(loops, kMaxSymbols, indices, context);
  };
  SmallVector<AffineExpr> element = loopsOf(context, 0, rank);
  for (auto [place, step] : llvm::enumerate(getSteps()))
    element[place] = element[place] * step;
  element[dim] = getAffineConstantExpr(0, context);
  llvm::SmallBitVector computed(rank);
  computed.set(dim);
  nest.terms.resize(5);
  nest.terms[kStart] = {3, map(rank + 1, {panel})};
  nest.terms[kEnd] = {3, map(rank + 1, {panel + 1})};
  nest.terms[kColumn] = {2, map(rank + 1, {block})};
  nest.terms[kElement] = {0, map(rank + 1, element), /*checked=*/false, 0.0, computed};
  nest.terms[kValue] = {1, map(rank + 1, {block, feature % kPanel})};
  nest.spanReads = {{3, map(rank, {panel})}, {3, map(rank, {panel + 1})}};
  if (getBias())
    nest.results.push_back({4, map(rank, {feature})});
  return nest;
}

Value BlockSparseLinearOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  OpBuilder &builder = context.builder;
  Type i64 = builder.getI64Type();
  auto integer = [&](Value value) {
    return Scalar(builder, context.loc, value, kindOf(getStarts()))
        .convertTo(i64, ScalarKind::signedInt);
  };
  Value block = arith::IndexCastOp::create(builder, context.loc, i64, context.reduction.front());
  Scalar start = integer(args[kStart]), end = integer(args[kEnd]);
  if (auto vector = dyn_cast<VectorType>(start.value().getType()))
    block = context.splat(block, vector);
  Scalar at(builder, context.loc, block, ScalarKind::signedInt);
  // A block of another panel adds nothing, whatever it is multiplied with.
  Value factors[] = {args[kElement], args[kValue]};
  Scalar product(builder, context.loc, emitProduct(context, factors, getElementTypeOrSelf(getX())),
                 kindOf(getX()));
  return select((at >= start) & (at < end), product, product.constant(0)).value();
}

Value BlockSparseLinearOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  return emitBias(context, args, accs, getElementTypeOrSelf(getX()));
}

/// `position`, an element of `held`, moved to the nearest index from 0 to `last`.
static Value insideOf(BodyContext &context, Value position, Value held, Value last) {
  OpBuilder &builder = context.builder;
  Value index =
      arith::IndexCastOp::create(builder, context.loc, builder.getIndexType(),
                                 Scalar(builder, context.loc, position, kindOf(held))
                                     .convertTo(builder.getI64Type(), ScalarKind::signedInt)
                                     .value());
  index = arith::MinSIOp::create(builder, context.loc, index, last);
  return arith::MaxSIOp::create(builder, context.loc, index,
                                arith::ConstantIndexOp::create(builder, context.loc, 0));
}

Value BlockSparseLinearOp::emitCoordinate(BodyContext &context, bool, unsigned, unsigned dim,
                                          ValueRange earlier) {
  Value last =
      arith::SubIOp::create(context.builder, context.loc, context.extent(dimsOf(getX())[dim]),
                            arith::ConstantIndexOp::create(context.builder, context.loc, 1));
  return insideOf(context, earlier[kColumn], getColumns(), last);
}

Span BlockSparseLinearOp::emitSpan(BodyContext &context, unsigned, ValueRange args) {
  Value blocks = context.extent(dimsOf(getValues())[0]);
  return {insideOf(context, args[0], getStarts(), blocks),
          insideOf(context, args[1], getStarts(), blocks)};
}

} // namespace dlc::dl
