//===- Context.h - stacks and the switch between them -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context is a stack with a saved stack pointer: the scheduler's own, or one on which emulated
// threads run. A context carries one thread after another; a thread keeps its context from its
// start to its end, so a kernel without barriers needs a single one.
//===----------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

namespace dlc::emu {

struct Context {
  void *stackPointer = nullptr;
  /// Lowest address of the stack; null until known (the scheduler's runs on the host's stack).
  const void *bottom = nullptr;
  size_t size = 0;
  /// AddressSanitizer's shadow of this stack while it is not running.
  void *fakeStack = nullptr;

  /// True if `p` lies on this stack.
  bool contains(const void *p) const {
    return static_cast<size_t>(static_cast<const char *>(p) - static_cast<const char *>(bottom)) <
           size;
  }
};

/// Saves the running context in `from` and continues `to`. Returns when something continues `from`.
void switchContext(Context &from, Context &to);
/// The same for a context that nothing will continue.
[[noreturn]] void leaveContext(Context &from, Context &to);

/// To be called first on a context that runs for the first time.
void enteredContext();

/// Makes contexts with a guard page below each stack, and keeps them for the next use.
class ContextPool {
public:
  ContextPool() = default;
  ContextPool(const ContextPool &) = delete;
  ContextPool &operator=(const ContextPool &) = delete;
  ~ContextPool();

  /// A context that starts `entry` at the first switch to it; `entry` must not return. Null if the
  /// system has no memory left.
  Context *acquire(void (*entry)());
  void release(Context *context) { free.push_back(context); }

private:
  std::vector<Context *> free;
  std::vector<std::unique_ptr<Context>> all;
};

} // namespace dlc::emu
