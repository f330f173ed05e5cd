//===- Context.cpp - stacks and the switch between them ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/emulator/core/Context.h"
#include <cstdint>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define DLC_EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DLC_EMU_ASAN 1
#endif
#endif
#ifdef DLC_EMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#error "the emulator switches stacks in x86-64 assembly; other hosts need their own switch here"
#endif

// Callee-saved registers only: the compiler saves the rest around the call.
extern "C" void dlcEmuSwitchStacks(void **save, void *to);
asm(R"(
.text
.type dlcEmuSwitchStacks, @function
dlcEmuSwitchStacks:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size dlcEmuSwitchStacks, .-dlcEmuSwitchStacks
)");

namespace dlc::emu {

namespace {
constexpr size_t kStackBytes = 64 * 1024;
constexpr size_t kGuardBytes = 4096;
/// Stacks with a guard page. Each is two maps to Linux, which gives a process 65530; those without
/// melt into one.
constexpr size_t kGuardedStacks = 16384;
#ifdef DLC_EMU_ASAN
/// The context that was left by the switch in progress on this host thread.
thread_local Context *leftContext = nullptr;
#endif
} // namespace

void switchContext(Context &from, Context &to) {
#ifdef DLC_EMU_ASAN
  leftContext = &from;
  __sanitizer_start_switch_fiber(&from.fakeStack, to.bottom, to.size);
#endif
  dlcEmuSwitchStacks(&from.stackPointer, to.stackPointer);
#ifdef DLC_EMU_ASAN
  __sanitizer_finish_switch_fiber(from.fakeStack, &leftContext->bottom, &leftContext->size);
#endif
}

void leaveContext(Context &from, Context &to) {
#ifdef DLC_EMU_ASAN
  leftContext = &from;
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.size);
#endif
  dlcEmuSwitchStacks(&from.stackPointer, to.stackPointer);
  __builtin_unreachable();
}

void enteredContext() {
#ifdef DLC_EMU_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &leftContext->bottom, &leftContext->size);
#endif
}

ContextPool::~ContextPool() {
  for (auto &context : all)
    munmap(static_cast<char *>(const_cast<void *>(context->bottom)) - kGuardBytes,
           kStackBytes + kGuardBytes);
}

Context *ContextPool::acquire(void (*entry)()) {
  if (free.empty()) {
    void *memory = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    if (all.size() < kGuardedStacks)
      mprotect(memory, kGuardBytes, PROT_NONE);
    all.push_back(std::make_unique<Context>());
    all.back()->bottom = static_cast<char *>(memory) + kGuardBytes;
    all.back()->size = kStackBytes;
    free.push_back(all.back().get());
  }
  Context *context = free.back();
  free.pop_back();
#ifdef DLC_EMU_ASAN
  __asan_unpoison_memory_region(context->bottom, context->size);
#endif
  // What dlcEmuSwitchStacks pops: six registers, then the address to return to. One word above it
  // keeps the stack aligned as after a call.
  auto *top = reinterpret_cast<void **>(static_cast<char *>(const_cast<void *>(context->bottom)) +
                                        kStackBytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  context->stackPointer = top;
  context->fakeStack = nullptr;
  return context;
}

} // namespace dlc::emu
