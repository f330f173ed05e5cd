//===- Import.h - ONNX files as verified dl modules --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_IMPORT_H
#define DLC_FRONTEND_ONNX_IMPORT_H

#include "frontend/Frontend.h"
#include "frontend/onnx/ModelFile.h"

namespace dlc::onnx {

/// Imports an ONNX file, as dlc::importFile does a .dl file. Of the options, `withoutWeights`, `withoutHashes` and
/// `isUnsupported` count.
mlir::OwningOpRef<mlir::ModuleOp> importFile(llvm::StringRef path, const ImportOptions &options,
                                             mlir::MLIRContext &context);
/// The same for a file that has been read.
mlir::OwningOpRef<mlir::ModuleOp> importModel(std::unique_ptr<ModelFile> file,
                                              const ImportOptions &options,
                                              mlir::MLIRContext &context);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_IMPORT_H
