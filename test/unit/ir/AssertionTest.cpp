//===- AssertionTest.cpp - One build of CI runs the assertions ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include <gtest/gtest.h>

#include <cassert>

// The kind `sanitizers` runs this test. The Release build defines NDEBUG as LLVM's packages do, so
// there is nothing to test in it.
TEST(Assertions, runInTheSanitizedBuild) {
#ifdef DLC_ASSERTIONS
  EXPECT_DEATH(assert(testing::UnitTest::GetInstance() == nullptr && "it runs"), "it runs");
#else
  GTEST_SKIP() << "the Release build has no assertions";
#endif
}
