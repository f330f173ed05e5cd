//===- DLShape.cpp - Types, loops and folds of ops that move elements ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace dlc::dl {

LoopNest moveNest(Operation *op, ArrayRef<AffineExpr> map, bool checked, double fill) {
  LoopNest nest;
  nest.parallel = getDims(cast<RankedTensorType>(op->getResult(0).getType()));
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  nest.results.push_back(
      {0, AffineMap::get(rank, kMaxSymbols, map, op->getContext()), checked, fill});
  return nest;
}

SmallVector<AffineExpr> loopsOf(MLIRContext *context, int64_t from, int64_t to) {
  SmallVector<AffineExpr> loops;
  for (int64_t loop = from; loop < to; ++loop)
    loops.push_back(getAffineDimExpr(loop, context));
  return loops;
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===- broadcast ------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  Dims from = getDims(typeOf(getX())), to = getDims(typeOf(getY()));
  if (getElementTypeOrSelf(getX()) != getElementTypeOrSelf(getY()) || from.size() > to.size())
    return emitOpError("cannot broadcast ") << getX().getType() << " to " << getType();
  for (auto [a, b] : llvm::zip(llvm::reverse(from), llvm::reverse(to)))
    if (a != b && !isConstant(a, 1))
      return emitOpError("cannot broadcast ") << getX().getType() << " to " << getType();
  return success();
}

LoopNest BroadcastOp::getLoopNest() {
  Dims from = getDims(typeOf(getX())), to = getDims(typeOf(getY()));
  SmallVector<AffineExpr> map;
  for (unsigned i = 0; i < from.size(); ++i) {
    unsigned dim = to.size() - from.size() + i;
    bool repeated = isConstant(from[i], 1) && !isConstant(to[dim], 1);
    map.push_back(repeated ? constantDim(0, getContext()) : getAffineDimExpr(dim, getContext()));
  }
  return moveNest(*this, map);
}

Value BroadcastOp::emitResult(BodyContext &, ValueRange args, ValueRange) { return args.front(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

//===- reshape, flatten -----------------------------------------------------------------------===//

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  Dims dims(adaptor.getShape().getResults());
  AffineExpr total = product(getDims(x), context), known = constantDim(1, context);
  std::optional<unsigned> open;
  for (auto [position, dim] : llvm::enumerate(dims)) {
    if (!isConstant(dim, -1)) {
      if (asConstant(dim).value_or(0) < 0)
        return emitOptionalError(location, "'", getOperationName(), "' has dim ",
                                 text(dim, adaptor.getOperands()), "; expected -1, 0 or more");
      known = known * dim;
      continue;
    }
    if (open)
      return emitOptionalError(location, "'", getOperationName(),
                               "' leaves two dims open; only one may be -1");
    open = position;
  }
  if (open) {
    known = normalize(known);
    if (isConstant(known, 0))
      return emitOptionalError(location, "'", getOperationName(),
                               "' cannot tell a dim of -1 beside a dim of 0");
    dims[*open] = normalize(total.floorDiv(known));
    known = known * dims[*open];
  }
  known = normalize(known);
  if (known != total && !canBeEqual(adaptor.getX(), known, total))
    return emitOptionalError(location, "'", getOperationName(), "' of ", text(adaptor.getX()),
                             " has ", text(total, adaptor.getOperands()),
                             " elements; the new dims have ", text(known, adaptor.getOperands()));
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest ReshapeOp::getLoopNest() {
  // Row-major position of the result's index, cut up again by the operand's dims.
  MLIRContext *context = getContext();
  Dims from = getDims(typeOf(getX())), to = getDims(typeOf(getY()));
  AffineExpr position = constantDim(0, context);
  for (unsigned dim = 0; dim < to.size(); ++dim)
    position = position * to[dim] + getAffineDimExpr(dim, context);
  SmallVector<AffineExpr> map(from.size(), constantDim(0, context));
  for (int64_t dim = from.size() - 1; dim >= 0; --dim) {
    AffineExpr index = dim == 0 ? position : position % from[dim];
    unsigned symbols = dimsMap(index, context).getNumSymbols();
    map[dim] = simplifyAffineExpr(index, to.size(), symbols);
    position = position.floorDiv(from[dim]);
  }
  return moveNest(*this, map);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

//===- expect_dims ----------------------------------------------------------------------------===//

LogicalResult ExpectDimsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  Dims from = dl::getDims(x), dims(adaptor.getDims().getResults());
  bool fits = from.size() == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    if (isConstant(dims[i], -1))
      dims[i] = from[i];
    dims[i] = normalize(dims[i]);
    fits = dims[i] == from[i] || canBeEqual(adaptor.getX(), dims[i], from[i]);
  }
  if (!fits) {
    std::string wanted;
    for (AffineExpr dim : dims)
      wanted += (wanted.empty() ? "" : ", ") + text(dim, adaptor.getX());
    return emitOptionalError(location, "'", getOperationName(), "' of ", text(adaptor.getX()),
                             " expects [", wanted, "], which its dims never equal");
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest ExpectDimsOp::getLoopNest() {
  return moveNest(*this, loopsOf(getContext(), 0, typeOf(getX()).getRank()));
}

OpFoldResult ExpectDimsOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

static ReshapeOp createReshape(PatternRewriter &rewriter, Location loc, Value x,
                               RankedTensorType type) {
  return ReshapeOp::create(rewriter, loc, type, x, dimsMap(getDims(type), type.getContext()));
}

namespace {
/// reshape(reshape(x)) -> reshape(x)
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.replaceOp(op, createReshape(rewriter, op.getLoc(), inner.getX(), typeOf(op.getY())));
    return success();
  }
};
/// reshape(slice(x)) -> slice(reshape(x)) where the dim that is sliced is split, as into the heads
/// of an attention: a view of x costs nothing, and what reads the slice reads x.
struct SliceAfterReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto slice = op.getX().getDefiningOp<SliceOp>();
    if (!slice || !slice->hasOneUse() || !getLayout(typeOf(slice.getX())).isRowMajor())
      return failure();
    Dims from = getDims(typeOf(slice.getX())), to = getDims(typeOf(op.getY()));
    unsigned dim = *wrapDim(std::nullopt, "", slice.getDim(), from.size());
    MLIRContext *context = op.getContext();
    AffineExpr index = getAffineDimExpr(dim, context);
    AffineMap map = slice.getLoopNest().results.front().map;
    auto start = asConstant(simplifyAffineExpr(map.getResult(dim) - index, from.size(), 0)),
         extent = asConstant(from[dim]), taken = asConstant(getDims(typeOf(slice.getY()))[dim]);
    if (!start || !extent || !taken || *taken == 0)
      return failure();
    // The dims of the result that it becomes: those before them are as many elements as before, and
    // so are those behind.
    unsigned first = 0, last = to.size(), behind = from.size();
    for (AffineExpr whole = product(ArrayRef(from).take_front(dim), context);
         first < to.size() && product(ArrayRef(to).take_front(first), context) != whole;)
      ++first;
    while (last > first && behind > dim + 1 && to[last - 1] == from[behind - 1])
      --last, --behind;
    if (behind != dim + 1)
      return failure();
    while (first + 1 < last && isConstant(to[first], 1))
      ++first;
    auto inner = first < last
                     ? asConstant(product(ArrayRef(to).slice(first + 1, last - first - 1), context))
                     : std::nullopt;
    auto outer = first < last ? asConstant(to[first]) : std::nullopt;
    if (!inner || !outer || last - first < 2 || *outer * *inner != *taken || *start % *inner != 0 ||
        *extent % *inner != 0)
      return failure();
    Dims whole = to;
    whole[first] = constantDim(*extent / *inner, context);
    Value view = createReshape(rewriter, op.getLoc(), slice.getX(),
                               makeTensor(whole, typeOf(op.getY()).getElementType()));
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), view, static_cast<int64_t>(first),
                                         rewriter.getI64IntegerAttr(*start / *inner),
                                         rewriter.getI64IntegerAttr((*start + *taken) / *inner),
                                         int64_t(1));
    return success();
  }
};
struct FlattenToReshape : OpRewritePattern<FlattenOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(FlattenOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, createReshape(rewriter, op.getLoc(), op.getX(), typeOf(op.getY())));
    return success();
  }
};
struct TransposeToPermute : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    int64_t rank = typeOf(op.getX()).getRank();
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(dims[*wrapDim(std::nullopt, "", op.getDim0(), rank)],
              dims[*wrapDim(std::nullopt, "", op.getDim1(), rank)]);
    rewriter.replaceOpWithNewOp<PermuteOp>(op, op.getType(), op.getX(),
                                           rewriter.getDenseI64ArrayAttr(dims));
    return success();
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeReshapes, SliceAfterReshape>(context);
}
void FlattenOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FlattenToReshape>(context);
}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TransposeToPermute>(context);
}

LogicalResult FlattenOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t rank = x.getRank();
  if (rank == 0) {
    types.push_back(makeTensor({constantDim(1, context)}, x.getElementType()));
    return success();
  }
  auto start = wrapDim(location, getOperationName(), adaptor.getStartDim(), rank);
  auto end = wrapDim(location, getOperationName(), adaptor.getEndDim(), rank);
  if (!start || !end)
    return failure();
  if (*start > *end)
    return emitOptionalError(location, "'", getOperationName(), "' has start_dim ", *start,
                             " after end_dim ", *end);
  Dims in = getDims(x), dims(in.begin(), in.begin() + *start);
  dims.push_back(product(ArrayRef<AffineExpr>(in).slice(*start, *end - *start + 1), context));
  dims.append(in.begin() + *end + 1, in.end());
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest FlattenOp::getLoopNest() {
  // Only the merged dims are cut up; the others pass through.
  Dims from = getDims(typeOf(getX()));
  int64_t rank = from.size();
  if (rank == 0)
    return moveNest(*this, {});
  int64_t start = *wrapDim(std::nullopt, "", getStartDim(), rank),
          end = *wrapDim(std::nullopt, "", getEndDim(), rank);
  SmallVector<AffineExpr> map(rank);
  AffineExpr merged = getAffineDimExpr(start, getContext());
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    if (dim > end) {
      map[dim] = getAffineDimExpr(dim - (end - start), getContext());
    } else if (dim < start) {
      map[dim] = getAffineDimExpr(dim, getContext());
    } else {
      map[dim] = dim == start ? merged : merged % from[dim];
      merged = merged.floorDiv(from[dim]);
    }
  }
  return moveNest(*this, map);
}

//===- permute, transpose ---------------------------------------------------------------------===//

LogicalResult PermuteOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> order = adaptor.getDims();
  int64_t rank = x.getRank();
  llvm::SmallBitVector seen(rank);
  Dims in = dl::getDims(x), dims;
  for (int64_t dim : order) {
    auto wrapped = wrapDim(location, getOperationName(), dim, rank);
    if (!wrapped)
      return failure();
    seen.set(*wrapped);
    dims.push_back(in[*wrapped]);
  }
  if (static_cast<int64_t>(order.size()) != rank || !seen.all())
    return emitOptionalError(location, "'", getOperationName(), "' must name each of the ", rank,
                             " dims once");
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest PermuteOp::getLoopNest() {
  int64_t rank = typeOf(getX()).getRank();
  SmallVector<AffineExpr> map(rank);
  for (auto [to, from] : llvm::enumerate(getDims()))
    map[from < 0 ? from + rank : from] = getAffineDimExpr(to, getContext());
  return moveNest(*this, map);
}

OpFoldResult PermuteOp::fold(FoldAdaptor) {
  int64_t rank = typeOf(getX()).getRank();
  for (auto [to, from] : llvm::enumerate(getDims()))
    if ((from < 0 ? from + rank : from) != static_cast<int64_t>(to))
      return {};
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto dim0 = wrapDim(location, getOperationName(), adaptor.getDim0(), x.getRank());
  auto dim1 = wrapDim(location, getOperationName(), adaptor.getDim1(), x.getRank());
  if (!dim0 || !dim1)
    return failure();
  Dims dims = getDims(x);
  std::swap(dims[*dim0], dims[*dim1]);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest TransposeOp::getLoopNest() {
  int64_t rank = typeOf(getX()).getRank();
  SmallVector<AffineExpr> map;
  for (int64_t dim = 0; dim < rank; ++dim)
    map.push_back(getAffineDimExpr(dim, getContext()));
  std::swap(map[*wrapDim(std::nullopt, "", getDim0(), rank)],
            map[*wrapDim(std::nullopt, "", getDim1(), rank)]);
  return moveNest(*this, map);
}

//===- dropout --------------------------------------------------------------------------------===//

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // Functions that drop elements take a probability, and others take any number.
  bool isProbability = adaptor.getFunction().contains("drop");
  if (double p = adaptor.getP().convertToDouble(); !(p >= 0 && (p <= 1 || !isProbability)))
    return emitOptionalError(location, "'", getOperationName(), "' has p = ", text(adaptor.getP()),
                             "; expected a probability from 0 to 1");
  types.push_back(adaptor.getX().getType());
  return success();
}
LoopNest DropoutOp::getLoopNest() { return elementwiseNest(*this); }
OpFoldResult DropoutOp::fold(FoldAdaptor) { return getX(); }

} // namespace dlc::dl
