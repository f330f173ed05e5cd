//===- Attention.cpp - Two matrix products with a softmax between them -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/Attention.h"

#include "ir/analysis/CostModel.h"
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool isPlain(const Access &access) { return !access.checked && !access.isComputed(); }

/// True where each result is the dim of its own number.
static bool readsAtOwnIndex(const Access &access, const LoopNest &nest) {
  if (!isPlain(access) || access.map.getNumResults() != nest.parallel.size())
    return false;
  for (auto [position, result] : llvm::enumerate(access.map.getResults()))
    if (result != getAffineDimExpr(position, access.map.getContext()))
      return false;
  return true;
}

static bool dependsOn(Value value, Operation *op) {
  Operation *by = value.getDefiningOp();
  return by && (by == op || llvm::any_of(by->getOperands(),
                                         [&](Value operand) { return dependsOn(operand, op); }));
}

/// `value` is made of `root` by maps that read it at their own index.
static bool isEpilogue(Value value, Operation *root) {
  Operation *op = value.getDefiningOp();
  if (op == root)
    return true;
  auto loops = dyn_cast_or_null<LoopNestOpInterface>(op);
  LoopNest nest = loops ? loops.getLoopNest() : LoopNest();
  if (!loops || !nest.isMap())
    return false;
  return llvm::all_of(nest.results, [&](const Access &access) {
    Value operand = op->getOperand(access.operand);
    return !dependsOn(operand, root) ||
           (readsAtOwnIndex(access, nest) && isEpilogue(operand, root));
  });
}

/// What `value` is before changes of its type alone.
static Value beforeCasts(Value value) {
  while (auto loops = value.getDefiningOp<LoopNestOpInterface>()) {
    LoopNest nest = loops.getLoopNest();
    if (!nest.isMap() || nest.results.size() != 1 || nest.indexDims.any() ||
        resultCost(loops) > 0 || !readsAtOwnIndex(nest.results.front(), nest))
      break;
    value = loops->getOperand(nest.results.front().operand);
  }
  return value;
}

static bool isShortFloat(Value value) {
  Type type = typeOf(value).getElementType();
  return type.isF32() || type.isF16() || type.isBF16();
}

/// The row and the column of the causal mask that `mask` is, over the dims of the scores; empty where it is none.
static SmallVector<AffineExpr> causalIndices(Value mask) {
  SmallVector<AffineExpr> indices;
  for (unsigned dim = 0; dim < typeOf(mask).getRank(); ++dim)
    indices.push_back(getAffineDimExpr(dim, mask.getContext()));
  while (auto loops = mask.getDefiningOp<LoopNestOpInterface>()) {
    // Nothing but this op is known to hide all behind a key; its value alone does not say so.
    if (isa<dl::CausalMaskOp>(loops))
      return indices;
    LoopNest nest = loops.getLoopNest();
    if (!nest.isMap() || nest.results.size() != 1 || nest.indexDims.any() ||
        resultCost(loops) > 0 || !isPlain(nest.results.front()))
      break;
    SmallVector<AffineExpr> inner;
    for (AffineExpr expr : nest.results.front().map.getResults())
      inner.push_back(expr.replaceDims(indices));
    indices = std::move(inner);
    mask = loops->getOperand(nest.results.front().operand);
  }
  return {};
}

/// Takes the causal mask, added last, out of the scores.
static void findCausal(Attention &attention) {
  auto add = attention.scores.getDefiningOp<dl::AddOp>();
  if (!add)
    return;
  AffineExpr key = getAffineDimExpr(attention.keyDim, add.getContext());
  for (unsigned side : {0u, 1u}) {
    SmallVector<AffineExpr> at = causalIndices(add->getOperand(side));
    Value rest = add->getOperand(1 - side);
    if (at.size() != 2 || at[1] != key || at[0].isFunctionOfDim(attention.keyDim) ||
        !isEpilogue(rest, attention.scoresOp))
      continue;
    attention.lastSeen = at[0];
    attention.scores = rest;
    return;
  }
}

/// Each dim of the weights is a loop of the sum: the keys its reduction, the others dims of its result.
static bool walksWeights(const Attention &attention, const LoopNest &sum) {
  if (sum.reduction.size() != 1)
    return false;
  llvm::SmallBitVector taken(sum.numLoops());
  for (auto [dim, expr] : llvm::enumerate(sum.terms[attention.weightsTerm].map.getResults())) {
    if (dim != attention.keyDim && dl::isConstant(expr, 0))
      continue;
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || taken.test(loop.getPosition()) ||
        (loop.getPosition() == sum.parallel.size()) != (dim == attention.keyDim))
      return false;
    taken.set(loop.getPosition());
  }
  return true;
}

static bool isHeadWidth(AffineExpr width) {
  auto elements = dl::asConstant(width);
  return elements && *elements >= 1 && *elements <= kMostHeadWidth;
}

static bool isProduct(const LoopNest &nest) {
  return nest.isProduct && nest.terms.size() == 2 && nest.results.empty() && !nest.isWindow() &&
         llvm::all_of(nest.terms, isPlain);
}

std::optional<Attention> findAttention(Block &block) {
  SmallVector<LoopNestOpInterface> products;
  dl::SoftmaxOp softmax;
  for (Operation &op : block.without_terminator()) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops)
      return std::nullopt;
    LoopNest nest = loops.getLoopNest();
    // Of ops with several stages this one is exp(x - max) / sum: its name stands for what no loop nest says.
    if (auto found = dyn_cast<dl::SoftmaxOp>(op); found && !softmax)
      softmax = found;
    else if (isProduct(nest))
      products.push_back(loops);
    else if (!nest.isMap())
      return std::nullopt;
  }
  if (!softmax || products.size() != 2)
    return std::nullopt;
  Attention attention;
  attention.scoresOp = products[0];
  attention.sumOp = products[1];
  attention.scores = softmax.getX();
  int64_t rank = typeOf(attention.scores).getRank();
  int64_t dim = softmax.getDimAttr().getInt();
  attention.keyDim = dim < 0 ? dim + rank : dim;

  LoopNest product = products[0].getLoopNest(), sum = products[1].getLoopNest();
  auto operand = [](LoopNestOpInterface op, const LoopNest &nest, unsigned term) {
    return op->getOperand(nest.terms[term].operand);
  };
  attention.keyTerm = product.terms[1].map.isFunctionOfDim(attention.keyDim) ? 1 : 0;
  attention.queryTerm = 1 - attention.keyTerm;
  attention.weightsTerm = beforeCasts(operand(products[1], sum, 0)) == softmax.getY() ? 0 : 1;
  attention.valueTerm = 1 - attention.weightsTerm;
  Value value = operand(products[1], sum, attention.valueTerm);
  Value query = operand(products[0], product, attention.queryTerm),
        key = operand(products[0], product, attention.keyTerm);
  if (beforeCasts(operand(products[1], sum, attention.weightsTerm)) != softmax.getY() ||
      dependsOn(value, products[0]) || !isEpilogue(attention.scores, products[0]) ||
      !product.terms[attention.keyTerm].map.isFunctionOfDim(attention.keyDim) ||
      product.terms[attention.queryTerm].map.isFunctionOfDim(attention.keyDim) ||
      !walksWeights(attention, sum) ||
      !isEpilogue(block.getTerminator()->getOperand(0), products[1]))
    return std::nullopt;
  Type element = typeOf(query).getElementType();
  if (!isShortFloat(query) || !isShortFloat(attention.scores) || !isShortFloat(softmax.getY()) ||
      typeOf(key).getElementType() != element || typeOf(value).getElementType() != element)
    return std::nullopt;
  AffineExpr width = getAffineConstantExpr(1, block.getParentOp()->getContext());
  for (auto [dim, extent] : llvm::enumerate(sum.parallel))
    if (!sum.terms[attention.weightsTerm].map.isFunctionOfDim(dim) &&
        sum.terms[attention.valueTerm].map.isFunctionOfDim(dim))
      width = width * extent;
  if (!isHeadWidth(dl::normalize(width)) ||
      !isHeadWidth(dl::product(product.reduction, width.getContext())))
    return std::nullopt;
  findCausal(attention);
  return attention;
}

} // namespace dlc
