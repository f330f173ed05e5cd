//===- WriteDl.h - Imported models as text of the language --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_WRITE_WRITEDL_H
#define DLC_FRONTEND_DL_WRITE_WRITEDL_H

#include "frontend/dl/write/Program.h"

namespace dlc::onnx {

/// The text of a module that an import made, with `weightsFile` in its weights clause. Ops with
/// weights are layers again; where the names of nodes show modules, those that are alike but for
/// numbers are one block, and calls of them in a row a loop. A value that one line alone uses
/// stands in that line while it is short; others are named after the function that makes them.
/// `weights` are filled with what the file must hold.
std::string writeDl(mlir::ModuleOp module, llvm::StringRef weightsFile,
                    std::vector<NamedWeight> &weights);

/// Returns the symbols that the data decide: those that are counted or read.
llvm::SmallBitVector symbolsOfData(mlir::ModuleOp module);
/// Returns the declaration of a symbol that they do not decide, "dim N = 1..64" in a line.
std::string dimDeclaration(dl::SymbolAttr symbol, mlir::ModuleOp module);

/// The first op of the module that no text makes, as decompositions alone make it; null where
/// writeDl can write the module.
mlir::Operation *opWithoutText(mlir::ModuleOp module);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_DL_WRITE_WRITEDL_H
