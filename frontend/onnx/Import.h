//===- Import.h - ONNX files as verified dl modules ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_IMPORT_H
#define DLC_FRONTEND_ONNX_IMPORT_H

#include "frontend/Frontend.h"
#include "frontend/onnx/read/ModelFile.h"

namespace dlc::onnx {

/// Imports an ONNX file, as dlc::importFile does a .dl file. Of the options, `withoutWeights`,
/// `withoutHashes` and `fault` count.
mlir::OwningOpRef<mlir::ModuleOp> importFile(llvm::StringRef path, const ImportOptions &options,
                                             mlir::MLIRContext &context);
/// As the ops of a model in the language.
inline constexpr size_t kMaxNodes = 32'768;

/// The same for a file that has been read. It may have `maxNodes` nodes, those of functions and
/// loops counted at each call and step: fewer end a bomb sooner.
mlir::OwningOpRef<mlir::ModuleOp> importModel(std::unique_ptr<ModelFile> file,
                                              const ImportOptions &options,
                                              mlir::MLIRContext &context,
                                              size_t maxNodes = kMaxNodes);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_IMPORT_H
