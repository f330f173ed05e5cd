//===- KnownArithmetic.cpp - Sums, quotients and comparisons of known numbers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/sizes/KnownArithmetic.h"

#include "frontend/dl/evaluate/Arithmetic.h"
#include "frontend/onnx/sizes/DerivedNumbers.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

static Number integer(MLIRContext *context, int64_t value) {
  return {dl::constantDim(value, context)};
}

int64_t elementsOf(ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0)) // however large the others are
    return 0;
  int64_t count = 1;
  for (int64_t dim : shape)
    count = std::min(count * std::clamp<int64_t>(dim, 0, Known::kMaxElements + 1),
                     Known::kMaxElements + 1);
  return count;
}

/// Rounds to the dtype.
static double rounded(double value, Type dtype) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(llvm::cast<FloatType>(dtype).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// What is known is no number of a dtype that does not hold it: the model computes that, and wraps.
static bool holds(Type dtype, const Number &number) {
  auto constant = number.dim ? dl::asConstant(number.dim) : std::nullopt;
  if (!constant)
    return true;
  unsigned width = dtype.getIntOrFloatBitWidth();
  return dtype.isUnsignedInteger() || width == 1 ? *constant >= 0 && llvm::isUIntN(width, *constant)
                                                 : llvm::isIntN(width, *constant);
}

/// The same of each value that a derived number may have.
static bool holdsAll(const NodeImport &node, Type dtype, const Number &number) {
  auto range = node.rangeOf(number.dim);
  MLIRContext *context = node.context;
  return range && holds(dtype, integer(context, range->min)) &&
         holds(dtype, integer(context, range->max));
}

/// Sums and products of symbols that go on growing are computed by the model, before they become
/// too long to work with, or their numbers too large.
static bool isWorkable(AffineExpr dim) {
  return frontend::countOperations(dim) <= frontend::kMaxDimOperations;
}
static bool mayJoin(AffineExpr a, AffineExpr b, bool isProduct, uint64_t limit) {
  auto largest = [](AffineExpr dim) {
    uint64_t most = 0;
    dim.walk([&](AffineExpr part) {
      if (auto constant = dl::asConstant(part))
        most = std::max<uint64_t>(most, llvm::AbsoluteValue(*constant));
    });
    return most;
  };
  if (!isWorkable(a) || !isWorkable(b))
    return false;
  uint64_t x = largest(a), y = largest(b);
  return x <= limit && y <= limit && (!isProduct || x == 0 || y <= limit / x);
}

bool foldCast(NodeImport &node, const Known &x) {
  MLIRContext *context = node.context;
  auto to = elementType(node.integer("to", 0));
  Type dtype = to ? frontend::dtypeOf(nameOf(*to), context) : Type();
  // What has a dtype of 8 bits or less in which nothing is computed is no shape.
  auto isSmall = [](Type type) {
    unsigned width = type.getIntOrFloatBitWidth();
    return width > 1 && (width < 8 || (width == 8 && isa<FloatType>(type)));
  };
  if (!dtype || isSmall(dtype) || isSmall(x.dtype))
    return false;
  Known result{dtype, x.shape, {}};
  for (const Number &number : x.numbers) {
    auto constant = number.dim ? dl::asConstant(number.dim) : std::nullopt;
    bool isOfSizes = number.derived || (number.dim && !constant);
    if (isOfSizes && isa<FloatType>(dtype) != number.isReal() ? x.numbers.size() <= kMaxDerived
                                                              : number.derived != nullptr) {
      auto derived = dtype.isInteger(1) ? std::nullopt : deriveCast(node, number, x.dtype, dtype);
      if (!derived || (derived->dim && !holdsAll(node, dtype, *derived)))
        return false;
      result.numbers.push_back(*derived);
    } else if (isa<FloatType>(dtype)) {
      if (!number.isReal() && !constant)
        return false;
      result.numbers.push_back({{}, rounded(number.isReal() ? number.real : *constant, dtype)});
    } else if (number.isReal() && dtype.isInteger(1)) {
      result.numbers.push_back(integer(context, number.real != 0));
    } else if (number.isReal()) {
      if (!(std::abs(number.real) < 9e15))
        return false;
      result.numbers.push_back(integer(context, static_cast<int64_t>(number.real)));
      if (!holds(dtype, result.numbers.back()))
        return false;
    } else if (dtype.isInteger(1)) {
      if (!constant)
        return false;
      result.numbers.push_back(integer(context, *constant != 0));
    } else {
      if (dtype.getIntOrFloatBitWidth() < 32 && !constant)
        return false;
      if (!holds(dtype, number))
        return false;
      result.numbers.push_back(number);
    }
  }
  node.set(0, std::move(result));
  return true;
}

std::optional<Number> combine(const NodeImport &node, StringRef op, const Number &a,
                              const Number &b, Type dtype, bool &isTruth) {
  MLIRContext *context = node.context;
  auto truth = [&](bool value) {
    isTruth = true;
    return integer(context, value);
  };
  if (a.derived || b.derived)
    return std::nullopt;
  if (a.isReal()) {
    double x = a.real, y = b.real;
    if (op == "Equal" || op == "Less" || op == "Greater")
      return truth(op == "Equal" ? x == y : op == "Less" ? x < y : x > y);
    double value = llvm::StringSwitch<double>(op)
                       .Case("Add", x + y)
                       .Case("Sub", x - y)
                       .Case("Mul", x * y)
                       .Case("Div", x / y)
                       .Case("Min", std::isnan(x) ? x : std::min(y, x)) // NaN of either
                       .Case("Max", std::isnan(x) ? x : std::max(y, x))
                       .Default(NAN);
    if (std::isnan(value))
      return std::nullopt;
    return Number{{}, rounded(value, dtype)};
  }
  auto x = dl::asConstant(a.dim), y = dl::asConstant(b.dim);
  bool isConstant = x && y;
  if (op == "Equal" && a.dim == b.dim)
    return truth(true);
  if (op == "Equal" || op == "Less" || op == "Greater" || op == "LessOrEqual" ||
      op == "GreaterOrEqual" || op == "And" || op == "Or") {
    if (isConstant)
      return truth(op == "Equal"            ? *x == *y
                   : op == "Less"           ? *x < *y
                   : op == "Greater"        ? *x > *y
                   : op == "LessOrEqual"    ? *x <= *y
                   : op == "GreaterOrEqual" ? *x >= *y
                   : op == "And"            ? *x && *y
                                            : *x || *y);
    // The ranges of the symbols may decide it, such as that no dim is -1.
    auto difference = mayJoin(a.dim, b.dim, false, INT32_MAX)
                          ? node.rangeOf(dl::normalize(a.dim - b.dim))
                          : std::nullopt;
    if (!difference)
      return std::nullopt;
    bool isBelow = difference->max < 0, isAbove = difference->min > 0;
    if (op == "Equal" && (isBelow || isAbove))
      return truth(false);
    if ((op == "Less" || op == "GreaterOrEqual") && (isBelow || difference->min >= 0))
      return truth(isBelow == (op == "Less"));
    if ((op == "Greater" || op == "LessOrEqual") && (isAbove || difference->max <= 0))
      return truth(isAbove == (op == "Greater"));
    return std::nullopt;
  }
  auto dim = [&](AffineExpr expr) {
    Number number{dl::normalize(expr)};
    return isWorkable(number.dim) && holds(dtype, number) ? std::optional(number) : std::nullopt;
  };
  constexpr int64_t kLarge = int64_t(1) << 40;
  if (isConstant) {
    if (llvm::AbsoluteValue(*x) > kLarge || llvm::AbsoluteValue(*y) > kLarge)
      return std::nullopt;
    int64_t limit = kLarge;
    if (op == "Mul" &&
        (llvm::AbsoluteValue(*x) > (1 << 20) || llvm::AbsoluteValue(*y) > (1 << 20)) && *x != 0 &&
        llvm::AbsoluteValue(*y) > limit / llvm::AbsoluteValue(*x))
      return std::nullopt;
    if ((op == "Div" || op == "Mod") && *y == 0)
      return std::nullopt;
    if (op == "Div")
      return dim(dl::constantDim(*x / *y, context));
    if (op == "Mod")
      return *x < 0 || *y < 0 ? std::nullopt : std::optional(integer(context, *x % *y));
    if (op == "Min" || op == "Max")
      return integer(context, op == "Min" ? std::min(*x, *y) : std::max(*x, *y));
  }
  if (!isConstant && (op == "Add" || op == "Sub" || op == "Mul") &&
      !mayJoin(a.dim, b.dim, op == "Mul", kLarge))
    return std::nullopt;
  if (op == "Add")
    return dim(a.dim + b.dim);
  if (op == "Sub")
    return dim(a.dim - b.dim);
  if (op == "Mul")
    return dim(a.dim * b.dim);
  // A dim is no negative number, so that ONNX's division, towards 0, is the floor.
  if (op == "Div" && y && *y > 0 && isa<AffineSymbolExpr, AffineBinaryOpExpr>(a.dim)) {
    auto isNegative = [&](AffineExpr part) {
      auto constant = dl::asConstant(part);
      auto range = isa<AffineSymbolExpr>(part) ? node.rangeOf(part) : std::nullopt;
      return constant.value_or(0) < 0 || (range && range->min < 0);
    };
    bool mayBeNegative =
        a.dim
            .walk([&](AffineExpr part) {
              return isNegative(part) ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted();
    if (!mayBeNegative)
      return dim(a.dim.floorDiv(*y));
  }
  if (op == "Div" && a.dim == b.dim)
    return integer(context, 1);
  // The range may decide which is smaller; of what the data say, the model does.
  if (op == "Min" && mayJoin(a.dim, b.dim, false, INT32_MAX)) {
    auto difference = node.rangeOf(dl::normalize(a.dim - b.dim));
    if (difference && difference->max <= 0)
      return a;
    if (difference && difference->min >= 0)
      return b;
    frontend::OpEmitter &emitter = node.importer.opEmitter();
    if (difference && (emitter.isCounted(a.dim) || emitter.isCounted(b.dim)))
      return Number{emitter.smaller(node.loc, a.dim, b.dim)};
  }
  return std::nullopt;
}

/// The same, of sizes where it has to be: nothing for more numbers than shapes have.
std::optional<Number> combineOrDerive(const NodeImport &node, StringRef op, const Number &a,
                                      const Number &b, Type dtype, size_t count, bool &isTruth) {
  bool isOfSizes = a.derived || b.derived;
  auto number = isOfSizes ? std::nullopt : combine(node, op, a, b, dtype, isTruth);
  bool isConstant = a.isReal() ? !isOfSizes : dl::asConstant(a.dim) && dl::asConstant(b.dim);
  if (number || isConstant || count > kMaxDerived)
    return number;
  number = deriveBinary(node, op, a, b, dtype, isTruth);
  return number && number->dim && !isTruth && !holdsAll(node, dtype, *number) ? std::nullopt
                                                                              : number;
}

bool foldElementwise(NodeImport &node) {
  MLIRContext *context = node.context;
  StringRef op = node.node.op;
  bool isUnary = llvm::is_contained(
      {"Neg", "Not", "Floor", "Ceil", "Round", "Sqrt", "Abs", "Relu", "Reciprocal"}, op);
  bool isBinary =
      llvm::is_contained({"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Equal", "Less",
                          "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or"},
                         op);
  if ((!isUnary && !isBinary) || node.inputCount() != (isUnary ? 1 : 2))
    return false;
  const Known *x = node.known(0), *y = node.known(isUnary ? 0 : 1);
  if (!x || !y || x->dtype != y->dtype)
    return false;
  bool isReal = isa<FloatType>(x->dtype);
  if (isReal && (x->numbers.size() > kMaxReals || y->numbers.size() > kMaxReals))
    return false;
  // One of them repeats, or both have one shape: shapes need no more.
  bool repeatsX = x->numbers.size() == 1 && x->shape.size() <= y->shape.size(),
       repeatsY = y->numbers.size() == 1 && y->shape.size() <= x->shape.size();
  if (x->shape != y->shape && !repeatsX && !repeatsY)
    return false;
  if (op == "Mod" && node.integer("fmod", 0))
    return false;
  Known result{x->dtype, repeatsX && !repeatsY ? y->shape : x->shape, {}};
  bool isTruth = false;
  size_t count = (repeatsX && !repeatsY ? y : x)->numbers.size();
  for (size_t i = 0; i < count; ++i) {
    const Number &a = x->numbers[x->numbers.size() == 1 ? 0 : i],
                 &b = y->numbers[y->numbers.size() == 1 ? 0 : i];
    std::optional<Number> number;
    if (!isUnary)
      number = combineOrDerive(node, op, a, b, x->dtype, count, isTruth);
    else if (a.derived)
      number = deriveUnary(node, op, a, x->dtype);
    else if (op == "Neg")
      number = isReal ? Number{{}, -a.real}
                      : combine(node, "Sub", integer(context, 0), a, x->dtype, isTruth);
    else if (op == "Not" && x->dtype.isInteger(1) && dl::asConstant(a.dim))
      number = integer(context, *dl::asConstant(a.dim) == 0);
    else if (isReal && op != "Not")
      number = Number{{},
                      rounded(op == "Floor"        ? std::floor(a.real)
                              : op == "Round"      ? std::nearbyint(a.real)
                              : op == "Ceil"       ? std::ceil(a.real)
                              : op == "Sqrt"       ? std::sqrt(a.real)
                              : op == "Relu"       ? std::max(a.real, 0.0)
                              : op == "Reciprocal" ? 1 / a.real
                                                   : std::abs(a.real),
                              x->dtype)};
    if (!number)
      return false;
    result.numbers.push_back(*number);
  }
  if (isTruth)
    result.dtype = node.builder.getI1Type();
  node.set(0, std::move(result));
  return true;
}

} // namespace dlc::onnx
