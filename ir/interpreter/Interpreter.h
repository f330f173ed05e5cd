//===- Interpreter.h - What a dl function computes, by definition -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs functions of dl ops, before or after fusion, on host tensors: the oracle that the targets
// and the passes are held against. It reads what each op declares (LoopNest.h) and shares no code
// with the schedules, the math expansion or the runtime. Layouts do not exist here: values are
// logical.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERPRETER_INTERPRETER_H
#define DLC_IR_INTERPRETER_INTERPRETER_H

#include "ir/dl/DLOps.h"
#include "ir/interpreter/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>

namespace dlc {

struct InterpreterOptions {
  /// Round floats to their type at each op's result, as a target without fusion does. Otherwise
  /// they stay double, and only conversions round (casts are part of what a model means).
  bool roundResults = false;
  /// Gives the elements of a weight; where it fails, it has reported why. Weights are asked for
  /// once in each run.
  std::function<mlir::FailureOr<Tensor>(dl::WeightOp)> readWeight;
  /// Sees each op of the function (not those within fusions) after it ran, with its results.
  std::function<void(mlir::Operation *, llvm::ArrayRef<Tensor>)> observe;
};

/// Gives the counted ones of `symbols` (#dl.symbol), at the end of which they may be missing, their
/// largest values, and the derived ones the values that follow from those before them.
void bindComputed(mlir::ModuleOp module, llvm::SmallVectorImpl<int64_t> &symbols);

/// The values of the module's symbols for which the arguments of `function` have the dims of
/// `inputs`, in the order of `dl.symbols`. Fails, with an error at the function, where there is
/// none or where it lies outside a symbol's range.
mlir::FailureOr<llvm::SmallVector<int64_t>> bindSymbols(mlir::func::FuncOp function,
                                                        llvm::ArrayRef<Tensor> inputs);

/// Runs `function` and returns what a caller gets: counted dims (#dl.symbol) cut to their real
/// sizes, their counts left out. `symbols` are the values of the module's symbols (see
/// bindSymbols); `inputs` have the types of the arguments under them. Fails, with an error at the
/// op, where an op is not one of dl.
mlir::FailureOr<llvm::SmallVector<Tensor>> interpret(mlir::func::FuncOp function,
                                                     llvm::ArrayRef<Tensor> inputs,
                                                     llvm::ArrayRef<int64_t> symbols,
                                                     const InterpreterOptions &options = {});

/// The same for a block of dl ops with a terminator: the body of a fusion, or what a dlx.kernel
/// means.
mlir::FailureOr<llvm::SmallVector<Tensor>> interpretBlock(mlir::Block &block,
                                                          llvm::ArrayRef<Tensor> inputs,
                                                          llvm::ArrayRef<int64_t> symbols,
                                                          const InterpreterOptions &options = {});

} // namespace dlc

#endif // DLC_IR_INTERPRETER_INTERPRETER_H
