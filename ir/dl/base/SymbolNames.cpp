//===- SymbolNames.cpp - Dims and types in messages ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DLTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <charconv>

using namespace mlir;

namespace dlc::dl {

SymbolNames::SymbolNames(Value value) {
  if (auto argument = dyn_cast_if_present<BlockArgument>(value))
    near = argument.getOwner()->getParentOp();
  else if (value)
    near = value.getDefiningOp();
}

SymbolNames::Name SymbolNames::of(unsigned symbol) const {
  for (Operation *op = near; op; op = op->getParentOp())
    if (auto symbols = op->getAttrOfType<ArrayAttr>("dl.symbols")) {
      auto named = symbol < symbols.size() ? dyn_cast<SymbolAttr>(symbols[symbol]) : SymbolAttr();
      if (named)
        return {named.getName().str(), named.getStep(), named.getOffset()};
      break;
    }
  return {"s" + std::to_string(symbol)};
}

/// Prints `factor` times a symbol. The name of a symbol with a step belongs to step * symbol +
/// offset, so that 32 times a symbol of step 32 is "H", and twice that symbol "H/16".
static void printSymbol(llvm::raw_ostream &os, const SymbolNames::Name &name, int64_t factor) {
  std::string size = name.name;
  if (name.offset != 0)
    size = "(" + size + " - " + std::to_string(name.offset) + ")";
  if (factor % name.step == 0) {
    os << size;
    if (factor != name.step)
      os << '*' << factor / name.step;
  } else if (name.step % factor == 0) {
    os << size << '/' << name.step / factor;
  } else {
    os << size << '/' << name.step << '*' << factor;
  }
}

/// Whether `dim` can be a divisor, or the right factor of a product, without parentheses.
static bool isRightOperand(AffineExpr dim, SymbolNames names, bool ofProduct) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(dim))
    return names.of(symbol.getPosition()).step == 1;
  auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
  if (!binary || binary.getKind() == AffineExprKind::CeilDiv)
    return true;
  if (binary.getKind() == AffineExprKind::Add) // printDim writes its parentheses
    return true;
  return ofProduct && binary.getKind() == AffineExprKind::Mul &&
         isRightOperand(binary.getLHS(), names, true) &&
         isRightOperand(binary.getRHS(), names, true);
}

/// Prints with the precedence of the language: sums without, products with parentheses round sums.
static void printDim(llvm::raw_ostream &os, AffineExpr dim, SymbolNames names, bool inProduct) {
  if (auto constant = dyn_cast<AffineConstantExpr>(dim)) {
    os << constant.getValue();
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(dim)) {
    printSymbol(os, names.of(symbol.getPosition()), 1);
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(dim);
  auto scaled = dyn_cast<AffineSymbolExpr>(binary.getLHS());
  if (auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
      scaled && factor && binary.getKind() == AffineExprKind::Mul && factor.getValue() > 0) {
    printSymbol(os, names.of(scaled.getPosition()), factor.getValue());
    return;
  }
  bool isSum = binary.getKind() == AffineExprKind::Add;
  if (binary.getKind() == AffineExprKind::CeilDiv) {
    os << "ceil(";
    printDim(os, binary.getLHS(), names, true);
    os << " / ";
    printDim(os, binary.getRHS(), names, true);
    os << ')';
    return;
  }
  if (isSum && inProduct)
    os << '(';
  printDim(os, binary.getLHS(), names, !isSum);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (isSum && constant && constant.getValue() < 0) {
    os << " - " << -constant.getValue();
  } else {
    os << (isSum                                          ? " + "
           : binary.getKind() == AffineExprKind::Mul      ? "*"
           : binary.getKind() == AffineExprKind::FloorDiv ? "/"
                                                          : "%");
    bool isPlain =
        isSum || isRightOperand(binary.getRHS(), names, binary.getKind() == AffineExprKind::Mul);
    os << (isPlain ? "" : "(");
    printDim(os, binary.getRHS(), names, !isSum && isPlain);
    os << (isPlain ? "" : ")");
  }
  if (isSum && inProduct)
    os << ')';
}

std::string text(AffineExpr dim, SymbolNames names) {
  std::string result;
  llvm::raw_string_ostream os(result);
  printDim(os, dim, names, false);
  return result;
}

std::string text(const APFloat &number) {
  char digits[32];
  auto [end, error] = std::to_chars(digits, std::end(digits), number.convertToDouble());
  return std::string(digits, end);
}

std::string text(Type type, SymbolNames names) {
  auto tensor = cast<RankedTensorType>(type);
  std::string result;
  llvm::raw_string_ostream os(result);
  if (StringRef name = dtypeName(tensor.getElementType()); !name.empty())
    os << name;
  else
    os << tensor.getElementType();
  os << '[';
  llvm::interleave(
      getDims(tensor), os, [&](AffineExpr dim) { printDim(os, dim, names, false); }, ",");
  os << ']';
  return result;
}

std::string text(Value tensor) { return text(tensor.getType(), tensor); }

} // namespace dlc::dl
