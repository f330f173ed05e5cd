//===- Problem.h - Why a tokenizer or a text is not taken ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_PROBLEM_H
#define DLC_TOOLS_DRIVER_TEXT_PROBLEM_H

#include "tools/driver/base/ExitCode.h"

#include <string>

namespace dlc::text {

/// The first problem that was met, and what the tool exits with for it; kOk where there is none.
struct Problem {
  int code = kOk;
  std::string message;

  /// Keeps the problem unless there is one already; gives false, for `return problem.set(...)`.
  bool set(int newCode, std::string newMessage) {
    if (code == kOk) {
      code = newCode;
      message = std::move(newMessage);
    }
    return false;
  }
};

/// Bytes of the longest text, its tokens alike, in any step: rules of a stranger's file could
/// double it again and again.
constexpr size_t kMostBytes = size_t(4) << 20;
inline bool failLength(Problem &problem) {
  return problem.set(
      kUnsupported,
      "the text becomes longer than 4 MiB by the tokenizer's rules, or is; shorten it");
}

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_PROBLEM_H
