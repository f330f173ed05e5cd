//===- ImportAsText.h - Foreign models as .dl text and safetensors ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_SOURCE_IMPORTASTEXT_H
#define DLC_TOOLS_DRIVER_SOURCE_IMPORTASTEXT_H

#include "frontend/dl/write/WriteDl.h"
#include "tools/driver/source/Import.h"

namespace dlc {

/// A model's text and what the weights file holds that it names.
struct ImportedText {
  std::string text, weightsFile;
  std::vector<onnx::NamedWeight> weights; // in the order of the file; empty: there is no file
};

/// The bytes of a weight that are not those of its file, by its name; null for others.
using ChangedWeight = llvm::function_ref<const std::vector<uint8_t> *(llvm::StringRef weight)>;

/// The text of an imported model that is to be written to `path`, and its weights, which are
/// for `weightsPath`, beside it. An ExitCode, reported unless it is kOk.
int textOf(ImportedModel &model, const std::string &path, const std::string &weightsPath,
           ImportedText &result, ChangedWeight changed = nullptr);

/// The safetensors file beside a .dl file that has its name, with `suffix` before the ending.
std::string weightsBeside(llvm::StringRef textPath, llvm::StringRef suffix = "");

/// Whether `path` names a .dl file; an ExitCode, reported unless it is kOk.
int checkTextName(const std::string &path);

/// Whether the file is not an input, and does not exist or may be replaced (`force`). To be called
/// early, and again when all inputs are known. An ExitCode, reported unless it is kOk.
int checkNew(const std::string &path, bool force);

struct NewFile {
  std::string path;
  llvm::StringRef bytes;
};

/// Writes the files in this order; all are checked before the first is written. An ExitCode,
/// reported unless it is kOk.
int writeNewFiles(llvm::ArrayRef<NewFile> files, bool force);

/// `dlc import`: an ExitCode; everything is reported.
int importAsText(const ImportAsTextOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_SOURCE_IMPORTASTEXT_H
