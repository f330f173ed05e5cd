//===- Parser.cpp - Tokens to syntax: declarations, statements, recovery --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Parser.h"

#include "frontend/dl/ParserImpl.h"
#include "frontend/dl/Spelling.h"

#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace dlc::frontend {

SourceFile parseSource(StringRef buffer, Diagnostics &diagnostics) {
  return Parser(buffer, diagnostics).parseFile();
}

//===- Tokens
//-------------------------------------------------------------------------------------===//

void Parser::advance() {
  previousEnd = token.getEndLoc();
  token = lexer.lex();
}

bool Parser::consumeIf(Token::Kind kind) {
  if (!at(kind))
    return false;
  advance();
  return true;
}

void Parser::unexpected(const Twine &what, SMLoc open) {
  // Of an error token the lexer has said what there is to say.
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

bool Parser::expect(Token::Kind kind, StringRef context) {
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

void Parser::skipDeclaration() {
  brackets = nesting = 0;
  for (int open = 0; !at(Token::endOfFile); advance()) {
    bool begins =
        at(Token::kwModel) || at(Token::kwDim) || at(Token::kwConst) || at(Token::kwWeights);
    if (begins && token.isFirstOnLine() && open <= 0)
      return;
    open += at(Token::leftBrace) - at(Token::rightBrace);
  }
}

bool Parser::parseList(Token::Kind close, SMLoc open, StringRef context,
                       function_ref<bool()> element) {
  ++brackets;
  scope_exit leave([&] { brackets = brackets ? brackets - 1 : 0; });
  while (!at(close)) {
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

//===- File
//---------------------------------------------------------------------------------------===//

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
      good = parseConst(file.constants);
      break;
    case Token::kwWeights:
      good = parseWeights(file);
      break;
    case Token::kwModel:
      good = parseModel(file);
      break;
    case Token::semicolon:
      advance();
      continue;
    default:
      if (!at(Token::error)) {
        diagnostics.error(token.getLoc())
            << "expected 'dim', 'const', 'model' or 'weights', got " << token.describe()
            << didYouMean(token.getSpelling(), {"dim", "const", "model", "weights"});
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
  DimDecl dim{*name, nullptr, nullptr};
  if (consumeIf(Token::equal)) {
    if (!(dim.min = parseExpr()) ||
        !expect(Token::range, "and a largest value, as in 'dim N = 1..64'") ||
        !(dim.max = parseExpr()))
      return false;
  }
  file.dims.push_back(std::move(dim));
  return true;
}

bool Parser::parseConst(std::vector<ConstDecl> &constants) {
  advance();
  auto name = expectName("the name of a constant");
  if (!name || !expect(Token::equal, "and a value, as in 'const HIDDEN = 128'"))
    return false;
  ConstDecl constant{*name, parseExpr()};
  if (!constant.value)
    return false;
  constants.push_back(std::move(constant));
  return true;
}

bool Parser::parseWeights(SourceFile &file) {
  SMLoc loc = token.getLoc();
  advance();
  if (!at(Token::string)) {
    unexpected("the name of a file after 'weights', as in 'weights \"model.safetensors\"'");
    return false;
  }
  ExprPtr path = parseString();
  if (!path)
    return false;
  file.weights.push_back({loc, cast<StringExpr>(*path).value});
  return true;
}

//===- Models
//-------------------------------------------------------------------------------------===//

bool Parser::parseModel(SourceFile &file) {
  advance();
  auto name = expectName("the name of the model");
  if (!name)
    return false;
  ModelDecl model;
  model.name = *name;
  SMLoc open = token.getLoc();
  if (consumeIf(Token::leftParen)) {
    auto parameter = [&] {
      auto name = expectName("the name of a parameter");
      if (!name || !expect(Token::equal, "and a default after a parameter, as in '(width=64)'"))
        return false;
      ConstDecl decl{*name, parseExpr()};
      bool good = decl.value != nullptr;
      model.parameters.push_back(std::move(decl));
      return good;
    };
    if (!parseList(Token::rightParen, open, "after the parameters of the model", parameter))
      return false;
  }
  open = token.getLoc();
  expect(Token::leftBrace,
         "before the layers of the model"); // without it, what follows is still the model
  while (!at(Token::rightBrace) && !at(Token::endOfFile) && !diagnostics.isFull()) {
    if (consumeIf(Token::semicolon))
      continue;
    // A declaration of the file, no layer of that name: the closing brace is missing.
    bool begins = at(Token::kwModel) || at(Token::kwDim) || at(Token::kwWeights);
    if (begins && token.isFirstOnLine() && lexer.peekOnLine() != ':')
      break;
    if (!parseMember(model))
      skipStatement();
  }
  if (!consumeIf(Token::rightBrace) && !diagnostics.isFull())
    unexpected("'}' at the end of model " + quote(model.name.name), open);
  file.models.push_back(std::move(model));
  return true;
}

bool Parser::parseMember(ModelDecl &model) {
  if (!token.isName()) {
    hasGaps = true;
    if (at(Token::error))
      return advance(), false;
    unexpected("a layer ('conv1: Conv2d(...)'), 'const' or 'forward'");
    advance();
    return false;
  }
  Token first = token;
  if (at(Token::kwConst) && lexer.peekOnLine() != ':') // `const: Linear(...)` is a layer
    return parseConst(model.constants) || !(hasGaps = true);
  advance();
  if (first.is(Token::kwForward) && at(Token::leftParen))
    return parseForward(model) || !(hasGaps = true);
  LayerDecl &layer = model.layers.emplace_back();
  layer.path = {first.getSpelling(), first.getLoc()};
  if (!expect(Token::colon,
              "and a layer after its name, as in 'conv1: Conv2d(1, 32, kernel_size=3)'"))
    return false;
  auto type = expectName("the kind of the layer, as in 'conv1: Conv2d(1, 32, kernel_size=3)'");
  if (!type)
    return false;
  if (!at(Token::leftParen)) {
    unexpected("'(' and the arguments of " + quote(type->name));
    return false;
  }
  if (!parseArguments(layer.arguments, type->name))
    return false;
  layer.type = *type;
  return true;
}

bool Parser::parsePort(Port &port) {
  auto name = expectName("the name of a tensor, as in 'x: f32[N,10]'");
  if (!name || !expect(Token::colon, "and a type, as in 'x: f32[N,10]'"))
    return false;
  port.name = *name;
  auto dtype = expectName("a dtype, as in 'f32[N,10]'");
  if (!dtype)
    return false;
  port.type.dtype = *dtype;
  SMLoc open = token.getLoc();
  if (!expect(Token::leftBracket,
              "and the dims after the dtype, as in 'f32[N,10]' (a scalar is 'f32[]')"))
    return false;
  return parseList(Token::rightBracket, open, "after a dim", [&] {
    port.type.dims.push_back(parseExpr());
    return port.type.dims.back() != nullptr;
  });
}

bool Parser::parsePorts(std::vector<Port> &ports, StringRef what) {
  SMLoc open = token.getLoc();
  if (!expect(Token::leftParen, what))
    return false;
  return parseList(Token::rightParen, open, "after the type",
                   [&] { return parsePort(ports.emplace_back()); });
}

bool Parser::parseForward(ModelDecl &model) {
  ForwardDecl forward;
  forward.loc = SMLoc::getFromPointer(previousEnd.getPointer() - StringRef("forward").size());
  if (model.forward)
    diagnostics.error(forward.loc)
            .append("the model has a second 'forward'; expected one")
            .attachNote(diagnostics.translate(model.forward->loc))
        << "the first one";
  bool good =
      parsePorts(forward.inputs, "and the inputs of 'forward'") &&
      expect(Token::arrow, "and the outputs of 'forward', as in '-> (y: f32[N,10])'") &&
      parsePorts(forward.outputs, "and the outputs of 'forward', as in '-> (y: f32[N,10])'");
  if (!good) {
    // The body may still be read.
    hasGaps = true;
    brackets = nesting = 0;
    while (!at(Token::leftBrace) && !at(Token::rightBrace) && !at(Token::endOfFile))
      advance();
    if (!at(Token::leftBrace))
      return false;
  }
  SMLoc open = token.getLoc();
  expect(Token::leftBrace,
         "before the statements of 'forward'"); // without it, what follows is still the body
  while (!at(Token::rightBrace) && !at(Token::endOfFile) && !diagnostics.isFull())
    if (!consumeIf(Token::semicolon) && !parseStatement(forward.body))
      skipStatement();
  if (!consumeIf(Token::rightBrace) && !diagnostics.isFull())
    unexpected("'}' at the end of 'forward'", open);
  if (!model.forward)
    model.forward = std::move(forward);
  return true;
}

//===- Statements
//---------------------------------------------------------------------------------===//

bool Parser::parseTargets(std::vector<Identifier> &targets) {
  do {
    if (consumeIf(Token::leftParen)) {
      if (!enter())
        return false;
      scope_exit leave([&] { nesting = nesting ? nesting - 1 : 0; });
      ++brackets;
      bool good = parseTargets(targets);
      brackets = brackets ? brackets - 1 : 0;
      if (!good || !expect(Token::rightParen, "after the names of a tuple"))
        return false;
      continue;
    }
    auto name = expectName("a statement such as 'x = relu(x)'");
    if (!name)
      return false;
    targets.push_back(*name);
  } while (consumeIf(Token::comma));
  return true;
}

bool Parser::parseStatement(std::vector<Statement> &body) {
  Statement statement;
  statement.loc = token.getLoc();
  if (!token.isName() && !at(Token::leftParen)) {
    if (at(Token::error))
      return advance(), false;
    diagnostics.error(token.getLoc())
        << "expected a statement such as 'x = relu(x)', got " << token.describe();
    advance();
    return false;
  }
  if (token.getSpelling() == "return") {
    diagnostics.error(token.getLoc())
        << "there is no 'return': assign to the name of the output instead";
    advance();
    return false;
  }
  if (!parseTargets(statement.targets))
    return false;
  if (!at(Token::equal)) {
    unexpected("'=' and an expression after " + quote(statement.targets.back().name));
    return false;
  }
  advance();
  statement.value = parseExpr();
  bool good = statement.value != nullptr;
  body.push_back(std::move(statement));
  if (!good)
    return false;
  if (token.isFirstOnLine() || at(Token::semicolon) || at(Token::rightBrace) ||
      at(Token::endOfFile))
    return true;
  unexpected("the end of the statement");
  return false;
}

} // namespace dlc::frontend
