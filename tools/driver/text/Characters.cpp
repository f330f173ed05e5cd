//===- Characters.cpp - UTF-8, its normal forms, and bytes as characters ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/Characters.h"

#include "tools/driver/text/Problem.h"

#include <utf8proc.h>

#include <array>
#include <charconv>
#include <cstdlib>

namespace dlc::text {

static utf8proc_int32_t codeAt(std::string_view text, size_t at) {
  utf8proc_int32_t code = 0;
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + at,
                   static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  return code;
}

static void append(std::string &text, utf8proc_int32_t code) {
  utf8proc_uint8_t bytes[4];
  utf8proc_ssize_t size = utf8proc_encode_char(code, bytes);
  text.append(reinterpret_cast<const char *>(bytes), static_cast<size_t>(size));
}

std::string_view clusterAt(std::string_view text, size_t at) {
  utf8proc_int32_t state = 0, before = codeAt(text, at);
  size_t end = at + lengthOfCharacter(text[at]);
  while (end < text.size()) {
    utf8proc_int32_t next = codeAt(text, end);
    if (utf8proc_grapheme_break_stateful(before, next, &state))
      break;
    before = next;
    end += lengthOfCharacter(text[end]);
  }
  return text.substr(at, end - at);
}

std::optional<std::string> normalize(std::string_view text, NormalForm form) {
  if (text.empty())
    return std::string();
  if (text.size() > kMostBytes)
    return std::nullopt;
  int options = UTF8PROC_STABLE;
  options |=
      form == NormalForm::c || form == NormalForm::kc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  options |= form == NormalForm::kc || form == NormalForm::kd ? UTF8PROC_COMPAT : 0;
  utf8proc_uint8_t *result = nullptr;
  utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &result,
                                       static_cast<utf8proc_option_t>(options));
  if (size < 0)
    return std::nullopt;
  std::string normal(reinterpret_cast<const char *>(result), static_cast<size_t>(size));
  std::free(result);
  return normal;
}

std::string lowercase(std::string_view text) {
  std::string lower;
  for (size_t at = 0; at < text.size(); at += lengthOfCharacter(text[at])) {
    utf8proc_int32_t code = codeAt(text, at);
    if (code == 0x130) // the one character whose lower case is two: i with a dot above
      lower += "i\u0307";
    else
      append(lower, utf8proc_tolower(code));
  }
  return lower;
}

//===- Bytes ----------------------------------------------------------------------------------===//

namespace {
/// The characters of bytes, all below U+0144, and the bytes of characters (-1: of none).
struct ByteAlphabet {
  std::array<int, 256> character;
  std::array<int, 0x144> byte;

  ByteAlphabet() {
    byte.fill(-1);
    int next = 0x100;
    for (int one = 0; one < 256; ++one) {
      bool isPrintable = (one >= 0x21 && one <= 0x7E) || (one >= 0xA1 && one != 0xAD);
      character[one] = isPrintable ? one : next++;
      byte[character[one]] = one;
    }
  }
};
} // namespace

static const ByteAlphabet &byteAlphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

std::string spellBytes(std::string_view bytes) {
  std::string spelled;
  for (char byte : bytes)
    append(spelled, byteAlphabet().character[static_cast<unsigned char>(byte)]);
  return spelled;
}

bool appendSpelledBytes(std::string_view spelled, std::string &bytes) {
  size_t before = bytes.size();
  for (size_t at = 0; at < spelled.size(); at += lengthOfCharacter(spelled[at])) {
    utf8proc_int32_t code = codeAt(spelled, at);
    int byte = code < 0x144 ? byteAlphabet().byte[code] : -1;
    if (byte < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(byte);
  }
  return true;
}

std::string byteToken(uint8_t byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

std::optional<uint8_t> byteOfToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return std::nullopt;
  uint8_t byte = 0;
  auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc() && end == token.data() + 5 ? std::optional(byte) : std::nullopt;
}

} // namespace dlc::text
