//===- CrashGuard.cpp - Crashes of the compiler, to be reported ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/CrashGuard.h"

#include "llvm/Support/Compiler.h"
#include "llvm/Support/CrashRecoveryContext.h"

#include <cstdio>
#include <cstdlib>

namespace dlc {

bool outlives(llvm::function_ref<void()> step) {
#if LLVM_ADDRESS_SANITIZER_BUILD || LLVM_THREAD_SANITIZER_BUILD
  step();
  return true;
#else
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  return recovery.RunSafely(step);
#endif
}

void endNow(int exitCode) {
  std::fflush(nullptr);
  std::_Exit(exitCode);
}

} // namespace dlc
