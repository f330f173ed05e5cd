//===- DLTypes.cpp - Symbolic dims and physical layouts of tensors ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLTypes.h"

#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/Polynomial.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc::dl {

//===- Layout ---------------------------------------------------------------------------------===//

bool Layout::isRowMajor() const {
  if (isTiled())
    return false;
  for (auto [position, dim] : llvm::enumerate(order))
    if (static_cast<int64_t>(position) != dim)
      return false;
  return true;
}

int64_t Layout::innermost(int64_t rank) const {
  if (isTiled())
    return tileDim;
  return order.empty() ? rank - 1 : order.back();
}

Layout Layout::channelsLast(int64_t rank) {
  Layout layout;
  layout.order.push_back(0);
  for (int64_t dim = 2; dim < rank; ++dim)
    layout.order.push_back(dim);
  layout.order.push_back(1);
  return layout;
}

//===- Tensor types ---------------------------------------------------------------------------===//

Dims getDims(RankedTensorType type) {
  if (auto encoding = dyn_cast_or_null<TensorAttr>(type.getEncoding()))
    return Dims(encoding.getDims());
  Dims dims;
  for (int64_t size : type.getShape())
    dims.push_back(constantDim(size, type.getContext()));
  return dims;
}

Layout getLayout(RankedTensorType type) {
  Layout layout;
  if (auto encoding = dyn_cast_or_null<TensorAttr>(type.getEncoding())) {
    layout.order.assign(encoding.getOrder().begin(), encoding.getOrder().end());
    layout.tileDim = encoding.getTileDim();
    layout.tile = encoding.getTile();
  }
  return layout;
}

RankedTensorType makeTensor(ArrayRef<AffineExpr> dims, Type elementType, const Layout &layout) {
  MLIRContext *context = elementType.getContext();
  Dims normal;
  SmallVector<int64_t> shape;
  bool isStatic = true;
  for (AffineExpr dim : dims) {
    normal.push_back(normalize(dim));
    auto size = asConstant(normal.back());
    isStatic &= size.has_value();
    shape.push_back(size.value_or(ShapedType::kDynamic));
  }
  if (isStatic && layout.isRowMajor())
    return RankedTensorType::get(shape, elementType);
  ArrayRef<int64_t> order = layout.order;
  if (layout.isRowMajor())
    order = {};
  return RankedTensorType::get(
      shape, elementType, TensorAttr::get(context, normal, order, layout.tileDim, layout.tile));
}

RankedTensorType withLayout(RankedTensorType type, const Layout &layout) {
  return makeTensor(getDims(type), type.getElementType(), layout);
}

RankedTensorType withElementType(RankedTensorType type, Type elementType) {
  return makeTensor(getDims(type), elementType, getLayout(type));
}

bool sameShapeAndElement(Type lhs, Type rhs) {
  auto a = dyn_cast<RankedTensorType>(lhs), b = dyn_cast<RankedTensorType>(rhs);
  return a && b && a.getElementType() == b.getElementType() && getDims(a) == getDims(b);
}

//===- Dims -----------------------------------------------------------------------------------===//

/// One more than the last symbol on which `dims` depend.
static unsigned countSymbols(ArrayRef<AffineExpr> dims) {
  unsigned count = 0;
  for (AffineExpr dim : dims)
    dim.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        count = std::max(count, symbol.getPosition() + 1);
    });
  return count;
}

/// A quotient of a quotient is one by both divisors: (x / 5 + 3) / 2 is (x + 15) / 10.
static AffineExpr mergeQuotients(AffineExpr dim) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
  if (!binary)
    return dim;
  AffineExpr left = mergeQuotients(binary.getLHS()), right = mergeQuotients(binary.getRHS());
  auto divisor = asConstant(right);
  if (binary.getKind() == AffineExprKind::FloorDiv && divisor.value_or(0) > 0) {
    AffineExpr inner = left;
    int64_t added = 0;
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(left);
        sum && sum.getKind() == AffineExprKind::Add && asConstant(sum.getRHS())) {
      inner = sum.getLHS();
      added = *asConstant(sum.getRHS());
    }
    auto quotient = dyn_cast<AffineBinaryOpExpr>(inner);
    auto first = quotient && quotient.getKind() == AffineExprKind::FloorDiv
                     ? asConstant(quotient.getRHS())
                     : std::nullopt;
    int64_t both = 0, moved = 0;
    if (first.value_or(0) > 0 && !llvm::MulOverflow(*first, *divisor, both) &&
        !llvm::MulOverflow(added, *first, moved))
      return mergeQuotients((quotient.getLHS() + moved).floorDiv(both));
  }
  return getAffineBinaryOpExpr(binary.getKind(), left, right);
}

Dim normalize(AffineExpr dim) {
  dim = mergeQuotients(dim);
  AffineExpr simple = isNonlinear(dim) ? dim : simplifyAffineExpr(dim, 0, countSymbols(dim));
  if (!isNonlinear(simple))
    return simple;
  auto polynomial = Polynomial::of(simple);
  return polynomial ? polynomial->toExpr(dim.getContext()) : simple;
}

Dim quotientUp(AffineExpr numerator, int64_t divisor) {
  return normalize((normalize(numerator) + divisor - 1).floorDiv(divisor));
}

Dim constantDim(int64_t value, MLIRContext *context) {
  return getAffineConstantExpr(value, context);
}

std::optional<int64_t> asConstant(AffineExpr dim) {
  if (auto constant = dyn_cast<AffineConstantExpr>(dim))
    return constant.getValue();
  return std::nullopt;
}

SteppedSymbol asStepped(AffineExpr dim) {
  SteppedSymbol result{nullptr};
  auto sum = dyn_cast<AffineBinaryOpExpr>(dim);
  if (auto offset =
          sum && sum.getKind() == AffineExprKind::Add ? asConstant(sum.getRHS()) : std::nullopt) {
    result.offset = *offset;
    dim = sum.getLHS();
  }
  auto multiple = dyn_cast<AffineBinaryOpExpr>(dim);
  if (auto step = multiple && multiple.getKind() == AffineExprKind::Mul
                      ? asConstant(multiple.getRHS())
                      : std::nullopt) {
    result.step = *step;
    dim = multiple.getLHS();
  }
  auto symbol = dyn_cast<AffineSymbolExpr>(dim);
  if (symbol && result.step > 0 && result.offset >= 0)
    result.symbol = symbol;
  return result;
}

bool isConstant(AffineExpr dim, int64_t value) { return asConstant(dim) == value; }

Dim product(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  AffineExpr result = constantDim(1, context);
  for (AffineExpr dim : dims)
    result = result * dim;
  return normalize(result);
}

std::optional<Dims> commonDims(Dims a, Dims b) {
  if (a.size() < b.size())
    std::swap(a, b);
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    AffineExpr &dim = a[offset + i];
    if (isConstant(dim, 1))
      dim = b[i];
    else if (dim != b[i] && !isConstant(b[i], 1))
      return std::nullopt;
  }
  return a;
}

AffineMap dimsMap(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  return AffineMap::get(0, countSymbols(dims), dims, context);
}

AffineMap constantMap(ArrayRef<int64_t> numbers, MLIRContext *context) {
  SmallVector<AffineExpr> dims;
  for (int64_t number : numbers)
    dims.push_back(constantDim(number, context));
  return dimsMap(dims, context);
}

Dim storedElements(RankedTensorType type) {
  Dims dims = getDims(type);
  Layout layout = getLayout(type);
  if (layout.isTiled())
    dims[layout.tileDim] = dims[layout.tileDim].ceilDiv(layout.tile) * layout.tile;
  return product(dims, type.getContext());
}

AffineExpr physicalOffset(RankedTensorType type, ArrayRef<AffineExpr> indices) {
  MLIRContext *context = type.getContext();
  Dims dims = getDims(type);
  Layout layout = getLayout(type);
  AffineExpr offset = constantDim(0, context);
  for (int64_t position = 0, rank = type.getRank(); position < rank; ++position) {
    int64_t dim = layout.order.empty() ? position : layout.order[position];
    AffineExpr extent = dims[dim], index = indices[dim];
    if (dim == layout.tileDim) {
      extent = extent.ceilDiv(layout.tile);
      index = index.floorDiv(layout.tile);
    }
    offset = offset * extent + index;
  }
  if (layout.isTiled())
    offset = offset * layout.tile + indices[layout.tileDim] % layout.tile;
  return offset;
}

//===- Element types --------------------------------------------------------------------------===//

ArrayRef<StringRef> dtypeNames() {
  static const StringRef names[] = {
#define DTYPE(name, type) #name,
#include "ir/dl/base/DTypes.def"
  };
  return names;
}

Type dtypeNamed(StringRef wanted, [[maybe_unused]] MLIRContext *context) {
#define DTYPE(name, type)                                                                          \
  if (wanted == #name)                                                                             \
    return type;
#include "ir/dl/base/DTypes.def"
  return {};
}

StringRef dtypeName(Type elementType) {
  MLIRContext *context = elementType.getContext();
#define DTYPE(name, type)                                                                          \
  if (elementType == type)                                                                         \
    return #name;
#include "ir/dl/base/DTypes.def"
  return {};
}

//===- Ranges and text ------------------------------------------------------------------------===//

/// The range of `dim` by the ranges of its operands, each of them taken apart from the others.
static std::optional<Range> rangeByParts(AffineExpr dim, ArrayRef<Range> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(dim))
    return Range{constant.getValue(), constant.getValue()};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(dim)) {
    if (symbol.getPosition() >= symbols.size())
      return std::nullopt;
    return Range{symbols[symbol.getPosition()].min, symbols[symbol.getPosition()].max};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
  if (!binary)
    return std::nullopt;
  auto lhs = rangeOf(binary.getLHS(), symbols), rhs = rangeOf(binary.getRHS(), symbols);
  if (!lhs || !rhs)
    return std::nullopt;
  // Every operator is monotonic in each operand over the ranges that dims have (divisors positive),
  // so that the bounds lie at the corners.
  int64_t corners[4];
  const int64_t as[2] = {lhs->min, lhs->max}, bs[2] = {rhs->min, rhs->max};
  for (int i = 0; i < 4; ++i) {
    int64_t a = as[i / 2], b = bs[i % 2];
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      if (llvm::AddOverflow(a, b, corners[i]))
        return std::nullopt;
      break;
    case AffineExprKind::Mul:
      if (llvm::MulOverflow(a, b, corners[i]))
        return std::nullopt;
      break;
    case AffineExprKind::FloorDiv:
      if (b <= 0)
        return std::nullopt;
      corners[i] = llvm::divideFloorSigned(a, b);
      break;
    case AffineExprKind::CeilDiv:
      if (b <= 0)
        return std::nullopt;
      corners[i] = llvm::divideCeilSigned(a, b);
      break;
    case AffineExprKind::Mod:
      if (b <= 0)
        return std::nullopt;
      return Range{0, bs[1] - 1};
    default:
      return std::nullopt;
    }
  }
  return Range{*llvm::min_element(corners), *llvm::max_element(corners)};
}

namespace {
/// A sum of multiples of symbols, of quotients of such sums by numbers, and a number, in which a
/// bound takes the place of each quotient: q = floor(x / d) is between (x - d + 1) / d and x / d.
struct LinearBound {
  ArrayRef<Range> symbols;
  bool isLower; // else an upper bound
  llvm::SmallMapVector<unsigned, double, 4> factors = {};
  double constant = 0;
  bool hasQuotient = false;

  bool add(AffineExpr dim, double times) {
    if (auto number = asConstant(dim)) {
      constant += times * static_cast<double>(*number);
      return true;
    }
    if (auto symbol = dyn_cast<AffineSymbolExpr>(dim)) {
      factors[symbol.getPosition()] += times;
      return symbol.getPosition() < symbols.size();
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
    if (!binary)
      return false;
    auto number = asConstant(binary.getRHS());
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return add(binary.getLHS(), times) && add(binary.getRHS(), times);
    case AffineExprKind::Mul:
      return number && add(binary.getLHS(), times * static_cast<double>(*number));
    case AffineExprKind::FloorDiv: {
      if (!number || *number <= 0)
        return false;
      hasQuotient = true;
      auto divisor = static_cast<double>(*number);
      if ((times > 0) == isLower)
        constant -= times * (divisor - 1) / divisor;
      return add(binary.getLHS(), times / divisor);
    }
    default:
      return false;
    }
  }

  double value() const {
    double sum = constant;
    for (auto [symbol, factor] : factors) {
      const Range &range = symbols[symbol];
      sum += factor * static_cast<double>((factor > 0) == isLower ? range.min : range.max);
    }
    return sum;
  }
};
} // namespace

/// Appends the operands of nested operations of one kind.
static void flatten(AffineExpr dim, AffineExprKind kind, SmallVectorImpl<AffineExpr> &parts) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
  if (!binary || binary.getKind() != kind)
    return parts.push_back(dim);
  flatten(binary.getLHS(), kind, parts);
  flatten(binary.getRHS(), kind, parts);
}

/// The range of a sum, some terms of which are multiples of `symbol`, as `symbol` times the rest of
/// these plus the others: t*t*2 - t is t*(t*2 - 1), which is at least t. Nothing where fewer than
/// two are.
static std::optional<Range> rangeByFactor(ArrayRef<AffineExpr> terms, AffineExpr symbol,
                                          ArrayRef<Range> symbols) {
  AffineExpr zero = constantDim(0, symbol.getContext());
  AffineExpr multiples = zero, others = zero;
  unsigned count = 0;
  for (AffineExpr term : terms) {
    SmallVector<AffineExpr> factors;
    flatten(term, AffineExprKind::Mul, factors);
    auto *found = llvm::find(factors, symbol);
    if (found == factors.end()) {
      others = others + term;
      continue;
    }
    factors.erase(found);
    AffineExpr rest = constantDim(1, symbol.getContext());
    for (AffineExpr factor : factors)
      rest = rest * factor;
    multiples = multiples + rest;
    ++count;
  }
  auto rest = count > 1 ? rangeOf(multiples, symbols) : std::nullopt;
  auto other = rest ? rangeOf(others, symbols) : std::nullopt;
  auto value = rangeOf(symbol, symbols);
  if (!other || !value || value->min < 0)
    return std::nullopt;
  int64_t least = rest->min < 0 ? value->max : value->min,
          most = rest->max < 0 ? value->min : value->max;
  Range range;
  if (llvm::MulOverflow(least, rest->min, range.min) ||
      llvm::MulOverflow(most, rest->max, range.max) ||
      llvm::AddOverflow(range.min, other->min, range.min) ||
      llvm::AddOverflow(range.max, other->max, range.max))
    return std::nullopt;
  return range;
}

/// The range of a sum that products of symbols are terms of, where its parts taken apart may be
/// negative.
static Range rangeOfProducts(AffineExpr dim, Range range, ArrayRef<Range> symbols) {
  constexpr size_t kMostTerms = 8;
  SmallVector<AffineExpr> terms;
  flatten(dim, AffineExprKind::Add, terms);
  if (range.min >= 0 || terms.size() > kMostTerms)
    return range;
  llvm::SmallSetVector<AffineExpr, 4> factors;
  for (AffineExpr term : terms) {
    SmallVector<AffineExpr> parts;
    flatten(term, AffineExprKind::Mul, parts);
    if (llvm::count_if(parts, [](AffineExpr part) { return !asConstant(part); }) > 1)
      for (AffineExpr part : parts)
        if (isa<AffineSymbolExpr>(part))
          factors.insert(part);
  }
  for (AffineExpr symbol : factors)
    if (auto found = rangeByFactor(terms, symbol, symbols)) {
      range.min = std::max(range.min, found->min);
      range.max = std::min(range.max, found->max);
    }
  return range;
}

std::optional<Range> rangeOf(AffineExpr dim, ArrayRef<Range> symbols) {
  auto range = rangeByParts(dim, symbols);
  if (!range || dim.getKind() != AffineExprKind::Add)
    return range;
  range = rangeOfProducts(dim, *range, symbols);
  // N - N/2: the quotient and the symbol rise together.
  LinearBound lower{symbols, /*isLower=*/true}, upper{symbols, /*isLower=*/false};
  constexpr double kExact = 0x1p50, kRounding = 1e-9; // of sums of a few terms below 2^50
  if (!lower.add(dim, 1) || !upper.add(dim, 1) || !lower.hasQuotient)
    return range;
  double least = lower.value(), most = upper.value();
  if (std::abs(least) < kExact && least > static_cast<double>(range->min))
    range->min = std::max(range->min, static_cast<int64_t>(std::ceil(
                                          least - kRounding * std::max(1.0, std::abs(least)))));
  if (std::abs(most) < kExact && most < static_cast<double>(range->max))
    range->max = std::min(range->max, static_cast<int64_t>(std::floor(
                                          most + kRounding * std::max(1.0, std::abs(most)))));
  return range;
}

std::optional<int64_t> usualOf(AffineExpr dim, ArrayRef<Range> symbols) {
  if (std::optional<int64_t> number = asConstant(dim))
    return number;
  // Only the symbols that the dim has: a model may have hundreds, and this runs for each of them.
  llvm::DenseMap<AffineExpr, AffineExpr> sizes;
  bool isKnown = true;
  dim.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (!symbol || symbol.getPosition() >= symbols.size())
      return;
    int64_t usual = symbols[symbol.getPosition()].usual;
    isKnown &= usual != 0;
    sizes[part] = getAffineConstantExpr(usual, dim.getContext());
  });
  return isKnown ? asConstant(normalize(dim.replace(sizes))) : std::nullopt;
}

/// The value of a derived symbol at the usual sizes; 0 where one of its symbols has none.
static int64_t usualOf(SymbolAttr derived, ArrayRef<Range> symbols) {
  SmallVector<int64_t> sizes;
  for (const Range &range : symbols)
    sizes.push_back(range.usual);
  bool isKnown = true;
  forEachDim(derived.getDerived(),
             [&](AffineExpr dim) { isKnown &= usualOf(dim, symbols).has_value(); });
  int64_t usual = isKnown ? valueOf(derived.getDerived(), sizes) : 0;
  return usual < derived.getMin() || usual > derived.getMax() ? 0 : usual;
}

SmallVector<Range> symbolRanges(ModuleOp module) {
  SmallVector<Range> ranges;
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto symbol : symbols.getAsRange<SymbolAttr>()) {
      int64_t usual = symbol.getUsual();
      if (symbol.isCounted())
        usual = usualOf(symbol.getMost().getResult(0), ranges).value_or(0);
      else if (symbol.isDerived())
        usual = usualOf(symbol, ranges);
      ranges.push_back({symbol.getMin(), symbol.getMax(), usual});
    }
  return ranges;
}

llvm::SmallBitVector countedSymbols(ModuleOp module) {
  llvm::SmallBitVector counted;
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto symbol : symbols.getAsRange<SymbolAttr>())
      counted.push_back(symbol.isCounted());
  return counted;
}

llvm::SmallBitVector computedSymbols(ModuleOp module) {
  llvm::SmallBitVector computed;
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto symbol : symbols.getAsRange<SymbolAttr>())
      computed.push_back(symbol.isDerived() || symbol.isRead());
  return computed;
}

bool mentions(AffineExpr dim, const llvm::SmallBitVector &symbols) {
  return dim
      .walk([&](AffineExpr part) {
        auto symbol = dyn_cast<AffineSymbolExpr>(part);
        bool isOne =
            symbol && symbol.getPosition() < symbols.size() && symbols.test(symbol.getPosition());
        return isOne ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool mentions(ArrayRef<AffineExpr> dims, const llvm::SmallBitVector &symbols) {
  return llvm::any_of(dims, [&](AffineExpr dim) { return mentions(dim, symbols); });
}

} // namespace dlc::dl
