//===- PrependResults.h - More results of a model, before its own -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_BUFFERS_PREPENDRESULTS_H
#define DLC_PASSES_BUFFERS_PREPENDRESULTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace dlc {

/// Makes `values`, each with its name, outputs of the model, before those that it has. A function
/// of one block.
void prependResults(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> values,
                    llvm::ArrayRef<std::string> names);

} // namespace dlc

#endif // DLC_PASSES_BUFFERS_PREPENDRESULTS_H
