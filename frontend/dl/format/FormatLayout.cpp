//===- FormatLayout.cpp - Words to lines --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A statement stands on one line where it fits. If not, its outermost brackets are opened from the
// left: what they hold goes to a line of its own, indented, and where that is too long too, each
// element to its own. A comma behind the last element asks for that, too, as does a comment among
// them.
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/format/Format.h"
#include "frontend/dl/format/FormatWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace dlc::frontend {

static constexpr unsigned kIndent = 2, kContinuation = 4;

/// Characters of UTF-8 text.
static unsigned columnsOf(StringRef text) {
  return count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

namespace {

struct Line {
  std::string code;
  unsigned columns = 0;
  StringRef comment;
};

class Layout {
public:
  explicit Layout(const std::vector<Word> &words);
  std::string run();

private:
  // Of the words [begin, end).
  bool continuesLine(size_t at, size_t begin) const;
  bool startsEntry(size_t at) const;
  size_t statementEnd(size_t begin, bool inWeights) const;
  bool isOneEntry(size_t open) const;
  unsigned flatColumns(size_t begin, size_t end) const {
    return begin < end ? widths[end] - widths[begin] - words[begin].spaceBefore : 0;
  }
  bool hasComment(size_t open, size_t close) const {
    return trailing[close] != trailing[open] || own[close + 1] != own[open + 1];
  }
  bool mustBreak(size_t open) const;
  size_t nextBreak(size_t at, size_t end) const;

  void blankLine();
  void newLine(unsigned columns);
  void put(size_t at, unsigned continuation);
  void putRange(size_t begin, size_t end, unsigned indent);
  size_t putGroup(size_t open, size_t end, unsigned indent);
  void putStatement(size_t begin, size_t end);
  void putComments(const Word &word, unsigned indent, bool mayBeBlank);
  void align();

  const std::vector<Word> &words;
  std::vector<unsigned> widths, trailing, own; // sums over the words before each
  std::vector<unsigned>
      perLine; // sums of the brackets before each that ask for a line for each element
  std::vector<Line> lines;
  Line line;
  unsigned lineIndent = 0;
};

} // namespace

Layout::Layout(const std::vector<Word> &words)
    : words(words), widths(1), trailing(1), own(1), perLine(1) {
  for (size_t at = 0; at < words.size(); ++at) {
    const Word &word = words[at];
    widths.push_back(widths.back() + word.spaceBefore + columnsOf(word.text));
    trailing.push_back(trailing.back() + !word.trailing.empty());
    own.push_back(own.back() + !word.comments.empty());
    // Without a second comma, `(x,)` may be a tuple of one.
    bool asks = word.mayBreak && words[word.match - 1].is(",") &&
                (word.is("[") || !word.spaceBefore ||
                 any_of(ArrayRef(words).slice(at, word.match - 1 - at),
                        [](const Word &other) { return other.is(","); }));
    perLine.push_back(perLine.back() + asks);
  }
}

//===- Statements -----------------------------------------------------------------------------===//

/// Whether the word, though first on its line, belongs to the statement that began at `begin`.
bool Layout::continuesLine(size_t at, size_t begin) const {
  const Word &word = words[at], &last = words[at - 1];
  if (is_contained({"{", ")", "]", ",", ":", "->", "..", "=", "@"}, word.text) ||
      (word.is("else") && words[begin].is("}")))
    return true;
  if (is_contained({",", ":", "->", "..", "=", "and", "or", "not", "in"}, last.text) ||
      last.isBinary)
    return true;
  return at == begin + 1 &&
         is_contained({"dl", "dim", "const", "model", "block", "sequential", "include", "weights"},
                      last.text);
}

/// In a weights clause an entry begins with its word, and a pair of `rename` with its string.
bool Layout::startsEntry(size_t at) const {
  const Word &word = words[at], &last = words[at - 1];
  bool lastEnds = last.kind == Token::string || last.is("}");
  return lastEnds && (word.isName() || word.kind == Token::string || word.is("}"));
}

size_t Layout::statementEnd(size_t begin, bool inWeights) const {
  unsigned depth = 0;
  for (size_t at = begin;; ++at) {
    const Word &word = words[at];
    if (word.kind == Token::endOfFile || (word.is(";") && depth == 0))
      return at;
    if (at > begin && depth == 0 &&
        (inWeights ? startsEntry(at) : word.startsLine && !continuesLine(at, begin)))
      return at;
    if (word.is("}")) {
      if (at > begin)
        return at;
      if (!words[at + 1].is("else"))
        return at + 1;
    } else if (word.is("{")) {
      return at + 1;
    } else if (word.is("(") || word.is("[")) {
      ++depth;
    } else if ((word.is(")") || word.is("]")) && depth > 0) {
      --depth;
    }
  }
}

/// Whether braces of a weights clause, written on one line, hold one entry alone.
bool Layout::isOneEntry(size_t open) const {
  size_t close = words[open].match;
  if (close == Word::kNone || hasComment(open, close))
    return false;
  for (size_t at = open + 1; at <= close; ++at)
    if (words[at].startsLine || (at > open + 1 && at < close && startsEntry(at)))
      return false;
  return close > open + 1;
}

std::string Layout::run() {
  std::vector<bool> braces; // for each open one: whether it is of a weights clause
  bool isFirst = true, isApart = false;
  for (size_t at = 0; words[at].kind != Token::endOfFile;) {
    const Word &word = words[at];
    if (word.is(";")) { // one that ends nothing
      putComments(word, braces.size() * kIndent, !isFirst);
      if (!word.trailing.empty())
        lines.push_back({"", 0, word.trailing});
      ++at;
      continue;
    }
    bool inWeights = !braces.empty() && braces.back();
    size_t end = statementEnd(at, inWeights);
    bool isClosing = word.is("}");
    bool isHeader = words[end - 1].is("{");
    if (isHeader && (inWeights || word.is("weights"))) {
      size_t close = words[end - 1].match;
      if (isOneEntry(end - 1) &&
          braces.size() * kIndent + flatColumns(at, close + 1) <= kFormatColumns) {
        end = close + 1;
        isHeader = false;
      }
    }
    // Models and blocks stand apart.
    bool isDeclaration = braces.empty() && isHeader && !word.is("weights");
    if ((isApart || isDeclaration) && !lines.empty())
      blankLine();
    unsigned outer = (braces.size() - (isClosing && !braces.empty())) * kIndent;
    putComments(word, braces.size() * kIndent, !isFirst);
    if (word.blankBefore && !isFirst && !isClosing)
      blankLine();
    lineIndent = outer;
    putStatement(at, end);
    if (isClosing && !braces.empty())
      braces.pop_back();
    isApart = isClosing && braces.empty() && !isHeader;
    if (isHeader)
      braces.push_back(inWeights || word.is("weights"));
    isFirst = isHeader;
    at = end;
    if (words[at].is(";") && !lines.empty() && lines.back().comment.empty()) {
      lines.back().comment = words[at].trailing;
      ++at;
    }
  }
  putComments(words.back(), 0, true);
  align();
  std::string text;
  for (const Line &each : lines) {
    text += each.code;
    text += each.comment;
    text += '\n';
  }
  return text;
}

//===- Lines ----------------------------------------------------------------------------------===//

void Layout::blankLine() {
  if (!lines.empty() && !(lines.back().code.empty() && lines.back().comment.empty()))
    lines.push_back({});
}

void Layout::putComments(const Word &word, unsigned indent, bool mayBeBlank) {
  for (const OwnComment &comment : word.comments) {
    if (comment.blankBefore && mayBeBlank)
      blankLine();
    mayBeBlank = true;
    lines.push_back({std::string(indent, ' '), indent, comment.text});
  }
}

/// Ends the line, if anything is on it; the next one begins at `columns`.
void Layout::newLine(unsigned columns) {
  if (!line.code.empty())
    lines.push_back(std::move(line));
  line = {};
  lineIndent = columns;
}

/// Puts a word, whose comments above stand already; `continuation` is where the statement goes on
/// after one behind it.
void Layout::put(size_t at, unsigned continuation) {
  const Word &word = words[at];
  if (line.code.empty()) {
    line.code.assign(lineIndent, ' ');
    line.columns = lineIndent;
  } else if (word.spaceBefore) {
    line.code += ' ';
    ++line.columns;
  }
  line.code += word.text;
  line.columns += columnsOf(word.text);
  if (!word.trailing.empty()) {
    line.comment = word.trailing;
    newLine(continuation);
  }
}

bool Layout::mustBreak(size_t open) const {
  size_t close = words[open].match;
  return hasComment(open, close) || perLine[close] != perLine[open];
}

/// The end of the words from `at` on that must stay on one line.
size_t Layout::nextBreak(size_t at, size_t end) const {
  for (; at < end; ++at) {
    if (words[at].mayBreak || words[at].isBinary)
      return at + 1;
    if (words[at].is("(") || words[at].is("["))
      at = words[at].match == Word::kNone ? at : std::min(words[at].match, end - 1);
  }
  return end;
}

/// Puts the words of an element or statement, whose lines begin at `indent`.
void Layout::putRange(size_t begin, size_t end, unsigned indent) {
  for (size_t at = begin; at < end;) {
    const Word &word = words[at];
    if (at > begin && !word.comments.empty()) {
      newLine(indent + kContinuation);
      putComments(word, lineIndent, false);
    } else if (at > begin && words[at - 1].isBinary && !line.code.empty() &&
               line.columns + 1 + flatColumns(at, nextBreak(at, end)) > kFormatColumns) {
      newLine(indent + kContinuation);
    }
    if (word.mayBreak && word.match < end) {
      at = putGroup(at, end, indent);
      continue;
    }
    put(at++, indent + kContinuation);
  }
}

/// Puts a bracket, all that it holds, and its partner; returns the position behind.
size_t Layout::putGroup(size_t open, size_t end, unsigned indent) {
  size_t close = words[open].match, behind = nextBreak(close + 1, end);
  if (!mustBreak(open) &&
      (line.code.empty() ? lineIndent : line.columns + words[open].spaceBefore) +
              flatColumns(open, behind) <=
          kFormatColumns) {
    for (size_t at = open; at <= close; ++at)
      put(at, indent + kContinuation);
    return close + 1;
  }
  unsigned inner = indent + kIndent;
  put(open, inner);
  newLine(inner);
  bool asks = perLine[open + 1] != perLine[open] || hasComment(open, close);
  bool fits = !asks && perLine[close] == perLine[open] &&
              inner + flatColumns(open + 1, close) <= kFormatColumns;
  if (fits) {
    putRange(open + 1, close, inner);
  } else {
    for (size_t at = open + 1, element = at; at < close; ++at) {
      if ((words[at].is("(") || words[at].is("[")) && words[at].match < close)
        at = words[at].match;
      if (!words[at].is(",") && at + 1 != close)
        continue;
      newLine(inner);
      putComments(words[element], inner, false);
      lineIndent = inner;
      putRange(element, at + 1, inner);
      element = at + 1;
    }
  }
  newLine(indent);
  putComments(words[close], inner, false);
  lineIndent = indent;
  put(close, indent + kContinuation);
  return close + 1;
}

void Layout::putStatement(size_t begin, size_t end) {
  putRange(begin, end, lineIndent);
  newLine(0);
}

/// Comments behind the code of adjacent lines stand in one column, where that keeps the lines
/// short.
void Layout::align() {
  auto isApart = [](const Line &each) {
    return each.comment.empty() || StringRef(each.code).trim().empty();
  };
  for (size_t begin = 0; begin < lines.size(); ++begin) {
    if (isApart(lines[begin]))
      continue;
    size_t end = begin;
    unsigned column = 0, longest = 0;
    for (; end < lines.size() && !isApart(lines[end]); ++end) {
      column = std::max(column, lines[end].columns + 2);
      longest = std::max(longest, columnsOf(lines[end].comment));
    }
    bool fits = column + longest <= kFormatColumns;
    for (; begin < end; ++begin)
      lines[begin].code.append(fits ? column - lines[begin].columns : 2, ' ');
  }
}

std::string layOut(const std::vector<Word> &words) { return Layout(words).run(); }

} // namespace dlc::frontend
