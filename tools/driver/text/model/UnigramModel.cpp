//===- UnigramModel.cpp - The likeliest way to cut a piece --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "tools/driver/text/Characters.h"
#include "tools/driver/text/PrefixIndex.h"
#include "tools/driver/text/model/TokenModel.h"

#include <algorithm>

namespace dlc::text {

namespace {
class UnigramModel : public TokenModel {
public:
  bool encode(std::string_view piece, std::vector<int64_t> &ids, Problem &problem) const override;
  void readFields(const FileField &field);

private:
  struct Cut {
    std::string_view text;
    bool isUnknown;
  };
  bool cut(std::string_view piece, std::vector<Cut> &cuts, Problem &problem) const;
  bool failUnknown(std::string_view text, Problem &problem) const {
    return problem.set(kUsage, "the tokenizer has no token for " +
                                   frontend::quote(std::string(text)) +
                                   ", and none for what is unknown (model.unk_id)");
  }

  PrefixIndex index;
  std::vector<double> scores; // logarithms of probabilities, by id
  std::optional<int64_t> unknown;
  double unknownScore = 0;
  bool byteFallback = false;
};
} // namespace

void UnigramModel::readFields(const FileField &field) {
  field.expectKeys({"unk_id", "vocab", "byte_fallback"});
  byteFallback = field.get("byte_fallback").flag(false);
  field.get("vocab").forEach([&](const FileField &entry) {
    std::vector<FileField> pair = entry.elements();
    if (pair.size() != 2)
      return entry.expected("[TOKEN, SCORE]");
    auto id = static_cast<int64_t>(scores.size());
    std::string token = pair[0].text();
    scores.push_back(pair[1].real());
    index.add(token, id);
    vocabulary.add(std::move(token), id);
  });
  index.sort();
  if (scores.empty())
    return field.get("vocab").expected("one token or more");
  // An unknown character costs more than any token does.
  constexpr double kPenalty = 10;
  unknownScore = *std::min_element(scores.begin(), scores.end()) - kPenalty;
  if (FileField id = field.get("unk_id"); !id.isAbsent()) {
    unknown = id.number();
    if (static_cast<size_t>(*unknown) >= scores.size())
      id.expected("the id of a token, below " + std::to_string(scores.size()));
  }
}

/// The parts of the way of the largest sum of scores (Viterbi).
bool UnigramModel::cut(std::string_view piece, std::vector<Cut> &cuts, Problem &problem) const {
  struct Place {
    double score = 0; // of the best way to here
    size_t from = 0;
    bool isReached = false, isUnknown = false;
  };
  std::vector<Place> places(piece.size() + 1);
  places[0].isReached = true;
  for (size_t at = 0; at < piece.size(); at += lengthOfCharacter(piece[at])) {
    size_t character = lengthOfCharacter(piece[at]);
    bool isCharacterKnown = false;
    auto offer = [&](size_t size, double score, bool isUnknown) {
      Place &place = places[at + size];
      if (!place.isReached || places[at].score + score > place.score)
        place = {places[at].score + score, at, true, isUnknown};
    };
    index.forEachPrefix(piece.substr(at), [&](size_t size, int64_t id) {
      offer(size, scores[static_cast<size_t>(id)], id == unknown);
      isCharacterKnown |= size == character;
    });
    if (isCharacterKnown)
      continue;
    if (!unknown)
      return failUnknown(characterAt(piece, at), problem);
    offer(character, unknownScore, true);
  }
  for (size_t at = piece.size(); at > 0; at = places[at].from)
    cuts.push_back({piece.substr(places[at].from, at - places[at].from), places[at].isUnknown});
  std::reverse(cuts.begin(), cuts.end());
  return true;
}

bool UnigramModel::encode(std::string_view piece, std::vector<int64_t> &ids,
                          Problem &problem) const {
  std::vector<Cut> cuts;
  if (!cut(piece, cuts, problem))
    return false;
  for (size_t i = 0; i < cuts.size(); ++i) {
    std::string_view text = cuts[i].text;
    if (cuts[i].isUnknown) // unknown characters side by side are one token
      for (; i + 1 < cuts.size() && cuts[i + 1].isUnknown; ++i)
        text = std::string_view(text.data(), text.size() + cuts[i + 1].text.size());
    if (auto id = vocabulary.id(text))
      ids.push_back(*id);
    else if (!(byteFallback && vocabulary.appendBytes(text, ids))) {
      if (!unknown)
        return failUnknown(text, problem);
      ids.push_back(*unknown);
    }
  }
  return true;
}

std::unique_ptr<TokenModel> readUnigramModel(const FileField &field) {
  auto model = std::make_unique<UnigramModel>();
  model->readFields(field);
  return model;
}

} // namespace dlc::text
