//===- TokenDecoders.cpp - From tokens to the text that they are --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/Characters.h"
#include "tools/driver/text/Pattern.h"
#include "tools/driver/text/PreTokenizer.h"
#include "tools/driver/text/TokenDecoder.h"

namespace dlc::text {

namespace {
/// Characters as bytes, of all tokens together: one character of the text may be of several tokens.
class ByteLevel : public TokenDecoder {
public:
  bool apply(std::vector<std::string> &tokens, Problem &) const override {
    std::string bytes;
    for (const std::string &token : tokens)
      if (!appendSpelledBytes(token, bytes)) // a token that was added as a text
        bytes += token;
    tokens = {llvm::json::fixUTF8(bytes)};
    return true;
  }
};

/// Tokens of bytes, <0x0A>, as the characters that those side by side are.
class ByteFallback : public TokenDecoder {
public:
  bool apply(std::vector<std::string> &tokens, Problem &) const override {
    std::vector<std::string> result;
    std::string bytes;
    auto flush = [&] {
      if (llvm::json::isUTF8(bytes)) {
        if (!bytes.empty())
          result.push_back(bytes);
      } else {
        result.insert(result.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string &token : tokens) {
      if (auto byte = byteOfToken(token)) {
        bytes += static_cast<char>(*byte);
        continue;
      }
      flush();
      result.push_back(std::move(token));
    }
    flush();
    tokens = std::move(result);
    return true;
  }
};

class Fuse : public TokenDecoder {
public:
  bool apply(std::vector<std::string> &tokens, Problem &) const override {
    std::string text;
    for (const std::string &token : tokens)
      text += token;
    tokens = {std::move(text)};
    return true;
  }
};

/// Takes a character off both ends of each token, so many times at most.
class Strip : public TokenDecoder {
public:
  explicit Strip(const FileField &field) {
    field.expectKeys({"content", "start", "stop"});
    content = field.get("content").text();
    if (content.empty() || content.size() != lengthOfCharacter(content[0]))
      field.get("content").expected("one character");
    start = field.get("start").number();
    stop = field.get("stop").number();
  }
  bool apply(std::vector<std::string> &tokens, Problem &) const override {
    for (std::string &token : tokens) {
      std::string_view left = token;
      for (int64_t i = 0; i < start && left.starts_with(content); ++i)
        left.remove_prefix(content.size());
      for (int64_t i = 0; i < stop && left.ends_with(content); ++i)
        left.remove_suffix(content.size());
      token = std::string(left);
    }
    return true;
  }

private:
  std::string content;
  int64_t start, stop;
};

class Replace : public TokenDecoder {
public:
  explicit Replace(const FileField &field) {
    field.expectKeys({"pattern", "content"});
    pattern = Pattern::read(field.get("pattern"));
    content = field.get("content").text();
  }
  bool apply(std::vector<std::string> &tokens, Problem &problem) const override {
    size_t size = 0;
    for (std::string &token : tokens) {
      if (!pattern->replace(token, content, problem))
        return false;
      if ((size += token.size()) > kMostBytes)
        return failLength(problem);
    }
    return true;
  }

private:
  std::shared_ptr<const Pattern> pattern;
  std::string content;
};

class Metaspace : public TokenDecoder {
public:
  explicit Metaspace(const FileField &field)
      : character(SpaceCharacter::read(field)), pattern(Pattern::literal(character.replacement)) {}
  bool apply(std::vector<std::string> &tokens, Problem &problem) const override {
    bool isFirst = character.prepend != SpaceCharacter::Prepend::never;
    for (std::string &token : tokens) {
      if (!pattern->replace(token, isFirst ? "" : " ", problem))
        return false;
      isFirst = false;
    }
    return true;
  }

private:
  SpaceCharacter character;
  std::shared_ptr<const Pattern> pattern;
};

class Steps : public TokenDecoder {
public:
  explicit Steps(const FileField &field) {
    field.forEach([&](const FileField &one) { steps.push_back(TokenDecoder::read(one)); });
  }
  bool apply(std::vector<std::string> &tokens, Problem &problem) const override {
    for (const auto &step : steps)
      if (step && !step->apply(tokens, problem))
        return false;
    return true;
  }

private:
  std::vector<std::unique_ptr<TokenDecoder>> steps;
};
} // namespace

std::unique_ptr<TokenDecoder> TokenDecoder::read(const FileField &field) {
  if (field.isAbsent())
    return nullptr;
  std::string type = field.type(
      {"Sequence", "ByteLevel", "ByteFallback", "Fuse", "Strip", "Replace", "Metaspace"});
  if (type == "Sequence") {
    field.expectKeys({"decoders"});
    return std::make_unique<Steps>(field.get("decoders"));
  }
  if (type == "Strip")
    return std::make_unique<Strip>(field);
  if (type == "Replace")
    return std::make_unique<Replace>(field);
  if (type == "Metaspace")
    return std::make_unique<Metaspace>(field);
  if (type == "ByteLevel") { // its flags are of the pre-tokenizer
    field.expectKeys({"add_prefix_space", "trim_offsets", "use_regex"});
    return std::make_unique<ByteLevel>();
  }
  field.expectKeys({});
  if (type == "ByteFallback")
    return std::make_unique<ByteFallback>();
  return type == "Fuse" ? std::make_unique<Fuse>() : nullptr;
}

} // namespace dlc::text
