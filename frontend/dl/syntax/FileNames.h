//===- FileNames.h - The files that a model's text names ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_SYNTAX_FILENAMES_H
#define DLC_FRONTEND_DL_SYNTAX_FILENAMES_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

/// The text between quotes by which a .dl text names a file.
struct FileName {
  std::string name;
  size_t begin, length; // in the text, with its quotes
};

struct FileNames {
  std::vector<FileName> weights; // of all weights clauses, in their order
  bool hasIncludes;              // the text includes others
};

/// The files that `source`, a .dl file, names itself. Syntax errors are reported through `context`,
/// and give nothing.
std::optional<FileNames> fileNamesOf(std::unique_ptr<llvm::MemoryBuffer> source,
                                     mlir::MLIRContext &context);

/// The text with other names for the files of weights: `names` has one for each name that `found`,
/// what fileNamesOf has found in `text`, has.
std::string withWeightFiles(llvm::StringRef text, const FileNames &found,
                            const llvm::StringMap<std::string> &names);

} // namespace dlc

#endif // DLC_FRONTEND_DL_SYNTAX_FILENAMES_H
