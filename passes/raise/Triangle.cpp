//===- Triangle.cpp - Tensors that differ on the two sides of a diagonal ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/raise/Triangle.h"

#include "ir/dl/base/DLBuilder.h"
#include "passes/simplify/FoldedElement.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc {

/// Ops that are read from a mask back to what makes it.
static constexpr unsigned kMaxDepth = 16;
/// Larger than the distance of any two places that meet; an f32 holds it.
static constexpr double kMaxOffset = 1 << 24;

static double asNumber(TypedAttr element) {
  if (auto real = dyn_cast<FloatAttr>(element))
    return real.getValueAsDouble();
  const APInt &integer = cast<IntegerAttr>(element).getValue();
  return integer.getBitWidth() == 1 ? integer.getZExtValue() : integer.roundToDouble();
}

double Triangle::belowAsNumber() const { return asNumber(below); }
double Triangle::aboveAsNumber() const { return asNumber(above); }

/// The one number that `value` holds; null where there are more.
static TypedAttr uniformOf(Value value) {
  while (auto repeated = value.getDefiningOp<dl::BroadcastOp>())
    value = repeated.getX();
  auto full = value.getDefiningOp<dl::FullOp>();
  return full ? full.getFill() : TypedAttr();
}

//===- Places ---------------------------------------------------------------------------------===//

namespace {
/// A tensor whose elements are their own index along one dim, plus a number.
struct Places {
  int64_t dim; // counted from the end: 0 is the last one
  int64_t offset;
};
} // namespace

/// The position, counted from the end, of the only dim that is not of size 1; nullopt where there
/// are others, or none.
static std::optional<int64_t> onlyDim(Value value) {
  std::optional<int64_t> only;
  for (auto [position, dim] : llvm::enumerate(llvm::reverse(dl::dimsOf(value))))
    if (!dl::isConstant(dim, 1)) {
      if (only)
        return std::nullopt;
      only = position;
    }
  return only;
}

/// `dim`, counted from the end, is as long in `a` as in `b`.
static bool hasSameDim(Value a, Value b, int64_t dim) {
  dl::Dims ofA = dl::dimsOf(a), ofB = dl::dimsOf(b);
  auto at = [&](const dl::Dims &dims) -> AffineExpr {
    return dim < static_cast<int64_t>(dims.size()) ? dims[dims.size() - 1 - dim] : AffineExpr();
  };
  return at(ofA) && at(ofA) == at(ofB);
}

static std::optional<Places> placesOf(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (auto range = dyn_cast<dl::ArangeOp>(op)) {
    auto start = range.getStart() ? dl::asConstant(range.getStart()->getResult(0)) : int64_t(0);
    return start && range.getStep() == 1 ? std::optional(Places{0, *start}) : std::nullopt;
  }
  if (auto repeated = dyn_cast<dl::BroadcastOp>(op)) {
    auto places = placesOf(repeated.getX(), depth - 1);
    return places && hasSameDim(repeated.getX(), value, places->dim) ? places : std::nullopt;
  }
  if (auto view = dyn_cast<dl::ReshapeOp>(op)) {
    auto from = onlyDim(view.getX()), to = onlyDim(value);
    auto places = from && to ? placesOf(view.getX(), depth - 1) : std::nullopt;
    return places && places->dim == *from ? std::optional(Places{*to, places->offset})
                                          : std::nullopt;
  }
  // A float holds all indices that a mask may have; a short integer does not.
  if (auto cast = dyn_cast<dl::CastOp>(op)) {
    Type type = getElementTypeOrSelf(value);
    bool isWide = type.isF32() || type.isF64() || type.isInteger(32) || type.isInteger(64);
    return isWide ? placesOf(cast.getX(), depth - 1) : std::nullopt;
  }
  if (!isa<dl::AddOp, dl::SubOp>(op))
    return std::nullopt;
  unsigned numberSide = isa<dl::AddOp>(op) && uniformOf(op->getOperand(0)) ? 0 : 1;
  TypedAttr number = uniformOf(op->getOperand(numberSide));
  auto places = number ? placesOf(op->getOperand(1 - numberSide), depth - 1) : std::nullopt;
  if (!places)
    return std::nullopt;
  double offset = isa<dl::SubOp>(op) ? -asNumber(number) : asNumber(number);
  if (std::abs(offset) > kMaxOffset || offset != std::trunc(offset))
    return std::nullopt;
  return Places{places->dim, places->offset + static_cast<int64_t>(offset)};
}

/// A comparison of columns with rows.
static std::optional<Triangle> comparisonOf(Operation *op, unsigned depth) {
  if (!isa<dl::LeOp, dl::LtOp, dl::GeOp, dl::GtOp>(op))
    return std::nullopt;
  auto left = placesOf(op->getOperand(0), depth), right = placesOf(op->getOperand(1), depth);
  if (!left || !right || left->dim + right->dim != 1)
    return std::nullopt;
  bool isColumnLeft = left->dim == 0;
  bool isColumnLess = isa<dl::LeOp, dl::LtOp>(op) == isColumnLeft;
  bool countsEqual = isa<dl::LeOp, dl::GeOp>(op);
  int64_t distance = isColumnLeft ? right->offset - left->offset : left->offset - right->offset;
  // True where column - row <= distance or, for `isColumnLess` false, >= distance.
  auto truth = [&](bool isTrue) {
    return cast<TypedAttr>(Attribute(BoolAttr::get(op->getContext(), isTrue)));
  };
  return Triangle{countsEqual == isColumnLess ? distance : distance - 1, truth(isColumnLess),
                  truth(!isColumnLess)};
}

//===- Triangles ------------------------------------------------------------------------------===//

static std::optional<Triangle> triangleOf(Value value, unsigned depth);

/// Zeros on one side of a diagonal.
template <typename Op> static std::optional<Triangle> cutBy(Op op, bool keepsBelow) {
  TypedAttr kept = uniformOf(op.getX());
  if (!kept)
    return std::nullopt;
  TypedAttr zero = OpBuilder(op.getContext()).getZeroAttr(kept.getType());
  auto diagonal = static_cast<int64_t>(op.getDiagonal());
  return keepsBelow ? Triangle{diagonal, kept, zero} : Triangle{diagonal - 1, zero, kept};
}

/// An elementwise op on triangles of one diagonal and on numbers.
static std::optional<Triangle> computedOf(LoopNestOpInterface op, unsigned depth) {
  std::optional<int64_t> diagonal;
  llvm::DenseMap<Value, Triangle> operands;
  for (Value operand : op->getOperands()) {
    if (TypedAttr number = uniformOf(operand)) {
      operands[operand] = {0, number, number};
      continue;
    }
    auto triangle = triangleOf(operand, depth);
    if (!triangle || (diagonal && *diagonal != triangle->diagonal))
      return std::nullopt;
    diagonal = triangle->diagonal;
    operands[operand] = *triangle;
  }
  if (!diagonal)
    return std::nullopt;
  TypedAttr below = foldedElement(op, [&](Value x) { return operands.lookup(x).below; });
  TypedAttr above = foldedElement(op, [&](Value x) { return operands.lookup(x).above; });
  return below && above ? std::optional(Triangle{*diagonal, below, above}) : std::nullopt;
}

/// Rows and columns of a triangle from `start` on, along `dim`.
static std::optional<Triangle> partOf(Value x, int64_t dim, int64_t start, unsigned depth) {
  int64_t rank = dl::typeOf(x).getRank(), fromEnd = dim < 0 ? -dim - 1 : rank - 1 - dim;
  auto triangle = start >= 0 ? triangleOf(x, depth) : std::nullopt;
  if (triangle && fromEnd < 2)
    triangle->diagonal += fromEnd == 1 ? start : -start;
  return triangle;
}

static std::optional<Triangle> triangleOf(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || dl::typeOf(value).getRank() < 2)
    return std::nullopt;
  if (auto mask = dyn_cast<dl::CausalMaskOp>(op)) {
    Type type = computeType(getElementTypeOrSelf(value));
    OpBuilder builder(op);
    return Triangle{0, builder.getFloatAttr(type, 0),
                    builder.getFloatAttr(type, -std::numeric_limits<double>::infinity())};
  }
  if (auto tril = dyn_cast<dl::TrilOp>(op))
    return cutBy(tril, /*keepsBelow=*/true);
  if (auto triu = dyn_cast<dl::TriuOp>(op))
    return cutBy(triu, /*keepsBelow=*/false);
  if (isa<dl::BroadcastOp, dl::ReshapeOp>(op)) {
    // Leading dims come and go; a reshape that keeps the last two moves nothing within them.
    Value x = op->getOperand(0);
    bool keepsLast = hasSameDim(x, value, 0) && hasSameDim(x, value, 1);
    return keepsLast ? triangleOf(x, depth - 1) : std::nullopt;
  }
  if (auto slice = dyn_cast<dl::SliceOp>(op))
    return slice.getStep() == 1
               ? partOf(slice.getX(), slice.getDimAttr().getInt(),
                        slice.getStartAttr() ? slice.getStartAttr().getInt() : 0, depth - 1)
               : std::nullopt;
  if (auto part = dyn_cast<dl::PartOp>(op))
    if (auto start = dl::asConstant(part.getStart().getResult(0)))
      return partOf(part.getX(), part.getDimAttr().getInt(), *start, depth - 1);
  if (auto comparison = comparisonOf(op, depth - 1))
    return comparison;
  return op->hasTrait<OpTrait::Elementwise>() ? computedOf(cast<LoopNestOpInterface>(op), depth - 1)
                                              : std::nullopt;
}

std::optional<Triangle> triangleOf(Value value) { return triangleOf(value, kMaxDepth); }

} // namespace dlc
