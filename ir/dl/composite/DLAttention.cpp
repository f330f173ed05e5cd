//===- DLAttention.cpp - Attention as matrix products and a softmax -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc::dl {

using Attention = ScaledDotProductAttentionOp;

/// `from` repeats along dims of size 1 and new leading ones to give `to`.
static bool broadcastsTo(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  if (from.size() > to.size())
    return false;
  for (auto [a, b] : llvm::zip(llvm::reverse(from), llvm::reverse(to)))
    if (a != b && !isConstant(a, 1))
      return false;
  return true;
}

/// How many heads of the query share one of key and value; nullopt where they do not divide.
static std::optional<int64_t> headsPerGroup(Value query, Value key, Value value) {
  auto heads = [](Value x) -> std::optional<int64_t> {
    Dims dims = dimsOf(x);
    return dims.size() < 3 ? std::nullopt : asConstant(dims[dims.size() - 3]);
  };
  auto of = heads(query), shared = heads(key);
  if (!of || !shared || heads(value) != shared || *shared < 1 || *of % *shared)
    return std::nullopt;
  return *of / *shared;
}

/// The dims before the last two.
static Dims leading(Value x) {
  Dims dims = dimsOf(x);
  dims.pop_back_n(2);
  return dims;
}

LogicalResult Attention::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  Value query = adaptor.getQuery(), key = adaptor.getKey(), value = adaptor.getValue(),
        mask = adaptor.getAttnMask();
  if (failed(checkSameElement(location, name, {query, key, value})))
    return failure();
  auto described = [&] { return text(query) + ", " + text(key) + " and " + text(value); };
  auto isMatrix = [](Value x) { return typeOf(x).getRank() >= 2; };
  if (!isMatrix(query) || !isMatrix(key) || !isMatrix(value))
    return emitOptionalError(location, "'", name, "' needs query [..., L, E], key [..., S, E] and ",
                             "value [..., S, Ev], got ", described());
  Dims q = dimsOf(query), k = dimsOf(key), v = dimsOf(value);
  if (q.back() != k.back() || k[k.size() - 2] != v[v.size() - 2])
    return emitOptionalError(location, "'", name, "' needs query [..., L, E], key [..., S, E] and ",
                             "value [..., S, Ev], got ", described());
  if (!adaptor.getDropoutP().isZero())
    return emitOptionalError(location, "'", name, "' has dropout_p = ", text(adaptor.getDropoutP()),
                             "; inference drops nothing, expected 0");
  if (!adaptor.getScale() && !asConstant(q.back()))
    return emitOptionalError(location, "'", name, "' needs its scale where the last dim of query, ",
                             text(q.back(), adaptor.getOperands()), ", is symbolic");
  std::optional<Dims> batch;
  if (adaptor.getEnableGqa()) {
    if (!headsPerGroup(query, key, value))
      return emitOptionalError(location, "'", name,
                               "' with enable_gqa needs heads (dim -3) of key ",
                               "and value that divide those of query, got ", described());
    Dims grouped = leading(query), shared = leading(key);
    grouped.pop_back();
    shared.pop_back();
    batch = commonDims(grouped, shared);
    if (batch)
      batch->push_back(leading(query).back());
  } else if ((batch = commonDims(leading(query), leading(key)))) {
    batch = commonDims(*batch, leading(value));
  }
  if (!batch)
    return emitOptionalError(location, "'", name, "' cannot broadcast the leading dims of ",
                             described());
  Dims scores = *batch, dims = *batch;
  scores.append({q[q.size() - 2], k[k.size() - 2]});
  dims.append({q[q.size() - 2], v.back()});
  if (mask) {
    Type element = getElementTypeOrSelf(mask);
    if (adaptor.getIsCausal())
      return emitOptionalError(location, "'", name, "' takes attn_mask or is_causal, not both");
    if (!element.isInteger(1) && !isa<FloatType>(element))
      return emitOptionalError(location, "'", name, "' needs an attn_mask of bool or float, got ",
                               text(mask));
    if (!broadcastsTo(dimsOf(mask), scores))
      return emitOptionalError(
          location, "'", name, "' cannot broadcast its attn_mask ", text(mask), " to the scores, ",
          text(makeTensor(scores, getElementTypeOrSelf(query)), adaptor.getOperands()));
  }
  types.push_back(makeTensor(dims, getElementTypeOrSelf(query)));
  return success();
}

/// dl.contract of two batches of matrices: `names` are loops of the last two dims, the leading ones
/// are aligned at `batch`.
static SmallVector<int64_t> batchLoops(Value x, int64_t batch, int64_t row, int64_t column) {
  SmallVector<int64_t> loops;
  for (int64_t dim = typeOf(x).getRank() - 2; dim > 0; --dim)
    loops.push_back(batch - dim);
  loops.append({row, column});
  return loops;
}

/// What `x` is a permutation of, and its order; `x` itself where it is none.
static std::pair<Value, SmallVector<int64_t>> beforePermute(Value x) {
  int64_t rank = typeOf(x).getRank();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto positive = [&](int64_t dim) { return dim < 0 ? dim + rank : dim; };
  if (auto permute = x.getDefiningOp<PermuteOp>()) {
    for (auto [to, from] : llvm::enumerate(permute.getDims()))
      order[to] = positive(from);
    return {permute.getX(), order};
  }
  if (auto transpose = x.getDefiningOp<TransposeOp>()) {
    std::swap(order[positive(transpose.getDim0())], order[positive(transpose.getDim1())]);
    return {transpose.getX(), order};
  }
  return {x, order};
}

/// Dim -3, the heads, as [heads / perGroup, perGroup]. Under a permutation of x, so that what is
/// cut up are bytes as they lie: a product reads them through the permutation.
static Value splitHeads(Builder &b, Value x, int64_t perGroup) {
  auto [source, order] = beforePermute(x);
  int64_t heads = order[order.size() - 3];
  Dims dims = dimsOf(source);
  AffineExpr groups = b.getAffineConstantExpr(*asConstant(dims[heads]) / perGroup);
  dims[heads] = b.getAffineConstantExpr(perGroup);
  dims.insert(dims.begin() + heads, groups);
  SmallVector<int64_t> split;
  for (int64_t dim : order) {
    split.push_back(dim > heads ? dim + 1 : dim);
    if (dim == heads)
      split.push_back(dim + 1);
  }
  return b.permute(b.reshape(source, dims), split);
}

SmallVector<Value> Attention::decompose(Builder &b) {
  Value query = getQuery(), key = getKey(), value = getValue(), mask = getAttnMask();
  Type dtype = typeOf(query).getElementType();
  int64_t perGroup = getEnableGqa() ? *headsPerGroup(query, key, value) : 1;
  if (perGroup > 1) {
    // A head of key and value is a dim of size 1 along the heads that share it: it repeats without
    // a copy.
    query = splitHeads(b, query, perGroup);
    key = splitHeads(b, key, 1);
    value = splitHeads(b, value, 1);
    if (mask && typeOf(mask).getRank() > 2) {
      bool isShared = isConstant(dimsOf(mask)[typeOf(mask).getRank() - 3], 1);
      mask = splitHeads(b, mask, isShared ? 1 : perGroup);
    }
  }
  auto batchOf = [](Value x) { return typeOf(x).getRank() - 2; };
  int64_t batch = std::max(batchOf(query), batchOf(key));
  Value scores = b.make<ContractOp>(query, key, batchLoops(query, batch, batch, batch + 2),
                                    batchLoops(key, batch, batch + 1, batch + 2),
                                    static_cast<uint64_t>(batch + 2));
  double scale = getScale() ? getScale()->convertToDouble()
                            : 1 / std::sqrt(static_cast<double>(*asConstant(dimsOf(query).back())));
  scores = b.make<MulOp>(scores, b.fullLike(scores, scale));
  if (getIsCausal()) {
    Dims dims = dimsOf(scores);
    auto type = makeTensor(ArrayRef<AffineExpr>(dims).take_back(2), dtype);
    mask = CausalMaskOp::create(b, type);
  }
  if (mask) {
    auto dims = commonDims(dimsOf(scores), dimsOf(mask));
    scores = b.broadcast(scores, *dims);
    if (typeOf(mask).getElementType().isInteger(1))
      scores = b.make<WhereOp>(b.broadcast(mask, *dims), scores,
                               b.fullLike(scores, -std::numeric_limits<double>::infinity()));
    else
      scores = b.make<AddOp>(scores, b.broadcast(b.cast(mask, dtype), *dims));
  }
  Value weights = b.make<SoftmaxOp>(scores, static_cast<uint64_t>(-1));
  batch = std::max(batchOf(weights), batchOf(value));
  Value y = b.make<ContractOp>(weights, value, batchLoops(weights, batch, batch, batch + 2),
                               batchLoops(value, batch, batch + 2, batch + 1),
                               static_cast<uint64_t>(batch + 2));
  return {b.reshape(y, dimsOf(getY()))};
}

//===- causal_mask ----------------------------------------------------------------------------===//

LogicalResult CausalMaskOp::verify() {
  if (typeOf(getY()).getRank() != 2)
    return emitOpError("needs a result [L, S], got ") << getType();
  return success();
}

LoopNest CausalMaskOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  nest.indexDims.resize(2, true);
  return nest;
}

Value CausalMaskOp::emitResult(BodyContext &context, ValueRange, ValueRange) {
  OpBuilder &b = context.builder;
  auto type = cast<FloatType>(computeType(getElementTypeOrSelf(getY())));
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, context.loc, b.getFloatAttr(type, value));
  };
  Value isSeen = arith::CmpIOp::create(b, context.loc, arith::CmpIPredicate::sle,
                                       context.parallel[1], context.parallel[0]);
  return arith::SelectOp::create(b, context.loc, isSeen, number(0),
                                 number(-std::numeric_limits<double>::infinity()));
}

} // namespace dlc::dl
