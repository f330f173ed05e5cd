//===- SettledCounts.cpp - Counted dims as the numbers that they are in the run --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/SettledCounts.h"

#include "ir/dl/DLDialect.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/DerivedSize.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace dlc {

static RankedTensorType replaced(RankedTensorType type, ArrayRef<AffineExpr> by) {
  dl::Dims dims = dl::getDims(type);
  for (AffineExpr &dim : dims)
    dim = dl::normalize(dim.replaceSymbols(by));
  return dl::makeTensor(dims, type.getElementType(), dl::getLayout(type));
}

/// Puts `by` in the place of the symbols, in the types of all values and in all lists of dims.
static void replaceSymbols(func::FuncOp function, ArrayRef<AffineExpr> by) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    return std::make_pair(Type(replaced(type, by)), WalkResult::skip());
  });
  replacer.addReplacement(
      [&](AffineMapAttr attr) -> std::optional<std::pair<Attribute, WalkResult>> {
        if (attr.getValue().getNumDims() != 0)
          return std::nullopt;
        dl::Dims dims;
        for (AffineExpr dim : attr.getValue().getResults())
          dims.push_back(dl::normalize(dim.replaceSymbols(by)));
        return std::make_pair(Attribute(AffineMapAttr::get(dl::dimsMap(dims, attr.getContext()))),
                              WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// `symbol`, which is not counted, with what its definition names in the places of `by`.
static dl::SymbolAttr renumbered(dl::SymbolAttr symbol, ArrayRef<AffineExpr> by) {
  if (!symbol.isDerived())
    return symbol;
  return dl::SymbolAttr::get(symbol.getContext(), symbol.getName(), symbol.getMin(),
                             symbol.getMax(), dl::replaceSymbols(symbol.getDerived(), by));
}

LogicalResult settleCounts(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>("dl.symbols");
  if (!list || list.size() <= dl::kMaxSymbols)
    return success();
  MLIRContext *context = module.getContext();
  auto function = *module.getOps<func::FuncOp>().begin();
  auto end = cast<func::ReturnOp>(function.front().getTerminator());
  SmallVector<dl::SymbolAttr> symbols(list.getAsRange<dl::SymbolAttr>());
  auto isNumber = [](dl::SymbolAttr symbol) {
    return symbol.isCounted() && dl::asConstant(symbol.getMost().getResult(0));
  };
  SmallVector<RankedTensorType> outputs;
  llvm::SmallBitVector kept(symbols.size());
  for (auto [position, type] : llvm::enumerate(function.getResultTypes())) {
    outputs.push_back(cast<RankedTensorType>(type));
    for (AffineExpr dim : dl::getDims(outputs.back()))
      dim.walk([&](AffineExpr part) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
          kept.set(symbol.getPosition());
      });
  }
  SmallVector<AffineExpr> inside,
      outside; // in the place of each symbol, in the body and in the outputs
  SmallVector<Attribute> left;
  SmallVector<bool> countIsKept;
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    bool settles = isNumber(symbol), stays = !settles || kept.test(position);
    if (symbol.isCounted())
      countIsKept.push_back(stays);
    AffineExpr here = getAffineSymbolExpr(left.size(), context);
    inside.push_back(settles ? symbol.getMost().getResult(0) : here);
    outside.push_back(stays ? here : inside.back());
    if (!stays)
      continue;
    left.push_back(
        symbol.isCounted()
            ? dl::SymbolAttr::get(
                  context, symbol.getName(), 0, symbol.getMax(),
                  dl::dimsMap(dl::normalize(symbol.getMost().getResult(0).replaceSymbols(outside)),
                              context))
            : renumbered(symbol, outside));
  }
  if (left.size() > dl::kMaxSymbols)
    return function.emitError("the model has more than ")
           << dl::kMaxSymbols
           << " dims that vary, those counted whose size the data say; use fewer";
  replaceSymbols(function, inside);
  // Ops that only gave the sizes of padded dims have no use now.
  function.walk([](dl::TrimOp trim) {
    if (trim.getX().getType() == trim.getType()) {
      trim.getY().replaceAllUsesWith(trim.getX());
      trim.erase();
    }
  });
  OpBuilder builder(end);
  SmallVector<Value> results;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  size_t count = 0;
  for (auto [position, value] : llvm::enumerate(end.getOperands())) {
    DictionaryAttr held = function.getResultAttrDict(position);
    if (held && held.contains("dl.count") && !countIsKept[count++])
      continue;
    Value result = value;
    for (auto [dim, size] : llvm::enumerate(dl::getDims(replaced(outputs[position], outside))))
      if (dl::getDims(cast<RankedTensorType>(result.getType()))[dim] != size)
        result = dl::TrimOp::create(builder, end.getLoc(), result, static_cast<uint64_t>(dim),
                                    dl::dimsMap(size, context));
    results.push_back(result);
    types.push_back(result.getType());
    attributes.push_back(held ? held : builder.getDictionaryAttr({}));
  }
  end->setOperands(results);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setResAttrsAttr(builder.getArrayAttr(attributes));
  module->setAttr("dl.symbols", builder.getArrayAttr(left));
  return success();
}

} // namespace dlc
