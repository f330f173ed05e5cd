//===- TokenModel.h - Pieces of text as tokens of a vocabulary ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_MODEL_TOKENMODEL_H
#define DLC_TOOLS_DRIVER_TEXT_MODEL_TOKENMODEL_H

#include "tools/driver/text/FileField.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlc::text {

class Vocabulary {
public:
  void add(std::string token, int64_t id);
  std::optional<int64_t> id(std::string_view token) const;
  /// Null where no token has this id.
  const std::string *token(int64_t id) const;
  /// Appends the tokens of the bytes of `text`, <0x00> to <0xFF>; false, and nothing appended,
  /// where one is missing.
  bool appendBytes(std::string_view text, std::vector<int64_t> &ids) const;

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids;
  std::unordered_map<int64_t, std::string> tokens;
};

class TokenModel {
public:
  /// The model of the file's field "model"; null with a problem of the field.
  static std::unique_ptr<TokenModel> read(const FileField &field);
  virtual ~TokenModel() = default;
  /// Appends the tokens of a piece that the pre-tokenizer made. False with a problem where a
  /// character has none.
  virtual bool encode(std::string_view piece, std::vector<int64_t> &ids,
                      Problem &problem) const = 0;

  Vocabulary vocabulary;
};

// Each reads its fields, "type" aside.
std::unique_ptr<TokenModel> readBytePairModel(const FileField &field);
std::unique_ptr<TokenModel> readUnigramModel(const FileField &field);
std::unique_ptr<TokenModel> readWordModel(const FileField &field);

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_MODEL_TOKENMODEL_H
