//===- ParseForward.cpp - Tokens to syntax: forward and its statements --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Hints.h"
#include "frontend/dl/syntax/ParserImpl.h"

#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace dlc::frontend {

//===- Ports ----------------------------------------------------------------------------------===//

bool Parser::parseType(TypeSpec &type, bool mayBeOpen) {
  auto dtype = expectName("a dtype, as in 'f32[N,10]'");
  if (!dtype)
    return false;
  type.dtype = *dtype;
  SMLoc open = token.getLoc();
  if (!expect(Token::leftBracket,
              "and the dims after the dtype, as in 'f32[N,10]' (a scalar is 'f32[]')"))
    return false;
  return parseList(Token::rightBracket, open, "after a dim", [&] {
    if (mayBeOpen && consumeIf(Token::question)) {
      type.dims.push_back(nullptr);
      return true;
    }
    if (at(Token::question)) {
      diagnostics.error(token.getLoc())
          << "'?' is allowed only in the type of a model output; write a "
             "number, or a dim if the size varies, as in 'dim N = "
             "1..64'";
      return false;
    }
    type.dims.push_back(parseExpr());
    return type.dims.back() != nullptr;
  });
}

bool Parser::parsePort(Port &port, bool isModel, bool isInput) {
  auto name = expectName("the name of a tensor, as in 'x: f32[N,10]'");
  if (!name)
    return false;
  port.name = *name;
  // The tensors of a block may be of any type.
  if (isModel || at(Token::colon))
    if (!expect(Token::colon, "and a type, as in 'x: f32[N,10]'") ||
        !parseType(port.type, /*mayBeOpen=*/isModel && !isInput))
      return false;
  if (!isModel && isInput && consumeIf(Token::equal))
    return (port.defaultValue = parseExpr()) != nullptr;
  return true;
}

bool Parser::parsePorts(std::vector<Port> &ports, StringRef what, bool isModel, bool isInput) {
  SMLoc open = token.getLoc();
  if (!expect(Token::leftParen, what))
    return false;
  return parseList(Token::rightParen, open, isModel ? "after the type" : "after a tensor", [&] {
    Port &port = ports.emplace_back();
    if (!parsePort(port, isModel, isInput))
      return false;
    if (ports.size() < 2 || port.defaultValue || !ports[ports.size() - 2].defaultValue)
      return true;
    diagnostics.error(port.name.loc) << "the input " << quote(port.name.name)
                                     << " without default cannot follow one with a default; move "
                                        "it to the front";
    return false;
  });
}

bool Parser::parseForward(BlockDecl &block) {
  ForwardDecl forward;
  forward.loc = SMLoc::getFromPointer(previousEnd.getPointer() - StringRef("forward").size());
  if (block.forward)
    diagnostics.error(forward.loc)
            .append("the ", block.isModel ? "model" : "block",
                    " has a second 'forward'; expected one")
            .attachNote(diagnostics.translate(block.forward->loc))
        << "the first one";
  StringRef outputs = block.isModel ? "and the outputs of 'forward', as in '-> (y: f32[N,10])'"
                                    : "and the outputs of 'forward', as in '-> (y)'";
  StringRef inputs = block.isModel ? "and the inputs of 'forward', as in '(x: f32[N,10])'"
                                   : "and the inputs of 'forward', as in '(x)'";
  bool good = parsePorts(forward.inputs, inputs, block.isModel, /*isInput=*/true) &&
              expect(Token::arrow, outputs) &&
              parsePorts(forward.outputs, outputs, block.isModel, /*isInput=*/false);
  if (!good) {
    // The body may still be read.
    hasGaps = true;
    brackets = nesting = 0;
    while (!at(Token::leftBrace) && !at(Token::rightBrace) && !at(Token::endOfFile))
      advance();
    if (!at(Token::leftBrace))
      return false;
  }
  parseBraces("before the statements of 'forward'", "at the end of 'forward'", /*goesOn=*/true,
              [&] { return parseStatement(forward.body); });
  if (!block.forward)
    block.forward = std::move(forward);
  return true;
}

//===- Statements -----------------------------------------------------------------------------===//

bool Parser::parseTargets(Target &target) {
  do {
    if (target.elements.size() == kMaxListed)
      return failLong();
    Target &element = target.elements.emplace_back();
    if (at(Token::leftParen)) {
      element.name.loc = token.getLoc();
      element.isTuple = true;
      advance();
      if (!enter())
        return false;
      scope_exit leaves([&] { leave(); });
      ++brackets;
      bool good = parseTargets(element);
      brackets = brackets ? brackets - 1 : 0;
      if (!good || !expect(Token::rightParen, "after the names of a tuple"))
        return false;
      continue;
    }
    auto name = expectName("the name of a result, as in 'a, b = f(x)'");
    if (!name)
      return false;
    element.name = *name;
  } while (consumeIf(Token::comma));
  return true;
}

/// The last name of a list of targets.
static StringRef lastName(const Target &target) {
  return target.elements.empty() ? target.name.name : lastName(target.elements.back());
}

bool Parser::parseStatement(std::vector<StatementPtr> &body) {
  if (at(Token::litFor))
    return parseLoopStatement(body) || !(hasGaps = true);
  if (at(Token::litWhile))
    return parseWhileStatement(body) || !(hasGaps = true);
  if (at(Token::litIf))
    return parseBranchStatement(body) || !(hasGaps = true);
  if (!token.isName() && !at(Token::leftParen)) {
    if (at(Token::error))
      return advance(), false;
    diagnostics.error(token.getLoc())
        << "expected a statement such as 'x = relu(x)', got " << token.describe();
    advance();
    return false;
  }
  StringRef first = token.getSpelling();
  if (first == "return") {
    diagnostics.error(token.getLoc())
        << "there is no 'return': assign to the name of the output instead";
    advance();
    return false;
  }
  std::string hint = hintForStart(first);
  char next = lexer.peekOnLine();
  if (!hint.empty() && ((next != '=' && next != ',') || first.starts_with("self."))) {
    diagnostics.error(token.getLoc())
        << "expected a statement such as 'x = relu(x)', got " << token.describe() << hint;
    advance();
    return false;
  }
  return parseAssignment(body);
}

/// At the sign of `x += 1`.
bool Parser::atUpdate() const {
  return !token.isFirstOnLine() && token.getSpelling().size() == 1 &&
         StringRef("+-*/%@&|^").contains(token.getSpelling()) && lexer.peekOnLine() == '=';
}

bool Parser::parseAssignment(std::vector<StatementPtr> &body) {
  auto assign = std::make_unique<AssignStatement>(token.getLoc());
  assign->target.name.loc = token.getLoc();
  assign->target.isTuple = true;
  if (!parseTargets(assign->target))
    return false;
  // One name is no tuple of one.
  if (assign->target.elements.size() == 1) {
    Target only = std::move(assign->target.elements.front());
    assign->target = std::move(only);
  }
  if (atUpdate()) {
    StringRef name = lastName(assign->target), op = token.getSpelling();
    diagnostics.error(token.getLoc())
        << "there is no '" << op << "='; write '" << name << " = " << name << " " << op << " ...'";
    return false;
  }
  if (at(Token::leftBracket) && !token.isFirstOnLine()) {
    StringRef name = lastName(assign->target);
    diagnostics.error(token.getLoc()) << "a part of a tensor cannot be assigned to; write '" << name
                                      << " = update_slice(" << name << ", dim, start, part)'";
    return false;
  }
  if (!at(Token::equal)) {
    unexpected("'=' and an expression after " + quote(lastName(assign->target)));
    return false;
  }
  advance();
  assign->value = parseExpr();
  bool good = assign->value && parseAnnotations(assign->annotations);
  body.push_back(std::move(assign));
  if (!good)
    return false;
  if (token.isFirstOnLine() || at(Token::semicolon) || at(Token::rightBrace) ||
      at(Token::endOfFile))
    return true;
  unexpected("the end of the statement");
  return false;
}

bool Parser::parseAllStatements(std::vector<StatementPtr> &body) {
  while (!at(Token::endOfFile))
    if (!consumeIf(Token::semicolon) && !parseStatement(body))
      return false;
  return true;
}

bool Parser::parseStatements(std::vector<StatementPtr> &body) {
  if (!enter())
    return false;
  scope_exit leaves([&] { leave(); });
  return parseBraces("before the statements", "after these statements", /*goesOn=*/false,
                     [&] { return parseStatement(body); });
}

bool Parser::parseLoopStatement(std::vector<StatementPtr> &body) {
  auto loop = std::make_unique<LoopStatement>(token.getLoc());
  advance();
  if (!parseLoopHead(loop->head) || !parseStatements(loop->body))
    return false;
  body.push_back(std::move(loop));
  return true;
}

bool Parser::parseWhileStatement(std::vector<StatementPtr> &body) {
  auto loop = std::make_unique<WhileStatement>(token.getLoc());
  advance();
  if (!(loop->condition = parseExpr()) || !parseStatements(loop->body))
    return false;
  body.push_back(std::move(loop));
  return true;
}

bool Parser::parseBranchStatement(std::vector<StatementPtr> &body) {
  auto branch = std::make_unique<BranchStatement>(token.getLoc());
  bool isLast = false;
  do {
    BranchStatement::Arm &arm = branch->arms.emplace_back();
    if (consumeIf(Token::litIf)) {
      if (!(arm.condition = parseExpr()))
        return false;
    } else {
      isLast = true;
    }
    if (!parseStatements(arm.body))
      return false;
  } while (!isLast && consumeIf(Token::litElse));
  body.push_back(std::move(branch));
  return true;
}

} // namespace dlc::frontend
