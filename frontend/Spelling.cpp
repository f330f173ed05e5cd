//===- Spelling.cpp - What a misspelled name probably meant -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/edit_distance.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;

namespace dlc::frontend {

std::string quote(StringRef text) {
  constexpr size_t kLongest = 80;
  std::string result = "'";
  for (const char *begin = text.begin(), *end = text.end(); begin != end;) {
    if (result.size() > kLongest) {
      result += "...";
      break;
    }
    unsigned length = getNumBytesForUTF8(static_cast<UTF8>(*begin));
    bool legal = length <= static_cast<size_t>(end - begin) &&
                 isLegalUTF8Sequence(reinterpret_cast<const UTF8 *>(begin),
                                     reinterpret_cast<const UTF8 *>(begin) + length);
    unsigned char byte = *begin;
    if (!legal || byte < 0x20 || byte == 0x7f) {
      result += "\\x";
      result += hexdigit(byte >> 4);
      result += hexdigit(byte & 15);
      ++begin;
    } else {
      result.append(begin, length);
      begin += length;
    }
  }
  return result + "'";
}

/// Two neighbouring letters exchanged: the commonest slip, which the edit distance counts as two.
static bool isTransposed(StringRef a, StringRef b) {
  if (a.size() != b.size())
    return false;
  size_t at = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
  return at + 1 < a.size() && a[at] == b[at + 1] && a[at + 1] == b[at] &&
         a.substr(at + 2) == b.substr(at + 2);
}

std::optional<StringRef> nearest(StringRef name, ArrayRef<StringRef> candidates) {
  // Time is the product of both lengths: names of a kilobyte are not misspelled, they are attacks.
  constexpr size_t kLongest = 256;
  if (name.size() > kLongest)
    return std::nullopt;
  // All of them together cost no more than some thousands of usual names do.
  size_t budget = 20'000'000;
  std::string lower = name.lower();
  // One more than what is allowed, so that the first candidate within wins.
  unsigned best = std::max<size_t>(1, name.size() / 3) + 1;
  std::optional<StringRef> found;
  for (StringRef candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongest)
      continue;
    size_t shorter = std::min(name.size(), candidate.size()),
           longer = std::max(name.size(), candidate.size());
    if (longer - shorter >= best) // so many letters are missing at least
      continue;
    if (shorter * longer > budget)
      break;
    budget -= shorter * longer;
    std::string other = candidate.lower();
    unsigned distance = ComputeEditDistance(ArrayRef<char>(lower.data(), lower.size()),
                                            ArrayRef<char>(other.data(), other.size()),
                                            /*AllowReplacements=*/true, best);
    if (isTransposed(lower, other))
      distance = 1;
    if (distance < best && distance < std::max(name.size(), candidate.size())) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string didYouMean(StringRef name, ArrayRef<StringRef> candidates) {
  auto found = nearest(name, candidates);
  return found ? "; did you mean " + quote(*found) + "?" : std::string();
}

} // namespace dlc::frontend
