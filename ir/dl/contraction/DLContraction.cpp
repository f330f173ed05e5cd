//===- DLContraction.cpp - Types and loops of matrix products ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/contraction/DLContraction.h"

#include "ir/dl/base/DLBuilder.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace dlc::dl {

/// Type of the accumulator: f64 for f64, f32 for other floats, the integer type itself (products
/// wrap).
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

LogicalResult checkSameElement(std::optional<Location> location, StringRef op,
                               ValueRange operands) {
  Type first = getElementTypeOrSelf(operands.front().getType());
  for (Value operand : operands)
    if (Type type = getElementTypeOrSelf(operand.getType()); type != first)
      return emitOptionalError(location, "'", op, "' needs operands of one dtype, got ", first,
                               " and ", type);
  return success();
}

LogicalResult checkBias(std::optional<Location> location, StringRef op, Value bias,
                        AffineExpr channels) {
  if (!bias)
    return success();
  auto type = cast<RankedTensorType>(bias.getType());
  if (type.getRank() != 1 || getDims(type)[0] != channels)
    return emitOptionalError(location, "'", op, "' needs a bias of ", text(channels, bias),
                             " elements, got ", text(bias));
  return success();
}

//===- Products as loops ----------------------------------------------------------------------===//

ProductLoops ProductLoops::matmul(int64_t xRank, int64_t otherRank) {
  ProductLoops loops;
  int64_t batch = std::max<int64_t>(std::max(xRank, otherRank) - 2, 0);
  int64_t rows = xRank > 1, columns = otherRank > 1;
  loops.rank = batch + rows + columns;
  for (int64_t dim = std::max<int64_t>(xRank - 2, 0); dim > 0; --dim)
    loops.x.push_back(batch - dim);
  for (int64_t dim = std::max<int64_t>(otherRank - 2, 0); dim > 0; --dim)
    loops.other.push_back(batch - dim);
  if (rows)
    loops.x.push_back(batch);
  loops.x.push_back(loops.rank);
  loops.other.push_back(loops.rank);
  if (columns)
    loops.other.push_back(batch + rows);
  return loops;
}

static LogicalResult inferProduct(StringRef op, std::optional<Location> location, Value x,
                                  Value other, const ProductLoops &loops,
                                  SmallVectorImpl<Type> &types) {
  MLIRContext *context = x.getContext();
  Dims extents;
  auto meet = [&](Dims dims, ArrayRef<int64_t> names) {
    for (auto [dim, name] : llvm::zip_equal(dims, names)) {
      if (name >= static_cast<int64_t>(extents.size()))
        extents.resize(name + 1, constantDim(1, context));
      if (isConstant(extents[name], 1))
        extents[name] = dim;
      else if (extents[name] != dim && !isConstant(dim, 1))
        return false;
    }
    return true;
  };
  if (!meet(dimsOf(x), loops.x) || !meet(dimsOf(other), loops.other))
    return emitOptionalError(location, "'", op, "' cannot broadcast the leading dims of ", text(x),
                             " and ", text(other));
  extents.resize(loops.rank, constantDim(1, context));
  types.push_back(makeTensor(extents, typeOf(x).getElementType()));
  return success();
}

/// The sum of products of operands 0 and 1.
static LoopNest productNest(Operation *op, const ProductLoops &loops) {
  MLIRContext *context = op->getContext();
  LoopNest nest;
  nest.parallel = dimsOf(op->getResult(0));
  nest.indexDims.resize(loops.rank);
  nest.stages = {Combiner::add};
  nest.isProduct = true;
  const SmallVector<int64_t> *names[] = {&loops.x, &loops.other};
  for (int i : {0, 1})
    for (auto [dim, name] : llvm::zip_equal(dimsOf(op->getOperand(i)), *names[i])) {
      if (name < loops.rank)
        continue;
      if (name - loops.rank >= static_cast<int64_t>(nest.reduction.size()))
        nest.reduction.resize(name - loops.rank + 1, constantDim(1, context));
      AffineExpr &extent = nest.reduction[name - loops.rank];
      extent = isConstant(extent, 1) ? dim : extent;
    }
  for (unsigned i : {0, 1}) {
    SmallVector<AffineExpr> map;
    for (auto [dim, name] : llvm::zip_equal(dimsOf(op->getOperand(i)), *names[i])) {
      AffineExpr extent =
          name < loops.rank ? nest.parallel[name] : nest.reduction[name - loops.rank];
      bool isRepeated = isConstant(dim, 1) && !isConstant(extent, 1);
      map.push_back(isRepeated ? constantDim(0, context) : getAffineDimExpr(name, context));
    }
    nest.terms.push_back({i, AffineMap::get(nest.numLoops(), kMaxSymbols, map, context)});
  }
  return nest;
}

//===- linear ---------------------------------------------------------------------------------===//

/// x is [..., K], the weight [N, K].
static ProductLoops linearLoops(int64_t rank) {
  ProductLoops loops{llvm::to_vector(llvm::seq<int64_t>(0, rank)), {rank - 1, rank}, rank};
  loops.x.back() = rank;
  return loops;
}

/// The first of the dims whose product is `features`, for somebody who forgot to flatten them;
/// nullopt where it is none of several.
static std::optional<int64_t> firstToFlatten(ArrayRef<AffineExpr> dims, AffineExpr features) {
  AffineExpr product = dims.back();
  for (int64_t first = static_cast<int64_t>(dims.size()) - 2; first >= 1; --first) {
    product = normalize(product * dims[first]);
    if (product == features)
      return first;
  }
  return std::nullopt;
}

LogicalResult LinearOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  RankedTensorType x = typeOf(adaptor.getX()), weight = typeOf(adaptor.getWeight());
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  if (x.getRank() < 1 || weight.getRank() != 2)
    return emitOptionalError(location, "'", name, "' needs x [..., K] and weight [N, K], got ",
                             text(adaptor.getX()), " and ", text(adaptor.getWeight()));
  Dims dims = getDims(x), wDims = getDims(weight);
  if (dims.back() != wDims[1]) {
    auto first = firstToFlatten(dims, wDims[1]);
    return emitOptionalError(
        location, "'", name, "' has ", text(wDims[1], adaptor.getOperands()),
        " input features, but the last dim of x is ", text(dims.back(), adaptor.getOperands()),
        first ? "; the dims from " + std::to_string(*first) +
                    " on have as many together: flatten(x, " + std::to_string(*first) + ")"
              : "");
  }
  if (failed(checkBias(location, name, adaptor.getBias(), wDims[0])))
    return failure();
  return inferProduct(name, location, adaptor.getX(), adaptor.getWeight(), linearLoops(x.getRank()),
                      types);
}

LoopNest LinearOp::getLoopNest() {
  int64_t rank = typeOf(getX()).getRank();
  LoopNest nest = productNest(*this, linearLoops(rank));
  if (getBias())
    nest.results.push_back(
        {2, AffineMap::get(rank, kMaxSymbols, {getAffineDimExpr(rank - 1, getContext())},
                           getContext())});
  return nest;
}

//===- matmul, contract -----------------------------------------------------------------------===//

static ProductLoops loopsOf(MatmulOp op) {
  return ProductLoops::matmul(typeOf(op.getX()).getRank(), typeOf(op.getOther()).getRank());
}
static ProductLoops loopsOf(ContractOp op) {
  return {SmallVector<int64_t>(op.getXLoops()), SmallVector<int64_t>(op.getOtherLoops()),
          static_cast<int64_t>(op.getRank())};
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  RankedTensorType x = typeOf(adaptor.getX()), other = typeOf(adaptor.getOther());
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  if (x.getRank() < 1 || other.getRank() < 1)
    return emitOptionalError(location, "'", name, "' needs operands of rank 1 or more, got ",
                             text(adaptor.getX()), " and ", text(adaptor.getOther()));
  AffineExpr columns = getDims(x).back(),
             rows = getDims(other)[std::max<int64_t>(other.getRank() - 2, 0)];
  if (columns != rows)
    return emitOptionalError(
        location, "'", name, "' needs as many columns of x as rows of other, got ",
        text(columns, adaptor.getOperands()), " and ", text(rows, adaptor.getOperands()));
  return inferProduct(name, location, adaptor.getX(), adaptor.getOther(),
                      ProductLoops::matmul(x.getRank(), other.getRank()), types);
}

LoopNest MatmulOp::getLoopNest() { return productNest(*this, loopsOf(*this)); }

LogicalResult ContractOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  RankedTensorType x = typeOf(adaptor.getX()), other = typeOf(adaptor.getOther());
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  ProductLoops loops{SmallVector<int64_t>(adaptor.getXLoops()),
                     SmallVector<int64_t>(adaptor.getOtherLoops()),
                     static_cast<int64_t>(adaptor.getRank())};
  int64_t count = loops.rank;
  for (int64_t loop : llvm::concat<int64_t>(loops.x, loops.other))
    count = std::max(count, loop + 1);
  // Every loop is named: a result dim by one operand at least, a sum by both; none twice by one.
  auto names = [&](ArrayRef<int64_t> list, int64_t loop) { return llvm::count(list, loop); };
  bool isWhole = loops.rank >= 0 && count <= 64 &&
                 static_cast<int64_t>(loops.x.size()) == x.getRank() &&
                 static_cast<int64_t>(loops.other.size()) == other.getRank();
  for (int64_t loop : llvm::concat<int64_t>(loops.x, loops.other))
    isWhole &= loop >= 0;
  for (int64_t loop = 0; loop < count && isWhole; ++loop) {
    int64_t inX = names(loops.x, loop), inOther = names(loops.other, loop);
    isWhole = inX <= 1 && inOther <= 1 && inX + inOther >= (loop < loops.rank ? 1 : 2);
  }
  if (!isWhole)
    return emitOptionalError(location, "'", name,
                             "' needs a loop for each dim of its operands: the result's by one of "
                             "them or both, those summed over by both");
  return inferProduct(name, location, adaptor.getX(), adaptor.getOther(), loops, types);
}

LoopNest ContractOp::getLoopNest() { return productNest(*this, loopsOf(*this)); }

namespace {
/// A product of a permuted operand reads it where it lies.
template <typename Op> struct ReadThroughPermute : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    ProductLoops loops = loopsOf(op);
    Value operands[] = {op.getX(), op.getOther()};
    SmallVector<int64_t> *names[] = {&loops.x, &loops.other};
    bool found = false;
    for (int i : {0, 1}) {
      auto permute = operands[i].template getDefiningOp<PermuteOp>();
      if (!permute)
        continue;
      SmallVector<int64_t> source(*names[i]);
      int64_t rank = source.size();
      for (auto [to, from] : llvm::enumerate(permute.getDims()))
        source[from < 0 ? from + rank : from] = (*names[i])[to];
      *names[i] = source;
      operands[i] = permute.getX();
      found = true;
    }
    if (!found)
      return failure();
    rewriter.replaceOpWithNewOp<ContractOp>(op, op.getType(), operands[0], operands[1], loops.x,
                                            loops.other, loops.rank);
    return success();
  }
};

/// A product whose result is permuted, and nothing else, gives its result in that order. So that
/// the result's innermost dim is a column of the second operand, which the targets pack, the
/// operands may change places.
template <typename Op> struct GivePermuted : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp permute, PatternRewriter &rewriter) const override {
    auto op = permute.getX().getDefiningOp<Op>();
    if (!op || !op->hasOneUse())
      return failure();
    ProductLoops loops = loopsOf(op);
    SmallVector<int64_t> place(loops.rank);
    for (auto [to, from] : llvm::enumerate(permute.getDims()))
      place[from < 0 ? from + loops.rank : from] = to;
    for (SmallVector<int64_t> *names : {&loops.x, &loops.other})
      for (int64_t &loop : *names)
        if (loop < loops.rank)
          loop = place[loop];
    Value x = op.getX(), other = op.getOther();
    if (!llvm::is_contained(loops.other, loops.rank - 1)) {
      std::swap(x, other);
      std::swap(loops.x, loops.other);
    }
    rewriter.replaceOpWithNewOp<ContractOp>(permute, permute.getType(), x, other, loops.x,
                                            loops.other, loops.rank);
    return success();
  }
};

/// For each of `to` the positions of the dims of `from`, neighbours, that it is the product of;
/// nullopt where `to` is more than dims of `from` joined.
static std::optional<SmallVector<SmallVector<int64_t>>> joinedDims(ArrayRef<AffineExpr> from,
                                                                   ArrayRef<AffineExpr> to) {
  SmallVector<SmallVector<int64_t>> groups(to.size());
  size_t next = 0;
  for (auto [group, dim] : llvm::zip(groups, to)) {
    AffineExpr product = constantDim(1, dim.getContext());
    for (; product != dim && next < from.size(); ++next) {
      product = normalize(product * from[next]);
      group.push_back(next);
    }
    if (product != dim)
      return std::nullopt;
  }
  for (; next < from.size(); ++next) {
    if (!isConstant(from[next], 1) || groups.empty())
      return std::nullopt;
    groups.back().push_back(next);
  }
  return groups;
}

/// A product or an attention whose result has dims joined, then permuted, is permuted first: it
/// takes that in (GivePermuted), and what remains is a view.
struct JoinLast : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp permute, PatternRewriter &rewriter) const override {
    auto reshape = permute.getX().getDefiningOp<ReshapeOp>();
    Operation *op = reshape ? reshape.getX().getDefiningOp() : nullptr;
    if (!isa_and_nonnull<ContractOp, AttentionOp>(op) || !op->hasOneUse() || !reshape->hasOneUse())
      return failure();
    auto groups = joinedDims(dimsOf(reshape.getX()), dimsOf(reshape));
    if (!groups)
      return failure();
    int64_t rank = typeOf(reshape).getRank();
    SmallVector<int64_t> order;
    for (int64_t from : permute.getDims())
      order.append((*groups)[from < 0 ? from + rank : from]);
    Builder b(permute);
    b.setListener(rewriter.getListener());
    rewriter.replaceOp(permute, b.reshape(b.permute(reshape.getX(), order), dimsOf(permute)));
    return success();
  }
};
} // namespace

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReadThroughPermute<MatmulOp>, GivePermuted<MatmulOp>>(context);
}
void ContractOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReadThroughPermute<ContractOp>, GivePermuted<ContractOp>, JoinLast>(context);
}

//===- addmm, outer ---------------------------------------------------------------------------===//

LogicalResult AddmmOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  SmallVector<Type> product;
  MatmulOp::Adaptor factors(adaptor.getOperands().drop_front());
  if (failed(MatmulOp::inferReturnTypes(context, location, factors, product)))
    return failure();
  Dims from = dimsOf(adaptor.getX()), to = getDims(cast<RankedTensorType>(product.front()));
  bool fits = from.size() <= to.size();
  for (size_t i = 1; fits && i <= from.size(); ++i)
    fits = isConstant(from[from.size() - i], 1) || from[from.size() - i] == to[to.size() - i];
  if (!fits)
    return emitOptionalError(location, "'", name, "' cannot broadcast ", text(adaptor.getX()),
                             " to the product, ", text(product.front(), adaptor.getOperands()));
  auto isWhole = [](const APFloat &number) { return number.isInteger(); };
  if (!isa<FloatType>(getElementTypeOrSelf(product.front())) &&
      !(isWhole(adaptor.getBeta()) && isWhole(adaptor.getAlpha())))
    return emitOptionalError(location, "'", name,
                             "' of integers needs whole numbers for beta and alpha");
  types.push_back(product.front());
  return success();
}

SmallVector<Value> AddmmOp::decompose(Builder &builder) {
  Value y = builder.make<MatmulOp>(getA(), getB());
  auto scaled = [&](Value value, const APFloat &factor) {
    if (factor.isExactlyValue(1.0))
      return value;
    return builder.make<MulOp>(value, builder.fullLike(value, factor.convertToDouble()));
  };
  y = scaled(y, getAlpha());
  if (getBeta().isZero())
    return {y};
  return {builder.make<AddOp>(y, builder.broadcast(scaled(getX(), getBeta()), dimsOf(y)))};
}

LogicalResult OuterOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  RankedTensorType x = typeOf(adaptor.getX()), other = typeOf(adaptor.getOther());
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  if (x.getRank() != 1 || other.getRank() != 1)
    return emitOptionalError(location, "'", name, "' needs two vectors, got ", text(adaptor.getX()),
                             " and ", text(adaptor.getOther()));
  types.push_back(makeTensor({getDims(x)[0], getDims(other)[0]}, x.getElementType()));
  return success();
}

SmallVector<Value> OuterOp::decompose(Builder &builder) {
  Dims dims = dimsOf(getY());
  return {builder.make<MulOp>(builder.broadcast(builder.unsqueeze(getX(), 1), dims),
                              builder.broadcast(getOther(), dims))};
}

std::optional<SmallVector<int64_t>> resultDimsOf(Operation *product, unsigned operand) {
  if (operand > 1)
    return std::nullopt;
  auto rankOf = [&](unsigned index) { return typeOf(product->getOperand(index)).getRank(); };
  auto named = [](ArrayRef<int64_t> loops, int64_t rank) {
    return llvm::map_to_vector(loops, [&](int64_t loop) { return loop < rank ? loop : -1; });
  };
  if (auto contract = dyn_cast<ContractOp>(product))
    return named(operand == 0 ? contract.getXLoops() : contract.getOtherLoops(),
                 contract.getRank());
  if (isa<MatmulOp>(product)) {
    ProductLoops loops = ProductLoops::matmul(rankOf(0), rankOf(1));
    return named(operand == 0 ? loops.x : loops.other, loops.rank);
  }
  if (isa<LinearOp>(product)) {
    if (operand == 1)
      return SmallVector<int64_t>{rankOf(0) - 1, -1};
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(0)));
    dims.back() = -1;
    return dims;
  }
  if (isa<Conv1dOp, Conv2dOp, Conv3dOp>(product) && operand == 1) {
    SmallVector<int64_t> dims(rankOf(1), -1);
    dims[0] = 1; // the channels
    return dims;
  }
  return std::nullopt;
}

std::optional<std::array<Value, 2>> float8OperandsOf(LoopNestOpInterface product,
                                                     const LoopNest &nest) {
  Type type = getElementTypeOrSelf(product->getResult(0).getType());
  if (!nest.isProduct || nest.terms.size() != 2 ||
      (!type.isF32() && !type.isF16() && !type.isBF16()))
    return std::nullopt;
  std::array<Value, 2> stored;
  for (auto [access, value] : llvm::zip(nest.terms, stored)) {
    auto cast = product->getOperand(access.operand).getDefiningOp<CastOp>();
    // Where an operand has no element, the byte of 0 is read in its place.
    if (!cast || !isa<Float8E4M3FNType>(getElementTypeOrSelf(cast.getX().getType())) ||
        access.isComputed() || (access.checked && access.fill != 0))
      return std::nullopt;
    value = cast.getX();
  }
  return stored;
}

} // namespace dlc::dl
