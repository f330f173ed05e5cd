//===- Lexer.cpp - Text of a model to tokens ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Lexer.h"

#include "frontend/dl/syntax/Hints.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;

namespace dlc::frontend {

bool Token::isName() const {
  switch (kind) {
  case identifier:
#define KEYWORD(kind, spelling) case kind:
#include "frontend/dl/syntax/Tokens.def"
    return true;
  default:
    return false;
  }
}

StringRef describe(Token::Kind kind) {
  switch (kind) {
  case Token::integer:
    return "an integer";
#define PUNCTUATION(kind, spelling)                                                                \
  case Token::kind:                                                                                \
    return "'" spelling "'";
#define KEYWORD(kind, spelling) PUNCTUATION(kind, spelling)
#define LITERAL(kind, spelling) PUNCTUATION(kind, spelling)
#include "frontend/dl/syntax/Tokens.def"
  default:
    llvm_unreachable("a kind of token that nobody expects by its kind alone");
  }
}

std::string Token::describe() const {
  if (kind == endOfFile)
    return "the end of the file";
  return quote(spelling);
}

Lexer::Lexer(StringRef buffer, Diagnostics &diagnostics)
    : diagnostics(diagnostics), cursor(buffer.begin()), end(buffer.end()) {
  if (buffer.starts_with("\xEF\xBB\xBF"))
    cursor += 3;
}

void Lexer::skipSpace() {
  for (; cursor != end; ++cursor) {
    if (*cursor == '\n')
      atLineStart = true;
    else if (*cursor == '#')
      cursor = std::find(cursor, end, '\n') - 1; // the newline itself comes next
    else if (*cursor != ' ' && *cursor != '\t' && *cursor != '\r')
      return;
  }
}

char Lexer::peekOnLine() const {
  const char *next = cursor;
  while (next != end && (*next == ' ' || *next == '\t'))
    ++next;
  return next == end ? 0 : *next;
}

bool Lexer::isBeforeAssignment() const {
  const char *next = cursor;
  while (next != end && (*next == ' ' || *next == '\t'))
    ++next;
  return next != end && *next == '=' && (next + 1 == end || next[1] != '=');
}

Token Lexer::make(Token::Kind kind) {
  Token token(kind, StringRef(tokenStart, cursor - tokenStart), atLineStart);
  atLineStart = false;
  return token;
}

static bool isWordStart(char c) { return isAlpha(c) || c == '_'; }
static bool isWordPart(char c) { return isAlnum(c) || c == '_'; }

Token Lexer::lex() {
  skipSpace();
  // Read before the token begins: `a@b` and `a @ b` are products, `f(x) @f32` ends in an
  // annotation.
  bool isSpaced = !tokenStart || isSpace(cursor[-1]);
  if (diagnostics.isFull()) // nobody would see what else is wrong
    cursor = end;
  tokenStart = cursor;
  if (cursor == end)
    return make(Token::endOfFile);
  if (isWordStart(*cursor))
    return lexWord();
  if (isDigit(*cursor) || (*cursor == '.' && isDigit(peek(1))))
    return lexNumber();
  if (*cursor == '"' || *cursor == '\'')
    return lexString();
  if (*cursor == '@' && isSpaced && isWordStart(peek(1)))
    return lexAnnotation();
  // Longest spelling first.
  StringRef rest(cursor, std::min<size_t>(end - cursor, 3));
  for (size_t length : {3, 2, 1}) {
    int kind = StringSwitch<int>(rest.take_front(length))
#define PUNCTUATION(kind, spelling) .Case(spelling, Token::kind)
#include "frontend/dl/syntax/Tokens.def"
                   .Default(-1);
    if (kind >= 0 && rest.size() >= length) {
      cursor += length;
      return make(static_cast<Token::Kind>(kind));
    }
  }
  return lexStray();
}

Token Lexer::lexWord() {
  bool dotted = false;
  while (isWordPart(peek())) {
    while (isWordPart(peek()))
      ++cursor;
    if (peek() != '.' || !isWordPart(peek(1)))
      break;
    dotted = true;
    ++cursor;
  }
  if (static_cast<size_t>(cursor - tokenStart) > kMaxNameBytes) {
    diagnostics.error(SMLoc::getFromPointer(tokenStart))
        << "this name has " << cursor - tokenStart << " characters; the limit is " << kMaxNameBytes;
    return make(Token::error);
  }
  if (dotted)
    return make(Token::identifier);
  StringRef word(tokenStart, cursor - tokenStart);
  if (word.size() == 1 && StringRef("fFrRbBuU").contains(word.front()) &&
      (peek() == '"' || peek() == '\'')) {
    diagnostics.error(SMLoc::getFromPointer(tokenStart))
        << "a string has no prefix here; write it without the " << quote(word);
    (void)lexString();
    return make(Token::error);
  }
  return make(static_cast<Token::Kind>(StringSwitch<int>(StringRef(tokenStart, cursor - tokenStart))
#define KEYWORD(kind, spelling) .Case(spelling, Token::kind)
#define LITERAL(kind, spelling) .Case(spelling, Token::kind)
#include "frontend/dl/syntax/Tokens.def"
                                           .Default(Token::identifier)));
}

Token Lexer::lexAnnotation() {
  ++cursor;
  while (isWordPart(peek()))
    ++cursor;
  return make(Token::annotation);
}

Token Lexer::lexNumber() {
  bool isFloat = false;
  while (isDigit(peek()))
    ++cursor;
  // The dots of `1..64` are a range.
  if (peek() == '.' && peek(1) != '.') {
    isFloat = true;
    ++cursor;
    while (isDigit(peek()))
      ++cursor;
  }
  if (peek() == 'e' || peek() == 'E') {
    size_t sign = peek(1) == '+' || peek(1) == '-';
    if (isDigit(peek(1 + sign))) {
      isFloat = true;
      cursor += 1 + sign;
      while (isDigit(peek()))
        ++cursor;
    }
  }
  if (isWordPart(peek())) {
    while (isWordPart(peek()))
      ++cursor;
    StringRef text(tokenStart, cursor - tokenStart);
    diagnostics.error(SMLoc::getFromPointer(tokenStart))
        << "expected a number or a name, got " << quote(text)
        << "; a name does not begin with a digit";
    return make(Token::error);
  }
  if (static_cast<size_t>(cursor - tokenStart) > kMaxNameBytes) {
    diagnostics.error(SMLoc::getFromPointer(tokenStart))
        << "this number has " << cursor - tokenStart << " characters; the limit is "
        << kMaxNameBytes;
    return make(Token::error);
  }
  return make(isFloat ? Token::floating : Token::integer);
}

Token Lexer::lexString() {
  char quoteMark = *cursor++;
  while (cursor != end && *cursor != quoteMark && *cursor != '\n' && *cursor != '\0')
    cursor += *cursor == '\\' && cursor + 1 != end && cursor[1] != '\n' ? 2 : 1;
  if (peek() != quoteMark) {
    diagnostics.error(SMLoc::getFromPointer(tokenStart))
        << "this string does not end on its line; close it with " << StringRef(&quoteMark, 1);
    return make(Token::error);
  }
  ++cursor;
  const auto *bytes = reinterpret_cast<const UTF8 *>(tokenStart);
  if (!isLegalUTF8String(&bytes, reinterpret_cast<const UTF8 *>(cursor))) {
    diagnostics.error(SMLoc::getFromPointer(tokenStart))
        << "this string is not valid UTF-8; save the file as UTF-8";
    return make(Token::error);
  }
  return make(Token::string);
}

Token Lexer::lexStray() {
  // A run of strange characters is one error.
  auto isStray = [](char c) {
    return static_cast<unsigned char>(c) >= 0x80 ||
           (c < 0x20 && c != '\n' && c != '\t' && c != '\r');
  };
  if (!isStray(*cursor))
    ++cursor;
  else
    while (cursor != end && isStray(*cursor))
      ++cursor;
  StringRef text(tokenStart, cursor - tokenStart);
  auto error = diagnostics.error(SMLoc::getFromPointer(tokenStart));
  if (text.contains('\0'))
    error << "a model cannot hold a NUL byte; is this a text file?";
  else if (static_cast<unsigned char>(text.front()) >= 0x80)
    error << describeStray(text);
  else
    error << quote(text) << " has no meaning here; remove it";
  return make(Token::error);
}

} // namespace dlc::frontend
