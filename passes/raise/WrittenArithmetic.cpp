//===- WrittenArithmetic.cpp - What chains of dl ops compute, however written -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/raise/WrittenArithmetic.h"

#include "ir/dl/base/DLBuilder.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

//===- What a match covers --------------------------------------------------------------------===//

bool Covered::isClosed() const {
  Operation *root = ops.front();
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, ops);
  return llvm::all_of(ops, [&](Operation *op) {
    if (op == root)
      return true;
    return op->getBlock() == root->getBlock() &&
           op->getDiscardableAttrDictionary() == root->getDiscardableAttrDictionary() &&
           llvm::all_of(op->getUsers(), [&](Operation *user) { return inside.contains(user); });
  });
}

std::vector<Operation *> Covered::inOrder() const {
  auto ordered = llvm::SetVector<Operation *>(ops.begin(), ops.end()).takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return {ordered.begin(), ordered.end()};
}

Location Covered::location() const {
  SmallVector<Location> places =
      llvm::map_to_vector(inOrder(), [](Operation *op) { return op->getLoc(); });
  return FusedLoc::get(ops.front()->getContext(), places);
}

void Covered::annotate(Value value) const {
  value.getDefiningOp()->setDiscardableAttrs(ops.front()->getDiscardableAttrDictionary());
}

//===- Numbers --------------------------------------------------------------------------------===//

std::optional<double> numberOf(Value value) {
  while (auto repeated = value.getDefiningOp<dl::BroadcastOp>())
    value = repeated.getX();
  auto full = value.getDefiningOp<dl::FullOp>();
  auto number = full ? dyn_cast<FloatAttr>(full.getFill()) : FloatAttr();
  if (!number)
    return std::nullopt;
  return number.getValueAsDouble();
}

/// The error that a number may have: two roundings of it, or digits cut off after the sixth.
static double slackOf(Value like) {
  auto type = cast<FloatType>(getElementTypeOrSelf(like));
  return std::max(2e-6, std::ldexp(1.0, 1 - static_cast<int>(type.getFPMantissaWidth())));
}

bool means(double number, double wanted, Value like) {
  return std::abs(number - wanted) <= slackOf(like) * std::abs(wanted);
}

//===- Powers and products --------------------------------------------------------------------===//

/// One step of powerOf.
static std::optional<Power> powerBy(Operation *op) {
  if (isa_and_nonnull<dl::SquareOp>(op))
    return Power{op->getOperand(0), 2};
  if (isa_and_nonnull<dl::SqrtOp>(op))
    return Power{op->getOperand(0), 0.5};
  if (isa_and_nonnull<dl::RsqrtOp>(op))
    return Power{op->getOperand(0), -0.5};
  if (isa_and_nonnull<dl::ReciprocalOp>(op))
    return Power{op->getOperand(0), -1};
  if (auto power = dyn_cast_or_null<dl::PowNumberOp>(op))
    return Power{power.getX(), power.getExponent().convertToDouble()};
  if (auto power = dyn_cast_or_null<dl::PowOp>(op))
    if (auto exponent = numberOf(power.getOther()))
      return Power{power.getX(), *exponent};
  if (auto product = dyn_cast_or_null<dl::MulOp>(op);
      product && product.getX() == product.getOther())
    return Power{product.getX(), 2};
  if (auto quotient = dyn_cast_or_null<dl::DivOp>(op); quotient && numberOf(quotient.getX()) == 1.0)
    return Power{quotient.getOther(), -1};
  return std::nullopt;
}

Power powerOf(Value value, Covered &covered) {
  Power power{value};
  // (x^2)^(1/2) is |x|, but the reciprocal or the square of any power is a power.
  while (power.exponent == std::trunc(power.exponent)) {
    auto inner = powerBy(power.base.getDefiningOp());
    if (!inner)
      break;
    covered.add(power.base.getDefiningOp());
    power = {inner->base, inner->exponent * power.exponent};
  }
  return power;
}

/// Multiplications within one another that are read as one product.
static constexpr unsigned kMaxProductDepth = 6;

/// Multiplies `product` by value ^ exponent.
static void multiply(Product &product, Value value, double exponent, Covered &covered,
                     unsigned depth = 0) {
  if (auto number = numberOf(value)) {
    product.constant *= exponent > 0 ? *number : 1 / *number;
    return;
  }
  Operation *op = value.getDefiningOp();
  bool isInner = op && (depth == 0 || (op->hasOneUse() && depth < kMaxProductDepth));
  if (isInner && isa<dl::MulOp, dl::DivOp>(op)) {
    covered.add(op);
    multiply(product, op->getOperand(0), exponent, covered, depth + 1);
    multiply(product, op->getOperand(1), isa<dl::DivOp>(op) ? -exponent : exponent, covered,
             depth + 1);
  } else if (isInner && isa<dl::NegOp>(op)) {
    covered.add(op);
    product.constant = -product.constant;
    multiply(product, op->getOperand(0), exponent, covered, depth + 1);
  } else {
    product.factors.push_back({value, exponent});
  }
}

Product productOf(Value value, Covered &covered) {
  Product product;
  multiply(product, value, 1, covered);
  return product;
}

//===- Polynomials ----------------------------------------------------------------------------===//

static std::optional<Polynomial> timesPolynomial(const Polynomial &a, const Polynomial &b) {
  Polynomial product{};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j) {
      if (a[i] == 0 || b[j] == 0)
        continue;
      if (i + j >= product.size())
        return std::nullopt;
      product[i + j] += a[i] * b[j];
    }
  return product;
}

std::optional<Polynomial> polynomialOf(Value value, Value x, Covered &covered, unsigned depth) {
  if (value == x)
    return Polynomial{0, 1};
  if (auto number = numberOf(value))
    return Polynomial{*number};
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  auto operand = [&](unsigned i) { return polynomialOf(op->getOperand(i), x, covered, depth - 1); };
  std::optional<Polynomial> result;
  if (isa<dl::AddOp, dl::SubOp>(op)) {
    auto other = operand(1);
    if (!(result = operand(0)) || !other)
      return std::nullopt;
    for (size_t i = 0; i < result->size(); ++i)
      (*result)[i] += isa<dl::SubOp>(op) ? -(*other)[i] : (*other)[i];
  } else if (isa<dl::MulOp>(op)) {
    auto first = operand(0), second = operand(1);
    if (!first || !second)
      return std::nullopt;
    result = timesPolynomial(*first, *second);
  } else if (isa<dl::DivOp>(op)) {
    auto divisor = numberOf(op->getOperand(1));
    if (!divisor || !(result = operand(0)))
      return std::nullopt;
    result = timesPolynomial(*result, {1 / *divisor});
  } else if (isa<dl::NegOp>(op)) {
    if (!(result = operand(0)))
      return std::nullopt;
    result = timesPolynomial(*result, {-1});
  } else if (auto power = powerBy(op); power && (power->exponent == 2 || power->exponent == 3)) {
    auto base = operand(0);
    if (!base)
      return std::nullopt;
    result = base;
    for (double i = 1; result && i < power->exponent; ++i)
      result = timesPolynomial(*result, *base);
  }
  if (result)
    covered.add(op);
  return result;
}

bool means(const Polynomial &polynomial, const Polynomial &wanted, Value like) {
  return llvm::all_of(llvm::zip(polynomial, wanted),
                      [&](auto pair) { return means(std::get<0>(pair), std::get<1>(pair), like); });
}

//===- Rows -----------------------------------------------------------------------------------===//

static dl::Dims withoutUnits(ArrayRef<AffineExpr> dims) {
  dl::Dims kept;
  llvm::copy_if(dims, std::back_inserter(kept),
                [](AffineExpr dim) { return !dl::isConstant(dim, 1); });
  return kept;
}

Value throughUnitDims(Value value, Covered &covered) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<dl::ReshapeOp, dl::FlattenOp>(op) ||
        withoutUnits(dl::dimsOf(op->getOperand(0))) != withoutUnits(dl::dimsOf(value)))
      break;
    covered.add(op);
    value = op->getOperand(0);
  }
  return value;
}

std::optional<Repeated> repeatedOf(Value value, Covered &covered) {
  auto broadcast = value.getDefiningOp<dl::BroadcastOp>();
  if (!broadcast)
    return std::nullopt;
  dl::Dims from = dl::dimsOf(broadcast.getX()), to = dl::dimsOf(value);
  Repeated repeated{{}, llvm::SmallBitVector(to.size())};
  size_t added = to.size() - from.size();
  for (size_t dim = 0; dim < to.size(); ++dim)
    if (dim < added || dl::isConstant(from[dim - added], 1))
      repeated.dims[dim] = !dl::isConstant(to[dim], 1);
  covered.add(broadcast);
  repeated.row = throughUnitDims(broadcast.getX(), covered);
  return repeated;
}

/// The operand of `op` if it reduces the dims `wanted`, and dims of size 1.
template <typename Op> static Value reducedBy(Op op, const llvm::SmallBitVector &wanted) {
  Value x = op.getX();
  dl::Dims dims = dl::dimsOf(x);
  if (dims.size() != wanted.size() || getElementTypeOrSelf(x) != getElementTypeOrSelf(op.getY()))
    return {};
  llvm::SmallBitVector reduced(dims.size(), op.getDim().empty());
  for (int64_t dim : op.getDim())
    reduced.set(dim < 0 ? dim + dims.size() : dim);
  for (size_t dim = 0; dim < dims.size(); ++dim)
    if (dl::isConstant(dims[dim], 1))
      reduced.reset(dim);
  return reduced == wanted ? x : Value();
}

template <typename Op>
static Value reducedIn(Value row, const llvm::SmallBitVector &dims, Covered &covered) {
  size_t mark = covered.mark();
  auto op = throughUnitDims(row, covered).getDefiningOp<Op>();
  if (Value x = op ? reducedBy(op, dims) : Value()) {
    covered.add(op);
    return x;
  }
  covered.rollBack(mark);
  return {};
}

Value summedIn(Value row, const llvm::SmallBitVector &dims, Covered &covered) {
  return reducedIn<dl::SumOp>(row, dims, covered);
}

Value largestIn(Value row, const llvm::SmallBitVector &dims, Covered &covered) {
  return reducedIn<dl::AmaxOp>(row, dims, covered);
}

Value averagedIn(Value row, const llvm::SmallBitVector &dims, Covered &covered) {
  if (Value x = reducedIn<dl::MeanOp>(row, dims, covered))
    return x;
  size_t mark = covered.mark();
  Product product = productOf(row, covered);
  if (product.factors.size() == 1 && product.factors.front().exponent == 1)
    if (Value x = summedIn(product.factors.front().base, dims, covered)) {
      dl::Dims sizes = dl::dimsOf(x);
      double count = 1;
      for (unsigned dim : dims.set_bits())
        count *= static_cast<double>(dl::asConstant(sizes[dim]).value_or(0));
      if (count > 0 && means(product.constant, 1 / count, x))
        return x;
    }
  covered.rollBack(mark);
  return {};
}

Value variedIn(Value row, const llvm::SmallBitVector &dims, Covered &covered) {
  size_t mark = covered.mark();
  auto op = throughUnitDims(row, covered).getDefiningOp<dl::VarOp>();
  bool countsAll = op && (op.getCorrection() ? *op.getCorrection() == 0 : !op.getUnbiased());
  if (Value x = countsAll ? reducedBy(op, dims) : Value()) {
    covered.add(op);
    return x;
  }
  covered.rollBack(mark);
  return {};
}

//===- 16 bits around f32 ---------------------------------------------------------------------===//

namespace {
struct NarrowRaised : OpRewritePattern<dl::CastOp> {
  NarrowRaised(MLIRContext *context, ArrayRef<StringRef> names)
      : OpRewritePattern(context), names(names) {}

  LogicalResult matchAndRewrite(dl::CastOp cast, PatternRewriter &rewriter) const override {
    Operation *op = cast.getX().getDefiningOp();
    Type narrow = cast.getDtype();
    if (!op || !op->hasOneUse() || !llvm::is_contained(names, op->getName().getStringRef()) ||
        !(narrow.isF16() || narrow.isBF16()) || !getElementTypeOrSelf(cast.getX()).isF32())
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto widening = operand.getDefiningOp<dl::CastOp>();
      if (!widening || getElementTypeOrSelf(widening.getX()) != narrow)
        return failure();
      operands.push_back(widening.getX());
    }
    Covered covered(cast);
    covered.add(op);
    if (!covered.isClosed())
      return failure();
    OperationState state(covered.location(), op->getName(), operands, cast->getResultTypes(),
                         op->getAttrs());
    rewriter.replaceOp(cast, rewriter.create(state));
    return success();
  }

  SmallVector<StringRef> names;
};
} // namespace

void addNarrowing(RewritePatternSet &patterns, ArrayRef<StringRef> ops) {
  patterns.add<NarrowRaised>(patterns.getContext(), ops);
}

} // namespace dlc
