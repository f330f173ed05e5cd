//===- ModuleSymbols.cpp - The symbols of a module, and other dims in their place ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/ModuleSymbols.h"

#include "ir/dl/base/DerivedSize.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace dlc::dl {

SmallVector<SymbolAttr> symbolsOf(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>("dl.symbols");
  return list ? llvm::to_vector(list.getAsRange<SymbolAttr>()) : SmallVector<SymbolAttr>();
}

/// Returns c of `expr` = c * symbol + rest, where rest has no `symbol`; nothing where there is
/// none.
static std::optional<int64_t> coefficientOf(AffineExpr expr, unsigned symbol, unsigned count) {
  SmallVector<AffineExpr> zero, one;
  for (unsigned i = 0; i < count; ++i) {
    AffineExpr own = getAffineSymbolExpr(i, expr.getContext());
    zero.push_back(i == symbol ? constantDim(0, expr.getContext()) : own);
    one.push_back(i == symbol ? constantDim(1, expr.getContext()) : own);
  }
  AffineExpr rest = normalize(expr.replaceSymbols(zero));
  auto factor = asConstant(normalize(expr.replaceSymbols(one) - rest));
  AffineExpr own = getAffineSymbolExpr(symbol, expr.getContext());
  return factor && normalize(rest + own * *factor) == expr ? factor : std::nullopt;
}

/// Whether `expr` is 0 or more. `depth` symbols may be replaced by a bound of theirs.
static bool isNotNegative(AffineExpr expr, ArrayRef<SymbolAttr> symbols, ArrayRef<Range> ranges,
                          unsigned depth) {
  auto range = rangeOf(expr, ranges);
  if (range && range->min >= 0)
    return true;
  for (unsigned position = 0; depth > 0 && position < symbols.size(); ++position) {
    DerivedAttr derived = symbols[position].getDerived();
    if (!derived || !expr.isFunctionOfSymbol(position))
      continue;
    bool isMin = derived.getFunction() == SizeFunction::min;
    auto factor = isMin || derived.getFunction() == SizeFunction::max
                      ? coefficientOf(expr, position, symbols.size())
                      : std::nullopt;
    if (!factor || (*factor < 0) != isMin)
      continue;
    for (Attribute operand : derived.getOperands()) {
      auto bound = dyn_cast<AffineMapAttr>(operand);
      if (!bound)
        continue;
      AffineExpr own = getAffineSymbolExpr(position, expr.getContext());
      AffineExpr least = normalize(expr + (bound.getValue().getResult(0) - own) * *factor);
      if (isNotNegative(least, symbols, ranges, depth - 1))
        return true;
    }
  }
  return false;
}

bool isAtMost(AffineExpr a, AffineExpr b, ModuleOp module) {
  constexpr unsigned kMostBounds = 4; // of a chain such as min(min(N, 8), M)
  return isNotNegative(normalize(b - a), symbolsOf(module), symbolRanges(module), kMostBounds);
}

RankedTensorType replaceSymbols(RankedTensorType type, ArrayRef<AffineExpr> by) {
  Dims dims = getDims(type);
  for (AffineExpr &dim : dims)
    dim = normalize(dim.replaceSymbols(by));
  return makeTensor(dims, type.getElementType(), getLayout(type));
}

static AffineMap replaceIn(AffineMap map, ArrayRef<AffineExpr> by, MLIRContext *context) {
  Dims dims;
  for (AffineExpr dim : map.getResults())
    dims.push_back(normalize(dim.replaceSymbols(by)));
  return dimsMap(dims, context);
}

SymbolAttr replaceSymbols(SymbolAttr symbol, ArrayRef<AffineExpr> by) {
  MLIRContext *context = symbol.getContext();
  DerivedAttr derived = symbol.getDerived();
  AffineMap most = symbol.getMost();
  return SymbolAttr::get(context, symbol.getName(), symbol.getMin(), symbol.getMax(),
                         symbol.getUsual(), symbol.getStep(), symbol.getOffset(),
                         derived ? replaceSymbols(derived, by) : derived, symbol.getWhy(),
                         most ? replaceIn(most, by, context) : most, symbol.getRead());
}

void replaceSymbols(Operation *root, ArrayRef<AffineExpr> by) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    return std::make_pair(Type(replaceSymbols(type, by)), WalkResult::skip());
  });
  replacer.addReplacement(
      [&](AffineMapAttr attr) -> std::optional<std::pair<Attribute, WalkResult>> {
        if (attr.getValue().getNumDims() != 0)
          return std::nullopt;
        return std::make_pair(
            Attribute(AffineMapAttr::get(replaceIn(attr.getValue(), by, attr.getContext()))),
            WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

} // namespace dlc::dl
