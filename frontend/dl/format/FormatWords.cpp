//===- FormatWords.cpp - Tokens with their comments, and where spaces stand ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/format/FormatWords.h"

#include "frontend/dl/evaluate/Item.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace dlc::frontend {

/// Hands the comments between two words to them: what stands behind `previous` on its line, and the
/// lines above `next`.
static void attach(StringRef gap, Word *previous, Word &next) {
  bool isFirstLine = true, blank = false;
  while (true) {
    auto [line, rest] = gap.split('\n');
    bool isLast = line.size() == gap.size();
    StringRef text = line.trim(" \t\r");
    if (isFirstLine && previous && text.starts_with("#"))
      previous->trailing = text;
    else if (text.starts_with("#"))
      next.comments.push_back({text, std::exchange(blank, false)});
    else if (text.empty() && !isLast && !(isFirstLine && previous))
      blank = true;
    if (isLast)
      break;
    isFirstLine = false;
    gap = rest;
  }
  next.blankBefore = blank;
}

std::vector<Word> scanWords(StringRef text, Diagnostics &diagnostics) {
  std::vector<Word> words;
  Lexer lexer(text, diagnostics);
  const char *end = text.begin() + (text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  while (true) {
    Token token = lexer.lex();
    StringRef gap(end, token.getSpelling().begin() - end);
    words.push_back({token.getKind(), token.getSpelling(), token.isFirstOnLine()});
    words.back().isWordLike = token.isName() && !token.is(Token::identifier);
    attach(gap, words.size() > 1 ? &words[words.size() - 2] : nullptr, words.back());
    end = token.getSpelling().end();
    if (token.is(Token::endOfFile))
      return words;
  }
}

/// Words that join expressions; they are names nowhere that it would matter for the layout.
static bool isOperatorWord(const Word &word) {
  return is_contained({"and", "or", "not", "if", "else", "for", "while", "in"}, word.text);
}

/// Whether an operand may end with the word, so that an operator behind it has two operands.
static bool endsOperand(const Word &word) {
  switch (word.kind) {
  case Token::integer:
  case Token::floating:
  case Token::string:
  case Token::rightParen:
  case Token::rightBracket:
    return true;
  default:
    return word.is("...") || (word.isName() && !isOperatorWord(word)) ||
           is_contained({"true", "True", "false", "False", "None"}, word.text);
  }
}

/// Whether two words without a space between them would be read as others.
static bool merge(const Word &last, const Word &word) {
  if (last.text.empty() || word.text.empty())
    return false;
  auto isPart = [](char c) { return isAlnum(c) || c == '_'; };
  if (isPart(last.text.back()) && isPart(word.text.front()))
    return true;
  std::string joined = last.text.str() + word.text.front();
  return is_contained({"**", "//", "==", "!=", "<=", ">=", "->", "..", "..."}, StringRef(joined));
}

/// Whether a sign in front of the word can be its own.
static bool beginsOperand(const Word &word) {
  return word.isName() || word.kind == Token::integer || word.kind == Token::floating ||
         word.kind == Token::string || is_contained({"(", "[", "-", "+", "~"}, word.text) ||
         is_contained({"true", "True", "false", "False", "None"}, word.text);
}

static bool isOperator(const Word &word) {
  return is_contained({"+", "-",  "*", "/",  "//", "%", "**", "@", "==", "!=",
                       "<", "<=", ">", ">=", "&",  "|", "^",  "~", "<<", ">>"},
                      word.text);
}

namespace {

/// An open bracket or brace.
struct Bracket {
  size_t position;
  char kind;
  bool isIndex; // `x[0]`, as opposed to a list
  bool inType;  // of a type's dims, or within them
};

class Joiner {
public:
  explicit Joiner(std::vector<Word> &words) : words(words) {}
  void run();

private:
  bool spaceBefore(size_t at) const;
  void open(size_t at);
  void close(size_t at);
  char inside() const { return brackets.empty() ? '{' : brackets.back().kind; }
  bool inType() const { return !brackets.empty() && brackets.back().inType; }

  std::vector<Word> &words;
  std::vector<Bracket> brackets;
  bool afterPrefix = false; // the word before is a sign
};

} // namespace

void Joiner::open(size_t at) {
  Word &word = words[at];
  bool hasOperand = at > 0 && endsOperand(words[at - 1]);
  bool isType = word.is("[") && at > 0 && is_contained(dtypeNames(), words[at - 1].text);
  brackets.push_back({at, word.text.front(), word.is("[") && hasOperand, isType || inType()});
}

void Joiner::close(size_t at) {
  char kind = words[at].is(")") ? '(' : words[at].is("]") ? '[' : '{';
  if (brackets.empty() || inside() != kind)
    return; // the parser has not let it pass; the formatter need not care
  Bracket bracket = brackets.back();
  brackets.pop_back();
  words[bracket.position].match = at;
  words[at].match = bracket.position;
  words[bracket.position].mayBreak =
      !bracket.inType && bracket.kind != '{' && !bracket.isIndex && at > bracket.position + 1;
}

bool Joiner::spaceBefore(size_t at) const {
  const Word &word = words[at], &last = words[at - 1];
  if (merge(last, word) || word.kind == Token::annotation || last.is("@"))
    return true;
  if (afterPrefix)
    return !beginsOperand(word);
  if (last.is("(") || last.is("[") || last.is(".") || last.is(".."))
    return false;
  if (is_contained({")", "]", ",", ";", ".", ".."}, word.text) || (word.is(":") && !last.is(",")))
    return false;
  if (inType())
    return isOperatorWord(word) || isOperatorWord(last);
  if (inside() != '{' && (word.is("=") || last.is("="))) // a keyword argument
    return false;
  if (word.is("[") || word.is("("))
    return !endsOperand(last);
  if (last.is(":"))
    return inside() != '[';
  // `layers[i].0`: what follows an index belongs to the path.
  if (word.text.starts_with(".") && !word.is("...") && endsOperand(last))
    return false;
  return true;
}

void Joiner::run() {
  for (size_t at = 0; at < words.size(); ++at) {
    Word &word = words[at];
    bool hasOperand = at > 0 && endsOperand(words[at - 1]);
    bool isClosing = word.is(")") || word.is("]") || word.is("}");
    if (isClosing)
      close(at);
    word.spaceBefore = at > 0 && spaceBefore(at);
    word.isBinary = (isOperator(word) && hasOperand) || word.is("and") || word.is("or");
    afterPrefix = isOperator(word) && !word.isBinary;
    if (word.is("(") || word.is("[") || word.is("{"))
      open(at);
  }
}

void joinWords(std::vector<Word> &words) { Joiner(words).run(); }

} // namespace dlc::frontend
