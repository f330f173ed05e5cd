//===- Tokenizer.h - Between texts and the numbers of tokens ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_TOKENIZER_H
#define DLC_TOOLS_DRIVER_TEXT_TOKENIZER_H

#include "tools/driver/text/AddedTokens.h"
#include "tools/driver/text/PostProcessor.h"
#include "tools/driver/text/PreTokenizer.h"
#include "tools/driver/text/TokenDecoder.h"
#include "tools/driver/text/model/TokenModel.h"

namespace dlc::text {

/// A tokenizer as a tokenizer.json of Hugging Face's tokenizers describes it. It gives the same ids
/// and texts as that package.
class Tokenizer {
public:
  /// Reads a file, which may come from a stranger. Null with a problem: kDevice where it cannot be
  /// read, kModelError where it is damaged, kUnsupported where it asks for what dlc lacks.
  static std::unique_ptr<Tokenizer> load(const std::string &path, Problem &problem);
  /// The same of the file's bytes; messages begin with `name`.
  static std::unique_ptr<Tokenizer> parse(llvm::StringRef bytes, const std::string &name,
                                          Problem &problem);

  /// The tokens of a text, with those that the file puts at its begin and end. False with a
  /// problem: `text` is no UTF-8, or has what the vocabulary lacks.
  bool encode(std::string_view text, std::vector<int64_t> &ids, Problem &problem) const;
  /// The text of tokens, without special ones; bytes that are no UTF-8 become U+FFFD. Ids that are
  /// none are left out.
  bool decode(const std::vector<int64_t> &ids, std::string &text, Problem &problem) const;

  std::optional<int64_t> id(std::string_view token) const;
  /// Whether the token is one of a single byte, <0x0A>.
  bool isByte(int64_t id) const;
  /// Special tokens that end a text, by the names that they have in the published files
  /// (kEndTokens).
  std::vector<int64_t> endTokens() const;

private:
  /// Null where no token has this id.
  const std::string *token(int64_t id) const;
  bool encodePieces(std::vector<Piece> pieces, std::vector<int64_t> &ids, Problem &problem) const;

  std::unique_ptr<Normalizer> normalizer;     // may be null
  std::unique_ptr<PreTokenizer> preTokenizer; // may be null
  std::unique_ptr<TokenModel> model;
  std::unique_ptr<TokenDecoder> decoder; // null: tokens with spaces between
  AddedTokens added;
  PostProcessor postProcessor;
};

/// A tokenizer.json does not say which token ends a text; these are the names in use.
/// runtime/python/dlc/generation.py has them, too.
extern const std::vector<std::string> kEndTokens;

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_TOKENIZER_H
