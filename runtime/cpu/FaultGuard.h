//===- FaultGuard.h - A kernel's bad access becomes an error --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_FAULTGUARD_H
#define DLC_RUNTIME_CPU_FAULTGUARD_H

#include <cstdint>

namespace dlc::cpu {

/// Where a kernel faulted.
struct Fault {
  bool happened = false;
  const void *address = nullptr; ///< null where the processor does not tell: an unaligned access
};

/// Installs handlers for SIGSEGV and SIGBUS that serve callGuarded and pass every other fault to
/// the handler that was there before. Done once, by the first checked context; never undone, as
/// another library may have chained to it.
void installFaultHandler();

/// Calls `call(state)`. A memory fault on this thread while it runs ends the call and is reported.
/// The callee must own nothing: its frames are dropped.
Fault callGuarded(void (*call)(void *state), void *state);

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_FAULTGUARD_H
