//===- WordModel.cpp - A token for each word ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/model/TokenModel.h"

#include "frontend/Spelling.h"

namespace dlc::text {

namespace {
class WordModel : public TokenModel {
public:
  bool encode(std::string_view piece, std::vector<int64_t> &ids, Problem &problem) const override {
    auto id = vocabulary.id(piece);
    if (!id)
      id = vocabulary.id(unknown);
    if (!id)
      return problem.set(kUsage, "the tokenizer has no token for " +
                                     frontend::quote(std::string(piece)) +
                                     ", and none for unknown words");
    ids.push_back(*id);
    return true;
  }

  std::string unknown;
};
} // namespace

std::unique_ptr<TokenModel> readWordModel(const FileField &field) {
  field.expectKeys({"vocab", "unk_token"});
  auto model = std::make_unique<WordModel>();
  if (const llvm::json::Object *vocabulary = field.get("vocab").object())
    for (const auto &[token, ignored] : *vocabulary)
      model->vocabulary.add(token.str(), field.get("vocab").get(token).number());
  model->unknown = field.get("unk_token").text();
  return model;
}

} // namespace dlc::text
