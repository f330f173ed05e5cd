//===- DLControl.cpp - Branches, loops, and sizes that data say ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "ir/dl/control/Flow.h"

using namespace mlir;

namespace dlc::dl {

/// Whether `tensor` has one element, whatever its rank.
static bool isSingle(Value tensor) {
  return llvm::all_of(dimsOf(tensor), [](Dim dim) { return isConstant(dim, 1); });
}

/// Whether a symbol with `read` is the dim `dim` of a result that `op` may give.
static bool isReadSymbol(Dim dim, ModuleOp module) {
  auto symbol = dyn_cast<AffineSymbolExpr>(dim);
  auto list = module ? module->getAttrOfType<ArrayAttr>("dl.symbols") : ArrayAttr();
  return symbol && list && symbol.getPosition() < list.size() &&
         cast<SymbolAttr>(list[symbol.getPosition()]).isRead();
}

/// Whether a value of the type `from` may become one of the type `to`, which says of no dim more
/// than is known, or a symbol with `read`.
static bool mayBecome(Type from, Type to, ModuleOp module, bool isCheckedLater) {
  auto a = cast<RankedTensorType>(from), b = cast<RankedTensorType>(to);
  if (a.getElementType() != b.getElementType() || a.getRank() != b.getRank())
    return false;
  return llvm::all_of(llvm::zip_equal(getDims(a), getDims(b)), [&](const auto &pair) {
    auto [given, wanted] = pair;
    return given == wanted || isReadSymbol(wanted, module) ||
           (isCheckedLater && !(asConstant(given) && asConstant(wanted)));
  });
}

bool isFlowStep(Operation *op) { return isa<ReadOp, IfOp, WhileOp>(op); }

bool hasFlow(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isFlowStep(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool runsInSegments(ModuleOp module) {
  return hasFlow(module) ||
         (symbolsOf(module).size() > kMaxSymbols && countedSymbols(module).none());
}

//===- read -----------------------------------------------------------------------------------===//

LogicalResult ReadOp::verify() {
  if (!isSingle(getX()))
    return emitOpError("needs a tensor of one element, got ") << text(getX());
  AffineMap size = getSize();
  if (size.getNumDims() != 0 || size.getNumResults() != 1 ||
      !isReadSymbol(size.getResult(0), (*this)->getParentOfType<ModuleOp>()))
    return emitOpError("needs one symbol that is declared with 'read', got ") << getSizeAttr();
  return success();
}

//===- if -------------------------------------------------------------------------------------===//

LogicalResult IfOp::verify() {
  if (!isSingle(getCondition()))
    return emitOpError("needs a condition of one element, got ") << text(getCondition());
  auto module = (*this)->getParentOfType<ModuleOp>();
  for (Region *branch : {&getThenBranch(), &getElseBranch()}) {
    auto yield = dyn_cast<YieldOp>(branch->front().getTerminator());
    if (!yield || yield.getNumOperands() != getNumResults())
      return emitOpError("needs branches that yield as many values as it has results, ")
             << getNumResults();
    for (auto [position, value, result] : llvm::enumerate(yield.getValues(), getResults()))
      if (!mayBecome(value.getType(), result.getType(), module, /*isCheckedLater=*/false))
        return emitOpError("gives ") << text(result) << " as result " << position
                                     << ", and a branch yields " << text(value);
  }
  return success();
}

//===- while ----------------------------------------------------------------------------------===//

Value WhileOp::getGoesOn() {
  return getCondition() ? getBodyBlock().getTerminator()->getOperand(0) : Value();
}

ValueRange WhileOp::getNext() {
  return ValueRange(getBodyBlock().getTerminator()->getOperands())
      .slice(getCondition() ? 1 : 0, getInitial().size());
}

ValueRange WhileOp::getGathered() {
  return ValueRange(getBodyBlock().getTerminator()->getOperands())
      .drop_front((getCondition() ? 1 : 0) + getInitial().size());
}

LogicalResult WhileOp::verify() {
  for (Value single : {getTrips(), getCondition()})
    if (single && !isSingle(single))
      return emitOpError("needs a number of trips and a condition of one element, got ")
             << text(single);
  if (!getTrips() && !getCondition())
    return emitOpError("needs a number of trips or a condition; it would not end");
  size_t carried = getInitial().size();
  Block &body = getBodyBlock();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  size_t first = getCondition() ? 1 : 0;
  if (!yield || body.getNumArguments() != carried + 1 || getNumResults() < carried ||
      yield.getNumOperands() != first + getNumResults())
    return emitOpError("needs a body of ")
           << carried + 1 << " arguments that yields " << first + getNumResults() << " values";
  auto step = cast<RankedTensorType>(body.getArgument(0).getType());
  if (step.getRank() != 0 || !step.getElementType().isSignlessInteger(64))
    return emitOpError("needs the step as a tensor<i64>, got ") << text(body.getArgument(0));
  if (first && (!isSingle(yield.getOperand(0)) ||
                !getElementTypeOrSelf(yield.getOperand(0).getType()).isInteger(1)))
    return emitOpError("needs one bool that says whether it goes on, got ")
           << text(yield.getOperand(0));
  auto module = (*this)->getParentOfType<ModuleOp>();
  for (size_t i = 0; i < carried; ++i) {
    Value argument = body.getArgument(i + 1);
    for (Value given : {Value(getInitial()[i]), yield.getOperand(first + i)})
      if (!mayBecome(given.getType(), argument.getType(), module, /*isCheckedLater=*/true))
        return emitOpError("carries ") << text(argument) << ", and gets " << text(given);
    if (!mayBecome(argument.getType(), getResult(i).getType(), module, /*isCheckedLater=*/true))
      return emitOpError("carries ") << text(argument) << ", and gives " << text(getResult(i));
  }
  for (auto [value, result] : llvm::zip_equal(getGathered(), getResults().drop_front(carried))) {
    Dims dims = dimsOf(result);
    auto one = dims.empty()
                   ? RankedTensorType()
                   : makeTensor(llvm::ArrayRef(dims).drop_front(), typeOf(result).getElementType());
    if (!one || !mayBecome(value.getType(), one, module, /*isCheckedLater=*/true))
      return emitOpError("gathers ") << text(value) << ", and gives " << text(result);
  }
  return success();
}

} // namespace dlc::dl
