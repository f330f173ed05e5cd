//===- AttentionFaultsTest.cpp - Attention with a barrier taken out -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each barrier of the walk over the keys is taken out once: the checker must find it.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/attention/AttentionHead.h"

namespace dlc::test {

namespace {
class PlantedAttentionTest : public AttentionKernelTest {
protected:
  /// Takes `line` out of the way on which blocks tell each other what they found.
  void plantInSharing(const std::string &type, const std::string &file, const std::string &line,
                      const std::string &phrase) {
    Head head = longPast(type);
    loadHead(head);
    check({700, 1}, kHalf);
    removeFromHeader(file, line);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({700, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  /// Takes `line` out of attention_wgmma.
  void plantInWgmma(const std::string &line, const std::string &phrase, bool float8 = false) {
    Head head;
    // More spans than stages.
    head.type = float8 ? "f32" : "f16", head.keys = float8 ? "1000" : "700";
    head.depth = head.columns = 64, head.wgmma = true, head.float8 = float8;
    loadHead(head);
    check({200, 4}, float8 ? kWeights8 : kHalf);
    removeFromHeader("dlc_attention90.cuh", line);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({200, 4}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  /// Takes `line` out of the walk over the keys.
  void plant(const std::string &type, const std::string &file, const std::string &line) {
    Head head;
    head.type = type, head.keys = "150", head.causal = true;
    head.largest = 20000; // so many tiles that blocks share none
    loadHead(head);
    check({70, 1}, kHalf);
    std::string header = kernelFile(file), source = text();
    std::string include = "#include \"" + file + "\"";
    size_t walk = header.find("for (Index n0 = begin; n0 < end"), at = header.find(line, walk),
           start = source.find(include);
    ASSERT_NE(walk, std::string::npos);
    ASSERT_NE(at, std::string::npos);
    ASSERT_NE(start, std::string::npos);
    replaceText(source.replace(start, include.size(), header.erase(at, line.size())));
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({70, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_TRUE(report().find("race: ") != std::string::npos ||
                report().find("missing wait: ") != std::string::npos)
        << report();
  }
};
} // namespace

constexpr const char *kMma = "dlc_attention.cuh", *kSimt = "dlc_attention_simt.cuh";

TEST_P(PlantedAttentionTest, ValuesBeforeTheyAreHere) {
  plant("f16", kMma, "    cp_async_wait<0>();\n");
}
TEST_P(PlantedAttentionTest, KeysOverThoseInUse) {
  plant("f16", kMma, "    barrier(); // the values are here, and nobody reads the keys any more\n");
}
TEST_P(PlantedAttentionTest, ValuesOverThoseInUse) {
  plant("bf16", kMma,
        "    barrier(); // the next keys are here, and nobody reads the values any more\n");
}
TEST_P(PlantedAttentionTest, WeightsBeforeTheyAreHere) {
  plant("f32", kSimt,
        "    barrier(); // weights and values are here, and nobody reads the keys any more\n");
}
TEST_P(PlantedAttentionTest, WeightsOverThoseInUse) {
  plant("f32", kSimt,
        "    barrier(); // the next keys are here, and nobody reads values or weights any more\n");
}

TEST_P(PlantedAttentionTest, ArrivesBeforeItsPartIsComplete) {
  plantInSharing("f32", "dlc_split.cuh", "    barrier(); // the part is complete\n", "race: load");
}
TEST_P(PlantedAttentionTest, PartMayBeSeenAfterItsArrival) {
  plantInSharing("f32", "dlc_split.cuh", "      fence(); // it is seen before its arrival\n",
                 "missing fence: load");
}
TEST_P(PlantedAttentionTest, FinishesBeforeFloatRowsAreMerged) {
  plantInSharing("f32", "dlc_attention_rows.cuh", "    barrier(); // the merged rows are here\n",
                 "race: ");
}
TEST_P(PlantedAttentionTest, FinishesBeforeHalfRowsAreMerged) {
  plantInSharing("f16", "dlc_attention_rows.cuh", "    barrier(); // the merged rows are here\n",
                 "race: ");
}

TEST_P(PlantedAttentionTest, QueriesBeforeTheyAreHere) {
  plantInWgmma("    ring_q.wait_full();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, QueriesOverThoseInUse) {
  plantInWgmma("        ring_q.wait_empty();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, KeysOfAStageThatIsNotHere) {
  plantInWgmma("          ring_k.wait_full(); // for the next keys\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, KeysOverThoseOfAStageInUse) {
  plantInWgmma("            ring_k.wait_empty();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, ValuesOfAStageThatIsNotHere) {
  plantInWgmma("        ring_v.wait_full();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, ValuesOverThoseOfAStageInUse) {
  plantInWgmma("            ring_v.wait_empty();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, WeightsOverThoseThatAreMultiplied) {
  plantInWgmma("        wgmma_wait<0>(); // the values have been multiplied\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, ValuesAreClearedBeforeTheyAreHere) {
  plantInWgmma("            mbar_wait(landed, landed_phase);\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, ClearedValuesWithoutFence) {
  plantInWgmma("            fence_async();\n", "missing fence: ");
}
TEST_P(PlantedAttentionTest, ClearedValuesBeforeTheyAreComplete) {
  plantInWgmma("            warp_barrier(); // the values are complete\n", "race: ");
}

// Values of e4m3 on their way from TMA to the tensor cores.
TEST_P(PlantedAttentionTest, ValuesAreTurnedBeforeTheyAreHere) {
  plantInWgmma("            ring_coming.wait_full(); // these values are here\n", "missing wait: ",
               /*float8=*/true);
}
TEST_P(PlantedAttentionTest, ValuesOverThoseThatAreTurned) {
  plantInWgmma("              mbar_wait(ring_coming.empty + stage, asked >> 1 & 1 ^ 1);\n",
               "missing wait: ", /*float8=*/true);
}
TEST_P(PlantedAttentionTest, TurnedOverThoseThatAreMultiplied) {
  plantInWgmma("            ring_v.wait_empty();     // and nothing multiplies those before them\n",
               "race: ", /*float8=*/true);
}
TEST_P(PlantedAttentionTest, TurnedValuesWithoutFence) {
  plantInWgmma("            fence_async();  // tensor cores read what was written\n",
               "missing fence: ", /*float8=*/true);
}
TEST_P(PlantedAttentionTest, TurnedValuesBeforeTheyAreComplete) {
  plantInWgmma("            warp_barrier(); // the warp's share is complete\n", "missing wait: ",
               /*float8=*/true);
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedAttentionTest, ::testing::Values("order", "random:7"));

} // namespace dlc::test
