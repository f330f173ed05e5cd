//===- AttentionWgmmaTest.cpp - Attention by TMA and wgmma --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked, on a GPU with three multiprocessors: blocks take several tiles.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/attention/AttentionHead.h"

namespace dlc::test {

namespace {
class WgmmaAttentionTest : public AttentionKernelTest {
protected:
  static Head headOf(const std::string &type, int depth, int columns, const std::string &keys) {
    Head head;
    head.wgmma = true;
    head.type = type, head.depth = depth, head.columns = columns, head.keys = keys;
    return head;
  }
  void loadWgmma(const Head &head) {
    loadHead(head);
    EXPECT_NE(text().find("dlc::attention_wgmma<config>"), std::string::npos) << text();
  }
};
} // namespace

// Rows that end in either warpgroup, a last span of some keys, of all keys, and nothing but it.
TEST_P(WgmmaAttentionTest, HalfPrecision) {
  loadWgmma(headOf("f16", 64, 64, "150"));
  EXPECT_EQ(config("tile_n"), 64) << text();
  for (int64_t rows : {0, 1, 17, 63, 64, 65, 128, 129, 200})
    check({rows, 2}, kHalf);
  for (const char *keys : {"1", "63", "64", "128", "1000"}) {
    loadWgmma(headOf("f16", 64, 64, keys));
    check({70, 1}, kHalf);
  }
}
TEST_P(WgmmaAttentionTest, BFloat) {
  loadWgmma(headOf("bf16", 64, 64, "500"));
  EXPECT_EQ(config("tile_n"), 128) << text();
  for (int64_t rows : {1, 64, 129, 200})
    check({rows, 3}, toleranceOf("bf16"));
}

// Heads in several lines of shared memory, and those of values of another width.
TEST_P(WgmmaAttentionTest, WideHeads) {
  for (auto [depth, columns] :
       {std::pair(128, 128), std::pair(256, 256), std::pair(64, 128), std::pair(192, 64)}) {
    loadWgmma(headOf("f16", depth, columns, "150"));
    EXPECT_EQ(config("width"), columns) << text();
    for (int64_t rows : {65, 130})
      check({rows, 2}, kHalf);
  }
}

// Heads that fill no whole lines: what lies beside them is of other heads, or nothing.
TEST_P(WgmmaAttentionTest, HeadsOfAnyWidth) {
  for (auto [depth, columns] : {std::pair(32, 32), std::pair(80, 80), std::pair(96, 112),
                                std::pair(16, 8), std::pair(160, 200)}) {
    loadWgmma(headOf("f16", depth, columns, "150"));
    for (int64_t rows : {65, 130})
      check({rows, 2}, kHalf);
    check({7, 4}, kHalf, Fill::special);
  }
  Head head = headOf("f32", 96, 80, "150");
  head.float8 = true;
  loadWgmma(head);
  check({130, 2}, kWeights8);
}

// Rows see as many keys as they are far: one warpgroup has spans that the other does not.
TEST_P(WgmmaAttentionTest, Causal) {
  for (const char *type : {"f16", "bf16"})
    for (int width : {64, 128}) {
      Head head = headOf(type, width, width, "s0");
      head.causal = true;
      loadWgmma(head);
      EXPECT_EQ(config("causal"), 1);
      for (int64_t rows : {0, 1, 63, 65, 128, 129, 200})
        check({rows, 2}, toleranceOf(type));
    }
}

// More queries than keys and fewer.
TEST_P(WgmmaAttentionTest, CausalApart) {
  for (const char *keys : {"40", "170"}) {
    Head head = headOf("f16", 64, 64, keys);
    head.causal = true;
    loadWgmma(head);
    for (int64_t rows : {1, 64, 150})
      check({rows, 2}, kHalf);
  }
}

TEST_P(WgmmaAttentionTest, SymbolicKeys) {
  loadWgmma(headOf("f16", 64, 64, "s0 + 1"));
  for (int64_t keys : {0, 1, 62, 63, 64, 127, 128, 199})
    check({keys, 2}, kHalf);
}

// NaN and infinities of one head do not reach another, whose lines follow.
TEST_P(WgmmaAttentionTest, SpecialNumbers) {
  loadWgmma(headOf("f16", 64, 64, "3"));
  for (int64_t rows : {7, 64})
    check({rows, 4}, kHalf, Fill::special);
}

// Masks of heads, of keys and of both, also beside a causal one.
TEST_P(WgmmaAttentionTest, Masks) {
  for (const char *mask : {"s1, 1, 1", "150", "s1, s0, 150"})
    for (bool causal : {false, true}) {
      Head head = headOf("f16", 64, 64, "150");
      head.mask = mask, head.maskType = "f16", head.causal = causal;
      loadWgmma(head);
      EXPECT_EQ(config("tile_n"), 64) << text();
      check({130, 2}, kHalf);
    }
  Head head = headOf("bf16", 128, 128, "150");
  head.mask = "s0, 150", head.maskType = "i1";
  loadWgmma(head);
  for (int64_t rows : {1, 33, 130})
    check({rows, 3}, toleranceOf("bf16"));
}

// e4m3: weights of 256 in all, rounded to 4 bits. Rows and keys that end anywhere in a span, heads
// of half a line and of a whole one.
TEST_P(WgmmaAttentionTest, Float8) {
  for (auto [depth, columns, keys] :
       {std::tuple(64, 64, "150"), std::tuple(128, 128, "768"), std::tuple(64, 128, "1"),
        std::tuple(128, 64, "128"), std::tuple(64, 64, "17")}) {
    Head head = headOf("f32", depth, columns, keys);
    head.float8 = true;
    loadWgmma(head);
    EXPECT_EQ(config("float8"), 1) << text();
    EXPECT_EQ(config("tile_n"), head.keys == "768" || head.keys == "128" ? 128 : 64);
    for (int64_t rows : {0, 1, 65, 200})
      check({rows, 2}, kWeights8);
  }
}
TEST_P(WgmmaAttentionTest, Float8Causal) {
  Head head = headOf("f32", 128, 128, "s0");
  head.float8 = head.causal = true;
  loadWgmma(head);
  for (int64_t rows : {0, 1, 63, 65, 129, 200})
    check({rows, 2}, kWeights8);
}
// A mask of some rows and keys; NaN of one head does not reach another, whose lines follow.
TEST_P(WgmmaAttentionTest, Float8Masks) {
  Head head = headOf("f32", 64, 64, "150");
  head.float8 = true, head.mask = "s0, 150", head.maskType = "i1";
  loadWgmma(head);
  EXPECT_EQ(config("tile_n"), 64) << text();
  for (int64_t rows : {1, 130})
    check({rows, 2}, kWeights8);
  head = headOf("f32", 64, 64, "3");
  head.float8 = true;
  loadWgmma(head);
  check({64, 4}, kWeights8, Fill::special);
}

// A map of the scores that is more than their scale.
TEST_P(WgmmaAttentionTest, LeastNumbers) {
  Head head = headOf("bf16", 64, 64, "70");
  EXPECT_NO_FATAL_FAILURE(loadWgmma(head));
  EXPECT_EQ(config("scaled"), 1) << text();
  head.addsLeast = true;
  loadWgmma(head);
  EXPECT_EQ(config("scaled"), 0) << text();
  check({17, 2}, toleranceOf("bf16"));
}

INSTANTIATE_TEST_SUITE_P(Policies, WgmmaAttentionTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
