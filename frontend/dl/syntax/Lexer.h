//===- Lexer.h - Text of a model to tokens ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_SYNTAX_LEXER_H
#define DLC_FRONTEND_DL_SYNTAX_LEXER_H

#include "frontend/dl/syntax/Diagnostics.h"

#include "llvm/ADT/StringRef.h"

namespace dlc::frontend {

/// Of a name with its dots: its parts are looked up one by one.
inline constexpr size_t kMaxNameBytes = 1024;

/// A piece of the source buffer; its spelling points into the buffer.
class Token {
public:
  enum Kind {
#define TOKEN(kind) kind,
#include "frontend/dl/syntax/Tokens.def"
  };

  Token(Kind kind, llvm::StringRef spelling, bool startsLine)
      : kind(kind), startsLine(startsLine), spelling(spelling) {}

  Kind getKind() const { return kind; }
  llvm::StringRef getSpelling() const { return spelling; }
  llvm::SMLoc getLoc() const { return llvm::SMLoc::getFromPointer(spelling.begin()); }
  llvm::SMLoc getEndLoc() const { return llvm::SMLoc::getFromPointer(spelling.end()); }
  /// First on its line. A statement ends where a line ends, brackets apart.
  bool isFirstOnLine() const { return startsLine; }

  bool is(Kind other) const { return kind == other; }
  /// An identifier, or a keyword where it cannot be meant as one.
  bool isName() const;
  /// For messages: "'('", "end of file".
  std::string describe() const;

private:
  Kind kind;
  bool startsLine;
  llvm::StringRef spelling;
};

/// "'('", "a name": what a token of the kind looks like, for messages.
llvm::StringRef describe(Token::Kind kind);

/// Makes tokens of the main buffer of a SourceMgr, on demand. Errors (stray characters, unfinished
/// strings) are reported once and give `error` tokens.
///
/// A name with dots is one identifier: layer1.0.conv1 would otherwise hold the number `0.`. UTF-8
/// is accepted in comments and strings; a byte-order mark and CRLF are skipped.
class Lexer {
public:
  Lexer(llvm::StringRef buffer, Diagnostics &diagnostics);
  Token lex();
  /// The character that follows on the line of the last token, spaces apart; 0 at the end.
  char peekOnLine() const;
  /// A single '=' follows on the line of the last token.
  bool isBeforeAssignment() const;

private:
  void skipSpace();
  Token make(Token::Kind kind);
  Token lexWord();
  Token lexAnnotation();
  Token lexNumber();
  Token lexString();
  Token lexStray();
  char peek(size_t ahead = 0) const {
    return static_cast<size_t>(end - cursor) > ahead ? cursor[ahead] : 0;
  }

  Diagnostics &diagnostics;
  const char *cursor, *end, *tokenStart = nullptr;
  bool atLineStart = true;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SYNTAX_LEXER_H
