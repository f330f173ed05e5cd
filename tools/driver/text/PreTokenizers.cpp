//===- PreTokenizers.cpp - Where a text is cut before its tokens are found ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/Characters.h"
#include "tools/driver/text/Pattern.h"
#include "tools/driver/text/PreTokenizer.h"

#include <algorithm>
#include <functional>

namespace dlc::text {

/// Says how matches of a pattern are cut out of the text.
enum class Behavior { removed, isolated, mergedWithPrevious, mergedWithNext, contiguous };

/// Joins the spans as the behaviour says, or leaves out matches.
static void arrange(std::vector<Span> &spans, Behavior behavior) {
  std::vector<Span> result;
  auto joinLast = [&](const Span &span) {
    result.back().begin = std::min(result.back().begin, span.begin);
    result.back().end = std::max(result.back().end, span.end);
  };
  bool isBackward = behavior == Behavior::mergedWithNext;
  if (isBackward)
    std::reverse(spans.begin(), spans.end());
  bool wasMatch = false;
  for (const Span &span : spans) {
    bool isJoined =
        (behavior == Behavior::contiguous && !result.empty() && span.isMatch == wasMatch) ||
        ((behavior == Behavior::mergedWithPrevious || isBackward) && span.isMatch && !wasMatch &&
         !result.empty());
    if (isJoined)
      joinLast(span);
    else if (!(behavior == Behavior::removed && span.isMatch))
      result.push_back(span);
    wasMatch = span.isMatch;
  }
  if (isBackward)
    std::reverse(result.begin(), result.end());
  spans = std::move(result);
}

namespace {
class Split : public PreTokenizer {
public:
  Split(std::shared_ptr<const Pattern> pattern, Behavior behavior, bool isInverted = false)
      : pattern(std::move(pattern)), behavior(behavior), isInverted(isInverted) {}

  bool apply(std::vector<Piece> &pieces, Problem &problem) const override {
    std::vector<Piece> result;
    std::vector<Span> spans;
    for (const Piece &piece : pieces) {
      if (!pattern->split(piece.text, spans, problem))
        return false;
      for (Span &span : spans)
        span.isMatch ^= isInverted;
      arrange(spans, behavior);
      for (const Span &span : spans)
        if (span.begin < span.end)
          result.push_back({piece.text.substr(span.begin, span.end - span.begin),
                            piece.isFirst && span.begin == 0});
    }
    pieces = std::move(result);
    return true;
  }

private:
  std::shared_ptr<const Pattern> pattern;
  Behavior behavior;
  bool isInverted;
};

/// Bytes as characters, after words and spaces have been cut apart.
class ByteLevel : public PreTokenizer {
public:
  explicit ByteLevel(const FileField &field) {
    field.expectKeys({"add_prefix_space", "trim_offsets", "use_regex"});
    addPrefixSpace = field.get("add_prefix_space").flag(true);
    if (field.get("use_regex").flag(true))
      words = std::make_unique<Split>(
          Pattern::fixed(R"('(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+)"
                         R"(|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+)"),
          Behavior::isolated);
  }

  bool apply(std::vector<Piece> &pieces, Problem &problem) const override {
    if (addPrefixSpace)
      for (Piece &piece : pieces)
        if (!piece.text.starts_with(' '))
          piece.text.insert(0, " ");
    if (words && !words->apply(pieces, problem))
      return false;
    for (Piece &piece : pieces)
      piece.text = spellBytes(piece.text);
    return true;
  }

private:
  bool addPrefixSpace;
  std::unique_ptr<Split> words;
};

class Metaspace : public PreTokenizer {
public:
  explicit Metaspace(const FileField &field)
      : character(SpaceCharacter::read(field)),
        words(Pattern::literal(character.replacement), Behavior::mergedWithNext),
        space(Pattern::literal(" ")) {}

  bool apply(std::vector<Piece> &pieces, Problem &problem) const override {
    using Prepend = SpaceCharacter::Prepend;
    for (Piece &piece : pieces) {
      if (!space->replace(piece.text, character.replacement, problem))
        return false;
      bool isWanted = character.prepend == Prepend::always ||
                      (character.prepend == Prepend::first && piece.isFirst);
      if (isWanted && !piece.text.starts_with(character.replacement))
        piece.text.insert(0, character.replacement);
    }
    return !character.split || words.apply(pieces, problem);
  }

private:
  SpaceCharacter character;
  Split words;
  std::shared_ptr<const Pattern> space;
};

class Steps : public PreTokenizer {
public:
  explicit Steps(const FileField &field) {
    field.forEach([&](const FileField &one) { steps.push_back(PreTokenizer::read(one)); });
  }
  bool apply(std::vector<Piece> &pieces, Problem &problem) const override {
    for (const auto &step : steps)
      if (step && !step->apply(pieces, problem))
        return false;
    return true;
  }

private:
  std::vector<std::unique_ptr<PreTokenizer>> steps;
};
} // namespace

SpaceCharacter SpaceCharacter::read(const FileField &field) {
  field.expectKeys({"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
  SpaceCharacter character;
  character.replacement = field.get("replacement").text();
  if (!character.replacement.empty() &&
      character.replacement.size() != lengthOfCharacter(character.replacement[0]))
    field.get("replacement").expected("one character");
  // Files of tokenizers before 0.19 have a flag in the place of the scheme.
  FileField scheme = field.get("prepend_scheme");
  std::string name = scheme.text(field.get("add_prefix_space").flag(true) ? "always" : "never");
  character.prepend = name == "always"  ? Prepend::always
                      : name == "first" ? Prepend::first
                                        : Prepend::never;
  if (character.prepend == Prepend::never && name != "never")
    scheme.unsupported("expected always, first or never, got '" + name + "'");
  character.split = field.get("split").flag(true);
  return character;
}

static Behavior readBehavior(const FileField &field, llvm::StringRef ifAbsent) {
  std::string name = field.text(ifAbsent);
  if (name == "Removed")
    return Behavior::removed;
  if (name == "MergedWithPrevious")
    return Behavior::mergedWithPrevious;
  if (name == "MergedWithNext")
    return Behavior::mergedWithNext;
  if (name == "Contiguous")
    return Behavior::contiguous;
  if (name != "Isolated")
    field.unsupported("expected Removed, Isolated, MergedWithPrevious, MergedWithNext or "
                      "Contiguous, got '" +
                      name + "'");
  return Behavior::isolated;
}

std::unique_ptr<PreTokenizer> PreTokenizer::read(const FileField &field) {
  if (field.isAbsent())
    return nullptr;
  std::string type =
      field.type({"Sequence", "ByteLevel", "Split", "Metaspace", "Digits", "Whitespace",
                  "WhitespaceSplit", "Punctuation", "CharDelimiterSplit"});
  if (type == "Sequence") {
    field.expectKeys({"pretokenizers"});
    return std::make_unique<Steps>(field.get("pretokenizers"));
  }
  if (type == "ByteLevel")
    return std::make_unique<ByteLevel>(field);
  if (type == "Metaspace")
    return std::make_unique<Metaspace>(field);
  if (type == "Split") {
    field.expectKeys({"pattern", "behavior", "invert"});
    auto pattern = Pattern::read(field.get("pattern"));
    Behavior behavior = readBehavior(field.get("behavior"), "");
    bool isInverted = field.get("invert").flag(false);
    return pattern ? std::make_unique<Split>(pattern, behavior, isInverted) : nullptr;
  }
  if (type == "Digits") {
    field.expectKeys({"individual_digits"});
    return std::make_unique<Split>(
        Pattern::fixed(R"(\p{N})"),
        field.get("individual_digits").flag(false) ? Behavior::isolated : Behavior::contiguous);
  }
  if (type == "Punctuation") {
    field.expectKeys({"behavior"});
    return std::make_unique<Split>(Pattern::fixed(R"([\p{P}!-/:-@\[-`{-~])"),
                                   readBehavior(field.get("behavior"), "Isolated"));
  }
  if (type == "CharDelimiterSplit") {
    field.expectKeys({"delimiter"});
    return std::make_unique<Split>(Pattern::literal(field.get("delimiter").text()),
                                   Behavior::removed);
  }
  field.expectKeys({});
  if (type == "WhitespaceSplit")
    return std::make_unique<Split>(Pattern::fixed(R"(\p{White_Space})"), Behavior::removed);
  if (type == "Whitespace")
    return std::make_unique<Split>(
        Pattern::fixed(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+)"
                       R"(|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+)"),
        Behavior::removed, /*isInverted=*/true);
  return nullptr;
}

} // namespace dlc::text
