//===- LongLines.cpp - What is shown of lines that nobody reads to their end --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/inspect/LongLines.h"

#include <algorithm>
#include <vector>

namespace dlc {

/// Without the sequences that colour a terminal: they stand between what is shown.
static std::string withoutColors(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    size_t escape = text.find("\x1b[");
    plain += text.substr(0, escape);
    if (escape == std::string_view::npos)
      break;
    size_t end = text.find('m', escape);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return plain;
}

/// No half of a character: not within the bytes that continue one in UTF-8.
static size_t characterBegin(std::string_view line, size_t at) {
  while (at > 0 && at < line.size() && (line[at] & 0xC0) == 0x80)
    --at;
  return at;
}

std::string cutLongLines(std::string_view text) {
  auto longest = [](std::string_view rest) {
    size_t most = 0;
    for (size_t end; !rest.empty(); rest.remove_prefix(std::min(end + 1, rest.size()))) {
      end = std::min(rest.find('\n'), rest.size());
      most = std::max(most, end);
    }
    return most;
  };
  if (longest(text) <= kMaxShownLine)
    return std::string(text);
  std::string plain = withoutColors(text);
  std::vector<std::string> lines;
  for (size_t begin = 0, end; begin < plain.size(); begin = end + 1) {
    end = std::min(plain.find('\n', begin), plain.size());
    lines.push_back(plain.substr(begin, end - begin));
  }
  auto isCaret = [&](size_t i) {
    return i < lines.size() && !lines[i].empty() && lines[i].back() == '^' &&
           lines[i].find_first_not_of(" \t") + 1 == lines[i].size();
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    if (isCaret(i) && i > 0 && lines[i - 1].size() > kMaxShownLine) {
      std::string &line = lines[i - 1];
      size_t caret = lines[i].size() - 1, half = kMaxShownLine / 2;
      size_t begin = characterBegin(line, caret > half ? caret - half : 0),
             end = characterBegin(line, std::min(caret + half, line.size()));
      lines[i] = std::string(caret - begin + (begin ? 3 : 0), ' ') + "^";
      line =
          (begin ? "..." : "") + line.substr(begin, end - begin) + (end < line.size() ? "..." : "");
    } else if (lines[i].size() > kMaxShownMessage && !isCaret(i + 1)) {
      lines[i] = lines[i].substr(0, characterBegin(lines[i], kMaxShownMessage)) + "...";
    }
  }
  std::string result;
  for (const std::string &line : lines)
    result += line + "\n";
  return result;
}

} // namespace dlc
