//===- FaultGuard.cpp - A kernel's bad access becomes an error -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/FaultGuard.h"

#include <csetjmp>
#include <csignal>
#include <mutex>

using namespace dlc::cpu;

namespace {

struct Landing {
  sigjmp_buf jump;
  const void *volatile address;
};

// Initial-exec: the handler must not allocate, as the first use of a dynamic thread_local may.
__attribute__((tls_model("initial-exec"))) thread_local Landing *landing = nullptr;

struct sigaction previousSegv, previousBus;

void handle(int signal, siginfo_t *info, void *context) {
  if (Landing *target = landing) {
    target->address = info->si_addr;
    siglongjmp(target->jump, 1);
  }
  const struct sigaction &previous = signal == SIGSEGV ? previousSegv : previousBus;
  if (previous.sa_flags & SA_SIGINFO)
    return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
    return previous.sa_handler(signal);
  // The instruction faults again and ends the process as it would have without us.
  sigaction(signal, &previous, nullptr);
}

} // namespace

void dlc::cpu::installFaultHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previousSegv);
    sigaction(SIGBUS, &action, &previousBus);
  });
}

Fault dlc::cpu::callGuarded(void (*call)(void *state), void *state) {
  Landing here;
  here.address = nullptr;
  // The mask is saved: the handler is left without returning, with its signal blocked.
  if (sigsetjmp(here.jump, 1) != 0) {
    landing = nullptr;
    return {true, here.address};
  }
  landing = &here;
  call(state);
  landing = nullptr;
  return {};
}
