//===- Places.cpp - Elements as places in memory ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Places.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace dlc::codegen {

memref::LoadOp loadOf(Value value, Type stored) {
  if (auto wider = value.getDefiningOp<arith::ExtFOp>())
    value = wider.getIn();
  auto load = value.getDefiningOp<memref::LoadOp>();
  return load && load.getType() == stored ? load : memref::LoadOp();
}

static Value yielded(Block *block) {
  return cast<scf::YieldOp>(block->getTerminator()).getResults().front();
}

bool isPlace(Value value, FindLoad find) {
  if (find(value))
    return true;
  auto branch = value.getDefiningOp<scf::IfOp>();
  return branch && branch.getNumResults() == 1 && isPlace(yielded(branch.thenBlock()), find) &&
         (matchPattern(yielded(branch.elseBlock()), m_PosZeroFloat()) ||
          matchPattern(yielded(branch.elseBlock()), m_Zero()));
}

Value placeOf(Value value, FindLoad find) {
  if (memref::LoadOp load = find(value))
    return load.getIndices().front();
  auto branch = value.getDefiningOp<scf::IfOp>();
  Value place = placeOf(yielded(branch.thenBlock()), find);
  Value element = yielded(branch.thenBlock());
  branch.thenBlock()->getTerminator()->setOperand(0, place);
  while (Operation *unused = element.use_empty() ? element.getDefiningOp() : nullptr) {
    element = unused->getOperand(0); // what is taken off, the conversion, then the load
    unused->erase();
  }
  OpBuilder builder(branch.elseBlock()->getTerminator());
  branch.elseBlock()->getTerminator()->setOperand(
      0, arith::ConstantIndexOp::create(builder, branch.getLoc(), -1));
  branch.getResult(0).setType(builder.getIndexType());
  return branch.getResult(0);
}

} // namespace dlc::codegen
