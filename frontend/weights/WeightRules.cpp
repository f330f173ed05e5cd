//===- WeightRules.cpp - From the names of a file to the paths of a model -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/weights/WeightRules.h"

#include "frontend/dl/syntax/Diagnostics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace llvm;

namespace dlc::frontend {

static bool isWordLetter(char c) { return isAlnum(c) || c == '_'; }

/// Whether a word may end between the two letters.
static bool isBoundary(char left, char right) {
  return !isWordLetter(left) || !isWordLetter(right);
}

std::string renamed(StringRef name, StringRef from, StringRef to) {
  if (from.empty())
    return (to + name).str();
  std::string result;
  size_t begin = 0;
  for (size_t at = name.find(from); at != StringRef::npos; at = name.find(from, at)) {
    size_t end = at + from.size();
    bool isWhole = (at == 0 || isBoundary(name[at - 1], from.front())) &&
                   (end == name.size() || isBoundary(from.back(), name[end]));
    if (!isWhole) {
      ++at;
      continue;
    }
    result += name.slice(begin, at);
    result += to;
    begin = at = end;
  }
  return result + name.substr(begin).str();
}

std::string pathOf(StringRef name, const WeightsDecl &rules) {
  for (const QuotedText &prefix : rules.prefixes)
    if (name.consume_front(prefix.value))
      break;
  std::string path = name.str();
  for (const TextPair &rename : rules.renames)
    path = renamed(path, rename.from.value, rename.to.value);
  return path;
}

/// The classic walk: after a mismatch, the last star takes one letter more.
static bool fitsWhole(StringRef glob, StringRef name) {
  size_t g = 0, n = 0, star = StringRef::npos, taken = 0;
  while (n < name.size()) {
    if (g < glob.size() && (glob[g] == '?' || (glob[g] == name[n] && glob[g] != '*'))) {
      ++g;
      ++n;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      taken = n;
    } else if (star != StringRef::npos) {
      g = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == StringRef::npos;
}

bool fits(StringRef glob, StringRef name) {
  // Behind any dot: the star in front of it may take nothing less than up to a dot.
  return fitsWhole(glob, name) || fitsWhole(("*." + glob).str(), name);
}

//===- Guesses --------------------------------------------------------------------------------===//

/// Each end of `name` that begins behind a dot or a slash.
static void forEachEnd(StringRef name, function_ref<void(StringRef prefix, StringRef end)> visit) {
  for (size_t at = name.find_first_of("./"); at != StringRef::npos;
       at = name.find_first_of("./", at + 1))
    visit(name.take_front(at + 1), name.substr(at + 1));
}

/// The prefix that, put before or taken from `longer`, leads to most of `shorter`; nothing where
/// that is not the half.
static std::string commonPrefix(ArrayRef<StringRef> longer, ArrayRef<StringRef> shorter,
                                size_t needed) {
  StringSet<> known(from_range, shorter);
  std::map<std::string, size_t> votes; // in order: the answer must not depend on hashes
  for (StringRef name : longer)
    forEachEnd(name, [&](StringRef prefix, StringRef end) {
      if (known.contains(end))
        ++votes[prefix.str()];
    });
  auto best = max_element(votes, [](const auto &a, const auto &b) { return a.second < b.second; });
  return best != votes.end() && 2 * best->second >= needed ? best->first : std::string();
}

/// The parts, cut at dots, in which the two names differ.
static std::pair<StringRef, StringRef> difference(StringRef a, StringRef b) {
  size_t front = 0, limit = std::min(a.size(), b.size());
  for (size_t at = 0; at < limit && a[at] == b[at]; ++at)
    if (a[at] == '.')
      front = at + 1;
  a = a.substr(front);
  b = b.substr(front);
  size_t back = 0;
  limit = std::min(a.size(), b.size());
  for (size_t count = 1; count <= limit && a[a.size() - count] == b[b.size() - count]; ++count)
    if (a[a.size() - count] == '.')
      back = count;
  return {a.drop_back(back), b.drop_back(back)};
}

std::string guessRule(ArrayRef<StringRef> missing, ArrayRef<StringRef> spare,
                      ArrayRef<std::pair<StringRef, StringRef>> pairs) {
  if (std::string prefix = commonPrefix(spare, missing, missing.size()); !prefix.empty()) {
    bool all = all_of(spare, [&](StringRef name) { return name.starts_with(prefix); });
    return (all ? "all of the file's unused names begin with " : "names in the file begin with ") +
           quote(prefix) + ": add 'prefix \"" + prefix + "\"' to the weights clause";
  }
  if (std::string prefix = commonPrefix(missing, spare, missing.size()); !prefix.empty())
    return "the file's names lack " + quote(prefix) + " in front: add 'rename \"\" -> \"" + prefix +
           "\"' to the weights clause";
  std::map<std::pair<StringRef, StringRef>, size_t> votes;
  for (auto [path, name] : pairs)
    ++votes[difference(name, path)];
  auto best = max_element(votes, [](const auto &a, const auto &b) { return a.second < b.second; });
  // Twice may be chance in a large file, never in a small one.
  if (best == votes.end() || best->second < 2 || 4 * best->second < missing.size() ||
      best->first.first.empty() || best->first.second.empty())
    return {};
  return std::to_string(best->second) + " names have " + quote(best->first.first) +
         " where the model has " + quote(best->first.second) + ": add 'rename \"" +
         best->first.first.str() + "\" -> \"" + best->first.second.str() +
         "\"' to the weights clause";
}

} // namespace dlc::frontend
