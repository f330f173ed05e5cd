//===- Pattern.cpp - A text or regular expression that splits texts -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/Pattern.h"

#include "frontend/Spelling.h"
#include "tools/driver/text/Characters.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cassert>

namespace dlc::text {

// A stranger's expression may need a number of steps that is exponential in the text.
static constexpr uint32_t kMostSteps = 5'000'000, kMostKibibytes = 64 << 10;
static constexpr size_t kMostOfExpression = 1 << 16;

/// The expression in PCRE2's words; false with the construct that has none.
static bool translate(std::string_view expression, std::string &result, std::string &construct) {
  bool isInClass = false;
  for (size_t at = 0; at < expression.size(); ++at) {
    char c = expression[at];
    std::string_view rest = expression.substr(at);
    if (c == '\\' && at + 1 < expression.size()) {
      char next = expression[++at];
      bool isWord = next == 'w' || next == 'W';
      if (next == 's') // PCRE2's \s has U+180E as well
        result += "\\p{White_Space}";
      else if (next == 'S')
        result += "\\P{White_Space}";
      else if (isWord && !isInClass)
        result += next == 'w' ? "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}]"
                              : "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}]";
      else if (next == 'w')
        result += "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
      else if (isWord ||
               std::string_view("hHRXKkgGbByYOmMZ").find(next) != std::string_view::npos) {
        construct = std::string("\\") + next; // of another meaning there, or of none
        return false;
      } else
        result += {c, next};
      continue;
    }
    if (isInClass && (rest.starts_with("&&") || c == '[')) {
      construct = c == '[' ? "[ in a class" : "&&";
      return false;
    }
    if (!isInClass && c == '(' && rest.size() > 3 && rest[1] == '?') {
      size_t end = rest.find_first_of(":)");
      bool isOptions = rest[2] == '-' || (rest[2] >= 'a' && rest[2] <= 'z');
      // In Ruby's syntax (?m) is what others call (?s).
      if (rest[2] == '~' || rest[2] == '(' || rest[2] == '@' ||
          (isOptions &&
           rest.substr(2, end - 2).find_first_not_of("ix-") != std::string_view::npos)) {
        construct = std::string(rest.substr(0, 4));
        return false;
      }
    }
    if (!isInClass && c == '[') {
      isInClass = true;
      result += c;
      if (at + 1 < expression.size() && expression[at + 1] == '^')
        result += expression[++at];
      if (at + 1 < expression.size() && expression[at + 1] == ']') // the first is an element
        result += "\\]", ++at;
      continue;
    }
    if (c == ']')
      isInClass = false;
    result += c;
  }
  return true;
}

Pattern::~Pattern() { pcre2_code_free(static_cast<pcre2_code *>(code)); }

/// Returns the fault of the expression; empty where it has none.
std::string Pattern::compile(const std::string &expression) {
  int error = 0;
  PCRE2_SIZE place = 0;
  code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                       PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
                           PCRE2_NO_UTF_CHECK,
                       &error, &place, nullptr);
  if (code)
    return {};
  PCRE2_UCHAR message[200] = {};
  pcre2_get_error_message(error, message, sizeof(message));
  return std::string(reinterpret_cast<const char *>(message)) + " at character " +
         std::to_string(place);
}

std::shared_ptr<const Pattern> Pattern::fixed(const char *expression) {
  std::shared_ptr<Pattern> pattern(new Pattern);
  pattern->source = expression;
  [[maybe_unused]] std::string problem = pattern->compile(expression);
  assert(problem.empty() && "an expression of our own");
  return pattern;
}

std::shared_ptr<const Pattern> Pattern::literal(std::string text) {
  std::shared_ptr<Pattern> pattern(new Pattern);
  pattern->source = std::move(text);
  return pattern;
}

std::shared_ptr<const Pattern> Pattern::read(const FileField &field) {
  const llvm::json::Object *object = field.object();
  if (!object)
    return nullptr;
  if (object->get("String"))
    return literal(field.get("String").text());
  FileField place = field.get("Regex");
  if (place.isAbsent()) {
    field.expected("{\"String\": TEXT} or {\"Regex\": EXPRESSION}");
    return nullptr;
  }
  std::string expression = place.text(), translated, construct;
  if (place.hasProblem())
    return nullptr;
  if (expression.size() > kMostOfExpression) {
    place.unsupported("an expression of " + std::to_string(expression.size()) +
                      " bytes; expected at most " + std::to_string(kMostOfExpression));
    return nullptr;
  }
  if (!translate(expression, translated, construct)) {
    place.unsupported("dlc does not take " + frontend::quote(construct) +
                      " in an expression; expected groups, alternatives, repeats, classes, "
                      "lookarounds and the properties of Unicode");
    return nullptr;
  }
  std::shared_ptr<Pattern> pattern(new Pattern);
  pattern->source = expression;
  if (std::string problem = pattern->compile(translated); !problem.empty()) {
    place.expected("a regular expression (" + problem + ")");
    return nullptr;
  }
  return pattern;
}

bool Pattern::splitLiteral(std::string_view text, std::vector<Span> &spans) const {
  size_t done = 0;
  while (!source.empty()) {
    size_t found = text.find(source, done);
    if (found == std::string_view::npos)
      break;
    if (found > done)
      spans.push_back({done, found, false});
    done = found + source.size();
    spans.push_back({found, done, true});
  }
  if (done < text.size())
    spans.push_back({done, text.size(), false});
  return true;
}

bool Pattern::split(std::string_view text, std::vector<Span> &spans, Problem &problem) const {
  spans.clear();
  if (!code)
    return splitLiteral(text, spans);
  struct Match {
    pcre2_match_data *data;
    pcre2_match_context *context = pcre2_match_context_create(nullptr);
    ~Match() {
      pcre2_match_data_free(data);
      pcre2_match_context_free(context);
    }
  } match{pcre2_match_data_create_from_pattern(static_cast<pcre2_code *>(code), nullptr)};
  if (!match.data || !match.context)
    return problem.set(kDevice, "out of memory");
  pcre2_set_match_limit(match.context, kMostSteps);
  pcre2_set_heap_limit(match.context, kMostKibibytes);

  size_t done = 0; // up to here the spans reach
  size_t at = 0;
  bool hasMatched = false;
  while (at <= text.size()) {
    int found =
        pcre2_match(static_cast<pcre2_code *>(code), reinterpret_cast<PCRE2_SPTR>(text.data()),
                    text.size(), at, PCRE2_NO_UTF_CHECK, match.data, match.context);
    if (found == PCRE2_ERROR_NOMATCH)
      break;
    if (found < 0)
      return problem.set(kUnsupported, "matching the expression " + frontend::quote(source) +
                                           " of the tokenizer takes too many steps");
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(match.data);
    size_t begin = place[0], end = place[1];
    if (end <= begin) { // empty: it counts unless it follows a match at once
      if (begin >= done && !(hasMatched && begin == done)) {
        if (begin > done)
          spans.push_back({done, begin, false});
        spans.push_back({begin, begin, true});
        done = begin;
        hasMatched = true;
      }
      if (begin >= text.size())
        break;
      at = begin + lengthOfCharacter(text[begin]);
      continue;
    }
    if (begin > done)
      spans.push_back({done, begin, false});
    spans.push_back({begin, end, true});
    at = done = end;
    hasMatched = true;
  }
  if (done < text.size())
    spans.push_back({done, text.size(), false});
  return true;
}

bool Pattern::replace(std::string &text, std::string_view content, Problem &problem) const {
  std::vector<Span> spans;
  if (!split(text, spans, problem))
    return false;
  std::string result;
  for (const Span &span : spans) {
    result +=
        span.isMatch ? content : std::string_view(text).substr(span.begin, span.end - span.begin);
    if (result.size() > kMostBytes)
      return failLength(problem);
  }
  text = std::move(result);
  return true;
}

} // namespace dlc::text
