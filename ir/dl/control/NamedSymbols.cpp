//===- NamedSymbols.cpp - Symbols that ops name, and steps that give them -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/control/NamedSymbols.h"

#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "ir/dl/control/Flow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dlc {

void forEachSymbol(Operation *op, ArrayRef<dl::SymbolAttr> symbols,
                   llvm::function_ref<void(unsigned)> visit) {
  llvm::SmallBitVector seen(symbols.size());
  std::function<void(AffineExpr)> ofDim = [&](AffineExpr dim) {
    dim.walk([&](AffineExpr part) {
      auto symbol = dyn_cast<AffineSymbolExpr>(part);
      if (!symbol || symbol.getPosition() >= symbols.size() || seen.test(symbol.getPosition()))
        return;
      seen.set(symbol.getPosition());
      visit(symbol.getPosition());
      if (dl::DerivedAttr derived = symbols[symbol.getPosition()].getDerived())
        dl::forEachDim(derived, ofDim);
    });
  };
  if (auto call = dyn_cast<dl::CallOp>(op))
    for (int64_t symbol : call.getNumbers())
      ofDim(getAffineSymbolExpr(symbol, op->getContext()));
  AttrTypeWalker walker;
  walker.addWalk([&](RankedTensorType type) {
    for (AffineExpr dim : dl::getDims(type))
      ofDim(dim);
    return WalkResult::skip();
  });
  walker.addWalk([&](AffineMapAttr map) {
    if (map.getValue().getNumDims() == 0)
      for (AffineExpr dim : map.getValue().getResults())
        ofDim(dim);
    return WalkResult::skip();
  });
  walker.walk(op->getAttrDictionary());
  for (Value operand : op->getOperands())
    walker.walk(operand.getType());
  for (Type type : op->getResultTypes())
    walker.walk(type);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        walker.walk(argument.getType());
}

void eraseUnread(Block &block, ArrayRef<dl::SymbolAttr> symbols) {
  llvm::SmallBitVector named(symbols.size());
  auto givesNamed = [&](Operation &op) {
    bool isFound = false;
    for (Value result : op.getResults())
      for (AffineExpr dim : dl::getDims(cast<RankedTensorType>(result.getType())))
        if (auto symbol = dyn_cast<AffineSymbolExpr>(dim))
          isFound |= symbols[symbol.getPosition()].isRead() && named.test(symbol.getPosition());
    return isFound;
  };
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op) && !(dl::isFlowStep(&op) && givesNamed(op))) {
      op.erase();
      continue;
    }
    op.walk([&](Operation *inner) {
      forEachSymbol(inner, symbols, [&](unsigned symbol) { named.set(symbol); });
    });
  }
}

void dropUnreadSteps(ModuleOp module) {
  SmallVector<dl::SymbolAttr> symbols = dl::symbolsOf(module);
  if (llvm::none_of(symbols, [](dl::SymbolAttr symbol) { return symbol.isRead(); }))
    return;
  auto function = *module.getOps<func::FuncOp>().begin();
  eraseUnread(function.front(), symbols);
  if (dl::hasFlow(module))
    return;
  MLIRContext *context = module.getContext();
  llvm::SmallBitVector dropped(symbols.size());
  SmallVector<AffineExpr> by;
  SmallVector<Attribute> left;
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    bool isDropped = symbol.isRead();
    if (dl::DerivedAttr derived = symbol.getDerived())
      dl::forEachDim(derived, [&](AffineExpr dim) { isDropped |= dl::mentions(dim, dropped); });
    dropped[position] = isDropped;
    by.push_back(isDropped ? getAffineConstantExpr(0, context)
                           : getAffineSymbolExpr(left.size(), context));
    if (!isDropped)
      left.push_back(dl::replaceSymbols(symbol, by));
  }
  dl::replaceSymbols(function, by);
  module->setAttr("dl.symbols", ArrayAttr::get(context, left));
}

} // namespace dlc
