//===- ParseMembers.cpp - Tokens to syntax: models and blocks -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/dl/syntax/Hints.h"
#include "frontend/dl/syntax/ParserImpl.h"

#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace dlc::frontend {

bool Parser::parseBlock(std::vector<BlockDecl> &blocks, bool isModel) {
  advance();
  auto name = expectName(isModel ? "the name of the model, as in 'model Net { ... }'"
                                 : "the name of the block, as in 'block Residual(width) { ... }'");
  if (!name)
    return false;
  BlockDecl block;
  block.isModel = isModel;
  block.name = *name;
  std::string what = (isModel ? "model " : "block ") + quote(name->name);
  SMLoc open = token.getLoc();
  if (consumeIf(Token::leftParen) &&
      !parseList(Token::rightParen, open, "after the parameters of " + what,
                 [&] { return parseParameter(block); }))
    return false;
  parseBraces("before the layers of " + what, "at the end of " + what, /*goesOn=*/true,
              [&] { return parseMember(block.members, &block); });
  blocks.push_back(std::move(block));
  return true;
}

bool Parser::parseParameter(BlockDecl &block) {
  auto name = expectName("the name of a parameter, as in '(width=64)'");
  if (!name)
    return false;
  // Nobody passes the parameters of a model.
  if (block.isModel && !at(Token::equal))
    return expect(Token::equal, "and a default after a parameter, as in '(width=64)'");
  ConstDecl &parameter = block.parameters.emplace_back(ConstDecl{*name, nullptr});
  if (consumeIf(Token::equal)) {
    parameter.value = parseExpr();
    return parameter.value != nullptr;
  }
  if (block.parameters.size() > 1 && block.parameters[block.parameters.size() - 2].value) {
    diagnostics.error(name->loc) << "the parameter " << quote(name->name)
                                 << " without default cannot follow one with a default; move it "
                                    "to the front";
    return false;
  }
  return true;
}

bool Parser::parseMember(std::vector<MemberPtr> &members, BlockDecl *block) {
  SMLoc loc = token.getLoc();
  if (at(Token::litFor))
    return parseLoopMember(members) || !(hasGaps = true);
  if (at(Token::litIf))
    return parseBranchMember(members) || !(hasGaps = true);
  if (!token.isName()) {
    hasGaps = true;
    if (at(Token::error))
      return advance(), false;
    diagnostics.error(loc) << "expected a layer ('conv1: Conv2d(...)'), 'const', 'state', 'for', "
                              "'if' or 'forward', got "
                           << token.describe();
    advance();
    return false;
  }
  if (at(Token::kwConst) && lexer.peekOnLine() != ':') { // `const: Linear(...)` is a layer
    auto constant = std::make_unique<ConstMember>(loc);
    if (!parseConst(constant->decl))
      return !(hasGaps = true);
    members.push_back(std::move(constant));
    return true;
  }
  // `state: Linear(...)` and `state[i]: ...` are layers.
  if (at(Token::kwState) && !StringRef(":[").contains(lexer.peekOnLine())) {
    auto state = std::make_unique<StateDecl>(loc);
    if (!parseState(state->port))
      return !(hasGaps = true);
    members.push_back(std::move(state));
    return true;
  }
  if (at(Token::kwForward) && !StringRef(":[").contains(lexer.peekOnLine())) {
    if (block)
      return advance(), parseForward(*block) || !(hasGaps = true);
    diagnostics.error(loc) << "a 'forward' cannot be inside of 'for' or 'if'; put them inside "
                              "of the one 'forward'";
    hasGaps = true;
    advance();
    return false;
  }
  std::string hint = hintForStart(token.getSpelling());
  if (!hint.empty() && lexer.peekOnLine() != ':') {
    diagnostics.error(loc) << "expected a layer ('conv1: Conv2d(...)'), 'const', 'state', 'for', "
                              "'if' or 'forward', got "
                           << token.describe() << hint;
    hasGaps = true;
    advance();
    return false;
  }
  auto &layer = members.emplace_back(std::make_unique<LayerDecl>(loc));
  return parseLayer(cast<LayerDecl>(*layer));
}

bool Parser::parseState(Port &port) {
  advance();
  auto name = expectName("the name of the state, as in 'state k: f16[N,8,512,64]'");
  if (!name)
    return false;
  port.name = *name;
  return expect(Token::colon, "and the type of the state, as in 'state k: f16[N,8,512,64]'") &&
         parseType(port.type, /*mayBeOpen=*/false);
}

bool Parser::parsePath(LayerDecl &layer) {
  layer.path = {token.getSpelling(), token.getLoc()};
  advance();
  while (isAdjacent()) {
    PathPiece piece;
    SMLoc open = token.getLoc();
    if (consumeIf(Token::leftBracket)) {
      ++brackets;
      piece.index = parseExpr();
      brackets = brackets ? brackets - 1 : 0;
      if (!piece.index || !expect(Token::rightBracket, "after the index of a layer"))
        return false;
    } else if (at(Token::floating) && token.getSpelling().starts_with(".")) { // `[i].0`
      piece.name = {token.getSpelling().drop_front(), open};
      advance();
    } else if (consumeIf(Token::dot)) {
      auto name = expectName("the next part of the layer's name");
      if (!name)
        return false;
      piece.name = *name;
    } else {
      break;
    }
    layer.rest.push_back(std::move(piece));
  }
  return true;
}

bool Parser::parseLayer(LayerDecl &layer) {
  if (!parsePath(layer) ||
      !expect(Token::colon,
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
  while (true) {
    if (atOperator(Token::litFor)) {
      advance();
      if (!parseLoopHead(layer.loops.emplace_back()))
        return false;
    } else if (atOperator(Token::annotation)) {
      if (!parseAnnotations(layer.annotations))
        return false;
    } else {
      break;
    }
  }
  layer.type = *type;
  return true;
}

bool Parser::parseLoopHead(LoopHead &head) {
  auto name = expectName("the name that counts, as in 'for i in 0..12'");
  if (!name || !expect(Token::litIn, "after the name that counts, as in 'for i in 0..12'"))
    return false;
  head.variable = *name;
  ExprPtr first = parseExpr();
  if (!first)
    return false;
  if (!consumeIf(Token::range)) {
    head.iterable = std::move(first);
    return true;
  }
  head.begin = std::move(first);
  head.end = parseExpr();
  return head.end != nullptr;
}

bool Parser::parseAnnotations(std::vector<Annotation> &annotations) {
  static constexpr StringRef kKnown[] = {"f32", "f16", "bf16", "no_fuse"};
  while (atOperator(Token::annotation)) {
    Identifier name{token.getSpelling().drop_front(), token.getLoc()};
    advance();
    if (!is_contained(kKnown, name.name)) {
      diagnostics.error(name.loc)
          << "unknown annotation '@" << name.name << "'"
          << (name.name == "fp32" ? "; write @f32"
                                  : "; expected @f32, @f16, @bf16 or @no_fuse. A matrix product "
                                    "has a space after its @");
      return false;
    }
    for (const Annotation &other : annotations)
      if (other.name.name == name.name ||
          (other.name.name != "no_fuse" && name.name != "no_fuse")) {
        diagnostics.error(name.loc) << "'@" << name.name << "' is beside '@" << other.name.name
                                    << "'; expected one dtype, and @no_fuse once";
        return false;
      }
    annotations.push_back({name});
  }
  return true;
}

bool Parser::parseMembers(std::vector<MemberPtr> &members) {
  if (!enter())
    return false;
  scope_exit leaves([&] { leave(); });
  return parseBraces("before the layers", "after these layers", /*goesOn=*/false,
                     [&] { return parseMember(members, nullptr); });
}

bool Parser::parseLoopMember(std::vector<MemberPtr> &members) {
  auto loop = std::make_unique<LoopMember>(token.getLoc());
  advance();
  if (!parseLoopHead(loop->head) || !parseMembers(loop->body))
    return false;
  members.push_back(std::move(loop));
  return true;
}

bool Parser::parseBranchMember(std::vector<MemberPtr> &members) {
  auto branch = std::make_unique<BranchMember>(token.getLoc());
  bool isLast = false;
  do {
    BranchMember::Arm &arm = branch->arms.emplace_back();
    if (consumeIf(Token::litIf)) {
      if (!(arm.condition = parseExpr()))
        return false;
    } else {
      isLast = true;
    }
    if (!parseMembers(arm.body))
      return false;
  } while (!isLast && consumeIf(Token::litElse));
  members.push_back(std::move(branch));
  return true;
}

} // namespace dlc::frontend
