//===- RaiseActivations.cpp - Activations written as arithmetic become ops ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GELU, SiLU, mish and hard swish are all x times a gate: a function that rises from 0 to 1. A gate
// is read as what it says of its argument, which is then compared with x; so a new activation is
// one more gate. Softmax and its logarithm are read from their last op on.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "passes/Passes.h"
#include "passes/raise/WrittenArithmetic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <numbers>

#define DEBUG_TYPE "raise-activations"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_RAISEACTIVATIONS
#include "passes/Passes.h.inc"

namespace {

class RaiseActivations : public impl::RaiseActivationsBase<RaiseActivations> {
  void runOnOperation() override;
};

/// Factors as a function of x: `scale` times the function that the activation `name` multiplies x
/// with.
struct Gate {
  enum Kind { none, erf, tanh, silu, mish, hardswish } kind = none;
  double scale = 1;
};

} // namespace

//===- Gates ----------------------------------------------------------------------------------===//

/// The operand of `value` if an Op made it, which is then covered; null otherwise.
template <typename Op> static Value operandOf(Value value, Covered &covered) {
  auto op = value.getDefiningOp<Op>();
  if (!op)
    return {};
  covered.add(op);
  return op->getOperand(0);
}

/// number + other, with the number in either place, or a sum of two values of which the number is
/// 0.
struct Shifted {
  double number = 0;
  Value other;
};
static Shifted shiftedOf(Value value, Covered &covered) {
  auto sum = value.getDefiningOp<dl::AddOp>();
  for (unsigned i = 0; sum && i < 2; ++i)
    if (auto number = numberOf(sum->getOperand(i))) {
      covered.add(sum);
      return {*number, sum->getOperand(1 - i)};
    }
  return {0, value};
}

static bool isPolynomial(Value value, const Polynomial &wanted, Value x, Covered &covered) {
  auto found = value ? polynomialOf(value, x, covered) : std::nullopt;
  return found && means(*found, wanted, x);
}

/// The inner argument of tanh in GELU, and twice it: that of the sigmoid which is 1/2 + tanh/2.
static Polynomial geluArgument(double times) {
  double slope = times * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return {0, slope, 0, slope * 0.044715};
}

/// scale * (1 + erf(x / sqrt 2)) or scale * (1 + tanh(...)); the 1 and the scale may be multiplied
/// out.
static Gate readShiftedGate(Value value, Value x, Covered &covered) {
  Shifted shifted = shiftedOf(value, covered);
  Product product = productOf(shifted.other, covered);
  if (product.factors.size() != 1 || product.factors.front().exponent != 1 ||
      !means(product.constant, shifted.number, x) || shifted.number <= 0)
    return {};
  Value curve = product.factors.front().base;
  if (isPolynomial(operandOf<dl::ErfOp>(curve, covered), {0, std::numbers::sqrt2 / 2}, x, covered))
    return {Gate::erf, 2 * shifted.number};
  if (isPolynomial(operandOf<dl::TanhOp>(curve, covered), geluArgument(1), x, covered))
    return {Gate::tanh, 2 * shifted.number};
  return {};
}

/// erfc(-x / sqrt 2)
static Gate readErfc(Value value, Value x, Covered &covered) {
  if (isPolynomial(operandOf<dl::ErfcOp>(value, covered), {0, -std::numbers::sqrt2 / 2}, x,
                   covered))
    return {Gate::erf, 2};
  return {};
}

/// A sigmoid of x, or of what makes it the gate of GELU.
static Gate readSigmoidOf(std::optional<Polynomial> argument, Value x) {
  if (argument && means(*argument, {0, 1}, x))
    return {Gate::silu, 1};
  if (argument && means(*argument, geluArgument(2), x))
    return {Gate::tanh, 1};
  return {};
}
static Gate readSigmoid(Value value, Value x, Covered &covered) {
  Value argument = operandOf<dl::SigmoidOp>(value, covered);
  return argument ? readSigmoidOf(polynomialOf(argument, x, covered), x) : Gate();
}
/// 1 + exp(-x), as a divisor.
static Gate readSigmoidDivisor(Value value, Value x, Covered &covered) {
  Shifted shifted = shiftedOf(value, covered);
  Value argument = operandOf<dl::ExpOp>(shifted.other, covered);
  if (!argument || shifted.number != 1)
    return {};
  auto polynomial = polynomialOf(argument, x, covered);
  if (polynomial)
    for (double &coefficient : *polynomial)
      coefficient = -coefficient;
  return readSigmoidOf(polynomial, x);
}

/// log(1 + exp(x)), which is x above 20 too.
static bool isSoftplus(Value value, Value x, Covered &covered) {
  if (auto softplus = value.getDefiningOp<dl::SoftplusOp>()) {
    covered.add(softplus);
    return softplus.getX() == x && softplus.getBeta().isExactlyValue(1.0) &&
           softplus.getThreshold().isExactlyValue(20.0);
  }
  Value grown = operandOf<dl::Log1pOp>(value, covered);
  if (Value sum = grown ? Value() : operandOf<dl::LogOp>(value, covered)) {
    Shifted shifted = shiftedOf(sum, covered);
    grown = shifted.number == 1 ? shifted.other : Value();
  }
  return grown && operandOf<dl::ExpOp>(grown, covered) == x;
}
/// tanh(softplus(x))
static Gate readMish(Value value, Value x, Covered &covered) {
  Value argument = operandOf<dl::TanhOp>(value, covered);
  return argument && isSoftplus(argument, x, covered) ? Gate{Gate::mish, 1} : Gate();
}

namespace {
/// The nearest value to `inner` from `low` to `high`.
struct Bounded {
  Value inner;
  double low = 0, high = 0;
};
} // namespace

static std::optional<Bounded> boundedOf(Value value, Covered &covered) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  covered.add(op);
  if (auto clamp = dyn_cast<dl::ClampOp>(op); clamp && clamp.getMin() && clamp.getMax())
    return Bounded{clamp.getX(), clamp.getMin()->convertToDouble(),
                   clamp.getMax()->convertToDouble()};
  if (auto bounded = dyn_cast<dl::HardtanhOp>(op))
    return Bounded{bounded.getX(), bounded.getMinVal().convertToDouble(),
                   bounded.getMaxVal().convertToDouble()};
  if (auto bounded = dyn_cast<dl::Relu6Op>(op))
    return Bounded{bounded.getX(), 0, 6};
  // min(max(inner, low), high), each number in either place.
  auto number = [](Operation *bound) { return numberOf(bound->getOperand(1)) ? 1U : 0U; };
  auto lesser = dyn_cast<dl::MinimumOp>(op);
  if (!lesser)
    return std::nullopt;
  unsigned high = number(lesser);
  Operation *greater = lesser->getOperand(1 - high).getDefiningOp();
  auto highest = numberOf(lesser->getOperand(high));
  if (!highest || !isa_and_nonnull<dl::MaximumOp, dl::ReluOp>(greater))
    return std::nullopt;
  covered.add(greater);
  if (isa<dl::ReluOp>(greater))
    return Bounded{greater->getOperand(0), 0, *highest};
  unsigned low = number(greater);
  auto lowest = numberOf(greater->getOperand(low));
  if (!lowest)
    return std::nullopt;
  return Bounded{greater->getOperand(1 - low), *lowest, *highest};
}

/// scale * (x / 6 + 1/2) between 0 and scale
static Gate readHardSigmoid(Value value, Value x, Covered &covered) {
  if (operandOf<dl::HardsigmoidOp>(value, covered) == x)
    return {Gate::hardswish, 1};
  auto bounded = boundedOf(value, covered);
  if (!bounded || bounded->low != 0 || bounded->high <= 0 ||
      !isPolynomial(bounded->inner, {bounded->high / 2, bounded->high / 6}, x, covered))
    return {};
  return {Gate::hardswish, bounded->high};
}

/// The function of x that `factor` is.
static Gate gateOf(const Power &factor, Value x, Covered &covered) {
  using Reader = Gate (*)(Value, Value, Covered &);
  static constexpr Reader kFactors[] = {readShiftedGate, readErfc, readSigmoid, readMish,
                                        readHardSigmoid},
                          kDivisors[] = {readSigmoidDivisor};
  size_t mark = covered.mark();
  for (Reader read : factor.exponent > 0 ? ArrayRef<Reader>(kFactors) : kDivisors) {
    covered.rollBack(mark);
    if (Gate gate = read(factor.base, x, covered); gate.kind != Gate::none)
      return gate;
  }
  return {};
}

static Value build(dl::Builder &builder, Gate::Kind kind, Value x) {
  switch (kind) {
  case Gate::erf:
    return builder.make<dl::GeluOp>(x, "none");
  case Gate::tanh:
    return builder.make<dl::GeluOp>(x, "tanh");
  case Gate::silu:
    return builder.make<dl::SiluOp>(x);
  case Gate::mish:
    return builder.make<dl::MishOp>(x);
  case Gate::hardswish:
    return builder.make<dl::HardswishOp>(x);
  case Gate::none:
    break;
  }
  llvm_unreachable("no gate was found");
}

namespace {

/// ... * x * gate(x) -> ... * activation(x)
template <typename Op> struct RaiseGated : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isa<FloatType>(getElementTypeOrSelf(op.getType())))
      return failure();
    Covered covered(op);
    Product product = productOf(op, covered);
    size_t mark = covered.mark();
    for (size_t i = 0; i < product.factors.size(); ++i)
      for (size_t j = 0; j < product.factors.size(); ++j) {
        covered.rollBack(mark);
        Value x = product.factors[i].base;
        if (i == j || product.factors[i].exponent != 1)
          continue;
        Gate gate = gateOf(product.factors[j], x, covered);
        double constant = product.constant * gate.scale;
        if (gate.kind == Gate::none || !means(constant, 1, x) || !covered.isClosed())
          continue;
        dl::Builder builder(covered.location(), rewriter);
        Value y = build(builder, gate.kind, x);
        for (auto [position, factor] : llvm::enumerate(product.factors))
          if (position != i && position != j)
            y = factor.exponent > 0 ? builder.make<dl::MulOp>(y, factor.base)
                                    : builder.make<dl::DivOp>(y, factor.base);
        covered.annotate(y);
        rewriter.replaceOp(op, y);
        return success();
      }
    return failure();
  }
};

} // namespace

//===- Softmax --------------------------------------------------------------------------------===//

namespace {
/// x less its largest element along one dim.
struct Lowered {
  Value x; // null: no such thing
  int64_t dim = 0;
};
} // namespace

static Lowered loweredOf(Value value, Covered &covered) {
  auto difference = value.getDefiningOp<dl::SubOp>();
  if (!difference)
    return {};
  auto largest = repeatedOf(difference.getOther(), covered);
  if (!largest || largest->dims.count() != 1 ||
      largestIn(largest->row, largest->dims, covered) != difference.getX())
    return {};
  covered.add(difference);
  return {difference.getX(), largest->dims.find_first()};
}

/// exp(x - largest)
static Lowered exponentialOf(Value value, Covered &covered) {
  Value argument = operandOf<dl::ExpOp>(value, covered);
  return argument ? loweredOf(argument, covered) : Lowered();
}

static llvm::SmallBitVector oneDim(Value like, int64_t dim) {
  llvm::SmallBitVector dims(dl::typeOf(like).getRank());
  dims.set(dim);
  return dims;
}

namespace {

/// e / sum(e) or e * (1 / sum(e)) with e = exp(x - largest) -> softmax(x)
template <typename Op> struct RaiseSoftmax : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (succeeded(raise(op, op.getX(), op.getOther(), rewriter)))
      return success();
    return isa<dl::MulOp>(op) ? raise(op, op.getOther(), op.getX(), rewriter) : failure();
  }

private:
  static LogicalResult raise(Op op, Value exponential, Value total, PatternRewriter &rewriter) {
    Covered covered(op);
    Lowered lowered = exponentialOf(exponential, covered);
    auto repeated = lowered.x ? repeatedOf(total, covered) : std::nullopt;
    if (!repeated || repeated->dims != oneDim(lowered.x, lowered.dim))
      return failure();
    Power power = powerOf(repeated->row, covered);
    if (power.exponent != (isa<dl::MulOp>(op) ? -1 : 1) ||
        summedIn(power.base, repeated->dims, covered) != exponential || !covered.isClosed())
      return failure();
    dl::Builder builder(covered.location(), rewriter);
    Value y = builder.make<dl::SoftmaxOp>(lowered.x, lowered.dim);
    covered.annotate(y);
    rewriter.replaceOp(op, y);
    return success();
  }
};

/// l - log(sum(exp(l))) with l = x - largest, or x - (largest + log(sum(exp(l)))) -> log_softmax(x)
struct RaiseLogSoftmax : OpRewritePattern<dl::SubOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(dl::SubOp op, PatternRewriter &rewriter) const override {
    Covered covered(op);
    auto repeated = repeatedOf(op.getOther(), covered);
    if (!repeated || repeated->dims.count() != 1)
      return failure();
    Value x = op.getX();
    if (auto sum = repeated->row.getDefiningOp<dl::AddOp>()) {
      covered.add(sum);
      size_t mark = covered.mark();
      for (auto [largest, logarithm] :
           {std::pair(sum.getX(), sum.getOther()), std::pair(sum.getOther(), sum.getX())}) {
        covered.rollBack(mark);
        if (largestIn(largest, repeated->dims, covered) == x &&
            loweredOfTotal(logarithm, repeated->dims, covered).x == x)
          return build(op, x, repeated->dims.find_first(), covered, rewriter);
      }
      return failure();
    }
    Lowered lowered = loweredOfTotal(repeated->row, repeated->dims, covered);
    Lowered minuend = loweredOf(x, covered);
    if (!lowered.x || lowered.x != minuend.x || lowered.dim != minuend.dim)
      return failure();
    return build(op, lowered.x, lowered.dim, covered, rewriter);
  }

private:
  /// The terms that log(sum(exp(x - largest))) over `dims` sums up.
  static Lowered loweredOfTotal(Value logarithm, const llvm::SmallBitVector &dims,
                                Covered &covered) {
    Value total = operandOf<dl::LogOp>(throughUnitDims(logarithm, covered), covered);
    Value exponential = total ? summedIn(total, dims, covered) : Value();
    Lowered lowered = exponential ? exponentialOf(exponential, covered) : Lowered();
    return lowered.x && oneDim(lowered.x, lowered.dim) == dims ? lowered : Lowered();
  }

  static LogicalResult build(dl::SubOp op, Value x, int64_t dim, const Covered &covered,
                             PatternRewriter &rewriter) {
    if (!covered.isClosed())
      return failure();
    dl::Builder builder(covered.location(), rewriter);
    Value y = builder.make<dl::LogSoftmaxOp>(x, dim);
    covered.annotate(y);
    rewriter.replaceOp(op, y);
    return success();
  }
};

} // namespace

void RaiseActivations::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<RaiseGated<dl::MulOp>, RaiseGated<dl::DivOp>, RaiseSoftmax<dl::MulOp>,
               RaiseSoftmax<dl::DivOp>, RaiseLogSoftmax>(&getContext());
  addNarrowing(patterns, {dl::GeluOp::getOperationName(), dl::SiluOp::getOperationName(),
                          dl::MishOp::getOperationName(), dl::HardswishOp::getOperationName(),
                          dl::SoftmaxOp::getOperationName(), dl::LogSoftmaxOp::getOperationName()});
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    signalPassFailure();
}

} // namespace dlc
