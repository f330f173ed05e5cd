//===- PooledProduct.cpp - A convolution whose results a window reduces -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/PooledProduct.h"

#include "ir/kernel/Sides.h"

using namespace mlir;

namespace dlc {

/// Columns of a product: far more than models have, and few enough for any grid.
static constexpr int64_t kMostColumns = int64_t(1) << 19;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool isPlain(const Access &access) { return !access.checked && !access.isComputed(); }

/// The pool reads each element of its operand once at most, and each of its loops moves that
/// element: result d of the access is a loop, or a loop times a step plus a shorter one.
static bool isPartition(const LoopNest &nest) {
  const AffineMap map = nest.terms.front().map;
  unsigned numParallel = nest.parallel.size();
  llvm::SmallBitVector taken(nest.numLoops());
  auto take = [&](AffineExpr expr) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || taken.test(loop.getPosition()))
      return std::optional<unsigned>();
    taken.set(loop.getPosition());
    return std::optional(loop.getPosition());
  };
  for (AffineExpr expr : map.getResults()) {
    if (take(expr))
      continue;
    // (parallel * step) + reduction, as simplified: the constant on the right.
    auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!sum || sum.getKind() != AffineExprKind::Add)
      return false;
    AffineExpr scaled = sum.getLHS(), inner = sum.getRHS();
    if (isa<AffineDimExpr>(scaled))
      std::swap(scaled, inner);
    auto product = dyn_cast<AffineBinaryOpExpr>(scaled);
    auto step = product && product.getKind() == AffineExprKind::Mul
                    ? dl::asConstant(product.getRHS())
                    : std::nullopt;
    auto outer = step ? take(product.getLHS()) : std::nullopt, within = take(inner);
    if (!outer || !within || *outer >= numParallel || *within < numParallel)
      return false;
    auto size = dl::asConstant(nest.reduction[*within - numParallel]);
    if (!size || *size > *step)
      return false;
  }
  for (unsigned loop = 0; loop < nest.numLoops(); ++loop) {
    AffineExpr extent =
        loop < numParallel ? nest.parallel[loop] : nest.reduction[loop - numParallel];
    if (!taken.test(loop) && !dl::isConstant(extent, 1))
      return false;
  }
  return true;
}

/// The op's result has the dims of `operand`, and it reads that at its own index.
static bool readsAtOwnIndex(LoopNestOpInterface op, const LoopNest &nest, const Access &access) {
  if (!isPlain(access) || dl::getDims(typeOf(op->getOperand(access.operand))) != nest.parallel)
    return false;
  for (auto [position, index] : llvm::enumerate(access.map.getResults()))
    if (index != getAffineDimExpr(position, access.map.getContext()))
      return false;
  return true;
}

/// Between the two and after the pool are maps alone, each on results of one of them at its own
/// index: an element is made of one total, or of one window.
static bool isChain(ArrayRef<Operation *> ops, Value result, Operation *product, Operation *pool) {
  llvm::DenseMap<Operation *, int> stages; // 0: of neither, 1: of the product, 2: of the pool
  auto stageOf = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op ? stages.lookup(op) : 0;
  };
  for (Operation *op : ops) {
    int stage = 0;
    for (Value operand : op->getOperands())
      stage = std::max(stage, stageOf(operand));
    if (op == product || op == pool) {
      int wanted = op == pool ? 1 : 0;
      if (stage != wanted)
        return false;
      stages[op] = wanted + 1;
      continue;
    }
    stages[op] = stage;
    auto loops = cast<LoopNestOpInterface>(op);
    LoopNest nest = loops.getLoopNest();
    for (const Access &access : nest.results)
      if (int of = stageOf(op->getOperand(access.operand));
          of > 0 && (of != stage || !readsAtOwnIndex(loops, nest, access)))
        return false;
  }
  return stageOf(result) == 2;
}

/// The product's loops, its parallel ones where the pool reads its result.
static LoopNest pooledNest(const LoopNest &product, const LoopNest &pool) {
  MLIRContext *context = pool.terms.front().map.getContext();
  LoopNest nest = product;
  nest.parallel = pool.parallel;
  nest.parallel.append(pool.reduction);
  unsigned numParallel = nest.parallel.size();
  nest.indexDims = llvm::SmallBitVector(numParallel);
  SmallVector<AffineExpr> loops(pool.terms.front().map.getResults());
  for (unsigned dim = 0; dim < product.reduction.size(); ++dim)
    loops.push_back(getAffineDimExpr(numParallel + dim, context));
  auto substitute = [&](Access &access, unsigned numLoops) {
    SmallVector<AffineExpr> results;
    for (AffineExpr expr : access.map.getResults())
      results.push_back(simplifyAffineExpr(expr.replaceDims(loops), numLoops, dl::kMaxSymbols));
    access.map = AffineMap::get(numLoops, dl::kMaxSymbols, results, context);
  };
  for (Access &access : nest.terms)
    substitute(access, nest.numLoops());
  for (Access &access : nest.results)
    substitute(access, numParallel);
  return nest;
}

/// Returns true if each dim of the result belongs to one operand, and the columns are few enough.
static bool isOneProduct(const LoopNest &nest, const Sides &sides) {
  if (sides.batch.any() || sides.repeated.any())
    return false;
  int64_t width = 1;
  for (unsigned dim : sides.columns.set_bits()) {
    auto extent = dl::asConstant(nest.parallel[dim]);
    if (!extent || *extent > kMostColumns / width)
      return false;
    width *= std::max<int64_t>(*extent, 1);
  }
  return true;
}

/// A filter of one place, that reads each element of the image once.
static bool isPointwise(const LoopNest &nest) {
  const AffineMap image = nest.terms[0].map;
  unsigned numParallel = nest.parallel.size();
  for (AffineExpr expr : image.getResults()) {
    bool moves = false;
    for (unsigned dim = 0; dim < numParallel; ++dim)
      moves |= expr.isFunctionOfDim(dim);
    for (unsigned loop = 0; moves && loop < nest.reduction.size(); ++loop)
      if (expr.isFunctionOfDim(numParallel + loop) && !dl::isConstant(nest.reduction[loop], 1))
        return false;
  }
  return true;
}

static bool isShortFloat(Value value) {
  Type type = typeOf(value).getElementType();
  return type.isF32() || type.isF16() || type.isBF16();
}

std::optional<PooledProduct> findPooledProduct(ArrayRef<Operation *> ops, Value result) {
  PooledProduct found;
  for (Operation *op : ops) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops)
      return std::nullopt;
    if (loops.getLoopNest().isMap())
      continue;
    if (found.pool)
      return std::nullopt;
    (found.product ? found.pool : found.product) = loops;
  }
  if (!found.pool)
    return std::nullopt;
  LoopNest product = found.product.getLoopNest(), pool = found.pool.getLoopNest();

  auto sides = findSides(product);
  if (!sides || !product.isWindow() || product.indexDims.any() || product.hasComputed() ||
      isPointwise(product))
    return std::nullopt;
  Value image = found.product->getOperand(product.terms[0].operand),
        filter = found.product->getOperand(product.terms[1].operand),
        total = found.product->getResult(0), pooled = found.pool->getOperand(0);
  for (Value value : {image, filter, total, pooled})
    if (!isShortFloat(value))
      return std::nullopt;
  if (typeOf(image).getElementType() != typeOf(filter).getElementType())
    return std::nullopt;

  if (pool.isProduct || pool.stages.size() != 1 || givesPosition(pool.stages.front()) ||
      found.pool->getNumOperands() != 1 || pool.terms.size() != 1 || !pool.results.empty() ||
      !isPlain(pool.terms.front()) || !isPartition(pool))
    return std::nullopt;
  for (unsigned loop = 0; loop < pool.reduction.size(); ++loop)
    if (pool.readsIndex(pool.parallel.size() + loop))
      return std::nullopt;
  found.window = 1;
  for (AffineExpr extent : pool.reduction) {
    auto size = dl::asConstant(extent);
    if (!size || *size < 1 || *size > kMostPooled / found.window)
      return std::nullopt;
    found.window *= *size;
  }
  if (found.window < 2)
    return std::nullopt;

  if (dl::getDims(typeOf(pooled)) != product.parallel ||
      !isChain(ops, result, found.product, found.pool))
    return std::nullopt;

  if (!isOneProduct(product, *sides))
    return std::nullopt;
  for (auto [dim, expr] : llvm::enumerate(pool.terms.front().map.getResults()))
    for (unsigned loop = 0; loop < pool.reduction.size(); ++loop)
      if (sides->columns.test(dim) && expr.isFunctionOfDim(pool.parallel.size() + loop))
        return std::nullopt;
  found.nest = pooledNest(product, pool);
  return found;
}

} // namespace dlc
