//===- NestRunner.h - The loops of one op, run on host tensors ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERPRETER_NESTRUNNER_H
#define DLC_IR_INTERPRETER_NESTRUNNER_H

#include "ir/interfaces/LoopNest.h"
#include "ir/interpreter/Tensor.h"

namespace dlc {

/// The value of `dim` where symbol i has the value symbols[i].
int64_t evaluateDim(mlir::AffineExpr dim, llvm::ArrayRef<int64_t> symbols);

/// Computes the result of `op` from its operands by the loops and bodies that it declares. Floats
/// are computed and kept in double; integers wrap in their type. Operands have the dims that their
/// types have under `symbols`.
Tensor runLoopNest(LoopNestOpInterface op, llvm::ArrayRef<Tensor> operands,
                   llvm::ArrayRef<int64_t> symbols);

} // namespace dlc

#endif // DLC_IR_INTERPRETER_NESTRUNNER_H
