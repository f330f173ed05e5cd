//===- LongLines.h - What is shown of lines that nobody reads to their end ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_INSPECT_LONGLINES_H
#define DLC_TOOLS_DRIVER_INSPECT_LONGLINES_H

#include <string>
#include <string_view>

namespace dlc {

/// Lines of a printed diagnostic: of a line of more than kMaxShownLine bytes over a caret, the part
/// round the caret; of another one, such as the message, its first kMaxShownMessage bytes. Text
/// without long lines stays as it is.
inline constexpr size_t kMaxShownLine = 240, kMaxShownMessage = 4096;
std::string cutLongLines(std::string_view text);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_INSPECT_LONGLINES_H
