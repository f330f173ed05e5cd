//===- MoveViews.cpp - Reshapes and permutations to where they cost no kernel -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/view/ReshapeGroups.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "move-views"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_MOVEVIEWS
#include "passes/Passes.h.inc"

namespace {

class MoveViews : public impl::MoveViewsBase<MoveViews> {
  void runOnOperation() override;
};

} // namespace

static bool isKeptOut(Operation *op) { return op->hasAttr("dl.no_fuse"); }

/// The body of an attention is a kernel as it is.
static bool isInFunction(Operation *op) { return isa<func::FuncOp>(op->getParentOp()); }

static dl::Builder builderAt(Operation *op, PatternRewriter &rewriter) {
  dl::Builder builder(op);
  builder.setListener(rewriter.getListener());
  return builder;
}

/// A tensor that lies in memory whatever its readers do: a view of it costs nothing.
static bool isStored(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || isa<dl::WeightOp, dl::ReshapeOp>(op) || !value.hasOneUse();
}

namespace {

/// f(reshape(x), y) -> reshape(f(x, reshape(y)))
struct SinkThroughElementwise : OpTraitRewritePattern<OpTrait::Elementwise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto reshape = sunk(op);
    if (!reshape || !isInFunction(op) || op->getNumResults() != 1 || isKeptOut(op) ||
        isKeptOut(reshape) || hasCountedDim(reshape) || hasCountedDim(reshape.getX()))
      return failure();
    dl::Dims dims = dl::dimsOf(reshape.getX());
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return isFree(operand, dims); }))
      return failure();
    dl::Builder b = builderAt(op, rewriter);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value moved;
      if (auto number = operand.getDefiningOp<dl::FullOp>())
        moved = dl::FullOp::create(b, dl::makeTensor(dims, dl::typeOf(operand).getElementType()),
                                   number.getFillAttr());
      else if (auto repeated = operand.getDefiningOp<dl::BroadcastOp>())
        moved = b.broadcast(b.reshape(repeated.getX(), *viewInDims(repeated, dims)), dims);
      else if (auto view = operand.getDefiningOp<dl::ReshapeOp>();
               view && dl::dimsOf(view.getX()) == dims)
        moved = view.getX();
      else
        moved = b.reshape(operand, dims);
      operands.push_back(moved);
    }
    Operation *moved = b.clone(*op);
    moved->setOperands(operands);
    dl::Dims shape = dl::dimsOf(op->getResult(0));
    moved->getResult(0).setType(
        dl::makeTensor(dims, dl::typeOf(op->getResult(0)).getElementType()));
    rewriter.replaceOp(op, b.reshape(moved->getResult(0), shape));
    return success();
  }

private:
  /// `operand` costs nothing in other dims.
  static bool isFree(Value operand, ArrayRef<AffineExpr> dims) {
    if (operand.getDefiningOp<dl::FullOp>())
      return true;
    if (auto repeated = operand.getDefiningOp<dl::BroadcastOp>())
      return viewInDims(repeated, dims).has_value();
    return isStored(operand);
  }
  /// The reshape that `op` goes before: of a tensor that a kernel computes for `op` alone.
  static dl::ReshapeOp sunk(Operation *op) {
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<dl::ReshapeOp>();
      if (!reshape || !reshape->hasOneUse() || !reshape.getX().hasOneUse())
        continue;
      Operation *producer = reshape.getX().getDefiningOp();
      if (isa_and_nonnull<LoopNestOpInterface>(producer) &&
          !isa<dl::FullOp, dl::BroadcastOp, dl::ReshapeOp>(producer) && !isKeptOut(producer))
        return reshape;
    }
    return {};
  }
};

/// reshape(broadcast(x)) -> broadcast(reshape(x))
struct ReshapeBeforeBroadcast : OpRewritePattern<dl::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::ReshapeOp op, PatternRewriter &rewriter) const override {
    auto repeated = op.getX().getDefiningOp<dl::BroadcastOp>();
    auto view = repeated && isInFunction(op) && !hasCountedDim(op) && !hasCountedDim(repeated)
                    ? viewInDims(repeated, dl::dimsOf(op))
                    : std::nullopt;
    if (!view)
      return failure();
    dl::Builder b = builderAt(op, rewriter);
    rewriter.replaceOp(op, b.broadcast(b.reshape(repeated.getX(), *view), dl::dimsOf(op)));
    return success();
  }
};

/// A permutation that leaves the elements where they are, of what elementwise ops read; what a
/// product reads is part of its loops.
struct PermuteToReshape : OpRewritePattern<dl::PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::PermuteOp op, PatternRewriter &rewriter) const override {
    dl::Dims dims = dl::dimsOf(op.getX());
    int64_t rank = dims.size(), last = -1;
    for (int64_t dim : op.getDims()) {
      dim = dim < 0 ? dim + rank : dim;
      if (dl::isConstant(dims[dim], 1))
        continue;
      if (dim < last)
        return failure();
      last = dim;
    }
    auto isElementwise = [](Operation *user) { return user->hasTrait<OpTrait::Elementwise>(); };
    if (!isInFunction(op) || isKeptOut(op) || hasCountedDim(op) ||
        !llvm::all_of(op->getUsers(), isElementwise))
      return failure();
    dl::Builder b = builderAt(op, rewriter);
    rewriter.replaceOp(op, b.reshape(op.getX(), dl::dimsOf(op)));
    return success();
  }
};

/// move(norm(x)) -> norm(move(x)), where the rows are moved whole: the norm's kernel reads x, which
/// is stored for others, at other places.
struct MoveBeforeNorm : OpInterfaceRewritePattern<LoopNestOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(LoopNestOpInterface op, PatternRewriter &rewriter) const override {
    if (!isa<dl::PermuteOp, dl::RollOp, dl::ReshapeOp>(*op))
      return failure();
    auto norm = op->getOperand(0).getDefiningOp<dl::StandardizeOp>();
    if (!norm || !norm->hasOneUse() || !isInFunction(op) || isKeptOut(op) || isKeptOut(norm) ||
        hasCountedDim(norm) || hasCountedDim(op->getResult(0)) || !isReadAnywhere(norm.getX()))
      return failure();
    // A view by itself gains nothing: it is moved only where a permutation reads it.
    if (isa<dl::ReshapeOp>(*op) &&
        !llvm::all_of(op->getUsers(), [](Operation *user) { return isa<dl::PermuteOp>(user); }))
      return failure();
    int64_t rank = dl::typeOf(norm).getRank();
    if (norm.getDims() != ArrayRef<int64_t>{rank - 1} || norm.getAffineDims() != norm.getDims() ||
        !keepsRows(op, rank))
      return failure();
    dl::Builder b = builderAt(op, rewriter);
    Operation *moved = b.clone(*op);
    moved->setOperand(0, norm.getX());
    SmallVector<int64_t> last = {dl::typeOf(op->getResult(0)).getRank() - 1};
    b.setLoc(norm.getLoc());
    Value y =
        b.make<dl::StandardizeOp>(moved->getResult(0), norm.getAffine(), last, last, norm.getEps());
    y.getDefiningOp()->setDiscardableAttrs(norm->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, y);
    return success();
  }

private:
  /// `value` is stored for other readers, or moves what is.
  static bool isReadAnywhere(Value value) {
    while (value.hasOneUse() && value.getDefiningOp() &&
           isa<dl::PermuteOp, dl::RollOp, dl::ReshapeOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return isStored(value);
  }
  /// The last dim stays what it is.
  static bool keepsRows(Operation *op, int64_t rank) {
    auto wrapped = [&](int64_t dim) { return dim < 0 ? dim + rank : dim; };
    if (auto permute = dyn_cast<dl::PermuteOp>(op))
      return wrapped(permute.getDims().back()) == rank - 1;
    if (auto roll = dyn_cast<dl::RollOp>(op))
      return !roll.getDims().empty() &&
             llvm::all_of(roll.getDims(), [&](int64_t dim) { return wrapped(dim) != rank - 1; });
    dl::Dims from = dl::dimsOf(op->getOperand(0)), to = dl::dimsOf(op->getResult(0));
    return !to.empty() && from.back() == to.back();
  }
};

} // namespace

void MoveViews::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<SinkThroughElementwise, ReshapeBeforeBroadcast, PermuteToReshape, MoveBeforeNorm>(
      &getContext());
  // Two views are one, so that what they read is found.
  dl::ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
  if (failed(applyPatternsGreedily(
          getOperation(), std::move(patterns),
          GreedyRewriteConfig().setMaxIterations(GreedyRewriteConfig::kNoLimit))))
    signalPassFailure();
}

} // namespace dlc
