//===- FormatWords.h - Tokens with their comments, and where spaces stand -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the formatter. Words are judged by their spelling and neighbours alone: the layout
// does not depend on what the parser makes of them.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_FORMAT_FORMATWORDS_H
#define DLC_FRONTEND_DL_FORMAT_FORMATWORDS_H

#include "frontend/dl/syntax/Lexer.h"

#include <vector>

namespace dlc::frontend {

/// A comment on a line of its own.
struct OwnComment {
  llvm::StringRef text;
  bool blankBefore; // an empty line stands before it
};

/// A token, what is written around it, and how it joins its neighbours.
struct Word {
  Token::Kind kind;
  llvm::StringRef text;
  bool startsLine;
  bool blankBefore = false; // an empty line before it, or between it and the last of `comments`
  std::vector<OwnComment> comments = {}; // on the lines above
  llvm::StringRef trailing = {};         // the comment behind it on its line

  bool spaceBefore = false; // where both stand on one line
  bool isBinary = false;    // an operator between two operands: a line may end behind it
  /// Of a bracket or brace: the position of its partner; kNone for other words.
  size_t match = kNone;
  /// Of an opening bracket: what it holds may be spread over lines.
  bool mayBreak = false;

  static constexpr size_t kNone = ~size_t(0);
  bool is(llvm::StringRef spelling) const { return text == spelling; }
  bool isName() const { return kind == Token::identifier || isWordLike; }
  bool isWordLike = false; // a keyword or literal
};

/// All tokens of `text`, the last one the end of the file; an error of the lexer gives words of
/// kind `error`.
std::vector<Word> scanWords(llvm::StringRef text, Diagnostics &diagnostics);

/// Sets `spaceBefore`, `isBinary`, `match` and `mayBreak`.
void joinWords(std::vector<Word> &words);

/// The `words` one below another, each line indented and at most kFormatColumns long where it can
/// be broken.
std::string layOut(const std::vector<Word> &words);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_FORMAT_FORMATWORDS_H
