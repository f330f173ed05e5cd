//===- BytePairModel.cpp - Characters, merged pair by pair --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "tools/driver/text/Characters.h"
#include "tools/driver/text/model/TokenModel.h"

#include <queue>

namespace dlc::text {

namespace {
class BytePairModel : public TokenModel {
public:
  bool encode(std::string_view piece, std::vector<int64_t> &ids, Problem &problem) const override;
  void readFields(const FileField &field);

private:
  struct Merge {
    size_t rank; // smaller ones come first
    int64_t result;
  };
  void readMerge(const FileField &field, size_t rank);
  bool spell(std::string_view piece, std::vector<int64_t> &symbols, Problem &problem) const;
  bool addUnknown(std::vector<int64_t> &symbols, Problem &problem) const;
  void mergePairs(std::vector<int64_t> &symbols) const;
  const Merge *find(int64_t left, int64_t right) const {
    auto found = merges.find(static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right));
    return found == merges.end() ? nullptr : &found->second;
  }

  std::unordered_map<uint64_t, Merge> merges; // by the ids of the pair, each below 2^31
  std::optional<std::string> unknown;
  std::string prefix, suffix; // of what is not first in a piece, and of what is last
  bool fuseUnknown = false, byteFallback = false, ignoreMerges = false;
};
} // namespace

//===- The file -------------------------------------------------------------------------------===//

void BytePairModel::readMerge(const FileField &field, size_t rank) {
  std::string left, right;
  if (std::vector<FileField> pair; field.isArray() && (pair = field.elements()).size() == 2) {
    left = pair[0].text();
    right = pair[1].text();
  } else {
    std::string text = field.isArray() ? "" : field.text();
    size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
      return field.expected("two tokens, as in \"a b\" or [\"a\", \"b\"]");
    left = text.substr(0, space);
    right = text.substr(space + 1);
  }
  if (!right.starts_with(prefix))
    return field.expected("a second token that begins with continuing_subword_prefix");
  std::string result = left + right.substr(prefix.size());
  for (const std::string &token : {left, right, result})
    if (!vocabulary.id(token))
      return field.expected("tokens whose result is one of the vocabulary, which lacks " +
                            frontend::quote(token));
  merges[static_cast<uint64_t>(*vocabulary.id(left)) << 32 |
         static_cast<uint64_t>(*vocabulary.id(right))] = {rank, *vocabulary.id(result)};
}

void BytePairModel::readFields(const FileField &field) {
  field.expectKeys({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                    "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (FileField dropout = field.get("dropout"); !dropout.isAbsent() && dropout.real() != 0)
    dropout.unsupported("dlc leaves out no merges by chance; expected null");
  if (!field.get("unk_token").isAbsent())
    unknown = field.get("unk_token").text();
  prefix = field.get("continuing_subword_prefix").text("");
  suffix = field.get("end_of_word_suffix").text("");
  fuseUnknown = field.get("fuse_unk").flag(false);
  byteFallback = field.get("byte_fallback").flag(false);
  ignoreMerges = field.get("ignore_merges").flag(false);
  FileField words = field.get("vocab");
  if (const llvm::json::Object *object = words.object())
    for (const auto &[token, ignored] : *object)
      vocabulary.add(token.str(), words.get(token).number());
  size_t rank = 0;
  field.get("merges").forEach([&](const FileField &merge) { readMerge(merge, rank++); });
}

//===- Texts ----------------------------------------------------------------------------------===//

bool BytePairModel::addUnknown(std::vector<int64_t> &symbols, Problem &problem) const {
  auto id = vocabulary.id(*unknown);
  if (!id)
    return problem.set(kModelError, "the tokenizer's model.unk_token " + frontend::quote(*unknown) +
                                        " is none of its vocabulary");
  symbols.push_back(*id);
  return true;
}

/// The tokens of the characters.
bool BytePairModel::spell(std::string_view piece, std::vector<int64_t> &symbols,
                          Problem &problem) const {
  bool isUnknownBefore = false;
  for (size_t at = 0; at < piece.size();) {
    std::string_view character = characterAt(piece, at);
    bool isFirst = at == 0, isLast = (at += character.size()) == piece.size();
    std::string token = (isFirst ? "" : prefix) + std::string(character) + (isLast ? suffix : "");
    if (auto id = vocabulary.id(token)) {
      symbols.push_back(*id);
    } else if (byteFallback && vocabulary.appendBytes(token, symbols)) {
      // Bytes end no run of unknown characters.
      continue;
    } else if (unknown) { // otherwise the character is left out
      if (!(fuseUnknown && isUnknownBefore) && !addUnknown(symbols, problem))
        return false;
      isUnknownBefore = true;
      continue;
    }
    isUnknownBefore = false;
  }
  return true;
}

/// Merges the pair of the least rank, the first one of several, until none is left.
void BytePairModel::mergePairs(std::vector<int64_t> &symbols) const {
  constexpr size_t kNone = ~size_t(0);
  size_t count = symbols.size();
  std::vector<size_t> before(count), next(count);
  struct Candidate {
    size_t rank, place;
    int64_t result;
    bool operator>(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  auto offer = [&](size_t left) {
    if (left == kNone || next[left] == kNone)
      return;
    if (const Merge *merge = find(symbols[left], symbols[next[left]]))
      candidates.push({merge->rank, left, merge->result});
  };
  for (size_t i = 0; i < count; ++i) {
    before[i] = i ? i - 1 : kNone;
    next[i] = i + 1 < count ? i + 1 : kNone;
  }
  for (size_t i = 0; i < count; ++i)
    offer(i);
  while (!candidates.empty()) {
    Candidate best = candidates.top();
    candidates.pop();
    size_t left = best.place, right = symbols[left] < 0 ? kNone : next[left];
    if (right == kNone)
      continue;
    const Merge *merge = find(symbols[left], symbols[right]);
    if (!merge || merge->result != best.result) // one of the two has been merged since
      continue;
    symbols[left] = merge->result;
    symbols[right] = -1;
    next[left] = next[right];
    if (next[left] != kNone)
      before[next[left]] = left;
    offer(before[left]);
    offer(left);
  }
  std::erase(symbols, -1);
}

bool BytePairModel::encode(std::string_view piece, std::vector<int64_t> &ids,
                           Problem &problem) const {
  if (ignoreMerges)
    if (auto id = vocabulary.id(piece)) {
      ids.push_back(*id);
      return true;
    }
  std::vector<int64_t> symbols;
  if (!spell(piece, symbols, problem))
    return false;
  mergePairs(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
  return true;
}

std::unique_ptr<TokenModel> readBytePairModel(const FileField &field) {
  auto model = std::make_unique<BytePairModel>();
  model->readFields(field);
  return model;
}

} // namespace dlc::text
