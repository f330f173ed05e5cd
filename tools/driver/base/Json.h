//===- Json.h - Reports for programs ------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text is appended in order; the writer keeps commas, quotes and indentation. Names of a package
// come from outside and are escaped.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_BASE_JSON_H
#define DLC_TOOLS_DRIVER_BASE_JSON_H

#include <cstdint>
#include <string>
#include <string_view>

namespace dlc {

class Json {
public:
  Json &beginObject(std::string_view key = {}) { return open(key, '{'); }
  Json &endObject() { return close('}'); }
  Json &beginArray(std::string_view key = {}) { return open(key, '['); }
  Json &endArray() { return close(']'); }
  Json &string(std::string_view key, std::string_view value);
  Json &integer(std::string_view key, int64_t value);
  /// null for NaN and infinities, which JSON lacks.
  Json &real(std::string_view key, double value);
  /// Elements of an array.
  Json &string(std::string_view value) { return string({}, value); }

  /// The text, ended by a newline.
  std::string take();

private:
  Json &open(std::string_view key, char bracket);
  Json &close(char bracket);
  void begin(std::string_view key);
  void quote(std::string_view text);

  std::string out;
  size_t depth = 0;
  bool first = true;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_JSON_H
