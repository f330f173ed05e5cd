//===- SimplifyAlgebra.cpp - Drop arithmetic that changes no bit --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "simplify-algebra"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_SIMPLIFYALGEBRA
#include "passes/Passes.h.inc"

namespace {
class SimplifyAlgebra : public impl::SimplifyAlgebraBase<SimplifyAlgebra> {
  void runOnOperation() override;
};
} // namespace

//===- What is known of a value ---------------------------------------------------------------===//

static bool isOne(Value value) {
  auto full = value.getDefiningOp<dl::FullOp>();
  if (!full)
    return false;
  if (auto number = dyn_cast<FloatAttr>(full.getFill()))
    return number.getValue().isExactlyValue(1.0);
  return cast<IntegerAttr>(full.getFill()).getValue().isOne();
}

/// The number whose sum with x is x for every x: -0 of floats (x + 0 makes +0 of -0), 0 of
/// integers.
static bool isNeutralOfSum(Value value) {
  auto full = value.getDefiningOp<dl::FullOp>();
  if (!full)
    return false;
  if (auto number = dyn_cast<FloatAttr>(full.getFill()))
    return number.getValue().isNegZero();
  return cast<IntegerAttr>(full.getFill()).getValue().isZero();
}

static bool isPositiveZero(Value value) {
  auto full = value.getDefiningOp<dl::FullOp>();
  if (!full)
    return false;
  if (auto number = dyn_cast<FloatAttr>(full.getFill()))
    return number.getValue().isPosZero();
  return cast<IntegerAttr>(full.getFill()).getValue().isZero();
}

/// Every value of `from` is a value of `through`.
static bool holds(Type through, Type from) {
  auto wide = dyn_cast<FloatType>(through), narrow = dyn_cast<FloatType>(from);
  if (wide && narrow)
    return APFloat::isRepresentableBy(narrow.getFloatSemantics(), wide.getFloatSemantics());
  auto wideInt = dyn_cast<IntegerType>(through), narrowInt = dyn_cast<IntegerType>(from);
  return wideInt && narrowInt && narrowInt.getWidth() > 1 &&
         wideInt.getWidth() >= narrowInt.getWidth();
}

//===- Patterns -------------------------------------------------------------------------------===//

/// Adds `Op -> the operand that rewrite(op) gives`, if it gives one of the result's type.
template <typename Op, typename Rewrite>
static void replace(RewritePatternSet &patterns, Rewrite rewrite) {
  struct Pattern : OpRewritePattern<Op> {
    Rewrite rewrite;
    Pattern(MLIRContext *context, Rewrite rewrite)
        : OpRewritePattern<Op>(context), rewrite(rewrite) {}
    LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
      Value value = rewrite(op);
      if (!value || value.getType() != op.getType())
        return failure();
      rewriter.replaceOp(op, value);
      return success();
    }
  };
  patterns.add(std::make_unique<Pattern>(patterns.getContext(), rewrite));
}

static void addPatterns(RewritePatternSet &patterns) {
  replace<dl::MulOp>(patterns, [](dl::MulOp op) {
    return isOne(op.getOther()) ? op.getX() : isOne(op.getX()) ? op.getOther() : Value();
  });
  replace<dl::DivOp>(patterns,
                     [](dl::DivOp op) { return isOne(op.getOther()) ? op.getX() : Value(); });
  replace<dl::AddOp>(patterns, [](dl::AddOp op) {
    return isNeutralOfSum(op.getOther()) ? op.getX()
           : isNeutralOfSum(op.getX())   ? op.getOther()
                                         : Value();
  });
  replace<dl::SubOp>(
      patterns, [](dl::SubOp op) { return isPositiveZero(op.getOther()) ? op.getX() : Value(); });
  replace<dl::NegOp>(patterns, [](dl::NegOp op) {
    auto inner = op.getX().getDefiningOp<dl::NegOp>();
    return inner ? inner.getX() : Value();
  });
  replace<dl::PowOp>(patterns,
                     [](dl::PowOp op) { return isOne(op.getOther()) ? op.getX() : Value(); });
  replace<dl::WhereOp>(patterns, [](dl::WhereOp op) {
    return op.getOperand(1) == op.getOperand(2) ? op.getOperand(1) : Value();
  });
  replace<dl::ReluOp>(patterns, [](dl::ReluOp op) {
    return op.getX().getDefiningOp<dl::ReluOp>() ? op.getX() : Value();
  });
  replace<dl::MaximumOp>(
      patterns, [](dl::MaximumOp op) { return op.getX() == op.getOther() ? op.getX() : Value(); });
  replace<dl::MinimumOp>(
      patterns, [](dl::MinimumOp op) { return op.getX() == op.getOther() ? op.getX() : Value(); });
  replace<dl::CastOp>(patterns, [](dl::CastOp op) {
    auto inner = op.getX().getDefiningOp<dl::CastOp>();
    return inner && holds(inner.getDtype(), getElementTypeOrSelf(inner.getX())) ? inner.getX()
                                                                                : Value();
  });
}

namespace {

static dl::Builder builderAt(Operation *op, PatternRewriter &rewriter) {
  dl::Builder builder(op);
  builder.setListener(rewriter.getListener());
  return builder;
}

/// x / 2^n -> x * 2^-n, which rounds the same number
struct DivideByPowerOfTwo : OpRewritePattern<dl::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::DivOp op, PatternRewriter &rewriter) const override {
    auto full = op.getOther().getDefiningOp<dl::FullOp>();
    auto number = full ? dyn_cast<FloatAttr>(full.getFill()) : FloatAttr();
    APFloat inverse(0.0);
    if (!number || !number.getValue().getExactInverse(&inverse))
      return failure();
    Value factor = dl::FullOp::create(rewriter, full.getLoc(), op.getOther().getType(),
                                      FloatAttr::get(number.getType(), inverse));
    auto product = rewriter.replaceOpWithNewOp<dl::MulOp>(op, op.getX(), factor);
    product->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return success();
  }
};

/// x * -1 -> -x
struct MultiplyByMinusOne : OpRewritePattern<dl::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::MulOp op, PatternRewriter &rewriter) const override {
    for (unsigned side : {1u, 0u}) {
      auto full = op->getOperand(side).getDefiningOp<dl::FullOp>();
      auto number = full ? dyn_cast<FloatAttr>(full.getFill()) : FloatAttr();
      if (!number || !number.getValue().isExactlyValue(-1.0))
        continue;
      auto negated = rewriter.replaceOpWithNewOp<dl::NegOp>(op, op->getOperand(1 - side));
      negated->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      return success();
    }
    return failure();
  }
};

/// x^2, x^3 and x^4, of a power that is a tensor of one number, are products.
struct SmallPower : OpRewritePattern<dl::PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::PowOp op, PatternRewriter &rewriter) const override {
    auto full = op.getOther().getDefiningOp<dl::FullOp>();
    if (!full)
      return failure();
    auto number = dyn_cast<FloatAttr>(full.getFill());
    double power = number ? number.getValueAsDouble()
                          : static_cast<double>(cast<IntegerAttr>(full.getFill()).getInt());
    if (power != 2 && power != 3 && power != 4)
      return failure();
    dl::Builder b = builderAt(op, rewriter);
    Value y = power == 2 ? b.make<dl::SquareOp>(op.getX())
                         : b.make<dl::PowNumberOp>(op.getX(), b.getF64FloatAttr(power));
    y.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, y);
    return success();
  }
};

/// cat(cat(x, y), z) -> cat(x, y, z), where nothing else reads cat(x, y)
struct MergeCats : OpRewritePattern<dl::CatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::CatOp op, PatternRewriter &rewriter) const override {
    int64_t rank = dl::typeOf(op).getRank();
    auto dimOf = [&](dl::CatOp cat) {
      int64_t dim = cat.getDimAttr().getInt();
      return dim < 0 ? dim + rank : dim;
    };
    SmallVector<Value> tensors;
    for (Value tensor : op.getTensors()) {
      auto inner = tensor.getDefiningOp<dl::CatOp>();
      bool isPart = inner && inner->hasOneUse() && dimOf(inner) == dimOf(op) &&
                    inner->getDiscardableAttrDictionary() == op->getDiscardableAttrDictionary() &&
                    !op->hasAttr("dl.no_fuse");
      if (isPart)
        tensors.append(inner.getTensors().begin(), inner.getTensors().end());
      else
        tensors.push_back(tensor);
    }
    if (tensors.size() == op.getTensors().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getTensorsMutable().assign(tensors); });
    return success();
  }
};

/// broadcast(broadcast(x)) -> broadcast(x)
struct MergeBroadcasts : OpRewritePattern<dl::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<dl::BroadcastOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<dl::BroadcastOp>(op, op.getType(), inner.getX());
    return success();
  }
};
} // namespace

void SimplifyAlgebra::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  addPatterns(patterns);
  patterns.add<MergeBroadcasts, MergeCats, DivideByPowerOfTwo, MultiplyByMinusOne, SmallPower>(
      &getContext());
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    signalPassFailure();
}

} // namespace dlc
