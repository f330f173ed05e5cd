//===- ModuleSymbols.cpp - The symbols of a module, and other dims in their place -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/base/ModuleSymbols.h"

#include "ir/dl/base/DerivedSize.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace dlc::dl {

SmallVector<SymbolAttr> symbolsOf(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>("dl.symbols");
  return list ? llvm::to_vector(list.getAsRange<SymbolAttr>()) : SmallVector<SymbolAttr>();
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
