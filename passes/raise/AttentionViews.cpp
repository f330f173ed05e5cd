//===- AttentionViews.cpp - Attention whose leading dims are joined and split -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/raise/AttentionViews.h"

#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc {

/// The dims before the last two.
static ArrayRef<AffineExpr> leading(const dl::Dims &dims) {
  return ArrayRef<AffineExpr>(dims).drop_back(2);
}

/// A reshape that changes leading dims alone.
static bool keepsLastTwo(dl::ReshapeOp view) {
  dl::Dims from = dl::dimsOf(view.getX()), to = dl::dimsOf(view);
  return from.size() >= 2 && to.size() >= 2 &&
         ArrayRef<AffineExpr>(from).take_back(2) == ArrayRef<AffineExpr>(to).take_back(2);
}

/// The product of two operands that have all of its leading dims, in front, under other leading
/// dims; null where it is another.
static Value withLeading(LoopNestOpInterface op, ArrayRef<AffineExpr> to, dl::Builder &builder) {
  if (!isa_and_nonnull<dl::MatmulOp, dl::ContractOp>(op) ||
      dl::typeOf(op->getResult(0)).getRank() < 2)
    return {};
  LoopNest nest = op.getLoopNest();
  dl::Dims dims = dl::dimsOf(op->getResult(0));
  ArrayRef<AffineExpr> from = leading(dims);
  int64_t added = static_cast<int64_t>(to.size()) - static_cast<int64_t>(from.size());
  SmallVector<int64_t> loops[2];
  dl::Dims wanted[2];
  for (auto [term, names, sizes] : llvm::zip_equal(nest.terms, loops, wanted)) {
    dl::Dims own = dl::dimsOf(op->getOperand(term.operand));
    if (own.size() < from.size() || ArrayRef<AffineExpr>(own).take_front(from.size()) != from)
      return {};
    llvm::append_range(names, llvm::seq<int64_t>(0, to.size()));
    llvm::append_range(sizes, to);
    for (auto [dim, expr] : llvm::enumerate(term.map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      bool isLeading = dim < from.size();
      if (!loop || isLeading != (loop.getPosition() < from.size()) ||
          (isLeading && loop.getPosition() != dim))
        return {};
      if (isLeading)
        continue;
      names.push_back(loop.getPosition() + added);
      sizes.push_back(own[dim]);
    }
  }
  Value operands[2];
  for (auto [term, sizes, operand] : llvm::zip_equal(nest.terms, wanted, operands)) {
    Value x = op->getOperand(term.operand);
    auto view = x.getDefiningOp<dl::ReshapeOp>();
    bool isBack = view && dl::dimsOf(view.getX()) == sizes;
    operand = isBack ? Value(view.getX()) : builder.reshape(x, sizes);
  }
  return builder.make<dl::ContractOp>(operands[0], operands[1], loops[0], loops[1],
                                      static_cast<uint64_t>(to.size() + 2));
}

/// Whether `value` is read by elementwise ops alone, one after the other, up to a softmax.
static bool leadsToSoftmax(Value value) {
  while (value.hasOneUse()) {
    Operation *reader = *value.user_begin();
    if (isa<dl::SoftmaxOp>(reader))
      return true;
    auto view = dyn_cast<dl::ReshapeOp>(reader);
    if (!reader->hasTrait<OpTrait::Elementwise>() && !(view && keepsLastTwo(view)))
      return false;
    value = reader->getResult(0);
  }
  return false;
}

namespace {

/// view(q k^T) on the way to a softmax -> view(q) view(k)^T
struct ViewScores : OpRewritePattern<dl::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::ReshapeOp view, PatternRewriter &rewriter) const override {
    auto product = view.getX().getDefiningOp<LoopNestOpInterface>();
    if (!product || !product->hasOneUse() || !keepsLastTwo(view) || !leadsToSoftmax(view))
      return failure();
    dl::Builder builder(product.getLoc(), rewriter);
    dl::Dims to = dl::dimsOf(view);
    Value scores = withLeading(product, leading(to), builder);
    if (!scores)
      return failure();
    scores.getDefiningOp()->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    rewriter.replaceOp(view, scores);
    return success();
  }
};

/// view(f(x, numbers)) on the way to a softmax -> f(view(x), numbers): the scale.
struct ViewScaled : OpRewritePattern<dl::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::ReshapeOp view, PatternRewriter &rewriter) const override {
    Operation *op = view.getX().getDefiningOp();
    if (!isa_and_nonnull<dl::MulOp, dl::DivOp>(op) || !op->hasOneUse() || !keepsLastTwo(view) ||
        !leadsToSoftmax(view))
      return failure();
    auto number = [](Value operand) { return operand.getDefiningOp<dl::FullOp>(); };
    if (llvm::count_if(op->getOperands(), number) != 1)
      return failure();
    dl::Builder builder(op->getLoc(), rewriter);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (auto full = number(operand))
        operands.push_back(dl::FullOp::create(builder, view.getType(), full.getFill()));
      else
        operands.push_back(builder.reshape(operand, dl::dimsOf(view)));
    }
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    moved->getResult(0).setType(view.getType());
    rewriter.replaceOp(view, moved);
    return success();
  }
};

/// f(view(x), m) on the way to a softmax, where m repeats along the leading dims -> view(f(x, m)):
/// a mask of the keys, such as that of a cache.
struct SinkPastMask : RewritePattern {
  explicit SinkPastMask(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  static dl::ReshapeOp viewBefore(Value operand) {
    auto view = operand.getDefiningOp<dl::ReshapeOp>();
    return view && view->hasOneUse() && keepsLastTwo(view) ? view : dl::ReshapeOp();
  }

  /// A tensor that repeats along all dims but the last two.
  static dl::BroadcastOp maskOf(Value operand) {
    auto repeated = operand.getDefiningOp<dl::BroadcastOp>();
    if (!repeated)
      return {};
    dl::Dims dims = dl::dimsOf(repeated.getX());
    bool isFlat =
        llvm::all_of(ArrayRef<AffineExpr>(dims).drop_back(std::min<size_t>(dims.size(), 2)),
                     [](AffineExpr dim) { return dl::isConstant(dim, 1); });
    return isFlat ? repeated : dl::BroadcastOp();
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto isKnown = [](Value operand) {
      return viewBefore(operand) || maskOf(operand) || operand.getDefiningOp<dl::FullOp>();
    };
    // With numbers alone: see ViewScaled.
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1 ||
        llvm::count_if(op->getOperands(), viewBefore) != 1 ||
        llvm::none_of(op->getOperands(), maskOf) || !llvm::all_of(op->getOperands(), isKnown) ||
        !leadsToSoftmax(op->getResult(0)))
      return failure();
    dl::Dims dims = dl::dimsOf(viewBefore(*llvm::find_if(op->getOperands(), viewBefore)).getX());
    dl::Builder builder(op->getLoc(), rewriter);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (dl::ReshapeOp view = viewBefore(operand)) {
        operands.push_back(view.getX());
      } else if (auto full = operand.getDefiningOp<dl::FullOp>()) {
        auto type = dl::makeTensor(dims, getElementTypeOrSelf(operand));
        operands.push_back(dl::FullOp::create(builder, type, full.getFill()));
      } else {
        Value mask = maskOf(operand).getX();
        dl::Dims own = dl::dimsOf(mask);
        Value row = builder.reshape(
            mask, ArrayRef<AffineExpr>(own).take_back(std::min<size_t>(own.size(), 2)));
        operands.push_back(builder.broadcast(row, dims));
      }
    }
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    Value before = op->getResult(0), after = moved->getResult(0);
    after.setType(dl::makeTensor(dims, getElementTypeOrSelf(before)));
    rewriter.replaceOp(op, builder.reshape(after, dl::dimsOf(before)));
    return success();
  }
};

/// softmax(view(x)) -> view(softmax(x))
struct SinkView : OpRewritePattern<dl::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::SoftmaxOp softmax, PatternRewriter &rewriter) const override {
    auto view = softmax.getX().getDefiningOp<dl::ReshapeOp>();
    int64_t dim = softmax.getDimAttr().getInt(), rank = dl::typeOf(softmax).getRank();
    if (!view || !view->hasOneUse() || !keepsLastTwo(view) || (dim != -1 && dim != rank - 1))
      return failure();
    dl::Builder builder(softmax.getLoc(), rewriter);
    Value weights = builder.make<dl::SoftmaxOp>(view.getX(), static_cast<uint64_t>(-1));
    weights.getDefiningOp()->setDiscardableAttrs(softmax->getDiscardableAttrDictionary());
    rewriter.replaceOp(softmax, builder.reshape(weights, dl::dimsOf(softmax)));
    return success();
  }
};

/// view(softmax(x)) v -> view(softmax(x) view(v))
struct ViewSum : OpInterfaceRewritePattern<LoopNestOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(LoopNestOpInterface sum, PatternRewriter &rewriter) const override {
    if (!isa<dl::MatmulOp, dl::ContractOp>(sum))
      return failure();
    for (Value operand : sum->getOperands()) {
      auto view = operand.getDefiningOp<dl::ReshapeOp>();
      auto softmax = view ? view.getX().getDefiningOp<dl::SoftmaxOp>() : dl::SoftmaxOp();
      if (!softmax || !view->hasOneUse() || !keepsLastTwo(view))
        continue;
      dl::Builder builder(sum.getLoc(), rewriter);
      dl::Dims to = dl::dimsOf(softmax);
      Value y = withLeading(sum, leading(to), builder);
      if (!y)
        continue;
      y.getDefiningOp()->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
      rewriter.replaceOp(sum, builder.reshape(y, dl::dimsOf(sum->getResult(0))));
      return success();
    }
    return failure();
  }
};

} // namespace

void addAttentionViews(RewritePatternSet &patterns) {
  patterns.add<ViewScores, ViewScaled, SinkPastMask, SinkView, ViewSum>(patterns.getContext());
}

} // namespace dlc
