//===- Document.h - A text that an editor holds, and what the compiler makes of it --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_LSP_DOCUMENT_H
#define DLC_TOOLS_DRIVER_LSP_DOCUMENT_H

#include "frontend/dl/syntax/SourceIndex.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/LSP/Protocol.h"

#include <map>
#include <optional>

namespace dlc {

/// The texts of all open documents, by path.
using OpenTexts = llvm::StringMap<std::string>;

/// One open .dl file.
class Document {
public:
  Document(llvm::lsp::URIForFile uri, int64_t version) : version(version), uri(std::move(uri)) {}

  /// What `dlc check` reports, by file: the includes of a model may be at fault. Always has an
  /// entry for this file.
  using Findings = std::map<std::string, std::vector<llvm::lsp::Diagnostic>>;
  Findings analyze(const OpenTexts &texts);

  std::optional<llvm::lsp::Hover> hover(llvm::StringRef text, llvm::lsp::Position position) const;
  std::vector<llvm::lsp::Location> definition(const OpenTexts &texts,
                                              llvm::lsp::Position position) const;
  std::vector<llvm::lsp::DocumentSymbol> symbols(llvm::StringRef text) const;
  /// One edit that puts the whole text into its canonical layout; none where it has syntax errors
  /// or is so already.
  std::vector<llvm::lsp::TextEdit> format(llvm::StringRef text) const;

  const llvm::lsp::URIForFile &getUri() const { return uri; }
  /// Of the last text that could be read; names of one that cannot be read right now stay known.
  const SourceIndex &getIndex() const { return index; }

  int64_t version;
  /// Files that this document's analysis had findings in, itself apart.
  std::vector<std::string> reportedFiles;

private:
  const Mention *mentionAt(llvm::StringRef text, llvm::lsp::Position position) const;

  llvm::lsp::URIForFile uri;
  SourceIndex index;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_LSP_DOCUMENT_H
