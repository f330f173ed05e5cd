//===- ExitCode.h - What dlc's tools exit with --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_BASE_EXITCODE_H
#define DLC_TOOLS_DRIVER_BASE_EXITCODE_H

namespace dlc {

/// The same numbers as dlc_status where both know a case. A signal ends the process by that signal
/// (a shell shows 130, 143).
enum ExitCode : int {
  kOk = 0,
  kModelError = 1,
  kUsage = 2,
  kUnsupported = 3,
  kAccuracy = 4,
  kDevice = 5, // device, runtime, I/O
  kIncompatible = 6,
  kInternal = 70
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_EXITCODE_H
