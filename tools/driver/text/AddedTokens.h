//===- AddedTokens.h - Tokens that are found before all others ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_ADDEDTOKENS_H
#define DLC_TOOLS_DRIVER_TEXT_ADDEDTOKENS_H

#include "tools/driver/text/Normalizer.h"
#include "tools/driver/text/PrefixIndex.h"

#include <functional>
#include <map>
#include <set>

namespace dlc::text {

/// The list "added_tokens" of a file: the tokens that begin and end texts, and words that stay
/// whole.
class AddedTokens {
public:
  /// Some are searched for in normalized texts, as normalized themselves; `normalizer` may be null.
  void read(const FileField &field, const Normalizer *normalizer, Problem &problem);

  /// Cuts the text around the added tokens in it and calls visit(piece, isFirst, id) for each part
  /// in order: of a part that is a token with its id, of any other one without. The latter is
  /// normalized. False with a problem, or where a visit gives false.
  using Visit =
      std::function<bool(std::string_view piece, bool isFirst, std::optional<int64_t> id)>;
  bool split(std::string_view text, const Normalizer *normalizer, const Visit &visit,
             Problem &problem) const;

  /// Null where no added token has this id.
  const std::string *token(int64_t id) const;
  std::optional<int64_t> id(std::string_view token) const;
  bool isSpecial(const std::string &token) const { return special.contains(token); }

private:
  struct Token {
    int64_t id;
    bool isWord, takesLeft, takesRight; // single_word, lstrip, rstrip
  };
  bool split(std::string_view text, const PrefixIndex &index, bool isFirst,
             const Visit &visit) const;

  std::vector<Token> tokens;
  PrefixIndex inText, inNormalized; // whose numbers are places in `tokens`
  std::map<std::string, int64_t, std::less<>> ids;
  std::map<int64_t, std::string> texts;
  std::set<std::string> special;
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_ADDEDTOKENS_H
