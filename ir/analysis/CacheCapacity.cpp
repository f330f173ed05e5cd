//===- CacheCapacity.cpp - How much the caches among a model's states hold -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/CacheCapacity.h"

#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace dlc {

/// The dim that `value`, an integer without dims, is; null where it is computed.
static AffineExpr numberOf(Value value) {
  if (auto dim = value.getDefiningOp<dl::ScalarTensorOp>())
    return dl::normalize(dim.getS().getResult(0));
  auto full = value.getDefiningOp<dl::FullOp>();
  auto number = full ? dyn_cast<IntegerAttr>(full.getFill()) : IntegerAttr();
  return number ? dl::constantDim(number.getInt(), value.getContext()) : AffineExpr();
}

/// The dim that `next` adds to `counter`; null where it is computed otherwise.
static AffineExpr stepOf(Value counter, Value next) {
  auto sum = next.getDefiningOp<dl::AddOp>();
  if (!sum)
    return {};
  Value a = sum->getOperand(0), b = sum->getOperand(1);
  return a == counter ? numberOf(b) : b == counter ? numberOf(a) : AffineExpr();
}

void recordCache(ModuleOp module) {
  module->removeAttr("dl.cache");
  auto functions = module.getOps<func::FuncOp>();
  if (!llvm::hasSingleElement(functions))
    return;
  func::FuncOp function = *functions.begin();
  Operation *ret = function.getBody().back().getTerminator();
  llvm::DenseMap<Value, Value> nexts; // of the states
  unsigned number = 0;
  for (unsigned i = 0; i < ret->getNumOperands(); ++i)
    number += static_cast<bool>(function.getResultAttr(i, "dl.state"));
  unsigned result = ret->getNumOperands() - number;
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), "dl.state") && result < ret->getNumOperands())
      nexts[argument] = ret->getOperand(result++);
  std::optional<int64_t> capacity;
  AffineExpr step;
  bool isOne = true;
  function.walk([&](dl::UpdateSliceOp update) {
    auto counter = nexts.find(update.getStart());
    auto cache = nexts.find(update.getX());
    if (counter == nexts.end() || cache == nexts.end() || cache->second != update.getY())
      return;
    auto type = dl::typeOf(update.getX());
    int64_t dim = *dl::wrapDim(std::nullopt, "", update.getDim(), type.getRank());
    auto room = dl::asConstant(dl::getDims(type)[dim]);
    AffineExpr part = dl::dimsOf(update.getSrc())[dim],
               counted = stepOf(counter->first, counter->second);
    if (!room || counted != part)
      return;
    isOne &= !step || step == part;
    step = part;
    capacity = std::min(capacity.value_or(*room), *room);
  });
  if (!capacity || !isOne)
    return;
  Builder builder(module.getContext());
  module->setAttr("dl.cache",
                  builder.getDictionaryAttr(
                      {builder.getNamedAttr("capacity", builder.getI64IntegerAttr(*capacity)),
                       builder.getNamedAttr(
                           "step", AffineMapAttr::get(dl::dimsMap(step, module.getContext())))}));
}

} // namespace dlc
