//===- ParseExpr.cpp - Tokens to syntax: expressions --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Parser.h"
#include "frontend/dl/syntax/ParserImpl.h"

#include "llvm/ADT/ScopeExit.h"

#include <cmath>

using namespace llvm;

namespace dlc::frontend {

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

//===- Calls, subscripts ----------------------------------------------------------------------===//

std::string textOf(const Expr &expr) {
  if (auto *name = dyn_cast<NameExpr>(&expr))
    return name->name.str();
  if (auto *attribute = dyn_cast<AttributeExpr>(&expr))
    return textOf(*attribute->base) + "." + attribute->name.name.str();
  if (auto *subscript = dyn_cast<SubscriptExpr>(&expr))
    return textOf(*subscript->base) + "[...]";
  return "(...)";
}

ExprPtr Parser::parsePostfix() {
  SMLoc loc = token.getLoc();
  ExprPtr expr = parsePrimary();
  while (expr) {
    if (atOperator(Token::leftBracket)) {
      expr = parseSubscript(std::move(expr));
    } else if (isAdjacent() &&
               (at(Token::dot) || (at(Token::floating) && token.getSpelling().starts_with(".")))) {
      expr = parseAttribute(std::move(expr));
    } else if (atOperator(Token::leftParen)) {
      if (!isa<NameExpr, SubscriptExpr, AttributeExpr>(*expr)) {
        diagnostics.error(token.getLoc())
            << "only a function or a layer can be called; declare a layer above 'forward', as in "
               "'fc: Linear(8, 10)', and call it by its name";
        return nullptr;
      }
      expr = parseCall(std::move(expr), loc);
    } else {
      break;
    }
  }
  return expr;
}

ExprPtr Parser::parseCall(ExprPtr callee, SMLoc loc) {
  auto call = std::make_unique<CallExpr>(loc);
  call->depth = callee->depth + 1;
  call->callee = std::move(callee);
  if (!parseArguments(call->arguments, textOf(*call->callee)))
    return nullptr;
  for (const Argument &argument : call->arguments)
    call->depth = std::max(call->depth, argument.value->depth + 1);
  return withDepth(std::move(call), {});
}

ExprPtr Parser::parseAttribute(ExprPtr base) {
  SMLoc loc = token.getLoc();
  Identifier names;
  if (at(Token::floating)) { // `[i].0`
    names = {token.getSpelling().drop_front(), loc};
    advance();
  } else {
    advance();
    auto name = expectName("a name after '.'");
    if (!name)
      return nullptr;
    names = *name;
  }
  // `.weight.t` is one word of the lexer, and an attribute of an attribute.
  StringRef rest = names.name;
  while (base && !rest.empty()) {
    auto attribute = std::make_unique<AttributeExpr>(loc);
    StringRef first = rest.split('.').first;
    attribute->name = {first, SMLoc::getFromPointer(first.begin())};
    rest = rest.split('.').second;
    attribute->base = std::move(base);
    const Expr *child = attribute->base.get();
    base = withDepth(std::move(attribute), {child});
  }
  return base;
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
    return parseElements(Token::rightParen, "in these parentheses");
  case Token::leftBracket:
    return parseElements(Token::rightBracket, "after an element");
  default:
    break;
  }
  if (!token.isName()) {
    unexpected("an expression");
    return nullptr;
  }
  auto name = std::make_unique<NameExpr>(loc);
  name->name = token.getSpelling();
  advance();
  return name;
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

/// A list, `(expr)`, or a tuple: `()`, `(a,)`, `(a, b)`
ExprPtr Parser::parseElements(Token::Kind close, StringRef context) {
  auto list = std::make_unique<ListExpr>(token.getLoc());
  SMLoc open = token.getLoc();
  list->isTuple = close == Token::rightParen;
  advance();
  bool lastWasComma = false;
  if (!parseList(close, open, context, [&] {
        list->elements.push_back(parseExpr());
        lastWasComma = at(Token::comma);
        return list->elements.back() != nullptr;
      }))
    return nullptr;
  if (list->isTuple && list->elements.size() == 1 && !lastWasComma) {
    ExprPtr only = std::move(list->elements.front());
    only->inParentheses = true;
    return only;
  }
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
    if (token.isName() && lexer.isBeforeAssignment()) {
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
  if ((index.isEllipsis = consumeIf(Token::ellipsis)))
    return true;
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
