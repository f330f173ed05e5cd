//===- Parser.cpp - Tokens to syntax: files, recovery -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Parser.h"

#include "frontend/Spelling.h"
#include "frontend/dl/syntax/Hints.h"
#include "frontend/dl/syntax/ParserImpl.h"

#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace dlc::frontend {

SourceFile parseSource(StringRef buffer, Diagnostics &diagnostics) {
  return Parser(buffer, diagnostics).parseFile();
}

std::optional<std::vector<StatementPtr>> parseStatements(StringRef buffer,
                                                         Diagnostics &diagnostics) {
  std::vector<StatementPtr> body;
  if (!Parser(buffer, diagnostics).parseAllStatements(body))
    return std::nullopt;
  return body;
}

//===- Tokens ---------------------------------------------------------------------------------===//

void Parser::advance() {
  previousEnd = token.getEndLoc();
  token = lexer.lex();
}

bool Parser::atOperator(Token::Kind kind) const {
  return at(kind) && (brackets > 0 || !token.isFirstOnLine());
}

bool Parser::enter() {
  if (++nesting <= kMaxNesting)
    return true;
  diagnostics.error(token.getLoc())
      << "this is nested more than " << kMaxNesting << " deep; split it into several statements";
  return false;
}

bool Parser::consumeIf(Token::Kind kind) {
  if (!at(kind))
    return false;
  advance();
  return true;
}

void Parser::unexpected(const Twine &what, SMLoc open) {
  // The lexer has already reported an error token.
  if (at(Token::error))
    return;
  bool atLineEnd = token.isFirstOnLine() && !at(Token::endOfFile);
  auto error = diagnostics.error(atLineEnd || at(Token::endOfFile) ? previousEnd : token.getLoc());
  error << "expected " << what << ", got "
        << (atLineEnd ? "the end of the line" : token.describe());
  if (open.isValid())
    error.attachNote(diagnostics.translate(open))
        << "to match this " << StringRef(open.getPointer(), 1);
}

bool Parser::expect(Token::Kind kind, const Twine &context) {
  if (consumeIf(kind))
    return true;
  unexpected(describe(kind) + " " + context);
  return false;
}

std::optional<Identifier> Parser::expectName(StringRef what) {
  if (!token.isName()) {
    unexpected(what);
    return std::nullopt;
  }
  Identifier name{token.getSpelling(), token.getLoc()};
  advance();
  return name;
}

void Parser::skipStatement() {
  brackets = nesting = 0;
  unsigned open = 0;
  while (!at(Token::endOfFile)) {
    if (open == 0 && (at(Token::rightBrace) || at(Token::semicolon)))
      break;
    // A line that begins like a statement ends even open brackets: one that was never closed must
    // not swallow the file.
    if (token.isFirstOnLine() && (open == 0 || token.isName() || at(Token::rightBrace)))
      break;
    if (at(Token::leftParen) || at(Token::leftBracket) || at(Token::leftBrace))
      ++open;
    else if ((at(Token::rightParen) || at(Token::rightBracket) || at(Token::rightBrace)) &&
             open > 0)
      --open;
    advance();
  }
}

bool Parser::atDeclaration() const {
  switch (token.getKind()) {
  case Token::kwDim:
  case Token::kwInclude:
  case Token::kwBlock:
  case Token::kwModel:
  case Token::kwSequential:
  case Token::kwWeights:
    return token.isFirstOnLine();
  default:
    return false;
  }
}

void Parser::skipDeclaration() {
  brackets = nesting = 0;
  for (int open = 0; !at(Token::endOfFile); advance()) {
    bool begins = atDeclaration() || (at(Token::kwConst) && token.isFirstOnLine());
    if (begins && open <= 0)
      return;
    open += at(Token::leftBrace) - at(Token::rightBrace);
  }
}

bool Parser::parseList(Token::Kind close, SMLoc open, StringRef context,
                       function_ref<bool()> element) {
  ++brackets;
  scope_exit leave([&] { brackets = brackets ? brackets - 1 : 0; });
  for (size_t count = 0; !at(close);) {
    if (++count > kMaxListed)
      return failLong();
    if (!element())
      return false;
    if (consumeIf(Token::comma))
      continue;
    if (at(close))
      break;
    unexpected("',' or " + describe(close) + " " + context, open);
    return false;
  }
  // Not by consumeIf: the token after the bracket is read with the line rule of outside.
  advance();
  return true;
}

bool Parser::failLong() {
  diagnostics.error(token.getLoc())
      << "this list has more than " << kMaxListed << " elements; make it shorter";
  return false;
}

bool Parser::parseBraces(const Twine &before, const Twine &atEnd, bool goesOn,
                         function_ref<bool()> element) {
  SMLoc open = token.getLoc();
  unsigned level = nesting;
  bool isOpen = expect(Token::leftBrace, before);
  if (!isOpen && !goesOn)
    return false;
  if (!isOpen)
    consumeIf(Token::colon); // Python's
  while (!at(Token::rightBrace) && !at(Token::endOfFile) && !diagnostics.isFull()) {
    if (consumeIf(Token::semicolon))
      continue;
    // A declaration of the file, no member of that name: the closing brace is missing, unless the
    // indentation shows that it is meant to be here.
    if (atDeclaration() && StringRef(":([=.").find(lexer.peekOnLine()) == StringRef::npos) {
      bool isOneLine = at(Token::kwDim) || at(Token::kwInclude) || at(Token::kwWeights);
      if (!isOneLine || token.getLoc().getPointer()[-1] == '\n')
        break;
      diagnostics.error(token.getLoc())
          << token.describe() << " belongs to the file; move it out of these braces, to the front";
      hasGaps = true;
      advance();
      skipStatement();
      continue;
    }
    if (!element())
      skipStatement();
    nesting = level; // recovery forgets it
  }
  // Where the first brace is missing too, that has been reported.
  if (!consumeIf(Token::rightBrace) && isOpen && !diagnostics.isFull())
    unexpected("'}' " + atEnd, open);
  return true;
}

//===- Files ----------------------------------------------------------------------------------===//

SourceFile Parser::parseFile() {
  SourceFile file;
  parseVersion(file);
  while (!at(Token::endOfFile) && !diagnostics.isFull()) {
    bool good;
    switch (token.getKind()) {
    case Token::kwDim:
      good = parseDim(file);
      break;
    case Token::kwConst:
      good = parseConst(file.constants.emplace_back());
      if (!good)
        file.constants.pop_back();
      break;
    case Token::kwInclude:
      good = parseInclude(file);
      break;
    case Token::kwWeights:
      good = parseWeights(file);
      break;
    case Token::kwBlock:
      good = parseBlock(file.blocks, /*isModel=*/false);
      break;
    case Token::kwModel:
      good = parseBlock(file.models, /*isModel=*/true);
      break;
    case Token::kwSequential:
      good = parseSequential(file);
      break;
    case Token::semicolon:
      advance();
      continue;
    default:
      if (!at(Token::error)) {
        constexpr StringRef kDeclarations[] = {"dim",   "const",      "include", "block",
                                               "model", "sequential", "weights"};
        std::string hint = hintForStart(token.getSpelling());
        diagnostics.error(token.getLoc())
            << "expected 'dim', 'const', 'include', 'block', 'model', 'sequential' or 'weights', "
               "got "
            << token.describe()
            << (hint.empty() ? didYouMean(token.getSpelling(), kDeclarations) : hint);
      }
      good = false;
      advance();
    }
    if (!good) {
      hasGaps = true;
      skipDeclaration();
    }
  }
  file.hasGaps = hasGaps;
  return file;
}

void Parser::parseVersion(SourceFile &file) {
  SMLoc loc = token.getLoc();
  if (!at(Token::kwDl)) {
    if (!at(Token::error))
      diagnostics.error(loc) << "expected 'dl " << kLanguageVersion
                             << "' as the first line (the version of the language), got "
                             << token.describe();
    return;
  }
  advance();
  loc = token.getLoc();
  StringRef spelling = token.getSpelling();
  if (!expect(Token::integer, "after 'dl': the version of the language, 'dl 1'")) {
    skipStatement();
    return;
  }
  if (spelling.getAsInteger(10, file.version) || file.version != kLanguageVersion) {
    diagnostics.error(loc) << "this dlc reads version " << kLanguageVersion
                           << " of the language, the file is in version " << spelling
                           << "; write 'dl 1', or use a newer dlc";
    file.version = 0;
  }
}

bool Parser::parseDim(SourceFile &file) {
  advance();
  auto name = expectName("the name of a dim, as in 'dim N = 1..64'");
  if (!name)
    return false;
  DimDecl dim{*name, nullptr, nullptr, nullptr, nullptr};
  if (consumeIf(Token::equal)) {
    if (!(dim.min = parseExpr()))
      return false;
    if (dim.min->kind == Expr::Kind::call && !at(Token::range)) {
      dim.value = std::move(dim.min);
    } else if (!expect(Token::range, "and a largest value, as in 'dim N = 1..64'") ||
               !(dim.max = parseExpr())) {
      return false;
    }
    if (dim.max && at(Token::identifier) && token.getSpelling() == "step") {
      advance();
      if (!(dim.step = parseExpr()))
        return false;
    }
  }
  file.dims.push_back(std::move(dim));
  return true;
}

bool Parser::parseConst(ConstDecl &constant) {
  advance();
  auto name = expectName("the name of a constant, as in 'const HIDDEN = 128'");
  if (!name || !expect(Token::equal, "and a value, as in 'const HIDDEN = 128'"))
    return false;
  constant = {*name, parseExpr()};
  return constant.value != nullptr;
}

bool Parser::parseInclude(SourceFile &file) {
  SMLoc loc = token.getLoc();
  advance();
  if (!at(Token::string)) {
    unexpected("the name of a file after 'include', as in 'include \"blocks.dl\"'");
    return false;
  }
  ExprPtr path = parseString();
  if (!path)
    return false;
  file.includes.push_back({loc, cast<StringExpr>(*path).value});
  return true;
}

} // namespace dlc::frontend
