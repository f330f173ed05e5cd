//===- Json.cpp - Reports for programs ----------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Json.h"

#include <cmath>
#include <cstdio>

namespace dlc {

void Json::quote(std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

void Json::begin(std::string_view key) {
  if (!first)
    out += ',';
  if (depth > 0)
    out += '\n' + std::string(2 * depth, ' ');
  first = false;
  if (!key.empty()) {
    quote(key);
    out += ": ";
  }
}

Json &Json::open(std::string_view key, char bracket) {
  begin(key);
  out += bracket;
  ++depth;
  first = true;
  return *this;
}

Json &Json::close(char bracket) {
  --depth;
  if (!first)
    out += '\n' + std::string(2 * depth, ' ');
  out += bracket;
  first = false;
  return *this;
}

Json &Json::string(std::string_view key, std::string_view value) {
  begin(key);
  quote(value);
  return *this;
}

Json &Json::integer(std::string_view key, int64_t value) {
  begin(key);
  out += std::to_string(value);
  return *this;
}

Json &Json::real(std::string_view key, double value) {
  begin(key);
  char text[40];
  snprintf(text, sizeof(text), "%.9g", value);
  out += std::isfinite(value) ? text : "null";
  return *this;
}

std::string Json::take() { return std::move(out) + "\n"; }

} // namespace dlc
