//===- AttentionKernelTest.cpp - Attention in one kernel ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked. What test/numeric asks at boundary shapes is asked here of layouts,
// masks and numbers that its rows do not have.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/attention/AttentionHead.h"

namespace dlc::test {

TEST_P(AttentionKernelTest, SinglePrecision) {
  loadHead({});
  EXPECT_NE(text().find("dlc::attention_simt<config>"), std::string::npos) << text();
  EXPECT_EQ(config("width_q"), 4) << text();
  checkBoundaries(kSingle);
}

TEST_P(AttentionKernelTest, HalfPrecision) {
  Head head;
  head.type = "f16";
  loadHead(head);
  EXPECT_NE(text().find("dlc::attention_mma<config>"), std::string::npos) << text();
  EXPECT_EQ(config("width_k"), 8) << text();
  EXPECT_EQ(config("along_k_v"), 0);
  checkBoundaries(kHalf);
}

// Kernels of other GPUs multiply e4m3 as f16, and keep more of the weights.
TEST_P(AttentionKernelTest, Float8) {
  Head head;
  head.float8 = true;
  loadHead(head);
  EXPECT_NE(text().find("dlc::attention_mma<config>"), std::string::npos) << text();
  checkBoundaries(kWeights8);
}

TEST_P(AttentionKernelTest, Tf32) {
  loadHead({}, "tf32");
  EXPECT_NE(text().find("dlc::attention_mma<config>"), std::string::npos) << text();
  checkBoundaries(kTf32);
}

// Keys that lie along their columns, read by a product whose operands changed places; no even
// number of anything.
TEST_P(AttentionKernelTest, KeysAcross) {
  for (const char *type : {"f32", "f16"}) {
    Head head;
    head.type = type;
    head.keyAcross = head.swapped = true;
    head.keys = "40", head.depth = 5, head.columns = 3;
    loadHead(head);
    EXPECT_EQ(config(head.type == "f16" ? "along_k_k" : "along_k"), 0) << text();
    EXPECT_EQ(config("width_k"), head.type == "f16" ? 8 : 1);
    EXPECT_EQ(config("width_q"), head.type == "f16" ? 0 : 1);
    for (int64_t rows : {1, 17, 65})
      check({rows, 2}, head.type == "f16" ? kHalf : kSingle);
  }
}

// The mask of the heads alone, of the keys alone, of both; a causal one beside it, in the other
// order.
TEST_P(AttentionKernelTest, Masks) {
  for (const char *mask : {"s1, 1, 1", "45", "s0, 45", "s1, s0, 45"})
    for (bool causal : {false, true}) {
      Head head;
      head.mask = mask, head.maskType = "f32", head.causal = causal;
      loadHead(head);
      EXPECT_EQ(config("causal"), causal) << text();
      EXPECT_EQ(text().find("INF"), std::string::npos) << text();
      for (int64_t rows : {1, 33, 66})
        check({rows, 2}, kSingle);
    }
  Head head;
  head.mask = "s0, 45", head.maskType = "i1", head.type = "bf16";
  loadHead(head);
  for (int64_t rows : {1, 33, 66})
    check({rows, 3}, {64.0, 8e-2});
}

// NaN, infinities and -0 where the reference has them: here the masks, there the operands.
TEST_P(AttentionKernelTest, SpecialNumbers) {
  for (const char *precision : {"f32", "tf32"}) {
    Head head;
    head.keys = "3", head.depth = 2, head.columns = 2;
    loadHead(head, precision);
    for (int64_t rows : {7, 64})
      check({rows, 4}, kTf32, Fill::special);
  }
}

// As many registers and as much shared memory as there may be.
TEST_P(AttentionKernelTest, WideHeads) {
  for (const char *type : {"f32", "f16"}) {
    Head head;
    head.type = type, head.keys = "70";
    head.depth = head.columns = 256;
    loadHead(head);
    check({65, 1}, head.type == "f16" ? kHalf : kSingle);
    if (head.type == "f32") {
      loadHead(head, "tf32");
      check({65, 1}, kTf32);
    }
    head.depth = head.columns = 128;
    head.causal = true;
    loadHead(head);
    check({65, 1}, head.type == "f16" ? kHalf : kSingle);
  }
}

// Warps of 32 rows, where rows are many: rows that end within a warp's first or second 16.
TEST_P(AttentionKernelTest, WarpsOf32Rows) {
  Head head;
  head.keys = "150", head.depth = head.columns = 64, head.largest = 20000;
  for (bool causal : {false, true}) {
    head.type = causal ? "bf16" : "f16", head.causal = causal;
    loadHead(head);
    EXPECT_EQ(config("tiles_m"), 2) << text();
    for (int64_t rows : {15, 33, 150})
      check({rows, 1}, causal ? Tolerance{64.0, 8e-2} : kHalf);
  }
  // A mask takes the registers of 16 of them.
  head.mask = "s0, 150", head.maskType = head.type;
  loadHead(head);
  EXPECT_EQ(config("tiles_m"), 1) << text();
}

// A row that the least number covers, as masks have it, gives all keys the same weight: nothing
// overflows.
TEST_P(AttentionKernelTest, LeastNumbers) {
  for (const char *precision : {"f32", "tf32"}) {
    Head head;
    head.addsLeast = true;
    loadHead(head, precision);
    check({17, 2}, kTf32);
  }
}

namespace {
class SplitAttentionTest : public AttentionKernelTest {
protected:
  void loadShared(const Head &head, const std::string &precision = "f32") {
    loadHead(head, precision);
    EXPECT_NE(text().find("_split<config>"), std::string::npos) << text();
    EXPECT_GT(config("parts"), 2);
  }
};
} // namespace

// No key at all, one part with keys, parts of unequal length, and a last span that is cut.
TEST_P(SplitAttentionTest, EachUnit) {
  for (const char *type : {"f32", "f16", "bf16"}) {
    loadShared(longPast(type));
    for (int64_t keys : {0, 1, 65, 600})
      check({keys, 2}, toleranceOf(type));
  }
  loadShared(longPast("f32"), "tf32");
  for (int64_t keys : {0, 129, 300})
    check({keys, 1}, kTf32);
}

// The bits are the same whichever block comes last: one policy's are kept for the others.
TEST_P(SplitAttentionTest, SameBits) {
  static std::vector<std::vector<char>> kept;
  std::vector<std::vector<char>> bits;
  for (const char *type : {"f32", "f16"}) {
    loadShared(longPast(type));
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    ASSERT_EQ(run({700, 2}, Fill::uniform, inputs, actual), Result::Success) << report();
    bits.push_back(actual.toBytes());
  }
  if (kept.empty())
    kept = bits;
  EXPECT_EQ(kept, bits);
}

// Parts in which a row sees nothing, rows that see nothing in any part, and NaN.
TEST_P(SplitAttentionTest, Masks) {
  for (const char *mask : {"s0", "5, s0"}) {
    Head head = longPast("f32");
    head.mask = mask, head.maskType = "i1";
    loadShared(head);
    for (int64_t keys : {1, 3, 400})
      check({keys, 2}, kSingle);
  }
  Head head = longPast("f16");
  head.mask = "5, s0", head.maskType = "f16", head.columns = 2, head.depth = 2;
  head.largest = 100000;
  loadShared(head);
  check({3, 2}, kHalf, Fill::special);
  check({300, 1}, kHalf, Fill::special);
}

// A causal mask leaves the last parts of these rows without keys.
TEST_P(SplitAttentionTest, Causal) {
  for (const char *type : {"f32", "f16"}) {
    Head head = longPast(type);
    head.causal = true, head.rows = "70";
    loadShared(head);
    for (int64_t keys : {1, 65, 400})
      check({keys, 1}, toleranceOf(type));
  }
}

// Tiles of a long product have counters each; where there are too few of these, blocks share none.
TEST_P(SplitAttentionTest, StaysWhole) {
  Head head = longPast("f16");
  head.rows = "s0", head.keys = "4096", head.largest = 1 << 18;
  loadHead(head);
  EXPECT_EQ(config("parts"), -1) << text();
}

INSTANTIATE_TEST_SUITE_P(Policies, AttentionKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, SplitAttentionTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
