//===- ReasonsTest.cpp - Each decision has a text of its own -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/structure/Reasons.h"

#include "gtest/gtest.h"

#include <set>

using namespace dlc;

namespace {

/// Each case up to `last` says why in words that no other case has, and what would change it.
template <typename Case>
void expectTexts(uint64_t last, std::optional<Case> (*symbolize)(uint32_t)) {
  std::set<std::string> texts;
  for (uint32_t i = 0; i <= last; ++i) {
    std::optional<Case> one = symbolize(i);
    ASSERT_TRUE(one) << "cases are numbered one after the other; there is none for " << i;
    dl::Reason reason = dl::reasonOf(*one);
    EXPECT_FALSE(reason.why.empty() || reason.change.empty()) << i;
    EXPECT_FALSE(reason.why.ends_with(".") || reason.change.ends_with(".")) << reason.why.str();
    EXPECT_TRUE(texts.insert(reason.why.str()).second) << reason.why.str();
  }
}

TEST(Reasons, EachEdgeThatIsNotFusedHasOne) {
  expectTexts(dl::getMaxEnumValForNotFused(), dl::symbolizeNotFused);
}

TEST(Reasons, EachConvertHasOne) {
  expectTexts(dl::getMaxEnumValForConverted(), dl::symbolizeConverted);
}

} // namespace
