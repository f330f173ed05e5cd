//===- CrashGuardTest.cpp - Steps that crash, and steps that do not ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/CrashGuard.h"

#include "llvm/Support/Compiler.h"
#include <gtest/gtest.h>

#include <csignal>

using namespace dlc;

TEST(CrashGuard, AStepThatEndsIsWhole) {
  int done = 0;
  EXPECT_TRUE(outlives([&] { done = 1; }));
  EXPECT_EQ(done, 1);
}

TEST(CrashGuard, ACrashIsTold) {
#if LLVM_ADDRESS_SANITIZER_BUILD || LLVM_THREAD_SANITIZER_BUILD
  GTEST_SKIP() << "sanitizers report crashes themselves";
#else
  for (int signal : {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGBUS}) {
    int done = 0;
    EXPECT_FALSE(outlives([&] {
      done = 1;
      raise(signal);
      done = 2;
    }));
    EXPECT_EQ(done, 1) << "signal " << signal;
  }
  // And the next step is guarded as the first.
  EXPECT_TRUE(outlives([] {}));
#endif
}

TEST(CrashGuard, TheProcessEndsWithTheCode) {
  EXPECT_EXIT(endNow(70), testing::ExitedWithCode(70), "");
}
