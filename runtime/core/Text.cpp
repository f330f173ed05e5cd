//===- Text.cpp - Putting a message together -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/Text.h"

#include <cstdio>

using namespace dlc::rt;

/// The length of the valid UTF-8 sequence at the front of `rest`; 0 where there is none.
static size_t utf8Length(std::string_view rest) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(rest[i]); };
  unsigned lead = byte(0);
  size_t length = lead < 0x80                   ? 1
                  : lead >= 0xc2 && lead < 0xe0 ? 2
                  : (lead & 0xf0) == 0xe0       ? 3
                  : lead >= 0xf0 && lead < 0xf5 ? 4
                                                : 0;
  if (length == 0 || length > rest.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
      (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

static bool isControl(unsigned char c) { return c < 0x20 || c == 0x7f; }

bool dlc::rt::isCleanUtf8(std::string_view name) {
  while (!name.empty()) {
    size_t length = utf8Length(name);
    if (length == 0 || isControl(static_cast<unsigned char>(name[0])))
      return false;
    name.remove_prefix(length);
  }
  return true;
}

std::string dlc::rt::quoted(std::string_view name) {
  std::string out = "'";
  while (!name.empty()) {
    if (out.size() > 80) {
      out += "...";
      break;
    }
    size_t length = utf8Length(name);
    auto lead = static_cast<unsigned char>(name[0]);
    if (length == 0 || isControl(lead)) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", lead);
      out += escape;
      length = 1;
    } else {
      out += name.substr(0, length);
    }
    name.remove_prefix(length);
  }
  return out + "'";
}

std::string dlc::rt::byteCount(uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return text(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  char out[32];
  std::snprintf(out, sizeof(out), "%.1f %s", value, units[unit]);
  return out;
}
