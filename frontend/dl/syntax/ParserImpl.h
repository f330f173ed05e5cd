//===- ParserImpl.h - The recursive-descent parser of the language ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Parser.cpp (files, recovery), ParseMembers.cpp (models and blocks),
// ParseSequential.cpp, ParseWeights.cpp, ParseForward.cpp (statements), ParseExpr.cpp and
// ParseOperators.cpp.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_SYNTAX_PARSERIMPL_H
#define DLC_FRONTEND_DL_SYNTAX_PARSERIMPL_H

#include "frontend/dl/syntax/AST.h"
#include "frontend/dl/syntax/Lexer.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dlc::frontend {

/// Elements of one list in the text: inputs, arguments, targets of an assignment.
inline constexpr size_t kMaxListed = 4096;

/// A `parse...` that fails has reported why, and leaves the parser where it failed; false or null
/// says so. Callers that can go on recover by skipping.
class Parser {
public:
  Parser(llvm::StringRef buffer, Diagnostics &diagnostics)
      : diagnostics(diagnostics), lexer(buffer, diagnostics), token(lexer.lex()),
        previousEnd(token.getLoc()) {}

  SourceFile parseFile();
  /// Statements up to the end of the buffer; false after an error.
  bool parseAllStatements(std::vector<StatementPtr> &body);

private:
  //===- Tokens -------------------------------------------------------------------------------===//
  void advance();
  bool at(Token::Kind kind) const { return token.is(kind); }
  /// A token that goes on with the line before it: outside brackets it must stand on the same line.
  bool atOperator(Token::Kind kind) const;
  /// Nothing but a space may not stand between this token and the last one.
  bool isAdjacent() const { return token.getLoc() == previousEnd; }
  bool consumeIf(Token::Kind kind);
  /// Consumes `kind`, or reports "expected ... in `context`, got ...".
  bool expect(Token::Kind kind, const llvm::Twine &context);
  std::optional<Identifier> expectName(llvm::StringRef what);
  /// Reports that `what` was expected, in a bracket opened at `open`; a token that begins a line is
  /// not to blame for the line before.
  void unexpected(const llvm::Twine &what, llvm::SMLoc open = {});
  /// Skips the rest of a statement: up to a new line outside the brackets opened meanwhile, or a
  /// closing brace.
  void skipStatement();
  /// Skips to the next declaration of the file.
  void skipDeclaration();
  /// At a word that begins a declaration of the file.
  bool atDeclaration() const;
  /// One level deeper; false, reported, beyond kMaxNesting. `leave` ends it.
  bool enter();
  void leave() { nesting = nesting ? nesting - 1 : 0; }
  /// Elements between brackets, separated by commas, a trailing comma allowed; the opening one is
  /// consumed already.
  bool parseList(Token::Kind close, llvm::SMLoc open, llvm::StringRef context,
                 llvm::function_ref<bool()> element);
  /// Reports a list of more than kMaxListed elements.
  bool failLong();
  /// What stands between braces, `before` and `atEnd` being for errors about these. An element that
  /// fails is skipped. Where the first brace is missing: false, or with `goesOn`, what follows is
  /// read as if it were there.
  bool parseBraces(const llvm::Twine &before, const llvm::Twine &atEnd, bool goesOn,
                   llvm::function_ref<bool()> element);

  //===- Files --------------------------------------------------------------------------------===//
  void parseVersion(SourceFile &file);
  bool parseDim(SourceFile &file);
  bool parseConst(ConstDecl &constant);
  bool parseWeights(SourceFile &file);
  bool parseWeightRule(WeightsDecl &decl);
  bool parseRenames(std::vector<TextPair> &renames);
  bool parsePair(std::vector<TextPair> &pairs, Token::Kind joint, llvm::StringRef what);
  bool parseTexts(std::vector<QuotedText> &texts, llvm::StringRef what);
  bool parseText(QuotedText &text, llvm::StringRef what);
  bool parseInclude(SourceFile &file);
  bool parseSequential(SourceFile &file);
  bool parseEntry(SequentialDecl &decl);

  //===- Models and blocks --------------------------------------------------------------------===//
  bool parseBlock(std::vector<BlockDecl> &blocks, bool isModel);
  bool parseParameter(BlockDecl &block);
  /// `block` is null inside of `for` and `if`, where no forward may stand.
  bool parseMember(std::vector<MemberPtr> &members, BlockDecl *block);
  bool parseLayer(LayerDecl &layer);
  bool parseState(Port &port);
  bool parsePath(LayerDecl &layer);
  bool parseLoopMember(std::vector<MemberPtr> &members);
  bool parseBranchMember(std::vector<MemberPtr> &members);
  bool parseMembers(std::vector<MemberPtr> &members);
  bool parseLoopHead(LoopHead &head);
  bool parseAnnotations(std::vector<Annotation> &annotations);

  //===- Forward ------------------------------------------------------------------------------===//
  bool parseForward(BlockDecl &block);
  bool parsePorts(std::vector<Port> &ports, llvm::StringRef what, bool isModel, bool isInput);
  bool parsePort(Port &port, bool isModel, bool isInput);
  bool parseType(TypeSpec &type, bool mayBeOpen);
  bool parseStatement(std::vector<StatementPtr> &body);
  bool atUpdate() const;
  bool parseAssignment(std::vector<StatementPtr> &body);
  bool parseLoopStatement(std::vector<StatementPtr> &body);
  bool parseWhileStatement(std::vector<StatementPtr> &body);
  bool parseBranchStatement(std::vector<StatementPtr> &body);
  bool parseStatements(std::vector<StatementPtr> &body);
  bool parseTargets(Target &target);

  //===- Expressions --------------------------------------------------------------------------===//
  ExprPtr parseExpr();
  ExprPtr parseOperators(unsigned least);
  ExprPtr parseUnary();
  ExprPtr parsePower();
  ExprPtr parsePostfix();
  ExprPtr parsePrimary();
  ExprPtr parseNumber();
  ExprPtr parseString();
  ExprPtr parseElements(Token::Kind close, llvm::StringRef context);
  ExprPtr parseCall(ExprPtr callee, llvm::SMLoc loc);
  ExprPtr parseSubscript(ExprPtr base);
  ExprPtr parseAttribute(ExprPtr base);
  bool parseIndex(Index &index);
  bool parseArguments(std::vector<Argument> &arguments, llvm::StringRef callee);
  ExprPtr makeBinary(BinaryOp op, llvm::SMLoc loc, ExprPtr lhs, ExprPtr rhs);
  /// Sets the depth of `expr` from `children`; reports and returns null where it is too deep.
  ExprPtr withDepth(ExprPtr expr, std::initializer_list<const Expr *> children);

  Diagnostics &diagnostics;
  Lexer lexer;
  Token token;
  llvm::SMLoc previousEnd;
  unsigned brackets = 0; // open ( and [: line ends do not count within
  unsigned nesting = 0;
  bool hasGaps = false;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SYNTAX_PARSERIMPL_H
