//===- RecurrentElements.h - Elements of a recurrence's buffers ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All schedules of recurrences read inputs and write results by this, whether a block has a row or
// blocks share the units.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_RECURRENTELEMENTS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_RECURRENTELEMENTS_H

#include "codegen/cuda/schedule/KernelBuilder.h"
#include "ir/interfaces/Recurrent.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace dlc::codegen {

/// The ops of a recurrent kernel in program order: several that do not read each other, of one
/// shape, run side by side; layers of a stack run in waves (ir/analysis/StackedLayers.h).
inline llvm::SmallVector<RecurrentOpInterface> recurrencesOf(dlx::KernelOp kernel) {
  return llvm::to_vector(kernel.getBodyBlock().getOps<RecurrentOpInterface>());
}

class RecurrentElements {
protected:
  RecurrentElements(KernelBuilder &k, RecurrentOpInterface op)
      : k(k), op(op), r(op.getRecurrence()), type(computeType(r.elementType)) {}

  /// The buffer of an operand of the op, or of another value that the kernel is given.
  mlir::Value input(unsigned operand) { return input(op->getOperand(operand)); }
  mlir::Value input(mlir::Value given) {
    return k.input(llvm::cast<mlir::BlockArgument>(given).getArgNumber());
  }
  /// An element as it is computed with, and stored.
  mlir::Value load(mlir::Value buffer, mlir::Value at) {
    return fromStorage(k.b, k.loc, k.read(buffer, {at}), r.elementType);
  }
  void store(mlir::Value buffer, mlir::Value at, mlir::Value value) {
    k.write(buffer, {at}, toStorage(k.b, k.loc, value, r.elementType));
  }
  mlir::Value zero() { return mlir::arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(type)); }
  mlir::Value subtract(mlir::Value a, mlir::Value b) {
    return k.b.createOrFold<mlir::arith::SubIOp>(k.loc, a, b);
  }

  KernelBuilder &k;
  RecurrentOpInterface op;
  Recurrence r;
  mlir::Type type; // that values have while they are computed
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_RECURRENTELEMENTS_H
