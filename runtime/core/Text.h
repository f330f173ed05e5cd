//===- Text.h - Putting a message together -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_TEXT_H
#define DLC_RUNTIME_CORE_TEXT_H

#include "runtime/core/Status.h"

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlc::rt {

inline void appendTo(std::string &out, std::string_view piece) { out += piece; }
inline void appendTo(std::string &out, char piece) { out += piece; }
template <std::integral T> void appendTo(std::string &out, T piece) {
  out += std::to_string(piece);
}

/// The pieces (strings, characters, integers) one after another.
template <class... Pieces> std::string text(const Pieces &...pieces) {
  std::string out;
  (appendTo(out, pieces), ...);
  return out;
}

/// `name` in quotes for a message: control characters and invalid UTF-8 escaped, at most 80 bytes.
std::string quoted(std::string_view name);

/// "1.5 GiB", "640 bytes".
std::string byteCount(uint64_t bytes);

/// The failure of a module whose hashes are right and whose parts are not: `what` (pieces of text)
/// tells where.
template <class... Pieces> Status malformed(const Pieces &...what) {
  return {DLC_INCOMPATIBLE, text("malformed module (compile the model again): ", what...)};
}

/// Whether `name` is UTF-8 without control characters.
bool isCleanUtf8(std::string_view name);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_TEXT_H
