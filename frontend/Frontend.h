//===- Frontend.h - From a user's file to a verified dl module ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one header of the frontend that the driver includes to import models.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_FRONTEND_H
#define DLC_FRONTEND_FRONTEND_H

#include "frontend/dl/syntax/SourceIndex.h"
#include "ir/analysis/GivenShapes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <string>
#include <vector>

namespace dlc {

inline constexpr uint64_t kMaxSourceBytes = 64 << 20;

/// Why a file was not imported.
enum class ImportFault {
  ofModel,     // an error of the file or of what it names
  ofCall,      // the options name what it does not have
  unsupported, // what dlc cannot do alone, and no error of the file
  unreadable,  // a file that the options name cannot be read
  damaged      // ... or is not what it should be
};

struct ImportOptions {
  /// Replace the files of the `weights` clauses, whose rules still count: any number for one
  /// clause; for several, one for each file that they name, in order. As the user's own word they
  /// may lie anywhere; a clause may name only files in the folder of the model.
  std::vector<std::string> weights;
  /// Import without opening a weight file: `dl.weight` ops are then bound to no bytes.
  bool withoutWeights = false;
  /// A text that names no weights is imported as with `withoutWeights`.
  bool mayLackWeights = false;
  /// Bind weights without reading their bytes: all checks, but `dl.weight` ops have no hashes, so
  /// that the module is not to be compiled.
  bool withoutHashes = false;
  /// Texts that stand for files, by path: what an editor has not saved yet.
  const llvm::StringMap<std::string> *unsaved = nullptr;
  /// Filled with what the names of the text stand for, as far as an erroneous text lets it be
  /// known.
  SourceIndex *index = nullptr;
  /// The model of the file to import; empty: its only one.
  std::string model = {};
  /// A file of blocks for others to include may lack a model: it gives a module without functions
  /// or a name.
  bool mayLackModel = false;
  /// ONNX: inputs that are no inputs of the compiled model, but these numbers: "NAME=@FILE.npy".
  /// For shapes and axes.
  std::vector<std::string> constInputs = {};
  /// ONNX: inputs that are states, with the outputs that are their next values: "h0=hn", or
  /// "past.*=present.*", where the stars stand for the same text. Neither is an input or output of
  /// the compiled model.
  std::vector<std::string> states = {};
  /// Shapes of inputs that will come. They narrow the ranges of dims before any op is made, so that
  /// a model that is right for these sizes alone is accepted.
  GivenShapes shapes = {};
  /// Set where a file was refused for anything but an error of the model: `shapes` that contradict
  /// its inputs, say.
  ImportFault *fault = nullptr;
};

/// The text of a .dl file: the unsaved one, or what is on disk up to kMaxSourceBytes. Its
/// identifier is `path`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readSource(llvm::StringRef path,
                                                               const ImportOptions &options);

/// Whether the file is imported as ONNX: by its name's end, .onnx.
bool isOnnx(llvm::StringRef path);

/// Imports `path`, a .dl or .onnx file. Reports through the context's diagnostics, with locations
/// in the file as it was named: all errors of the file, up to 20. Null where there was one. The
/// module holds `func.func @forward` with the inputs and outputs named by the attribute `dl.name`,
/// and has been verified.
mlir::OwningOpRef<mlir::ModuleOp> importFile(llvm::StringRef path, const ImportOptions &options,
                                             mlir::MLIRContext &context);

} // namespace dlc

#endif // DLC_FRONTEND_FRONTEND_H
