//===- TokenModel.cpp - Pieces of text as tokens of a vocabulary --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/model/TokenModel.h"

#include "tools/driver/text/Characters.h"

namespace dlc::text {

void Vocabulary::add(std::string token, int64_t id) {
  tokens[id] = token;
  ids[std::move(token)] = id;
}

std::optional<int64_t> Vocabulary::id(std::string_view token) const {
  auto found = ids.find(token);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

const std::string *Vocabulary::token(int64_t id) const {
  auto found = tokens.find(id);
  return found == tokens.end() ? nullptr : &found->second;
}

bool Vocabulary::appendBytes(std::string_view text, std::vector<int64_t> &out) const {
  size_t before = out.size();
  for (char byte : text) {
    auto found = id(byteToken(static_cast<uint8_t>(byte)));
    if (!found) {
      out.resize(before);
      return false;
    }
    out.push_back(*found);
  }
  return true;
}

std::unique_ptr<TokenModel> TokenModel::read(const FileField &field) {
  // Files of tokenizers before 0.9 have no "type" for a byte pair model.
  bool isOldBytePair = field.get("type").isAbsent() && !field.get("merges").isAbsent();
  std::string type = isOldBytePair ? "BPE" : field.type({"BPE", "Unigram", "WordLevel"});
  if (type == "BPE")
    return readBytePairModel(field);
  if (type == "Unigram")
    return readUnigramModel(field);
  return type == "WordLevel" ? readWordModel(field) : nullptr;
}

} // namespace dlc::text
