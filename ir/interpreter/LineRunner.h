//===- LineRunner.h - Ops over the lines of a tensor, run on host tensors -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERPRETER_LINERUNNER_H
#define DLC_IR_INTERPRETER_LINERUNNER_H

#include "ir/interfaces/Lines.h"
#include "ir/interpreter/Tensor.h"

namespace dlc {

/// Computes the result of `op` as Lines.h says: floats in double, rounded nowhere; integers wrap in
/// their type.
Tensor runLines(LineOpInterface op, llvm::ArrayRef<Tensor> operands,
                llvm::ArrayRef<int64_t> symbols);

} // namespace dlc

#endif // DLC_IR_INTERPRETER_LINERUNNER_H
