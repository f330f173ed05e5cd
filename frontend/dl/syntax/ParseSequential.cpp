//===- ParseSequential.cpp - Tokens to syntax: sequential models --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/ParserImpl.h"

using namespace llvm;

namespace dlc::frontend {

bool Parser::parseSequential(SourceFile &file) {
  advance();
  auto name = expectName("the name of the sequential model, as in 'sequential Net(x: f32[N,784])'");
  if (!name)
    return false;
  SequentialDecl decl;
  decl.name = *name;
  SMLoc open = token.getLoc();
  if (!expect(Token::leftParen, "and the input, as in '(x: f32[N,28,28,1] layout NHWC)'"))
    return false;
  if (!parseList(Token::rightParen, open, "after the input", [&] {
        Port &input = decl.inputs.emplace_back();
        if (!parsePort(input, /*isModel=*/true, /*isInput=*/true))
          return false;
        if (!consumeIf(Token::kwLayout))
          return true;
        input.layout = expectName("the order of the dims after 'layout', NHWC or NCHW");
        return input.layout.has_value();
      }))
    return false;
  if (decl.inputs.empty()) {
    diagnostics.error(open) << "sequential " << quote(name->name)
                            << " has no input; expected one, as in '(x: f32[N,28,28,1])'";
    return false;
  }
  // A type may be left out: that of a layer follows from its input.
  if (consumeIf(Token::arrow) &&
      !parsePorts(decl.outputs, "and the output, as in '-> (probs: f32[N,10])'", /*isModel=*/false,
                  /*isInput=*/false))
    return false;
  if (!parseBraces("before the layers of " + quote(name->name),
                   "at the end of sequential " + quote(name->name), /*goesOn=*/false,
                   [&] { return parseEntry(decl) || !(hasGaps = true); }))
    return false;
  file.sequentials.push_back(std::move(decl));
  return true;
}

bool Parser::parseEntry(SequentialDecl &decl) {
  StringRef what = "a layer, as in 'Dense(10)' or 'head: Dense(10)'";
  SequentialDecl::Entry entry;
  if (!token.isName()) {
    if (!at(Token::error))
      diagnostics.error(token.getLoc()) << "expected " << what << ", got " << token.describe();
    advance();
    return false;
  }
  auto type = expectName(what);
  if (consumeIf(Token::colon)) {
    entry.name = *type;
    if (!(type = expectName(what)))
      return false;
  }
  entry.type = *type;
  if (!at(Token::leftParen)) {
    unexpected("'(' and the arguments of " + quote(type->name));
    return false;
  }
  if (!parseArguments(entry.arguments, type->name))
    return false;
  if (SMLoc open = token.getLoc(); consumeIf(Token::leftParen)) {
    entry.operands.emplace();
    if (!parseList(Token::rightParen, open, "in what " + quote(type->name) + " takes", [&] {
          auto operand =
              expectName("the name of an input or of a layer before, as in 'Add()(a, b)'");
          if (operand)
            entry.operands->push_back(*operand);
          return operand.has_value();
        }))
      return false;
  }
  if (!parseAnnotations(entry.annotations))
    return false;
  decl.layers.push_back(std::move(entry));
  return true;
}

} // namespace dlc::frontend
