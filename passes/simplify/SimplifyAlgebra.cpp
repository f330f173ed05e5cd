//===- SimplifyAlgebra.cpp - Drop arithmetic that changes no bit -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
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

//===- What is known of a value -------------------------------------------------------------------===//

static bool isOne(Value value) {
  auto full = value.getDefiningOp<dl::FullOp>();
  if (!full)
    return false;
  if (auto number = dyn_cast<FloatAttr>(full.getFill()))
    return number.getValue().isExactlyValue(1.0);
  return cast<IntegerAttr>(full.getFill()).getValue().isOne();
}

/// The number whose sum with x is x for every x: -0 of floats (x + 0 makes +0 of -0), 0 of integers.
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

//===- Patterns -----------------------------------------------------------------------------------===//

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
  patterns.add<MergeBroadcasts>(&getContext());
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    signalPassFailure();
}

} // namespace dlc
