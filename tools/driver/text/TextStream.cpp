//===- TextStream.cpp - Text that appears token by token ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/TextStream.h"

#include <algorithm>

namespace dlc::text {

bool TextStream::add(int64_t token, std::string &piece, Problem &problem) {
  tokens.push_back(token);
  return next(/*isLast=*/false, piece, problem);
}

bool TextStream::finish(std::string &piece, Problem &problem) {
  return next(/*isLast=*/true, piece, problem);
}

/// Forgets the older tokens of a long window, where what follows does not depend on them: the text
/// of the others is the end of what was said. A byte that has a token of its own may be of a
/// character with those before it.
bool TextStream::shorten(Problem &problem) {
  constexpr size_t kMostTokens = 128, kKept = 64, kTries = 16;
  if (tokens.size() <= kMostTokens)
    return true;
  std::string text;
  for (size_t cut = tokens.size() - kKept; cut < tokens.size() - kKept + kTries; ++cut) {
    if (tokenizer.isByte(tokens[cut - 1]))
      continue;
    std::vector<int64_t> rest(tokens.begin() + static_cast<ptrdiff_t>(cut), tokens.end());
    if (!tokenizer.decode(rest, text, problem))
      return false;
    if (text.empty() || !std::string_view(said).ends_with(text))
      continue;
    tokens = std::move(rest);
    said = std::move(text);
    return true;
  }
  return true;
}

bool TextStream::next(bool isLast, std::string &piece, Problem &problem) {
  piece.clear();
  // All tokens of the window anew: what a decoder makes of one may depend on those before it.
  std::string text;
  if (!tokenizer.decode(tokens, text, problem))
    return false;
  constexpr std::string_view kReplacement = "\uFFFD";
  bool isWhole = true;
  while (!isLast && text.ends_with(kReplacement)) {
    text.resize(text.size() - kReplacement.size());
    isWhole = false;
  }
  // A byte that is none of a character can make U+FFFD of bytes before it. What was said stays
  // said.
  size_t same =
      std::mismatch(said.begin(), said.end(), text.begin(), text.end()).first - said.begin();
  if (same < said.size() && !isLast)
    return true;
  while (same > 0 && same < text.size() && (static_cast<unsigned char>(text[same]) & 0xC0) == 0x80)
    --same;
  piece = text.substr(std::min(same, text.size()));
  said = std::move(text);
  return !isWhole || shorten(problem);
}

} // namespace dlc::text
