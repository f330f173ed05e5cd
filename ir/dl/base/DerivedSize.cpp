//===- DerivedSize.cpp - Values and ranges of derived sizes -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DerivedSize.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc::dl {

unsigned arityOf(SizeFunction function) {
  switch (function) {
  case SizeFunction::select:
    return 3;
  case SizeFunction::min:
  case SizeFunction::max:
  case SizeFunction::equal:
  case SizeFunction::less:
  case SizeFunction::quotient:
  case SizeFunction::remainder:
  case SizeFunction::sum:
  case SizeFunction::difference:
  case SizeFunction::product:
  case SizeFunction::ratio:
    return 2;
  default:
    return 1;
  }
}

bool returnsReal(SizeFunction function, bool operandIsReal) {
  switch (function) {
  case SizeFunction::min:
  case SizeFunction::max:
  case SizeFunction::select: // of its branches
    return operandIsReal;
  case SizeFunction::equal:
  case SizeFunction::less:
  case SizeFunction::quotient:
  case SizeFunction::remainder:
  case SizeFunction::integer:
    return false;
  default:
    return true;
  }
}

bool isReal(Attribute operand) {
  if (auto size = dyn_cast<DerivedAttr>(operand)) {
    bool isChoice = size.getFunction() == SizeFunction::select;
    return returnsReal(size.getFunction(), isReal(size.getOperands()[isChoice ? 1 : 0]));
  }
  return isa<FloatAttr>(operand);
}

LogicalResult DerivedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  SizeFunction function, ArrayRef<Attribute> operands) {
  StringRef name = stringifySizeFunction(function);
  if (operands.size() != arityOf(function))
    return emitError() << "the size function '" << name << "' has " << operands.size()
                       << " operands; expected " << arityOf(function);
  for (Attribute operand : operands) {
    auto dim = dyn_cast<AffineMapAttr>(operand);
    if (dim ? dim.getValue().getNumDims() != 0 || dim.getValue().getNumResults() != 1
            : !isa<FloatAttr, DerivedAttr>(operand))
      return emitError() << "the size function '" << name << "' has the operand " << operand
                         << "; expected one dim, a real number or a derived size";
  }
  bool takesInteger = function == SizeFunction::quotient || function == SizeFunction::remainder ||
                      function == SizeFunction::real;
  bool takesReal = function == SizeFunction::integer || function >= SizeFunction::single;
  ArrayRef<Attribute> values = function == SizeFunction::select ? operands.drop_front() : operands;
  for (Attribute operand : values)
    if (isReal(operand) ? takesInteger || !isReal(values.front())
                        : takesReal || isReal(values.front()))
      return emitError() << "the size function '" << name << "' has the operand " << operand
                         << "; expected "
                         << (takesReal || isReal(values.front()) ? "a real number" : "an integer");
  if (function == SizeFunction::select && isReal(operands.front()))
    return emitError() << "the condition of 'select' is a real number; expected an integer";
  return success();
}

//===- Values ---------------------------------------------------------------------------------===//

namespace {
/// The value of an operand: an integer or a real number.
struct Number {
  int64_t integer = 0;
  double real = 0;
};
} // namespace

static int64_t saturated(double value) {
  if (std::isnan(value))
    return 0;
  return value >= 0x1p63   ? std::numeric_limits<int64_t>::max()
         : value < -0x1p63 ? std::numeric_limits<int64_t>::min()
                           : static_cast<int64_t>(value);
}

/// -value, or the largest integer where that does not fit.
static int64_t negated(int64_t value) {
  return value == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max()
                                                      : -value;
}

/// Rounds half to even, whatever the rounding mode of the process.
static double nearestEven(double value) {
  double below = std::floor(value), rest = value - below;
  if (rest < 0.5 || (rest == 0.5 && std::fmod(below, 2) == 0))
    return below;
  return below + 1;
}

static Number apply(SizeFunction function, bool isReal, ArrayRef<Number> x) {
  auto integer = [](int64_t value) { return Number{value, 0}; };
  auto real = [](double value) { return Number{0, value}; };
  switch (function) {
  case SizeFunction::min:
    return isReal ? real(std::min(x[0].real, x[1].real))
                  : integer(std::min(x[0].integer, x[1].integer));
  case SizeFunction::max:
    return isReal ? real(std::max(x[0].real, x[1].real))
                  : integer(std::max(x[0].integer, x[1].integer));
  case SizeFunction::equal:
    return integer(isReal ? x[0].real == x[1].real : x[0].integer == x[1].integer);
  case SizeFunction::less:
    return integer(isReal ? x[0].real < x[1].real : x[0].integer < x[1].integer);
  case SizeFunction::select:
    return x[0].integer != 0 ? x[1] : x[2];
  case SizeFunction::quotient:
    if (x[1].integer == -1) // the quotient of the smallest integer does not fit
      return integer(negated(x[0].integer));
    return integer(x[1].integer == 0 ? 0 : x[0].integer / x[1].integer);
  case SizeFunction::remainder:
    return integer(x[1].integer == 0 || x[1].integer == -1 ? 0 : x[0].integer % x[1].integer);
  case SizeFunction::real:
    return real(static_cast<double>(x[0].integer));
  case SizeFunction::integer:
    return integer(saturated(x[0].real));
  case SizeFunction::single:
    return real(static_cast<float>(x[0].real));
  case SizeFunction::sum:
    return real(x[0].real + x[1].real);
  case SizeFunction::difference:
    return real(x[0].real - x[1].real);
  case SizeFunction::product:
    return real(x[0].real * x[1].real);
  case SizeFunction::ratio:
    return real(x[0].real / x[1].real);
  case SizeFunction::floor:
    return real(std::floor(x[0].real));
  case SizeFunction::ceil:
    return real(std::ceil(x[0].real));
  case SizeFunction::nearest:
    return real(nearestEven(x[0].real));
  case SizeFunction::root:
    return real(std::sqrt(x[0].real));
  }
  llvm_unreachable("a size function that has no value");
}

/// A dim by the values of its symbols.
static int64_t dimAt(AffineExpr dim, ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(dim))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(dim))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(dim);
  int64_t a = dimAt(binary.getLHS(), symbols), b = dimAt(binary.getRHS(), symbols), result;
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                    kMost = std::numeric_limits<int64_t>::max();
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return llvm::AddOverflow(a, b, result) ? (a < 0 ? kLeast : kMost) : result;
  case AffineExprKind::Mul:
    return llvm::MulOverflow(a, b, result) ? ((a < 0) != (b < 0) ? kLeast : kMost) : result;
  case AffineExprKind::FloorDiv:
    return b <= 0 ? 0 : llvm::divideFloorSigned(a, b);
  case AffineExprKind::CeilDiv:
    return b <= 0 ? 0 : llvm::divideCeilSigned(a, b);
  default:
    return b <= 0 ? 0 : llvm::mod(a, b);
  }
}

static Number numberAt(Attribute operand, ArrayRef<int64_t> symbols) {
  if (auto dim = dyn_cast<AffineMapAttr>(operand))
    return {dimAt(dim.getValue().getResult(0), symbols), 0};
  if (auto constant = dyn_cast<FloatAttr>(operand))
    return {0, constant.getValueAsDouble()};
  auto size = cast<DerivedAttr>(operand);
  SmallVector<Number> operands;
  for (Attribute inner : size.getOperands())
    operands.push_back(numberAt(inner, symbols));
  return apply(size.getFunction(), isReal(size.getOperands().back()), operands);
}

int64_t valueOf(DerivedAttr size, ArrayRef<int64_t> symbols) {
  return numberAt(size, symbols).integer;
}

//===- Ranges ---------------------------------------------------------------------------------===//

namespace {
/// The smallest and largest value of an operand.
struct Bounds {
  Number low, high;
};
} // namespace

/// Applies a function that rises or falls with each operand to the ends of their ranges.
static Bounds atEnds(SizeFunction function, bool isReal, Bounds a, Bounds b) {
  bool givesReal = returnsReal(function, isReal);
  std::optional<Bounds> all;
  for (Number x : {a.low, a.high})
    for (Number y : {b.low, b.high}) {
      Number value = apply(function, isReal, {x, y, y});
      if (!all)
        all = Bounds{value, value};
      if (givesReal ? value.real < all->low.real : value.integer < all->low.integer)
        all->low = value;
      if (givesReal ? value.real > all->high.real : value.integer > all->high.integer)
        all->high = value;
    }
  return *all;
}

static std::optional<Bounds> boundsOf(Attribute operand, ArrayRef<Range> symbols) {
  if (auto dim = dyn_cast<AffineMapAttr>(operand)) {
    auto range = rangeOf(dim.getValue().getResult(0), symbols);
    return range ? std::optional(Bounds{{range->min, 0}, {range->max, 0}}) : std::nullopt;
  }
  if (auto constant = dyn_cast<FloatAttr>(operand)) {
    Number value{0, constant.getValueAsDouble()};
    return Bounds{value, value};
  }
  auto size = cast<DerivedAttr>(operand);
  SizeFunction function = size.getFunction();
  SmallVector<Bounds> x;
  for (Attribute inner : size.getOperands()) {
    auto bounds = boundsOf(inner, symbols);
    if (!bounds)
      return std::nullopt;
    x.push_back(*bounds);
  }
  bool real = isReal(size.getOperands().back());
  Number zero, one{1, 0};
  switch (function) {
  case SizeFunction::select: {
    bool isNever = x[0].low.integer == 0 && x[0].high.integer == 0,
         isAlways = x[0].low.integer > 0 || x[0].high.integer < 0;
    if (isNever || isAlways)
      return isNever ? x[2] : x[1];
    Bounds low = atEnds(SizeFunction::min, real, x[1], x[2]),
           high = atEnds(SizeFunction::max, real, x[1], x[2]);
    return Bounds{low.low, high.high};
  }
  case SizeFunction::equal: {
    bool isApart =
        real ? x[0].high.real < x[1].low.real || x[1].high.real < x[0].low.real
             : x[0].high.integer < x[1].low.integer || x[1].high.integer < x[0].low.integer;
    bool isOne =
        !real && x[0].low.integer == x[0].high.integer && x[1].low.integer == x[1].high.integer;
    return isApart ? Bounds{zero, zero} : isOne ? Bounds{one, one} : Bounds{zero, one};
  }
  case SizeFunction::less: {
    bool isBelow = real ? x[0].high.real < x[1].low.real : x[0].high.integer < x[1].low.integer,
         isAbove = real ? x[0].low.real >= x[1].high.real : x[0].low.integer >= x[1].high.integer;
    return isBelow ? Bounds{one, one} : isAbove ? Bounds{zero, zero} : Bounds{zero, one};
  }
  case SizeFunction::quotient: {
    Bounds &y = x[1];
    if (y.low.integer <= 0 && y.high.integer >= 0) {
      // As near to 0 as the divisor may be, from either side; a divisor of 0 gives 0.
      Bounds all{zero, zero};
      for (int64_t divisor : {int64_t(-1), int64_t(1)})
        if (divisor < 0 ? y.low.integer < 0 : y.high.integer > 0) {
          Bounds part = atEnds(function, false, x[0], {{divisor, 0}, {divisor, 0}});
          all.low.integer = std::min(all.low.integer, part.low.integer);
          all.high.integer = std::max(all.high.integer, part.high.integer);
        }
      return all;
    }
    return atEnds(function, false, x[0], y);
  }
  case SizeFunction::remainder: {
    int64_t most = std::max(negated(x[1].low.integer), x[1].high.integer);
    most = std::max<int64_t>(most - 1, 0);
    return Bounds{{x[0].low.integer < 0 ? std::max(-most, x[0].low.integer) : 0, 0},
                  {x[0].high.integer > 0 ? std::min(most, x[0].high.integer) : 0, 0}};
  }
  case SizeFunction::ratio:
    if (x[1].low.real <= 0 && x[1].high.real >= 0)
      return std::nullopt;
    return atEnds(function, true, x[0], x[1]);
  default:
    return atEnds(function, real, x[0], arityOf(function) > 1 ? x[1] : x[0]);
  }
}

std::optional<Range> rangeOf(DerivedAttr size, ArrayRef<Range> symbols) {
  auto bounds = boundsOf(size, symbols);
  return bounds ? std::optional(Range{bounds->low.integer, bounds->high.integer}) : std::nullopt;
}

//===- Rewriting ------------------------------------------------------------------------------===//

DerivedAttr replaceSymbols(DerivedAttr size, ArrayRef<AffineExpr> by) {
  SmallVector<Attribute> operands;
  for (Attribute operand : size.getOperands()) {
    if (auto dim = dyn_cast<AffineMapAttr>(operand))
      operand = AffineMapAttr::get(
          dimsMap(normalize(dim.getValue().getResult(0).replaceSymbols(by)), size.getContext()));
    else if (auto inner = dyn_cast<DerivedAttr>(operand))
      operand = replaceSymbols(inner, by);
    operands.push_back(operand);
  }
  return DerivedAttr::get(size.getContext(), size.getFunction(), operands);
}

/// Returns the integer k for which `a` is k * `b` for all sizes; nothing if there is none.
static std::optional<int64_t> exactQuotient(AffineExpr a, AffineExpr b, ArrayRef<Range> symbols) {
  SmallVector<AffineExpr> least;
  for (const Range &range : symbols)
    least.push_back(constantDim(range.min, a.getContext()));
  auto dividend = asConstant(normalize(a.replaceSymbols(least))),
       divisor = asConstant(normalize(b.replaceSymbols(least)));
  if (!dividend || !divisor || *divisor == 0 || *dividend % *divisor != 0)
    return std::nullopt;
  int64_t quotient = *dividend / *divisor;
  return isConstant(normalize(a - b * quotient), 0) ? std::optional(quotient) : std::nullopt;
}

AffineExpr simplified(DerivedAttr size, ArrayRef<Range> symbols) {
  auto range = rangeOf(size, symbols);
  if (range && range->min == range->max)
    return constantDim(range->min, size.getContext());
  ArrayRef<Attribute> operands = size.getOperands();
  auto dimOf = [&](unsigned position) {
    auto dim = dyn_cast<AffineMapAttr>(operands[position]);
    return dim ? dim.getValue().getResult(0) : AffineExpr();
  };
  switch (size.getFunction()) {
  case SizeFunction::min:
  case SizeFunction::max: {
    AffineExpr a = dimOf(0), b = dimOf(1);
    auto difference = a && b ? rangeOf(normalize(a - b), symbols) : std::nullopt;
    if (!difference || (difference->max > 0 && difference->min < 0))
      return {};
    return (difference->max <= 0) == (size.getFunction() == SizeFunction::min) ? a : b;
  }
  case SizeFunction::select: {
    AffineExpr condition = dimOf(0);
    auto truth = condition ? rangeOf(condition, symbols) : std::nullopt;
    if (dimOf(1) && dimOf(1) == dimOf(2))
      return dimOf(1);
    if (truth && (truth->min > 0 || truth->max < 0))
      return dimOf(1);
    return truth && truth->min == 0 && truth->max == 0 ? dimOf(2) : AffineExpr();
  }
  case SizeFunction::quotient: {
    AffineExpr a = dimOf(0), b = dimOf(1);
    auto dividend = a ? rangeOf(a, symbols) : std::nullopt,
         divisor = b ? rangeOf(b, symbols) : std::nullopt;
    if (!dividend || !divisor || dividend->min < 0 || divisor->min < 1)
      return {};
    if (auto quotient = exactQuotient(a, b, symbols))
      return constantDim(*quotient, size.getContext());
    // Any other quotient of two dims stays a symbol: the range of the expression would be far too
    // large, while that of a symbol can be limited.
    return asConstant(a) || asConstant(b) ? normalize(a.floorDiv(b)) : AffineExpr();
  }
  default:
    return {};
  }
}

void forEachDim(DerivedAttr size, function_ref<void(AffineExpr)> visit) {
  for (Attribute operand : size.getOperands()) {
    if (auto dim = dyn_cast<AffineMapAttr>(operand))
      visit(dim.getValue().getResult(0));
    else if (auto inner = dyn_cast<DerivedAttr>(operand))
      forEachDim(inner, visit);
  }
}

std::string text(DerivedAttr size, SymbolNames names) {
  std::string result = stringifySizeFunction(size.getFunction()).str() + "(";
  bool isFirst = true;
  for (Attribute operand : size.getOperands()) {
    result += isFirst ? "" : ", ";
    isFirst = false;
    if (auto dim = dyn_cast<AffineMapAttr>(operand))
      result += text(dim.getValue().getResult(0), names);
    else if (auto number = dyn_cast<FloatAttr>(operand)) {
      std::string digits = text(number.getValue());
      bool isWhole = digits.find_first_not_of("-0123456789") == std::string::npos;
      result += digits + (isWhole ? ".0" : "");
    } else
      result += text(cast<DerivedAttr>(operand), names);
  }
  return result + ")";
}

} // namespace dlc::dl
