//===- RaiseRotary.cpp - Rotary embeddings of two halves read them at one index -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x * cos + cat(-x2, x1) * sin, with x1 and x2 the halves of x, turns each pair (x1[i], x2[i]).
// Where the halves are a dim of their own, cat is a flip of that dim: the whole is one map over
// what computes x, and its vectors go along a half.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "raise-rotary"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_RAISEROTARY
#include "passes/Passes.h.inc"

namespace {

class RaiseRotary : public impl::RaiseRotaryBase<RaiseRotary> {
  void runOnOperation() override;
};

} // namespace

/// The tensor of whose last dim, of `width` elements, `value` is one half; null where it is not.
static Value halved(Value value, bool isSecond, int64_t width) {
  auto slice = value.getDefiningOp<dl::SliceOp>();
  if (!slice || slice.getStep() != 1)
    return {};
  int64_t rank = dl::typeOf(value).getRank(), dim = slice.getDimAttr().getInt();
  dl::Dims dims = dl::dimsOf(slice.getX());
  if ((dim != -1 && dim != rank - 1) || !dl::isConstant(dims.back(), width) ||
      !dl::isConstant(dl::dimsOf(value).back(), width / 2))
    return {};
  int64_t start = slice.getStartAttr() ? slice.getStartAttr().getInt() : 0;
  start = start < 0 ? start + width : start;
  return start == (isSecond ? width / 2 : 0) ? Value(slice.getX()) : Value();
}

/// x where `value` is cat(-second half of x, first half of x) along the last dim; null where it is
/// not.
static Value turnedOf(Value value) {
  auto cat = value.getDefiningOp<dl::CatOp>();
  int64_t rank = dl::typeOf(value).getRank();
  if (!cat || !cat->hasOneUse() || cat.getTensors().size() != 2 || rank < 1)
    return {};
  int64_t dim = cat.getDimAttr().getInt();
  auto width = dl::asConstant(dl::dimsOf(value).back());
  auto negated = cat.getTensors()[0].getDefiningOp<dl::NegOp>();
  if ((dim != -1 && dim != rank - 1) || !width || *width % 2 || !negated)
    return {};
  Value x = halved(negated.getX(), /*isSecond=*/true, *width);
  return x && x == halved(cat.getTensors()[1], /*isSecond=*/false, *width) ? x : Value();
}

/// The dims with the last one as two halves.
static dl::Dims withHalves(dl::Dims dims) {
  AffineExpr half = dl::constantDim(*dl::asConstant(dims.back()) / 2, dims.back().getContext());
  dims.back() = dl::constantDim(2, half.getContext());
  dims.push_back(half);
  return dims;
}

/// `value` with its last dim as two halves. The halves of what repeats, or is permuted with the
/// last dim where it is, are those of its operand: a view of what is computed, where one of the
/// whole would be of a copy.
static Value inHalves(Value value, dl::Builder &builder) {
  dl::Dims dims = withHalves(dl::dimsOf(value));
  if (auto repeated = value.getDefiningOp<dl::BroadcastOp>())
    if (dl::Dims from = dl::dimsOf(repeated.getX());
        !from.empty() && from.back() == dl::dimsOf(value).back())
      return builder.broadcast(inHalves(repeated.getX(), builder), dims);
  if (auto permute = value.getDefiningOp<dl::PermuteOp>()) {
    SmallVector<int64_t> order;
    int64_t rank = dl::typeOf(value).getRank();
    for (int64_t from : permute.getDims())
      order.push_back(from < 0 ? from + rank : from);
    if (order.back() == rank - 1) {
      order.push_back(rank);
      return builder.permute(inHalves(permute.getX(), builder), order);
    }
  }
  return builder.reshape(value, dims);
}

namespace {

/// x * cos + cat(-x2, x1) * sin -> x * cos + flip(x) * (-1, 1) * sin, of halves
struct TurnHalves : OpRewritePattern<dl::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(dl::AddOp sum, PatternRewriter &rewriter) const override {
    if (!isa<FloatType>(getElementTypeOrSelf(sum.getType())))
      return failure();
    for (auto [straight, crossed] :
         {std::pair(sum.getX(), sum.getOther()), std::pair(sum.getOther(), sum.getX())}) {
      auto cosine = straight.getDefiningOp<dl::MulOp>(), sine = crossed.getDefiningOp<dl::MulOp>();
      if (!cosine || !sine || !cosine->hasOneUse() || !sine->hasOneUse())
        continue;
      for (unsigned side : {0U, 1U}) {
        Value x = turnedOf(sine->getOperand(side));
        if (!x || (cosine.getX() != x && cosine.getOther() != x))
          continue;
        Value c = cosine.getX() == x ? cosine.getOther() : cosine.getX();
        rewrite(sum, x, c, sine->getOperand(1 - side), rewriter);
        return success();
      }
    }
    return failure();
  }

private:
  static void rewrite(dl::AddOp sum, Value x, Value cosine, Value sine, PatternRewriter &rewriter) {
    dl::Builder builder(sum.getLoc(), rewriter);
    Value halves = inHalves(x, builder);
    dl::Dims dims = dl::dimsOf(halves);
    int64_t rank = dims.size();
    MLIRContext *context = builder.getContext();
    auto number = [&](int64_t value) {
      return AffineMapAttr::get(dl::dimsMap({dl::constantDim(value, context)}, context));
    };
    // -1 and 1.
    Value signs = builder.make<dl::ArangeOp>(number(2), number(-1), builder.getI64IntegerAttr(2),
                                             TypeAttr::get(getElementTypeOrSelf(x)));
    signs = builder.broadcast(builder.unsqueeze(signs, 1), dims);
    Value flipped = builder.make<dl::FlipOp>(halves, ArrayRef<int64_t>{rank - 2});
    Value turned =
        builder.make<dl::MulOp>(builder.make<dl::MulOp>(flipped, signs), inHalves(sine, builder));
    Value y =
        builder.make<dl::AddOp>(builder.make<dl::MulOp>(halves, inHalves(cosine, builder)), turned);
    rewriter.replaceOp(sum, builder.reshape(y, dl::dimsOf(sum)));
  }
};

} // namespace

void RaiseRotary::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<TurnHalves>(&getContext());
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    signalPassFailure();
}

} // namespace dlc
