//===- ParseWeights.cpp - The weights clause ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/dl/syntax/ParserImpl.h"

using namespace llvm;

namespace dlc::frontend {

static constexpr const char *kRules =
    "'prefix', 'rename', 'transpose', 'tie' or 'allow_extra' in a weights clause";

bool Parser::parseText(QuotedText &text, StringRef what) {
  if (!at(Token::string)) {
    unexpected(what);
    return false;
  }
  text.loc = token.getLoc();
  ExprPtr value = parseString();
  if (!value)
    return false;
  text.value = cast<StringExpr>(*value).value;
  return true;
}

/// One text, or several that commas separate; a comma at the end of a line goes on in the next.
bool Parser::parseTexts(std::vector<QuotedText> &texts, StringRef what) {
  do {
    if (!parseText(texts.emplace_back(), what)) {
      texts.pop_back();
      return false;
    }
  } while (consumeIf(Token::comma));
  return true;
}

bool Parser::parsePair(std::vector<TextPair> &pairs, Token::Kind joint, StringRef what) {
  TextPair pair;
  if (!parseText(pair.from, what) || !expect(joint, ("in " + what).str()) ||
      !parseText(pair.to, what))
    return false;
  pairs.push_back(std::move(pair));
  return true;
}

bool Parser::parseRenames(std::vector<TextPair> &renames) {
  constexpr const char *kExample = "a rename such as '\"LayerNorm.gamma\" -> \"LayerNorm.weight\"'";
  SMLoc open = token.getLoc();
  if (!consumeIf(Token::leftBrace))
    return parsePair(renames, Token::arrow, kExample);
  while (!at(Token::rightBrace)) {
    if (consumeIf(Token::comma) || consumeIf(Token::semicolon))
      continue;
    if (at(Token::endOfFile)) {
      unexpected("'}' at the end of the renames", open);
      return false;
    }
    if (!parsePair(renames, Token::arrow, kExample))
      return false;
  }
  advance();
  return true;
}

bool Parser::parseWeightRule(WeightsDecl &decl) {
  StringRef word = token.getSpelling();
  if (!token.isName() ||
      !is_contained({"prefix", "rename", "transpose", "tie", "allow_extra"}, word)) {
    if (at(Token::error))
      return advance(), false;
    diagnostics.error(token.getLoc())
        << "expected " << kRules << ", got " << token.describe()
        << didYouMean(word, {"prefix", "rename", "transpose", "tie", "allow_extra"});
    advance();
    return false;
  }
  advance();
  if (word == "prefix")
    return parseTexts(decl.prefixes, "how the names in the file begin, as in 'prefix \"bert.\"'");
  if (word == "rename")
    return parseRenames(decl.renames);
  if (word == "transpose")
    return parseTexts(decl.transposes,
                      "the paths of weights that are stored [in,out], as in 'transpose "
                      "\"*.c_attn.weight\"'");
  if (word == "allow_extra")
    return parseTexts(decl.extras,
                      "names that the model does not need, as in 'allow_extra \"position_ids\"'");
  // "a" = "b": a gets the weight of b.
  if (!parsePair(decl.ties, Token::equal,
                 "a tie such as 'tie \"lm_head.weight\" = \"wte.weight\"'"))
    return false;
  std::swap(decl.ties.back().from, decl.ties.back().to);
  return true;
}

bool Parser::parseWeights(SourceFile &file) {
  WeightsDecl decl;
  decl.loc = token.getLoc();
  advance();
  if (!parseTexts(decl.files,
                  "the name of a file after 'weights', as in 'weights \"model.safetensors\"'"))
    return false;
  SMLoc open = token.getLoc();
  if (consumeIf(Token::leftBrace)) {
    while (!at(Token::rightBrace) && !at(Token::endOfFile) && !diagnostics.isFull()) {
      if (consumeIf(Token::semicolon))
        continue;
      if (!parseWeightRule(decl)) {
        decl.isBroken = true;
        skipStatement();
      }
    }
    if (!consumeIf(Token::rightBrace) && !diagnostics.isFull()) {
      unexpected("'}' at the end of the weights clause", open);
      decl.isBroken = true;
    }
  }
  file.weights.push_back(std::move(decl));
  return true;
}

} // namespace dlc::frontend
