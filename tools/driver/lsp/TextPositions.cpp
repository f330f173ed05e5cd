//===- TextPositions.cpp - Places of a text as editors count them -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/lsp/TextPositions.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using llvm::StringRef;
namespace lsp = llvm::lsp;

namespace dlc {

TextPositions::TextPositions(StringRef text) : text(text), begins(1) {
  for (size_t at = 0; at < text.size(); ++at)
    if (text[at] == '\n')
      begins.push_back(at + 1);
}

StringRef TextPositions::lineAt(size_t line) const {
  return text.substr(begins[line]).take_until([](char c) { return c == '\n'; });
}

/// How many UTF-16 units the character beginning with `byte` has; 0 within a character.
static unsigned unitsOf(char byte) {
  auto first = static_cast<unsigned char>(byte);
  return (first & 0xC0) == 0x80 ? 0 : first >= 0xF0 ? 2 : 1;
}

size_t TextPositions::offsetOf(lsp::Position position) const {
  if (position.line < 0)
    return 0;
  size_t line = static_cast<size_t>(position.line);
  if (line >= begins.size())
    return text.size();
  StringRef rest = lineAt(line);
  int units = 0;
  size_t at = 0;
  while (at < rest.size() && (units < position.character || unitsOf(rest[at]) == 0))
    units += static_cast<int>(unitsOf(rest[at++]));
  return begins[line] + at;
}

lsp::Position TextPositions::positionOf(size_t offset) const {
  offset = std::min(offset, text.size());
  auto next = std::upper_bound(begins.begin(), begins.end(), offset);
  size_t line = static_cast<size_t>(next - begins.begin()) - 1;
  int units = 0;
  for (char c : text.slice(begins[line], offset))
    units += static_cast<int>(unitsOf(c));
  return {static_cast<int>(line), units};
}

size_t TextPositions::offsetOf(unsigned line, unsigned column) const {
  if (line == 0 || line > begins.size())
    return line == 0 ? 0 : text.size();
  return std::min(begins[line - 1] + std::max(column, 1u) - 1, text.size());
}

lsp::Range TextPositions::tokenAt(size_t offset) const {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; };
  size_t end = offset;
  if (end < text.size() && (text[end] == '"' || text[end] == '\'')) {
    while (++end < text.size() && text[end] != text[offset] && text[end] != '\n')
      end += text[end] == '\\' && end + 1 < text.size() && text[end + 1] != '\n';
    end += end < text.size() && text[end] == text[offset];
    return {positionOf(offset), positionOf(end)};
  }
  while (end < text.size() && isPart(text[end]))
    ++end;
  if (end == offset && end < text.size() && text[end] != '\n')
    ++end;
  return {positionOf(offset), positionOf(end)};
}

} // namespace dlc
