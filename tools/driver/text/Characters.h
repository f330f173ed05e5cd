//===- Characters.h - UTF-8, its normal forms, and bytes as characters --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All texts here are valid UTF-8.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_TEXT_CHARACTERS_H
#define DLC_TOOLS_DRIVER_TEXT_CHARACTERS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlc::text {

/// Bytes of the character that begins with `lead`.
inline size_t lengthOfCharacter(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
/// The character of valid UTF-8 that begins at `at`.
inline std::string_view characterAt(std::string_view text, size_t at) {
  return text.substr(at, lengthOfCharacter(text[at]));
}

/// The characters from `at` on that are one to a reader (an extended grapheme cluster).
std::string_view clusterAt(std::string_view text, size_t at);

enum class NormalForm { c, d, kc, kd };
/// Nothing where memory is short.
std::optional<std::string> normalize(std::string_view text, NormalForm form);
/// Each character by itself, as Unicode's full mapping has it.
std::string lowercase(std::string_view text);

/// Each byte as a printable character, as tokenizers of GPT-2's kind spell it: those that are
/// printable in Latin-1 as themselves, the others as U+0100 and on.
std::string spellBytes(std::string_view bytes);
/// Appends the bytes that `spelled` spells; false, and nothing appended, where a character spells
/// none.
bool appendSpelledBytes(std::string_view spelled, std::string &bytes);

/// "<0x0A>", the token of a byte where a vocabulary has one for each.
std::string byteToken(uint8_t byte);
/// The byte of such a token.
std::optional<uint8_t> byteOfToken(std::string_view token);

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_CHARACTERS_H
