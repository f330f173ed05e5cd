//===- Normalizers.cpp - What becomes of a text before it is cut --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/CharacterMap.h"
#include "tools/driver/text/Characters.h"
#include "tools/driver/text/Normalizer.h"
#include "tools/driver/text/Pattern.h"

#include <functional>

namespace dlc::text {

namespace {
/// One step, as a function.
class Step : public Normalizer {
public:
  using Function = std::function<bool(std::string &, Problem &)>;
  explicit Step(Function function) : function(std::move(function)) {}
  bool apply(std::string &text, Problem &problem) const override { return function(text, problem); }

private:
  Function function;
};

class Steps : public Normalizer {
public:
  explicit Steps(const FileField &field) {
    field.forEach([&](const FileField &one) { steps.push_back(Normalizer::read(one)); });
  }
  bool apply(std::string &text, Problem &problem) const override {
    for (const auto &step : steps)
      if (step && !step->apply(text, problem))
        return false;
    return true;
  }

private:
  std::vector<std::unique_ptr<Normalizer>> steps;
};
} // namespace

static std::unique_ptr<Normalizer> step(Step::Function function) {
  return std::make_unique<Step>(std::move(function));
}

static std::unique_ptr<Normalizer> replacement(std::shared_ptr<const Pattern> pattern,
                                               std::string content) {
  return step([=](std::string &text, Problem &problem) {
    return pattern->replace(text, content, problem);
  });
}

static std::unique_ptr<Normalizer> normalForm(NormalForm form) {
  return step([form](std::string &text, Problem &problem) {
    std::optional<std::string> normal = normalize(text, form);
    if (!normal || normal->size() > kMostBytes)
      return failLength(problem);
    text = std::move(*normal);
    return true;
  });
}

std::unique_ptr<Normalizer> Normalizer::read(const FileField &field) {
  if (field.isAbsent())
    return nullptr;
  std::string type =
      field.type({"Sequence", "Prepend", "Replace", "Lowercase", "NFC", "NFD", "NFKC", "NFKD",
                  "Strip", "StripAccents", "ByteLevel", "Precompiled"});
  if (type == "Sequence") {
    field.expectKeys({"normalizers"});
    return std::make_unique<Steps>(field.get("normalizers"));
  }
  if (type == "Prepend") {
    field.expectKeys({"prepend"});
    return step([prefix = field.get("prepend").text()](std::string &text, Problem &) {
      if (!text.empty())
        text.insert(0, prefix);
      return true;
    });
  }
  if (type == "Replace") {
    field.expectKeys({"pattern", "content"});
    std::shared_ptr<const Pattern> pattern = Pattern::read(field.get("pattern"));
    std::string content = field.get("content").text();
    return pattern ? replacement(pattern, content) : nullptr;
  }
  if (type == "Strip") {
    field.expectKeys({"strip_left", "strip_right"});
    bool isLeft = field.get("strip_left").flag(true), isRight = field.get("strip_right").flag(true);
    const char *spaces = isLeft && isRight ? R"(\A\p{White_Space}+|\p{White_Space}+\z)"
                         : isLeft          ? R"(\A\p{White_Space}+)"
                                           : R"(\p{White_Space}+\z)";
    return isLeft || isRight ? replacement(Pattern::fixed(spaces), "") : nullptr;
  }
  if (type == "Precompiled") {
    field.expectKeys({"precompiled_charsmap"});
    std::shared_ptr<const CharacterMap> map = CharacterMap::read(field.get("precompiled_charsmap"));
    return map ? step([map](std::string &text, Problem &problem) {
      return map->apply(text, problem);
    })
               : nullptr;
  }
  field.expectKeys({});
  if (type == "Lowercase")
    return step([](std::string &text, Problem &) {
      text = lowercase(text);
      return true;
    });
  if (type == "StripAccents")
    return replacement(Pattern::fixed(R"(\p{M}+)"), "");
  if (type == "ByteLevel")
    return step([](std::string &text, Problem &) {
      text = spellBytes(text);
      return true;
    });
  if (type.empty())
    return nullptr;
  return normalForm(type == "NFC"    ? NormalForm::c
                    : type == "NFD"  ? NormalForm::d
                    : type == "NFKC" ? NormalForm::kc
                                     : NormalForm::kd);
}

} // namespace dlc::text
