//===- SettledCounts.cpp - Counted dims as the numbers that they are in the run -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/SettledCounts.h"

#include "ir/dl/DLDialect.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "ir/dl/control/Flow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace dlc {

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
            : dl::replaceSymbols(symbol, outside));
  }
  if (left.size() > dl::kMaxSymbols && !dl::runsInSegments(module))
    return function.emitError("the model has more than ")
           << dl::kMaxSymbols
           << " dims that vary, those counted whose size the data say; use fewer";
  dl::replaceSymbols(function, inside);
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
    for (auto [dim, size] :
         llvm::enumerate(dl::getDims(dl::replaceSymbols(outputs[position], outside))))
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
