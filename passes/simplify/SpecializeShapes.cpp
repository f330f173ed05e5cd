//===- SpecializeShapes.cpp - Symbolic dims by the shapes that will come ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/GivenShapes.h"
#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DLTypes.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "specialize-shapes"

namespace dlc {
#define GEN_PASS_DEF_SPECIALIZESHAPES
#include "passes/Passes.h.inc"
} // namespace dlc

using namespace mlir;

namespace dlc {
namespace {

struct SpecializeShapes : impl::SpecializeShapesBase<SpecializeShapes> {
  using SpecializeShapesBase::SpecializeShapesBase;
  void runOnOperation() override;
};

} // namespace

void SpecializeShapes::runOnOperation() {
  ModuleOp module = getOperation();
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return;
  func::FuncOp function = *functions.begin();
  SmallVector<dl::SymbolAttr> symbols;
  SmallVector<SymbolSizes> sizes;
  if (auto list = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    llvm::append_range(symbols, list.getAsRange<dl::SymbolAttr>());
  for (dl::SymbolAttr symbol : symbols)
    sizes.push_back({symbol.getName().str(), symbol.getMin(), symbol.getMax(), symbol.getMin(),
                     symbol.getMax(), symbol.getUsual(),
                     symbol.isCounted() || symbol.isDerived() || symbol.isRead(), symbol.getStep(),
                     symbol.getOffset()});
  SmallVector<ShapedInput> inputs;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(number, "dl.name");
    if (!function.getArgAttr(number, "dl.state"))
      inputs.push_back({name ? name.str() : std::string(),
                        cast<RankedTensorType>(argument.getType()), argument.getLoc()});
  }
  if (failed(applyShapes({shapes, minShapes, maxShapes, optShapes}, inputs, sizes, module,
                         function.getLoc())))
    return signalPassFailure();

  MLIRContext *context = module.getContext();
  SmallVector<AffineExpr> by;
  SmallVector<Attribute> left;
  SmallVector<dl::Range> ranges; // of those that are left
  for (auto [symbol, size] : llvm::zip(symbols, sizes)) {
    if (!size.isComputed && size.min == size.max && (size.isMinGiven || size.isMaxGiven)) {
      by.push_back(getAffineConstantExpr(size.min, context));
      continue;
    }
    dl::DerivedAttr derived;
    if (symbol.isDerived()) {
      derived = dl::replaceSymbols(symbol.getDerived(), by);
      if (AffineExpr dim = dl::simplified(derived, ranges)) {
        by.push_back(dim);
        continue;
      }
      if (auto range = dl::rangeOf(derived, ranges)) { // the model may know a narrower one
        size.min = std::max(size.min, range->min);
        size.max = std::max(size.min, std::min(size.max, range->max));
      }
    }
    by.push_back(getAffineSymbolExpr(left.size(), context));
    if (!symbol.isCounted()) {
      ranges.push_back({size.min, size.max});
      left.push_back(dl::SymbolAttr::get(context, size.name, size.min, size.max, size.usual,
                                         size.step, size.offset, derived, symbol.getWhy(),
                                         AffineMap(), symbol.isRead()));
      continue;
    }
    // By the data, whatever the shapes; its range follows from its most.
    AffineExpr largest = dl::normalize(symbol.getMost().getResult(0).replaceSymbols(by));
    int64_t max = size.max;
    if (auto range = dl::rangeOf(largest, ranges))
      max = range->max;
    ranges.push_back({0, max});
    left.push_back(dl::SymbolAttr::get(context, size.name, 0, max, dl::dimsMap(largest, context)));
  }
  dl::replaceSymbols(module, by);
  if (left.empty())
    module->removeAttr("dl.symbols");
  else
    module->setAttr("dl.symbols", ArrayAttr::get(context, left));
}

} // namespace dlc
