//===- PreTokenizer.h - Where a text is cut before its tokens are found -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_PRETOKENIZER_H
#define DLC_TOOLS_DRIVER_TEXT_PRETOKENIZER_H

#include "tools/driver/text/FileField.h"

#include <memory>
#include <vector>

namespace dlc::text {

/// A part of a text, never empty.
struct Piece {
  std::string text;
  bool isFirst; // nothing of the text comes before it
};

class PreTokenizer {
public:
  /// The file's field "pre_tokenizer"; null where it is absent, or with a problem of the field.
  static std::unique_ptr<PreTokenizer> read(const FileField &field);
  virtual ~PreTokenizer() = default;
  /// Cuts the pieces further, and rewrites them. False with a problem.
  virtual bool apply(std::vector<Piece> &pieces, Problem &problem) const = 0;
};

/// Where the spaces of a text become another character, as SentencePiece has it. The decoder turns
/// it back.
struct SpaceCharacter {
  std::string replacement;
  enum class Prepend { never, first, always } prepend; // before texts that do not begin with it
  bool split;
  /// Reads a field of type Metaspace.
  static SpaceCharacter read(const FileField &field);
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_PRETOKENIZER_H
