//===- ParseOperators.cpp - Tokens to syntax: operators -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/ParserImpl.h"

#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace dlc::frontend {

namespace {
/// How tightly an infix operator binds, as in Python; 0 for other tokens.
struct Infix {
  unsigned precedence = 0;
  BinaryOp op = BinaryOp::add;
};
} // namespace

static constexpr unsigned kComparison = 4;

static Infix infixOf(Token::Kind kind) {
  switch (kind) {
  case Token::litOr:
    return {1, BinaryOp::logicalOr};
  case Token::litAnd:
    return {2, BinaryOp::logicalAnd};
  case Token::equalEqual:
    return {kComparison, BinaryOp::equal};
  case Token::notEqual:
    return {kComparison, BinaryOp::notEqual};
  case Token::less:
    return {kComparison, BinaryOp::less};
  case Token::lessEqual:
    return {kComparison, BinaryOp::lessEqual};
  case Token::greater:
    return {kComparison, BinaryOp::greater};
  case Token::greaterEqual:
    return {kComparison, BinaryOp::greaterEqual};
  case Token::bar:
    return {5, BinaryOp::bitOr};
  case Token::caret:
    return {6, BinaryOp::bitXor};
  case Token::ampersand:
    return {7, BinaryOp::bitAnd};
  case Token::plus:
    return {8, BinaryOp::add};
  case Token::minus:
    return {8, BinaryOp::subtract};
  case Token::star:
    return {9, BinaryOp::multiply};
  case Token::slash:
    return {9, BinaryOp::divide};
  case Token::slashSlash:
    return {9, BinaryOp::floorDivide};
  case Token::percent:
    return {9, BinaryOp::remainder};
  case Token::atSign:
    return {9, BinaryOp::product};
  default:
    return {};
  }
}

ExprPtr Parser::makeBinary(BinaryOp op, SMLoc loc, ExprPtr lhs, ExprPtr rhs) {
  if (!lhs || !rhs)
    return nullptr;
  auto binary = std::make_unique<BinaryExpr>(loc);
  binary->op = op;
  binary->lhs = std::move(lhs);
  binary->rhs = std::move(rhs);
  const Expr *left = binary->lhs.get(), *right = binary->rhs.get();
  return withDepth(std::move(binary), {left, right});
}

ExprPtr Parser::parseExpr() {
  if (!enter())
    return nullptr;
  scope_exit leaves([&] { leave(); });
  ExprPtr value = parseOperators(1);
  if (!value || !atOperator(Token::litIf))
    return value;
  auto conditional = std::make_unique<ConditionalExpr>(token.getLoc());
  advance();
  conditional->value = std::move(value);
  if (!(conditional->condition = parseOperators(1)) ||
      !expect(Token::litElse, "after the condition, as in 'a if flag else b'") ||
      !(conditional->otherwise = parseExpr()))
    return nullptr;
  const Expr *children[] = {conditional->condition.get(), conditional->value.get(),
                            conditional->otherwise.get()};
  return withDepth(std::move(conditional), {children[0], children[1], children[2]});
}

ExprPtr Parser::parseOperators(unsigned least) {
  ExprPtr lhs = parseUnary();
  while (lhs) {
    if (at(Token::annotation) && brackets > 0) {
      diagnostics.error(token.getLoc())
          << quote(token.getSpelling())
          << " has the form of an annotation, which cannot be in brackets; a matrix product "
             "has a space after its @";
      return nullptr;
    }
    Token::Kind kind = token.getKind();
    Infix infix = infixOf(kind);
    if (infix.precedence < least || !atOperator(kind))
      break;
    SMLoc loc = token.getLoc();
    auto *before = dyn_cast<BinaryExpr>(lhs.get());
    if (infix.precedence == kComparison && before && !before->inParentheses &&
        before->op >= BinaryOp::equal && before->op <= BinaryOp::greaterEqual) {
      diagnostics.error(loc)
          << "comparisons do not chain; write them apart, as in 'a < b and b < c'";
      return nullptr;
    }
    advance();
    lhs = makeBinary(infix.op, loc, std::move(lhs), parseOperators(infix.precedence + 1));
  }
  return lhs;
}

ExprPtr Parser::parseUnary() {
  UnaryOp op;
  if (at(Token::minus))
    op = UnaryOp::negate;
  else if (at(Token::tilde))
    op = UnaryOp::invert;
  else if (at(Token::litNot))
    op = UnaryOp::logicalNot;
  else
    return parsePower();
  if (!enter())
    return nullptr;
  scope_exit leaves([&] { leave(); });
  auto unary = std::make_unique<UnaryExpr>(token.getLoc());
  unary->op = op;
  advance();
  // -2^63 fits in 64 bits, though 2^63 does not.
  if (op == UnaryOp::negate && at(Token::integer) && token.getSpelling() == "9223372036854775808") {
    auto smallest = std::make_unique<IntegerExpr>(unary->loc);
    smallest->value = std::numeric_limits<int64_t>::min();
    advance();
    return smallest;
  }
  // `not` binds more loosely than comparisons, as in Python.
  unary->operand = op == UnaryOp::logicalNot ? parseOperators(kComparison) : parseUnary();
  if (!unary->operand)
    return nullptr;
  const Expr *operand = unary->operand.get();
  return withDepth(std::move(unary), {operand});
}

/// `a ** b`, which binds more tightly than a sign before it, and less than one behind it.
ExprPtr Parser::parsePower() {
  ExprPtr base = parsePostfix();
  if (!base || !atOperator(Token::starStar))
    return base;
  if (!enter())
    return nullptr;
  scope_exit leaves([&] { leave(); });
  SMLoc loc = token.getLoc();
  advance();
  return makeBinary(BinaryOp::power, loc, std::move(base), parseUnary());
}

} // namespace dlc::frontend
