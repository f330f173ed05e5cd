//===- Import.h - A model or IR file in a context of its own ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_SOURCE_IMPORT_H
#define DLC_TOOLS_DRIVER_SOURCE_IMPORT_H

#include "frontend/Frontend.h"
#include "ir/analysis/GivenShapes.h"
#include "tools/driver/base/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <string>

namespace mlir {
class SourceMgrDiagnosticHandler;
}

namespace dlc {

struct ImportRequest {
  std::string path;
  std::vector<std::string> weights;
  bool withoutWeights;
  bool isIR;              // MLIR text instead of a model
  std::string model = {}; // which of the file; empty: its only one
  std::vector<std::string> constInputs = {};
  std::vector<std::string> states = {};
  ShapeOptions shapes = {};
  bool mayLackWeights = false; // a text that names none has weights that are bound to no bytes
};

/// As the frontend takes them.
GivenShapes givenShapes(const ShapeOptions &options);

/// A context whose dialects are loaded when they are needed.
struct SourceContext {
  SourceContext();
  ~SourceContext();
  /// From now on diagnostics are printed with the line that they are about and a caret; texts of
  /// `sources` stand for files of their names.
  void printDiagnostics();
  std::unique_ptr<mlir::MLIRContext> context;
  llvm::SourceMgr sources;
  std::shared_ptr<mlir::SourceMgrDiagnosticHandler> diagnostics; // its destructor is not virtual
};

/// A module and all that it needs to live; diagnostics are printed.
struct ImportedModel : SourceContext {
  ImportedModel();
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Whether the file can be read as a model's text; an ExitCode, reported unless it is kOk.
int checkReadable(const std::string &path);
/// The text of the model `path`, or of standard input for "-"; an ExitCode, reported unless it is
/// kOk.
int readModelText(const std::string &path, std::unique_ptr<llvm::MemoryBuffer> &text);

/// Whether the file's name is that of a model, and --weights and --model fit it; an ExitCode,
/// reported unless it is kOk.
int checkModelName(const std::string &path, llvm::ArrayRef<std::string> weights,
                   const std::string &model);

/// Whether each file of --weights can be read; an ExitCode, reported unless it is kOk.
int checkWeights(llvm::ArrayRef<std::string> weights);

/// Whether --state fits the file; an ExitCode, reported unless it is kOk.
int checkStates(const std::string &path, llvm::ArrayRef<std::string> states);

/// The ExitCode for a file that is not imported for this reason.
int exitCodeOf(ImportFault fault);

/// Reads the file; an ExitCode, reported unless it is kOk.
int importModel(const ImportRequest &request, ImportedModel &model);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_SOURCE_IMPORT_H
