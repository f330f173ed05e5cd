//===- CharacterMap.h - SentencePiece's table of what characters become -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_CHARACTERMAP_H
#define DLC_TOOLS_DRIVER_TEXT_CHARACTERMAP_H

#include "tools/driver/text/FileField.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace dlc::text {

/// The "precompiled_charsmap" of a file: a trie in two arrays of one (a double array), from texts
/// of some characters to places in a list of texts. It comes from a stranger; lookups check what
/// they read.
class CharacterMap {
public:
  /// Reads the field, which is in Base64; null with a problem of the field.
  static std::shared_ptr<const CharacterMap> read(const FileField &field);
  /// Puts what the table has in the place of clusters of characters (Unicode's graphemes) of at
  /// most five bytes, and else of single characters. False with a problem where the text grows too
  /// much.
  bool apply(std::string &text, Problem &problem) const;

private:
  /// The replacement of the shortest text in the table that `text` begins with; nullopt where there
  /// is none.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> units;
  std::string texts; // each ends with a zero
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_CHARACTERMAP_H
