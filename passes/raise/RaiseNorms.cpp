//===- RaiseNorms.cpp - Norms written as arithmetic become ops ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every norm is found by the one thing that all of them have: a product with z / sqrt(mean(z^2) +
// eps). Where z is x less its mean that is a standardize, else an rms_norm. Weight and bias join in
// patterns of their own, wherever in the product they were written.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "passes/Passes.h"
#include "passes/raise/GroupNorms.h"
#include "passes/raise/WrittenArithmetic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "raise-norms"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_RAISENORMS
#include "passes/Passes.h.inc"

namespace {

class RaiseNorms : public impl::RaiseNormsBase<RaiseNorms> {
  void runOnOperation() override;
};

/// 1 / sqrt(spread + eps), repeated over `dims` of x.
struct InverseDeviation {
  Value x;                // null: no such thing
  bool isCentred = false; // the spread is the variance of x, else its mean square
  llvm::SmallBitVector dims;
  double eps = 0;
};

} // namespace

//===- Statistics -----------------------------------------------------------------------------===//

/// x where `value` is x less its mean over `dims`, or, with `eitherSign`, that mean less x; null
/// where it is not.
static Value centredIn(Value value, const llvm::SmallBitVector &dims, Covered &covered,
                       bool eitherSign = false) {
  auto difference = value.getDefiningOp<dl::SubOp>();
  if (!difference)
    return {};
  auto isMeanOf = [&](Value mean, Value x) {
    size_t mark = covered.mark();
    auto repeated = repeatedOf(mean, covered);
    if (repeated && repeated->dims == dims && averagedIn(repeated->row, dims, covered) == x) {
      covered.add(difference);
      return true;
    }
    covered.rollBack(mark);
    return false;
  };
  if (isMeanOf(difference.getOther(), difference.getX()))
    return difference.getX();
  if (eitherSign && isMeanOf(difference.getX(), difference.getOther()))
    return difference.getOther();
  return {};
}

/// Reads what the spread of `found` is of.
static void readSpread(Value row, InverseDeviation &found, Covered &covered) {
  if ((found.x = variedIn(row, found.dims, covered))) {
    found.isCentred = true;
    return;
  }
  Value squares = averagedIn(row, found.dims, covered);
  if (!squares)
    return;
  Power square = powerOf(squares, covered);
  if (square.exponent != 2)
    return;
  Value x = centredIn(square.base, found.dims, covered, /*eitherSign=*/true);
  found.isCentred = x != nullptr;
  found.x = x ? x : square.base;
}

/// Reads a factor of a product; roots, reciprocals and repetitions come in any order.
static InverseDeviation inverseDeviationOf(const Power &factor, Covered &covered) {
  InverseDeviation found;
  Value row = factor.base;
  double exponent = factor.exponent;
  for (Value before; before != row;) {
    before = row;
    if (exponent == std::trunc(exponent)) {
      Power power = powerOf(row, covered);
      row = power.base;
      exponent *= power.exponent;
    }
    if (auto repeated = found.dims.empty() ? repeatedOf(row, covered) : std::nullopt) {
      row = repeated->row;
      found.dims = repeated->dims;
    } else if (!found.dims.empty()) {
      row = throughUnitDims(row, covered);
    }
  }
  if (exponent != -0.5 || found.dims.none())
    return found;
  if (auto sum = row.getDefiningOp<dl::AddOp>())
    for (auto [number, other] :
         {std::pair(sum.getOther(), sum.getX()), std::pair(sum.getX(), sum.getOther())})
      if (auto eps = numberOf(number); eps && *eps >= 0) {
        covered.add(sum);
        found.eps = *eps;
        row = other;
        break;
      }
  readSpread(row, found, covered);
  return found;
}

//===- Norms ----------------------------------------------------------------------------------===//

/// The sizes of the dims, if these are the last ones and known.
static std::optional<SmallVector<int64_t>> lastSizes(Value x, const llvm::SmallBitVector &dims) {
  dl::Dims sizes = dl::dimsOf(x);
  SmallVector<int64_t> shape;
  for (int64_t dim = dims.find_first(); dim < static_cast<int64_t>(sizes.size()); ++dim) {
    auto size = dl::asConstant(sizes[dim]);
    if (!size || (!dims[dim] && *size != 1))
      return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

/// The norm without weight and bias; null where no op computes it.
static Value buildNorm(dl::Builder &builder, const InverseDeviation &deviation) {
  if (deviation.isCentred) {
    SmallVector<int64_t> dims(deviation.dims.set_bits_begin(), deviation.dims.set_bits_end());
    return builder.make<dl::StandardizeOp>(deviation.x, ValueRange(), dims, dims,
                                           APFloat(deviation.eps));
  }
  auto shape = lastSizes(deviation.x, deviation.dims);
  if (!shape)
    return {};
  return builder.make<dl::RmsNormOp>(deviation.x, ValueRange(), *shape,
                                     builder.getF64FloatAttr(deviation.eps));
}

namespace {

/// ... * z / sqrt(mean(z^2) + eps) -> ... * norm(z)
template <typename Op> struct RaiseNorm : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Covered covered(op);
    Product product = productOf(op, covered);
    size_t mark = covered.mark();
    for (size_t root = 0; root < product.factors.size(); ++root) {
      covered.rollBack(mark);
      InverseDeviation deviation = inverseDeviationOf(product.factors[root], covered);
      if (!deviation.x)
        continue;
      for (size_t scaled = 0; scaled < product.factors.size(); ++scaled) {
        const Power &factor = product.factors[scaled];
        if (factor.exponent != 1 || scaled == root)
          continue;
        Value x =
            deviation.isCentred ? centredIn(factor.base, deviation.dims, covered) : factor.base;
        if (x == deviation.x)
          return build(op, product, {root, scaled}, deviation, covered, rewriter);
      }
    }
    return failure();
  }

private:
  /// The norm, times the factors that are not `part` of it.
  static LogicalResult build(Op op, const Product &product, std::array<size_t, 2> part,
                             const InverseDeviation &deviation, const Covered &covered,
                             PatternRewriter &rewriter) {
    if (!covered.isClosed())
      return failure();
    dl::Builder builder(covered.location(), rewriter);
    Value y = buildNorm(builder, deviation);
    if (!y)
      return failure();
    covered.annotate(y);
    for (auto [position, factor] : llvm::enumerate(product.factors))
      if (!llvm::is_contained(part, position)) {
        y = factor.exponent > 0 ? builder.make<dl::MulOp>(y, factor.base)
                                : builder.make<dl::DivOp>(y, factor.base);
        covered.annotate(y);
      }
    if (product.constant != 1) {
      y = builder.make<dl::MulOp>(y, builder.fullLike(y, product.constant));
      covered.annotate(y);
    }
    rewriter.replaceOp(op, y);
    return success();
  }
};

} // namespace

/// The weight or bias that `repeated` is, as a tensor of the dims `affine` of `norm`; null where it
/// has others.
static Value affineFor(Value norm, const Repeated &repeated, ArrayRef<int64_t> affine,
                       dl::Builder &builder) {
  dl::Dims dims = dl::dimsOf(norm), wanted;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    bool isAffine = llvm::is_contained(affine, static_cast<int64_t>(dim));
    if (!dl::isConstant(dims[dim], 1) && repeated.dims[dim] == isAffine)
      return {};
  }
  for (int64_t dim : affine)
    wanted.push_back(dims[dim]);
  return builder.reshape(repeated.row, wanted);
}

/// The dims that a weight of `norm` may have: those that it reduces, or the channels if it reduces
/// all dims after them.
static SmallVector<SmallVector<int64_t>> affineChoices(Operation *norm) {
  auto standardize = dyn_cast<dl::StandardizeOp>(norm);
  if (!standardize) {
    int64_t rank = dl::typeOf(norm->getResult(0)).getRank(),
            count = cast<dl::RmsNormOp>(norm).getNormalizedShape().size();
    return {llvm::to_vector(llvm::seq<int64_t>(rank - count, rank))};
  }
  if (standardize.getAffine().size() == 1) // its bias has the dims of its weight
    return {llvm::to_vector(standardize.getAffineDims())};
  SmallVector<SmallVector<int64_t>> choices{llvm::to_vector(standardize.getDims())};
  int64_t rank = dl::typeOf(norm->getResult(0)).getRank();
  if (rank > 2 &&
      standardize.getDims() == ArrayRef<int64_t>(llvm::to_vector(llvm::seq<int64_t>(2, rank))))
    choices.push_back({1});
  return choices;
}

namespace {

/// norm(x) * w -> norm(x, w), and norm(x, w) + b -> norm(x, w, b)
template <typename Op> struct AbsorbAffine : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    return success(succeeded(absorb(op, op.getX(), op.getOther(), rewriter)) ||
                   succeeded(absorb(op, op.getOther(), op.getX(), rewriter)));
  }

private:
  static bool takes(Operation *norm) {
    if constexpr (std::is_same_v<Op, dl::MulOp>)
      return isa_and_nonnull<dl::StandardizeOp, dl::RmsNormOp>(norm) && norm->getNumOperands() == 1;
    else
      return isa_and_nonnull<dl::StandardizeOp>(norm) && norm->getNumOperands() == 2;
  }

  static LogicalResult absorb(Op op, Value y, Value other, PatternRewriter &rewriter) {
    Operation *norm = y.getDefiningOp();
    Covered covered(op);
    auto repeated = repeatedOf(other, covered);
    if (!takes(norm) || !repeated)
      return failure();
    covered = Covered(op); // the weight's own views stay, for others may read them
    covered.add(norm);
    if (!covered.isClosed())
      return failure();
    dl::Builder builder(covered.location(), rewriter);
    for (ArrayRef<int64_t> dims : affineChoices(norm)) {
      Value affine = affineFor(y, *repeated, dims, builder);
      if (!affine)
        continue;
      SmallVector<Value> operands(norm->getOperands());
      operands.push_back(affine);
      OperationState state(builder.getLoc(), norm->getName(), operands, op->getResultTypes(),
                           norm->getAttrs());
      Operation *raised = rewriter.create(state);
      if (auto standardize = dyn_cast<dl::StandardizeOp>(raised))
        standardize.setAffineDims(dims);
      rewriter.replaceOp(op, raised);
      return success();
    }
    return failure();
  }
};

} // namespace

void RaiseNorms::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<RaiseNorm<dl::MulOp>, RaiseNorm<dl::DivOp>, AbsorbAffine<dl::MulOp>,
               AbsorbAffine<dl::AddOp>>(&getContext());
  addGroupNorms(patterns);
  addNarrowing(patterns,
               {dl::StandardizeOp::getOperationName(), dl::RmsNormOp::getOperationName()});
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    signalPassFailure();
}

} // namespace dlc
