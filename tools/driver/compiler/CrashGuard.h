//===- CrashGuard.h - Crashes of the compiler, to be reported -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPILER_CRASHGUARD_H
#define DLC_TOOLS_DRIVER_COMPILER_CRASHGUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dlc {

/// Runs `step`; false where it crashed (by SIGSEGV, SIGABRT and their like, on this thread). Then
/// nothing of what it had is cleaned up, and what it changed may be damaged: the process can say
/// what happened, and then endNow(). A build with a sanitizer runs `step` as it is: a sanitizer
/// reports its crashes better.
bool outlives(llvm::function_ref<void()> step);

/// Ends the process, without destroying anything.
[[noreturn]] void endNow(int exitCode);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_CRASHGUARD_H
