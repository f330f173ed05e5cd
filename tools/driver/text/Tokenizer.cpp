//===- Tokenizer.cpp - Between texts and the numbers of tokens ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/Tokenizer.h"

#include "tools/driver/text/Characters.h"

namespace dlc::text {

const std::vector<std::string> kEndTokens = {"</s>",
                                             "<|endoftext|>",
                                             "<|end_of_text|>",
                                             "<|eot_id|>",
                                             "<|im_end|>",
                                             "<eos>",
                                             "<end_of_turn>",
                                             "<|end|>",
                                             "<|eot|>",
                                             "<|return|>",
                                             "<|eom_id|>",
                                             "<|end_of_turn|>",
                                             "<｜end▁of▁sentence｜>"};

std::optional<int64_t> Tokenizer::id(std::string_view token) const {
  auto found = added.id(token);
  return found ? found : model->vocabulary.id(token);
}

const std::string *Tokenizer::token(int64_t id) const {
  const std::string *found = added.token(id);
  return found ? found : model->vocabulary.token(id);
}

bool Tokenizer::isByte(int64_t id) const {
  const std::string *found = token(id);
  return found && byteOfToken(*found);
}

std::vector<int64_t> Tokenizer::endTokens() const {
  std::vector<int64_t> ids;
  for (const std::string &name : kEndTokens)
    if (auto found = added.id(name); found && added.isSpecial(name))
      ids.push_back(*found);
  return ids;
}

bool Tokenizer::encodePieces(std::vector<Piece> pieces, std::vector<int64_t> &ids,
                             Problem &problem) const {
  if (preTokenizer && !preTokenizer->apply(pieces, problem))
    return false;
  for (const Piece &piece : pieces)
    if (!model->encode(piece.text, ids, problem))
      return false;
  return ids.size() <= kMostBytes || failLength(problem);
}

bool Tokenizer::encode(std::string_view text, std::vector<int64_t> &ids, Problem &problem) const {
  if (text.size() > kMostBytes)
    return failLength(problem);
  size_t place = 0;
  if (!llvm::json::isUTF8(text, &place))
    return problem.set(kUsage, "the text is no UTF-8 from byte " + std::to_string(place) +
                                   " on; convert it first");
  auto visit = [&](std::string_view piece, bool isFirst, std::optional<int64_t> token) {
    if (!token)
      return encodePieces({{std::string(piece), isFirst}}, ids, problem);
    ids.push_back(*token);
    return true;
  };
  if (!added.split(text, normalizer.get(), visit, problem))
    return false;
  postProcessor.apply(ids);
  return true;
}

bool Tokenizer::decode(const std::vector<int64_t> &ids, std::string &text, Problem &problem) const {
  std::vector<std::string> tokens;
  for (int64_t id : ids) {
    const std::string *token = this->token(id);
    if (token && !added.isSpecial(*token))
      tokens.push_back(*token);
  }
  if (decoder && !decoder->apply(tokens, problem))
    return false;
  text.clear();
  for (size_t i = 0; i < tokens.size(); ++i)
    text += (i > 0 && !decoder ? " " : "") + tokens[i];
  return true;
}

} // namespace dlc::text
