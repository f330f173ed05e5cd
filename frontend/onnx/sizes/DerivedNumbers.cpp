//===- DerivedNumbers.cpp - Numbers that follow from sizes when shapes are bound ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/sizes/DerivedNumbers.h"

#include "ir/dl/base/DerivedSize.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dlc::onnx {

using dl::SizeFunction;

static mlir::Attribute dimOperand(AffineExpr dim) {
  return AffineMapAttr::get(dl::dimsMap(dim, dim.getContext()));
}

/// A number as an operand of a definition.
static mlir::Attribute operandOf(const Number &number, MLIRContext *context) {
  if (number.dim)
    return dimOperand(number.dim);
  if (number.derived)
    return number.derived;
  return FloatAttr::get(Float64Type::get(context), number.real);
}

/// Rounds a real number to its dtype. Numbers of 16 bits are left to the model.
static std::optional<Number> roundedTo(Type dtype, dl::DerivedAttr value) {
  if (dtype.isF32())
    value =
        dl::DerivedAttr::get(dtype.getContext(), SizeFunction::single, {mlir::Attribute(value)});
  else if (!dtype.isF64())
    return std::nullopt;
  return Number{{}, 0, value};
}

/// An integer as a symbol, or as the dim that it is.
static std::optional<Number> integerOf(const NodeImport &node, SizeFunction function,
                                       ArrayRef<mlir::Attribute> operands) {
  AffineExpr dim = node.importer.derive(dl::DerivedAttr::get(node.context, function, operands));
  return dim ? std::optional(Number{dim}) : std::nullopt;
}

static std::optional<Number> difference(const NodeImport &node, int64_t from,
                                        const std::optional<Number> &x) {
  if (!x)
    return std::nullopt;
  return Number{dl::normalize(dl::constantDim(from, node.context) - x->dim)};
}

/// Comparisons and what joins them are 0 or 1.
static std::optional<Number> deriveTruth(const NodeImport &node, StringRef op, mlir::Attribute a,
                                         mlir::Attribute b) {
  if (op == "Equal")
    return integerOf(node, SizeFunction::equal, {a, b});
  if (op == "Less")
    return integerOf(node, SizeFunction::less, {a, b});
  if (op == "Greater")
    return integerOf(node, SizeFunction::less, {b, a});
  if (op == "LessOrEqual")
    return difference(node, 1, integerOf(node, SizeFunction::less, {b, a}));
  if (op == "GreaterOrEqual")
    return difference(node, 1, integerOf(node, SizeFunction::less, {a, b}));
  if (op == "And")
    return integerOf(node, SizeFunction::min, {a, b});
  if (op == "Or")
    return integerOf(node, SizeFunction::max, {a, b});
  return std::nullopt;
}

static std::optional<Number> deriveReal(StringRef op, mlir::Attribute a, mlir::Attribute b,
                                        Type dtype) {
  auto function = llvm::StringSwitch<std::optional<SizeFunction>>(op)
                      .Case("Add", SizeFunction::sum)
                      .Case("Sub", SizeFunction::difference)
                      .Case("Mul", SizeFunction::product)
                      .Case("Div", SizeFunction::ratio)
                      .Case("Min", SizeFunction::min)
                      .Case("Max", SizeFunction::max)
                      .Default(std::nullopt);
  if (!function)
    return std::nullopt;
  return roundedTo(dtype, dl::DerivedAttr::get(a.getContext(), *function, {a, b}));
}

std::optional<Number> deriveBinary(const NodeImport &node, StringRef op, const Number &a,
                                   const Number &b, Type dtype, bool &isTruth) {
  mlir::Attribute x = operandOf(a, node.context), y = operandOf(b, node.context);
  if (auto truth = deriveTruth(node, op, x, y)) {
    isTruth = true;
    return truth;
  }
  if (a.isReal())
    return deriveReal(op, x, y, dtype);
  if (op == "Min" || op == "Max")
    return integerOf(node, op == "Min" ? SizeFunction::min : SizeFunction::max, {x, y});
  if (op == "Div")
    return integerOf(node, SizeFunction::quotient, {x, y});
  // ONNX's Mod has the sign of the divisor, which is positive here.
  auto divisor = op == "Mod" ? node.rangeOf(b.dim) : std::nullopt;
  if (!divisor || divisor->min < 1)
    return std::nullopt;
  auto rest = integerOf(node, SizeFunction::remainder, {x, y});
  if (!rest)
    return std::nullopt;
  return integerOf(node, SizeFunction::remainder,
                   {dimOperand(dl::normalize(rest->dim + b.dim)), y});
}

std::optional<Number> deriveUnary(const NodeImport &node, StringRef op, const Number &x,
                                  Type dtype) {
  mlir::Attribute operand = operandOf(x, node.context);
  if (op == "Neg")
    return deriveReal("Sub", FloatAttr::get(Float64Type::get(node.context), 0.0), operand, dtype);
  if (op == "Reciprocal")
    return deriveReal("Div", FloatAttr::get(Float64Type::get(node.context), 1.0), operand, dtype);
  auto function = llvm::StringSwitch<std::optional<SizeFunction>>(op)
                      .Case("Floor", SizeFunction::floor)
                      .Case("Ceil", SizeFunction::ceil)
                      .Case("Round", SizeFunction::nearest)
                      .Case("Sqrt", SizeFunction::root)
                      .Default(std::nullopt);
  if (!function)
    return std::nullopt;
  return roundedTo(dtype, dl::DerivedAttr::get(node.context, *function, {operand}));
}

std::optional<Number> deriveChoice(const NodeImport &node, const Number &condition, const Number &a,
                                   const Number &b) {
  if (a.isReal() || b.isReal())
    return std::nullopt;
  return integerOf(node, SizeFunction::select,
                   {dimOperand(condition.dim), dimOperand(a.dim), dimOperand(b.dim)});
}

std::optional<Number> deriveCast(const NodeImport &node, const Number &x, Type from, Type to) {
  mlir::Attribute operand = operandOf(x, node.context);
  if (x.isReal() && isa<FloatType>(to)) {
    bool isWider = to.isF64() && (from.isF32() || from.isF64());
    return isWider ? std::optional(x) : roundedTo(to, x.derived);
  }
  if (x.isReal())
    return integerOf(node, SizeFunction::integer, {operand});
  if (isa<FloatType>(to))
    return roundedTo(to, dl::DerivedAttr::get(node.context, SizeFunction::real, {operand}));
  return std::nullopt;
}

//===- Symbols --------------------------------------------------------------------------------===//

AffineExpr Importer::derive(dl::DerivedAttr size) {
  if (AffineExpr known = derivedSizes.lookup(size))
    return known;
  // The symbols of states that grow become others (Caches.cpp).
  if (!states.empty() && !dl::simplified(size, dl::symbolRanges(module)))
    return {};
  AffineExpr made = emitter->derive(size);
  bounds.resize(symbols.size());
  return made ? derivedSizes[size] = made : made;
}

AffineExpr NodeImport::atLeastZero(AffineExpr size) {
  auto range = dl::asConstant(size) ? std::nullopt : rangeOf(size);
  if (!range || range->min >= 0 || !dl::mentions(size, dl::computedSymbols(importer.module)))
    return size;
  AffineExpr clamped = larger(size, dim(0));
  return clamped ? clamped : size;
}

AffineExpr NodeImport::smaller(AffineExpr a, AffineExpr b) {
  return importer.derive(
      dl::DerivedAttr::get(context, SizeFunction::min, {dimOperand(a), dimOperand(b)}));
}
AffineExpr NodeImport::larger(AffineExpr a, AffineExpr b) {
  return importer.derive(
      dl::DerivedAttr::get(context, SizeFunction::max, {dimOperand(a), dimOperand(b)}));
}
AffineExpr NodeImport::choose(AffineExpr truth, AffineExpr a, AffineExpr b) {
  return importer.derive(dl::DerivedAttr::get(context, SizeFunction::select,
                                              {dimOperand(truth), dimOperand(a), dimOperand(b)}));
}
AffineExpr NodeImport::isLess(AffineExpr a, AffineExpr b) {
  return importer.derive(
      dl::DerivedAttr::get(context, SizeFunction::less, {dimOperand(a), dimOperand(b)}));
}
AffineExpr NodeImport::isEqual(AffineExpr a, AffineExpr b) {
  return importer.derive(
      dl::DerivedAttr::get(context, SizeFunction::equal, {dimOperand(a), dimOperand(b)}));
}

} // namespace dlc::onnx
