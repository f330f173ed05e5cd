//===- RaiseCaches.cpp - States that hold a past ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "raise-caches"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_RAISECACHES
#include "passes/Passes.h.inc"

namespace {

class RaiseCaches : public impl::RaiseCachesBase<RaiseCaches> {
  void runOnOperation() override;

  void findStates(func::FuncOp function);
  Value startOfCache(dl::ScatterOp scatter);
  void raise(ArrayRef<std::pair<dl::ScatterOp, Value>> scatters);
  void note(dl::UpdateSliceOp update);

  llvm::DenseMap<Value, Value> nexts; ///< Of each state the value that it gets.
  std::optional<int64_t> capacity;    ///< Of the smallest cache.
  AffineExpr step;                    ///< The positions that a run takes.
  bool isOneStep = true;
};

} // namespace

//===- Counters -------------------------------------------------------------------------------===//

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

//===- Positions ------------------------------------------------------------------------------===//

/// Returns the tensor that `value` repeats, or whose elements it has under other dims; null where
/// `value` is computed otherwise. `dim`, where it is given, is the only dim along which the
/// elements of `value` differ, and becomes the same dim of the tensor.
static Value viewed(Value value, std::optional<unsigned> &dim) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<dl::BroadcastOp, dl::ExpandOp, dl::ExpandAsOp, dl::ReshapeOp,
                       dl::UnsqueezeOp>(op))
    return {};
  Value x = op->getOperand(0);
  dl::Dims own = dl::dimsOf(x), dims = dl::dimsOf(value);
  bool repeats = !isa<dl::ReshapeOp, dl::UnsqueezeOp>(op);
  if (!dim)
    return repeats || own.size() <= 1 ? x : Value();
  if (repeats) {
    if (*dim + own.size() < dims.size())
      return {};
    dim = *dim - (dims.size() - own.size());
    return own[*dim] == dims[*dim + (dims.size() - own.size())] ? x : Value();
  }
  // Only dims of 1 come and go.
  auto isOne = [](AffineExpr size) { return dl::isConstant(size, 1); };
  if (llvm::count_if(dims, isOne) + 1 != static_cast<int64_t>(dims.size()))
    return {};
  auto place = llvm::find_if_not(own, isOne);
  if (place == own.end() || *place != dims[*dim] ||
      llvm::count_if(own, isOne) + 1 != static_cast<int64_t>(own.size()))
    return {};
  dim = static_cast<unsigned>(place - own.begin());
  return x;
}

/// Whether `value` is 0, 1, 2, ... along `dim`, for each index of its other dims.
static bool isRange(Value value, std::optional<unsigned> dim) {
  while (Value x = viewed(value, dim))
    value = x;
  auto range = value.getDefiningOp<dl::ArangeOp>();
  return range && range.getStep() == 1 &&
         (!range.getStart() || dl::isConstant(range.getStart()->getResult(0), 0));
}

/// The tensor of one element that `value` repeats.
static Value repeated(Value value) {
  std::optional<unsigned> none;
  while (Value x = viewed(value, none))
    value = x;
  return dl::typeOf(value).getRank() == 0 ? value : Value();
}

/// The tensor of one element from which `index` counts up by 1 along `dim`, for each index of its
/// other dims; null where it has other elements.
static Value startOf(Value index, std::optional<unsigned> dim) {
  while (Value x = viewed(index, dim))
    index = x;
  auto sum = index.getDefiningOp<dl::AddOp>();
  if (!sum)
    return {};
  Value a = sum->getOperand(0), b = sum->getOperand(1);
  return isRange(a, dim) ? repeated(b) : isRange(b, dim) ? repeated(a) : Value();
}

//===- The pass -------------------------------------------------------------------------------===//

void RaiseCaches::findStates(func::FuncOp function) {
  Operation *ret = function.getBody().back().getTerminator();
  unsigned number = 0;
  for (unsigned i = 0; i < ret->getNumOperands(); ++i)
    number += static_cast<bool>(function.getResultAttr(i, "dl.state"));
  unsigned result = ret->getNumOperands() - number;
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), "dl.state") && result < ret->getNumOperands())
      nexts[argument] = ret->getOperand(result++);
}

/// Makes `part` at most `most`: by its range as it is, or by a smaller one, if it is a symbol of a
/// range alone. Returns whether it is so.
static bool limitPart(ModuleOp module, AffineExpr part, int64_t most) {
  auto range = dl::rangeOf(part, dl::symbolRanges(module));
  if (range && range->max <= most)
    return true;
  SmallVector<dl::SymbolAttr> symbols = dl::symbolsOf(module);
  auto own = dyn_cast<AffineSymbolExpr>(part);
  if (!own || own.getPosition() >= symbols.size())
    return false;
  dl::SymbolAttr &symbol = symbols[own.getPosition()];
  bool isFree = !symbol.getDerived() && !symbol.getRead() && !symbol.getMost() &&
                symbol.getStep() == 1 && symbol.getOffset() == 0;
  if (!isFree || symbol.getMin() > most || symbol.getUsual() > most)
    return false;
  std::string why = "a cache of the model holds " + std::to_string(most) + " positions";
  symbol = dl::SymbolAttr::get(module.getContext(), symbol.getName(), symbol.getMin(), most,
                               symbol.getUsual(), 1, 0, {}, why, {}, false);
  SmallVector<Attribute> list(symbols.begin(), symbols.end());
  module->setAttr("dl.symbols", ArrayAttr::get(module.getContext(), list));
  return true;
}

/// Returns the state that counts the positions of the cache that `scatter` writes: the new ones lie
/// behind those of the runs before. Returns null where it writes no cache.
Value RaiseCaches::startOfCache(dl::ScatterOp scatter) {
  auto cache = nexts.find(scatter.getX());
  Value src = scatter.getSrc();
  if (cache == nexts.end() || cache->second != scatter.getY() || !src || scatter.getReduce())
    return {};
  auto type = dl::typeOf(scatter.getX());
  unsigned dim = *dl::wrapDim(std::nullopt, "", scatter.getDim(), type.getRank());
  dl::Dims dims = dl::dimsOf(scatter.getX()), part = dl::dimsOf(src);
  if (part != dl::dimsOf(scatter.getIndex()) || part.size() != dims.size())
    return {};
  for (unsigned other = 0; other < dims.size(); ++other)
    if (other != dim && part[other] != dims[other])
      return {};
  if (!dl::asConstant(dims[dim]) || dl::mentions(part[dim], dl::computedSymbols(getOperation())))
    return {};
  Value start = startOf(scatter.getIndex(), dim);
  auto counter = start ? nexts.find(start) : nexts.end();
  return counter != nexts.end() && stepOf(counter->first, counter->second) == part[dim] ? start
                                                                                        : Value();
}

/// Makes an update_slice of each scatter that writes a cache. A position beyond the end, which a
/// scatter drops, is refused by the runtime. The runtime counts one step alone: scatters of another
/// step than the first one's stay.
void RaiseCaches::raise(ArrayRef<std::pair<dl::ScatterOp, Value>> scatters) {
  for (auto [scatter, start] : scatters) {
    auto type = dl::typeOf(scatter.getX());
    unsigned dim = *dl::wrapDim(std::nullopt, "", scatter.getDim(), type.getRank());
    AffineExpr part = dl::dimsOf(scatter.getSrc())[dim];
    if ((step && step != part) ||
        !limitPart(getOperation(), part, *dl::asConstant(dl::dimsOf(scatter.getX())[dim])))
      continue;
    OpBuilder builder(scatter);
    auto update = dl::UpdateSliceOp::create(builder, scatter.getLoc(), type, scatter.getX(),
                                            static_cast<uint64_t>(dim), start, scatter.getSrc());
    nexts[scatter.getX()] = update.getY();
    scatter.getY().replaceAllUsesWith(update.getY());
    scatter.erase();
    note(update);
  }
}

/// Takes note of `update`, if it writes a cache.
void RaiseCaches::note(dl::UpdateSliceOp update) {
  auto counter = nexts.find(update.getStart());
  auto cache = nexts.find(update.getX());
  if (counter == nexts.end() || cache == nexts.end() || cache->second != update.getY())
    return;
  auto type = dl::typeOf(update.getX());
  int64_t dim = *dl::wrapDim(std::nullopt, "", update.getDim(), type.getRank());
  auto room = dl::asConstant(dl::getDims(type)[dim]);
  AffineExpr part = dl::dimsOf(update.getSrc())[dim],
             counted = stepOf(counter->first, counter->second);
  if (!room || counted != part || dl::mentions(part, dl::computedSymbols(getOperation())))
    return;
  isOneStep &= !step || step == part;
  step = part;
  capacity = std::min(capacity.value_or(*room), *room);
}

void RaiseCaches::runOnOperation() {
  ModuleOp module = getOperation();
  module->removeAttr("dl.cache");
  auto functions = module.getOps<func::FuncOp>();
  if (!llvm::hasSingleElement(functions))
    return;
  func::FuncOp function = *functions.begin();
  findStates(function);
  function.walk([&](dl::UpdateSliceOp update) { note(update); });
  SmallVector<std::pair<dl::ScatterOp, Value>> scatters;
  for (auto scatter : function.getOps<dl::ScatterOp>())
    if (Value start = startOfCache(scatter))
      scatters.push_back({scatter, start});
  if (isOneStep)
    raise(scatters);
  if (!capacity || !isOneStep)
    return;
  Builder builder(module.getContext());
  module->setAttr("dl.cache",
                  builder.getDictionaryAttr(
                      {builder.getNamedAttr("capacity", builder.getI64IntegerAttr(*capacity)),
                       builder.getNamedAttr(
                           "step", AffineMapAttr::get(dl::dimsMap(step, module.getContext())))}));
}

} // namespace dlc
