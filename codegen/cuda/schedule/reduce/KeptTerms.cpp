//===- KeptTerms.cpp - Terms of a reduction that its results compute again ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/reduce/KeptTerms.h"

#include "ir/scalar/MathExpansion.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dlc::codegen {

/// True where both compute the same from the same values. An element of a thread's own array is the
/// same in both loops: each reads the slot of its own step.
static bool areSame(Value a, Value b) {
  if (a == b)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || x->getName() != y->getName() || a.getType() != b.getType())
    return false;
  if (auto load = dyn_cast<memref::LoadOp>(x))
    return load.getMemRef() == cast<memref::LoadOp>(y).getMemRef() &&
           load.getMemRef().getDefiningOp<memref::AllocaOp>();
  if (x->getAttrDictionary() != y->getAttrDictionary() || !isMemoryEffectFree(x) ||
      x->getNumRegions() || x->getNumOperands() != y->getNumOperands())
    return false;
  return llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()),
                      [](auto pair) { return areSame(std::get<0>(pair), std::get<1>(pair)); });
}

void KeptTerms::keep(Value newTerm, Value slot, Value beside) {
  Operation *op = newTerm.getDefiningOp();
  if (!op || !expandedMath(op))
    return;
  term = newTerm;
  {
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointAfterValue(beside);
    array = k.local(cast<MemRefType>(beside.getType()).getShape(), term.getType(), "terms");
  }
  k.write(array, {slot}, term);
}

Value KeptTerms::recall(Value value, Value slot) {
  if (!term)
    return value;
  SmallVector<Operation *> again;
  for (Operation &op : *k.b.getInsertionBlock())
    if (op.getNumResults() == 1 && areSame(op.getResult(0), term))
      again.push_back(&op);
  for (Operation *op : again) {
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPoint(op);
    Value kept = k.read(array, {slot});
    value = value == op->getResult(0) ? kept : value;
    op->getResult(0).replaceAllUsesWith(kept);
    op->erase();
    isRecalled = true;
  }
  return value;
}

void KeptTerms::finish() {
  if (!term || isRecalled)
    return;
  for (Operation *user : llvm::make_early_inc_range(array.getUsers()))
    user->erase();
  array.getDefiningOp()->erase();
}

} // namespace dlc::codegen
