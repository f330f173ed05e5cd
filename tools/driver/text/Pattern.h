//===- Pattern.h - A text or regular expression that splits texts -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_PATTERN_H
#define DLC_TOOLS_DRIVER_TEXT_PATTERN_H

#include "tools/driver/text/FileField.h"

#include <memory>
#include <string_view>
#include <vector>

namespace dlc::text {

/// A part of a text, and whether the pattern matches it or it lies between matches.
struct Span {
  size_t begin, end;
  bool isMatch;
};

/// A pattern of a tokenizer file. Expressions are written as Oniguruma takes them in Ruby's syntax
/// and matched by PCRE2 with Unicode's properties; what the two read in different ways is refused.
class Pattern {
public:
  /// {"String": TEXT} or {"Regex": EXPRESSION}; null with a problem of the field otherwise.
  static std::shared_ptr<const Pattern> read(const FileField &field);
  /// `expression` of our own, in PCRE2's syntax; it must be right.
  static std::shared_ptr<const Pattern> fixed(const char *expression);
  static std::shared_ptr<const Pattern> literal(std::string text);
  ~Pattern();

  /// Parts that follow one another and are the whole text; empty matches lie between others. False
  /// with a problem where matching takes too many steps.
  bool split(std::string_view text, std::vector<Span> &spans, Problem &problem) const;
  /// Puts `content` in the place of each match. False with a problem.
  bool replace(std::string &text, std::string_view content, Problem &problem) const;

private:
  Pattern() = default;
  std::string compile(const std::string &expression);
  bool splitLiteral(std::string_view text, std::vector<Span> &spans) const;

  std::string source;
  void *code = nullptr; // pcre2_code; null: `source` is a literal text
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_PATTERN_H
