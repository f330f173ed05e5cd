//===- ParserImpl.h - The recursive-descent parser of the language ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Parser.cpp (declarations, recovery) and ParseExpr.cpp (expressions).
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_PARSERIMPL_H
#define DLC_FRONTEND_DL_PARSERIMPL_H

#include "frontend/dl/AST.h"
#include "frontend/dl/Lexer.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dlc::frontend {

/// A `parse...` that fails has reported why, and leaves the parser where it failed; false or null
/// says so. Callers that can go on recover by skipping.
class Parser {
public:
  Parser(llvm::StringRef buffer, Diagnostics &diagnostics)
      : diagnostics(diagnostics), lexer(buffer, diagnostics), token(lexer.lex()),
        previousEnd(token.getLoc()) {}

  SourceFile parseFile();

private:
  //===- Tokens
  //-----------------------------------------------------------------------------------===//
  void advance();
  bool at(Token::Kind kind) const { return token.is(kind); }
  bool consumeIf(Token::Kind kind);
  /// Consumes `kind`, or reports "expected ... in `context`, got ...".
  bool expect(Token::Kind kind, llvm::StringRef context);
  std::optional<Identifier> expectName(llvm::StringRef what);
  /// Reports that `what` was expected, in a bracket opened at `open`; a token that begins a line is
  /// not to blame for the line before.
  void unexpected(const llvm::Twine &what, llvm::SMLoc open = {});
  /// Skips the rest of a statement: up to a new line outside the brackets opened meanwhile, or a
  /// closing brace.
  void skipStatement();
  /// Skips to the next declaration of the file.
  void skipDeclaration();

  //===- Declarations
  //-----------------------------------------------------------------------------===//
  void parseVersion(SourceFile &file);
  bool parseDim(SourceFile &file);
  bool parseConst(std::vector<ConstDecl> &constants);
  bool parseWeights(SourceFile &file);
  bool parseModel(SourceFile &file);
  bool parseMember(ModelDecl &model);
  bool parseForward(ModelDecl &model);
  bool parsePorts(std::vector<Port> &ports, llvm::StringRef what);
  bool parsePort(Port &port);
  bool parseStatement(std::vector<Statement> &body);
  bool parseTargets(std::vector<Identifier> &targets);
  /// Elements between brackets, separated by commas, a trailing comma allowed; the opening one is
  /// consumed already.
  bool parseList(Token::Kind close, llvm::SMLoc open, llvm::StringRef context,
                 llvm::function_ref<bool()> element);

  //===- Expressions
  //------------------------------------------------------------------------------===//
  ExprPtr parseExpr();
  ExprPtr parseTerm();
  ExprPtr parseUnary();
  ExprPtr parsePostfix();
  ExprPtr parsePrimary();
  ExprPtr parseNumber();
  ExprPtr parseString();
  ExprPtr parseParenthesized();
  ExprPtr parseSubscript(ExprPtr base);
  bool parseIndex(Index &index);
  bool parseArguments(std::vector<Argument> &arguments, llvm::StringRef callee);
  bool atOperator(Token::Kind kind) const;
  /// Sets the depth of `expr` from `children`; reports and returns null where it is too deep.
  ExprPtr withDepth(ExprPtr expr, std::initializer_list<const Expr *> children);
  bool enter();

  Diagnostics &diagnostics;
  Lexer lexer;
  Token token;
  llvm::SMLoc previousEnd;
  unsigned brackets = 0; // open ( and [: line ends do not count within
  unsigned nesting = 0;
  bool hasGaps = false;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_PARSERIMPL_H
