//===- CharacterMap.cpp - SentencePiece's table of what characters become -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/CharacterMap.h"

#include "tools/driver/text/Characters.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/Endian.h"

namespace dlc::text {

//===- Units of the trie ----------------------------------------------------------------------===//

/// The byte that leads to the unit; of a leaf it has bit 31 as well.
static uint32_t labelOf(uint32_t unit) { return unit & 0x800000FF; }
static bool hasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
/// From the unit's place to those that follow it, to be combined by exclusive or.
static uint32_t offsetOf(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
static uint32_t valueOf(uint32_t leaf) { return leaf & 0x7FFFFFFF; }

//===- The table ------------------------------------------------------------------------------===//

std::shared_ptr<const CharacterMap> CharacterMap::read(const FileField &field) {
  std::vector<char> bytes;
  if (llvm::Error error = llvm::decodeBase64(field.text(), bytes)) {
    field.expected("Base64 (" + toString(std::move(error)) + ")");
    return nullptr;
  }
  auto map = std::make_shared<CharacterMap>();
  if (bytes.empty()) // no character becomes another
    return map;
  constexpr size_t kUnit = sizeof(uint32_t);
  uint64_t size = bytes.size() < kUnit ? 0 : llvm::support::endian::read32le(bytes.data());
  if (size == 0 || size % kUnit != 0 || size > bytes.size() - kUnit) {
    field.expected("the size of a table, the table, and texts");
    return nullptr;
  }
  for (size_t at = kUnit; at < kUnit + size; at += kUnit)
    map->units.push_back(llvm::support::endian::read32le(bytes.data() + at));
  map->texts.assign(bytes.begin() + static_cast<ptrdiff_t>(kUnit + size), bytes.end());
  map->texts += '\0';
  if (llvm::json::isUTF8(map->texts))
    return map;
  field.expected("texts in UTF-8");
  return nullptr;
}

std::optional<std::string_view> CharacterMap::find(std::string_view text) const {
  if (units.empty())
    return std::nullopt;
  size_t place = offsetOf(units[0]);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    place ^= byte;
    if (byte == 0 || place >= units.size() || labelOf(units[place]) != byte)
      return std::nullopt;
    bool isEnd = hasLeaf(units[place]);
    place ^= offsetOf(units[place]);
    if (!isEnd)
      continue;
    if (place >= units.size() || valueOf(units[place]) >= texts.size())
      return std::nullopt;
    size_t begin = valueOf(units[place]);
    // A place in the middle of a character is none.
    bool isWhole = (static_cast<unsigned char>(texts[begin]) & 0xC0) != 0x80;
    return isWhole ? std::optional(std::string_view(texts.c_str() + begin)) : std::nullopt;
  }
  return std::nullopt;
}

bool CharacterMap::apply(std::string &text, Problem &problem) const {
  constexpr size_t kMostOfCluster = 5;
  std::string result;
  for (size_t at = 0; at < text.size();) {
    std::string_view cluster = clusterAt(text, at);
    at += cluster.size();
    std::optional<std::string_view> found =
        cluster.size() <= kMostOfCluster ? find(cluster) : std::nullopt;
    if (found)
      result += *found;
    for (size_t i = 0; !found && i < cluster.size(); i += lengthOfCharacter(cluster[i])) {
      std::string_view character = characterAt(cluster, i);
      result += find(character).value_or(character);
    }
    if (result.size() > kMostBytes)
      return failLength(problem);
  }
  text = std::move(result);
  return true;
}

} // namespace dlc::text
