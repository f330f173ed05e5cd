//===- RecurrenceRunner.h - The steps of a recurrent op, run on host tensors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERPRETER_RECURRENCERUNNER_H
#define DLC_IR_INTERPRETER_RECURRENCERUNNER_H

#include "ir/interfaces/Recurrent.h"
#include "ir/interpreter/Tensor.h"

namespace dlc {

/// Computes the results of `op` as Recurrent.h says, in double; states are rounded nowhere.
llvm::SmallVector<Tensor> runRecurrence(RecurrentOpInterface op, llvm::ArrayRef<Tensor> operands,
                                        llvm::ArrayRef<int64_t> symbols);

} // namespace dlc

#endif // DLC_IR_INTERPRETER_RECURRENCERUNNER_H
