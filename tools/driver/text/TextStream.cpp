//===- TextStream.cpp - Text that appears token by token -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
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

bool TextStream::next(bool isLast, std::string &piece, Problem &problem) {
  piece.clear();
  // All tokens anew: what a decoder makes of one may depend on those before it. That costs less than a run of the model.
  std::string text;
  if (!tokenizer.decode(tokens, text, problem))
    return false;
  constexpr std::string_view kReplacement = "\uFFFD";
  while (!isLast && text.ends_with(kReplacement))
    text.resize(text.size() - kReplacement.size());
  // A byte that is none of a character can make U+FFFD of bytes before it. What was said stays said.
  size_t same =
      std::mismatch(said.begin(), said.end(), text.begin(), text.end()).first - said.begin();
  if (same < said.size() && !isLast)
    return true;
  while (same > 0 && same < text.size() && (static_cast<unsigned char>(text[same]) & 0xC0) == 0x80)
    --same;
  piece = text.substr(std::min(same, text.size()));
  said = std::move(text);
  return true;
}

} // namespace dlc::text
