//===- TextPositions.h - Places of a text as editors count them ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The protocol counts lines and UTF-16 units from 0; the frontend counts lines and bytes from 1.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_LSP_TEXTPOSITIONS_H
#define DLC_TOOLS_DRIVER_LSP_TEXTPOSITIONS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LSP/Protocol.h"

#include <vector>

namespace dlc {

/// A text with the begins of its lines. Positions beyond an end mean that end.
class TextPositions {
public:
  explicit TextPositions(llvm::StringRef text);

  /// The byte that a position of the protocol names.
  size_t offsetOf(llvm::lsp::Position position) const;
  llvm::lsp::Position positionOf(size_t offset) const;
  /// Of a place of the frontend.
  size_t offsetOf(unsigned line, unsigned column) const;
  /// The word, number, string or single character that begins at `offset`.
  llvm::lsp::Range tokenAt(size_t offset) const;

private:
  llvm::StringRef lineAt(size_t line) const;

  llvm::StringRef text;
  std::vector<size_t> begins;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_LSP_TEXTPOSITIONS_H
