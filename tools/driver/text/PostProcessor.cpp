//===- PostProcessor.cpp - What comes before and after the tokens of a text ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/PostProcessor.h"

namespace dlc::text {

void PostProcessor::readTemplate(const FileField &field) {
  field.expectKeys({"single", "pair", "special_tokens"});
  Affixes affixes;
  bool isAfter = false;
  field.get("single").forEach([&](const FileField &part) {
    if (FileField sequence = part.get("Sequence"); !sequence.isAbsent()) {
      if (isAfter || sequence.get("id").text() != "A")
        sequence.unsupported("dlc puts the text in one place alone; expected the sequence A once");
      isAfter = true;
      return;
    }
    FileField special = part.get("SpecialToken");
    if (special.isAbsent())
      return part.expected("{\"SpecialToken\": ...} or {\"Sequence\": ...}");
    FileField name = special.get("id");
    FileField token = field.get("special_tokens").get(name.text());
    if (token.isAbsent())
      return name.expected("a token of special_tokens");
    token.get("ids").forEach([&](const FileField &id) {
      (isAfter ? affixes.after : affixes.before).push_back(id.number());
    });
  });
  if (!isAfter)
    field.get("single").expected("the sequence A in it");
  steps.push_back(std::move(affixes));
}

/// Those of BERT and RoBERTa: [CLS] before and [SEP] after, each as [TOKEN, ID].
void PostProcessor::readPair(const FileField &field) {
  field.expectKeys({"sep", "cls", "trim_offsets", "add_prefix_space"});
  auto idOf = [&](const char *key) -> int64_t {
    std::vector<FileField> pair = field.get(key).elements();
    if (pair.size() == 2)
      return pair[1].number();
    field.get(key).expected("[TOKEN, ID]");
    return 0;
  };
  int64_t begin = idOf("cls"), end = idOf("sep");
  steps.push_back({{begin}, {end}});
}

void PostProcessor::read(const FileField &field) {
  if (field.isAbsent())
    return;
  std::string type = field.type(
      {"Sequence", "TemplateProcessing", "ByteLevel", "RobertaProcessing", "BertProcessing"});
  if (type == "Sequence") {
    field.expectKeys({"processors"});
    field.get("processors").forEach([&](const FileField &one) { read(one); });
  } else if (type == "TemplateProcessing") {
    readTemplate(field);
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    readPair(field);
  } else if (type == "ByteLevel") { // it moves offsets, which are not asked for here
    field.expectKeys({"add_prefix_space", "trim_offsets", "use_regex"});
  }
}

void PostProcessor::apply(std::vector<int64_t> &ids) const {
  for (const Affixes &affixes : steps) {
    ids.insert(ids.begin(), affixes.before.begin(), affixes.before.end());
    ids.insert(ids.end(), affixes.after.begin(), affixes.after.end());
  }
}

} // namespace dlc::text
