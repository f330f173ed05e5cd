//===- ParallelKernelsTest.cpp - Work on many kernels at a time ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/ParallelKernels.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ThreadPool.h"

#include <gtest/gtest.h>

#include <csignal>

using namespace mlir;
using namespace dlc;

namespace {

constexpr size_t kCount = 40;

struct ParallelKernelsTest : ::testing::TestWithParam<unsigned> {
  ParallelKernelsTest() : pool(llvm::hardware_concurrency(GetParam())) {
    if (GetParam() > 1)
      context.setThreadPool(pool);
  }
  llvm::DefaultThreadPool pool; // as many threads, whatever the machine has
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_P(ParallelKernelsTest, MakesEveryCallOnce) {
  std::vector<int> calls(kCount);
  auto work = [&](size_t number) { return success(++calls[number] > 0); };
  EXPECT_TRUE(succeeded(codegen::forEachKernel(&context, kCount, work)));
  EXPECT_EQ(calls, std::vector<int>(kCount, 1));
  EXPECT_TRUE(succeeded(codegen::forEachKernel(&context, 0, work)));
}

TEST_P(ParallelKernelsTest, ReportsAllErrorsInOrder) {
  std::vector<std::string> errors, expected;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors.push_back(diagnostic.str());
    return success();
  });
  LogicalResult result = codegen::forEachKernel(&context, kCount, [&](size_t number) {
    if (number % 3 == 1)
      return LogicalResult(emitError(UnknownLoc::get(&context)) << "kernel " << number);
    return success();
  });
  for (size_t number = 1; number < kCount; number += 3)
    expected.push_back("kernel " + std::to_string(number));
  EXPECT_TRUE(failed(result));
  EXPECT_EQ(errors, expected);
}

TEST_P(ParallelKernelsTest, CrashesOnTheCallersThread) {
#if LLVM_ADDRESS_SANITIZER_BUILD || LLVM_THREAD_SANITIZER_BUILD
  GTEST_SKIP() << "a sanitizer takes the signals";
#endif
  llvm::CrashRecoveryContext::Enable();
  std::atomic<size_t> calls = 0;
  llvm::CrashRecoveryContext recovery;
  EXPECT_FALSE(recovery.RunSafely([&] {
    (void)codegen::forEachKernel(&context, kCount, [&](size_t number) {
      ++calls;
      if (number == 5)
        (void)std::raise(SIGSEGV);
      return success();
    });
  }));
  llvm::CrashRecoveryContext::Disable();
  EXPECT_EQ(calls, kCount);
}

INSTANTIATE_TEST_SUITE_P(threads, ParallelKernelsTest, ::testing::Values(1, 4));

} // namespace
