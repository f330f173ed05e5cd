//===- ParseExpr.cpp - Tokens to syntax: expressions -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Parser.h"
#include "frontend/dl/ParserImpl.h"

#include "llvm/ADT/ScopeExit.h"

#include <cmath>

using namespace llvm;

namespace dlc::frontend {

bool Parser::enter() {
  if (++nesting <= kMaxNesting)
    return true;
  diagnostics.error(token.getLoc())
      << "this is nested more than " << kMaxNesting << " deep; split it into several statements";
  return false;
}

ExprPtr Parser::withDepth(ExprPtr expr, std::initializer_list<const Expr *> children) {
  for (const Expr *child : children)
    if (child)
      expr->depth = std::max(expr->depth, child->depth + 1);
  if (expr->depth <= kMaxNesting)
    return expr;
  diagnostics.error(expr->loc) << "this is nested more than " << kMaxNesting
                               << " deep; split it into several statements";
  return nullptr;
}

/// Outside brackets an operator does not continue the line before.
bool Parser::atOperator(Token::Kind kind) const {
  return at(kind) && (brackets > 0 || !token.isFirstOnLine());
}

static ExprPtr makeBinary(const Token &op, ExprPtr lhs, ExprPtr rhs) {
  auto binary = std::make_unique<BinaryExpr>(op.getLoc());
  binary->op = op.getSpelling().front();
  binary->lhs = std::move(lhs);
  binary->rhs = std::move(rhs);
  return binary;
}

ExprPtr Parser::parseExpr() {
  if (!enter())
    return nullptr;
  scope_exit leave([&] { nesting = nesting ? nesting - 1 : 0; });
  ExprPtr lhs = parseTerm();
  while (lhs && (atOperator(Token::plus) || atOperator(Token::minus))) {
    Token op = token;
    advance();
    ExprPtr rhs = parseTerm();
    if (!rhs)
      return nullptr;
    const Expr *children[] = {lhs.get(), rhs.get()};
    lhs = makeBinary(op, std::move(lhs), std::move(rhs));
    lhs = withDepth(std::move(lhs), {children[0], children[1]});
  }
  return lhs;
}

ExprPtr Parser::parseTerm() {
  ExprPtr lhs = parseUnary();
  while (lhs && (atOperator(Token::star) || atOperator(Token::slash))) {
    Token op = token;
    advance();
    ExprPtr rhs = parseUnary();
    if (!rhs)
      return nullptr;
    const Expr *children[] = {lhs.get(), rhs.get()};
    lhs = makeBinary(op, std::move(lhs), std::move(rhs));
    lhs = withDepth(std::move(lhs), {children[0], children[1]});
  }
  return lhs;
}

ExprPtr Parser::parseUnary() {
  if (!at(Token::minus))
    return parsePostfix();
  if (!enter())
    return nullptr;
  scope_exit leave([&] { nesting = nesting ? nesting - 1 : 0; });
  auto unary = std::make_unique<UnaryExpr>(token.getLoc());
  advance();
  if (!(unary->operand = parseUnary()))
    return nullptr;
  const Expr *operand = unary->operand.get();
  return withDepth(std::move(unary), {operand});
}

ExprPtr Parser::parsePostfix() {
  ExprPtr expr = parsePrimary();
  while (expr && atOperator(Token::leftBracket))
    expr = parseSubscript(std::move(expr));
  if (expr && atOperator(Token::leftParen)) {
    diagnostics.error(token.getLoc()) << "only a function or a layer can be called";
    return nullptr;
  }
  return expr;
}

ExprPtr Parser::parsePrimary() {
  SMLoc loc = token.getLoc();
  switch (token.getKind()) {
  case Token::integer:
  case Token::floating:
    return parseNumber();
  case Token::string:
    return parseString();
  case Token::litTrue:
  case Token::litTrue2:
  case Token::litFalse:
  case Token::litFalse2: {
    auto boolean = std::make_unique<BooleanExpr>(loc);
    boolean->value = at(Token::litTrue) || at(Token::litTrue2);
    advance();
    return boolean;
  }
  case Token::litNone:
    advance();
    return std::make_unique<NoneExpr>(loc);
  case Token::leftParen:
    return parseParenthesized();
  case Token::leftBracket: {
    auto list = std::make_unique<ListExpr>(loc);
    advance();
    if (!parseList(Token::rightBracket, loc, "after an element", [&] {
          list->elements.push_back(parseExpr());
          return list->elements.back() != nullptr;
        }))
      return nullptr;
    for (const ExprPtr &element : list->elements)
      list->depth = std::max(list->depth, element->depth + 1);
    return withDepth(std::move(list), {});
  }
  default:
    break;
  }
  if (!token.isName()) {
    unexpected("an expression");
    return nullptr;
  }
  Identifier name{token.getSpelling(), loc};
  advance();
  if (!atOperator(Token::leftParen)) {
    auto expr = std::make_unique<NameExpr>(loc);
    expr->name = name.name;
    return expr;
  }
  auto call = std::make_unique<CallExpr>(loc);
  call->callee = name;
  if (!parseArguments(call->arguments, name.name))
    return nullptr;
  for (const Argument &argument : call->arguments)
    call->depth = std::max(call->depth, argument.value->depth + 1);
  return withDepth(std::move(call), {});
}

ExprPtr Parser::parseNumber() {
  StringRef spelling = token.getSpelling();
  SMLoc loc = token.getLoc();
  if (at(Token::integer)) {
    auto integer = std::make_unique<IntegerExpr>(loc);
    if (spelling.getAsInteger(10, integer->value)) {
      diagnostics.error(loc) << "the integer " << quote(spelling)
                             << " does not fit in 64 bits; expected at most "
                             << std::numeric_limits<int64_t>::max();
      return nullptr;
    }
    advance();
    return integer;
  }
  auto number = std::make_unique<FloatExpr>(loc);
  if (spelling.getAsDouble(number->value) || std::isinf(number->value)) {
    diagnostics.error(loc) << "the number " << quote(spelling)
                           << " does not fit in f64; expected at most 1.797e308";
    return nullptr;
  }
  advance();
  return number;
}

ExprPtr Parser::parseString() {
  auto string = std::make_unique<StringExpr>(token.getLoc());
  StringRef text = token.getSpelling().drop_front().drop_back();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      string->value += text[i];
      continue;
    }
    switch (char escaped = text[++i]) {
    case 'n':
      string->value += '\n';
      break;
    case 't':
      string->value += '\t';
      break;
    case '\\':
    case '"':
    case '\'':
      string->value += escaped;
      break;
    default:
      diagnostics.error(SMLoc::getFromPointer(text.begin() + i - 1))
          << "unknown escape " << quote(text.substr(i - 1, 2))
          << R"( in a string; expected \n, \t, \\, \" or \')";
      return nullptr;
    }
  }
  advance();
  return string;
}

/// `(expr)`, or a tuple: `()`, `(a,)`, `(a, b)`
ExprPtr Parser::parseParenthesized() {
  auto list = std::make_unique<ListExpr>(token.getLoc());
  SMLoc open = token.getLoc();
  advance();
  bool lastWasComma = false;
  if (!parseList(Token::rightParen, open, "in these parentheses", [&] {
        list->elements.push_back(parseExpr());
        lastWasComma = at(Token::comma);
        return list->elements.back() != nullptr;
      }))
    return nullptr;
  if (list->elements.size() == 1 && !lastWasComma)
    return std::move(list->elements.front());
  for (const ExprPtr &element : list->elements)
    list->depth = std::max(list->depth, element->depth + 1);
  return withDepth(std::move(list), {});
}

bool Parser::parseArguments(std::vector<Argument> &arguments, StringRef callee) {
  SMLoc open = token.getLoc();
  advance();
  std::string context = "in the arguments of " + quote(callee);
  return parseList(Token::rightParen, open, context, [&] {
    Argument argument;
    SMLoc loc = token.getLoc();
    // A keyword argument looks like an expression up to its '='.
    if (token.isName() && lexer.peekOnLine() == '=') {
      argument.keyword = Identifier{token.getSpelling(), loc};
      advance();
      advance();
    }
    if (!(argument.value = parseExpr()))
      return false;
    if (!argument.keyword && !arguments.empty() && arguments.back().keyword) {
      diagnostics.error(loc) << "a positional argument cannot follow "
                             << quote(arguments.back().keyword->name)
                             << "=...; move it to the front or name it";
      return false;
    }
    arguments.push_back(std::move(argument));
    return true;
  });
}

ExprPtr Parser::parseSubscript(ExprPtr base) {
  auto subscript = std::make_unique<SubscriptExpr>(token.getLoc());
  SMLoc open = token.getLoc();
  advance();
  if (at(Token::rightBracket)) {
    unexpected("an index");
    return nullptr;
  }
  if (!parseList(Token::rightBracket, open, "after an index",
                 [&] { return parseIndex(subscript->indices.emplace_back()); }))
    return nullptr;
  subscript->depth = base->depth + 1;
  subscript->base = std::move(base);
  for (const Index &index : subscript->indices)
    for (const ExprPtr *part : {&index.value, &index.start, &index.stop, &index.step})
      if (*part)
        subscript->depth = std::max(subscript->depth, (*part)->depth + 1);
  return withDepth(std::move(subscript), {});
}

bool Parser::parseIndex(Index &index) {
  index.loc = token.getLoc();
  auto atEnd = [&] { return at(Token::colon) || at(Token::comma) || at(Token::rightBracket); };
  if (!at(Token::colon)) {
    if (!(index.value = parseExpr()))
      return false;
    if (!at(Token::colon))
      return true;
    index.start = std::move(index.value);
  }
  index.isSlice = true;
  advance();
  if (!atEnd() && !(index.stop = parseExpr()))
    return false;
  if (consumeIf(Token::colon) && !atEnd() && !(index.step = parseExpr()))
    return false;
  return true;
}

} // namespace dlc::frontend
