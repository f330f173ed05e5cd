//===- AddedTokens.cpp - Tokens that are found before all others --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/AddedTokens.h"

#include "tools/driver/text/Characters.h"
#include "tools/driver/text/Pattern.h"

namespace dlc::text {

void AddedTokens::read(const FileField &field, const Normalizer *normalizer, Problem &problem) {
  if (field.isAbsent())
    return;
  field.forEach([&](const FileField &one) {
    one.expectKeys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    std::string content = one.get("content").text();
    Token token = {one.get("id").number(), one.get("single_word").flag(false),
                   one.get("lstrip").flag(false), one.get("rstrip").flag(false)};
    bool isSpecial = one.get("special").flag(false);
    bool isNormalized = one.get("normalized").flag(!isSpecial);
    if (one.hasProblem() || content.empty())
      return;
    ids[content] = token.id;
    texts[token.id] = content;
    if (isSpecial)
      special.insert(content);
    auto place = static_cast<int64_t>(tokens.size());
    tokens.push_back(token);
    if (isNormalized && normalizer && !normalizer->apply(content, problem))
      return;
    (isNormalized ? inNormalized : inText).add(std::move(content), place);
  });
  inText.sort();
  inNormalized.sort();
}

const std::string *AddedTokens::token(int64_t id) const {
  auto found = texts.find(id);
  return found == texts.end() ? nullptr : &found->second;
}

std::optional<int64_t> AddedTokens::id(std::string_view token) const {
  auto found = ids.find(token);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

/// Whether the expression, of our own, matches within the text.
static bool matches(const std::shared_ptr<const Pattern> &pattern, std::string_view text,
                    Span *where = nullptr) {
  std::vector<Span> spans;
  Problem ignored;
  pattern->split(text, spans, ignored);
  for (const Span &span : spans)
    if (span.isMatch && span.begin < span.end) {
      if (where)
        *where = span;
      return true;
    }
  return false;
}

static bool endsWithSpaces(std::string_view text, size_t &begin) {
  static const auto pattern = Pattern::fixed(R"((?<!\p{White_Space})\p{White_Space}+\z)");
  Span span = {};
  bool isFound = matches(pattern, text, &span);
  begin = isFound ? span.begin : text.size();
  return isFound;
}

static size_t leadingSpaces(std::string_view text) {
  static const auto pattern = Pattern::fixed(R"(\A\p{White_Space}+)");
  Span span = {};
  return matches(pattern, text, &span) ? span.end : 0;
}

#define WORD R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}])"
static bool startsWithWord(std::string_view text) {
  static const auto pattern = Pattern::fixed(R"(\A)" WORD);
  return !text.empty() && matches(pattern, text.substr(0, lengthOfCharacter(text[0])));
}

static bool endsWithWord(std::string_view text) {
  static const auto pattern = Pattern::fixed(R"(\A)" WORD);
  size_t begin = text.size();
  while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xC0) == 0x80)
    ;
  return !text.empty() && matches(pattern, text.substr(begin));
}
#undef WORD

bool AddedTokens::split(std::string_view text, const PrefixIndex &index, bool isFirst,
                        const Visit &visit) const {
  size_t done = 0; // up to here the text has been given
  auto give = [&](size_t end) {
    return end <= done || visit(text.substr(done, end - done), isFirst && done == 0, std::nullopt);
  };
  for (size_t at = 0; at < text.size() && !index.isEmpty();) {
    size_t size = 0;
    int64_t place = 0;
    index.forEachPrefix(text.substr(at), [&](size_t length, int64_t number) {
      size = length; // the longest one
      place = number;
    });
    if (size == 0) {
      at += lengthOfCharacter(text[at]);
      continue;
    }
    const Token &token = tokens[static_cast<size_t>(place)];
    size_t begin = at, end = at + size;
    at = end;
    if (token.isWord && (endsWithWord(text.substr(0, begin)) || startsWithWord(text.substr(end))))
      continue;
    if (token.takesLeft && begin > done) {
      size_t spaces = 0;
      if (endsWithSpaces(text.substr(done, begin - done), spaces))
        begin = done + spaces;
    }
    if (token.takesRight)
      end += leadingSpaces(text.substr(end));
    if (!give(begin) || !visit({}, false, token.id))
      return false;
    done = std::max(done, end);
  }
  return give(text.size());
}

bool AddedTokens::split(std::string_view text, const Normalizer *normalizer, const Visit &visit,
                        Problem &problem) const {
  return split(text, inText, true,
               [&](std::string_view piece, bool isFirst, std::optional<int64_t> id) {
                 if (id)
                   return visit(piece, isFirst, id);
                 std::string normal(piece);
                 if (normalizer && !normalizer->apply(normal, problem))
                   return false;
                 return split(normal, inNormalized, isFirst, visit);
               });
}

} // namespace dlc::text
