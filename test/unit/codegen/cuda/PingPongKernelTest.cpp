//===- PingPongKernelTest.cpp - Warpgroups that take tiles in turn ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked, on a GPU with three multiprocessors, so that both warpgroups of a
// block take several tiles. Whole numbers are exact: a slab of another tile shows.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
constexpr Tolerance kHalf{2.0, 2e-3}, kBrain{2.0, 1.6e-2}, kTf32{2.0, 4e-3}, kExact{};
} // namespace

class PingPongKernelTest : public CudaKernelTest {
protected:
  /// The kernel in tiles of `columns`, with a ring of `stages`.
  void loadInTurn(const std::string &body, int columns = 128, int stages = 5,
                  const std::string &precision = "f32") {
    numbers = {
        {"tile_n", columns}, {"stages", stages}, {"chunk", 64}, {"parts", 1}, {"pingpong", 1}};
    llvm::append_range(numbers, more);
    load("contraction", body, 600, precision, "always");
    EXPECT_EQ(config("pingpong"), 1) << text();
  }
  /// Further numbers of the plan.
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>> more;
};

// As many tiles as blocks, one more, a few for each of both warpgroups; sums as long as the ring,
// shorter, and several times as long.
TEST_P(PingPongKernelTest, TilesAndSteps) {
  for (int depth : {72, 320, 648}) {
    loadInTurn(linear("f16", 136, depth));
    for (int64_t rows : {0, 1, 129, 257, 400})
      check({rows, 1}, kExact, Fill::whole);
    check({300, 1}, kHalf);
  }
  loadInTurn(linear("bf16", 129, 200));
  checkBoundaries(kBrain);
}

TEST_P(PingPongKernelTest, NarrowTiles) {
  loadInTurn(linear("f16", 136, 520), 64, 7);
  for (int64_t rows : {64, 65, 500})
    check({rows, 1}, kExact, Fill::whole);
  check({300, 1}, kHalf, Fill::special);
}

TEST_P(PingPongKernelTest, Tf32) {
  loadInTurn(linear("f32", 72, 300), 128, 5, "tf32");
  for (int64_t rows : {1, 129, 520})
    check({rows, 1}, kTf32);
  check({400, 1}, kExact, Fill::whole);
}

// Weights begin before the grids before this one have ended: those of the first warpgroup's tile.
TEST_P(PingPongKernelTest, WeightsComeEarly) {
  for (int early : {1, 2}) {
    more = {{"early", early}};
    for (int depth : {72, 648}) {
      loadInTurn(linear("f16", 264, depth));
      for (int64_t rows : {1, 400})
        check({rows, 1}, kExact, Fill::whole);
    }
  }
}

// Both operands along their rows and columns, the sum of a length that is known at run time alone.
TEST_P(PingPongKernelTest, DepthOfASymbol) {
  loadInTurn(
      R"(^bb0(%a: tensor<?x456xf16, #dl.t<[s0 + 1, 456]>>, %b: tensor<?x88xf16, #dl.t<[s0 + 1, 88]>>):
    %0 = dl.permute %a {dims = array<i64: 1, 0>} : (tensor<?x456xf16, #dl.t<[s0 + 1, 456]>>) -> tensor<456x?xf16, #dl.t<[456, s0 + 1]>>
    %1 = dl.matmul %0, %b : (tensor<456x?xf16, #dl.t<[456, s0 + 1]>>, tensor<?x88xf16, #dl.t<[s0 + 1, 88]>>) -> tensor<456x88xf16>
    dl.yield %1 : tensor<456x88xf16>)");
  for (int64_t before : {0, 1, 63, 64, 319, 320, 383})
    check({before, 1}, kExact, Fill::whole);
}

TEST_P(PingPongKernelTest, Batched) {
  loadInTurn(
      R"(^bb0(%a: tensor<?x70x72xf16, #dl.t<[s0, 70, 72]>>, %b: tensor<?x80x72xf16, #dl.t<[s0, 80, 72]>>):
    %0 = dl.permute %b {dims = array<i64: 0, 2, 1>} : (tensor<?x80x72xf16, #dl.t<[s0, 80, 72]>>) -> tensor<?x72x80xf16, #dl.t<[s0, 72, 80]>>
    %1 = dl.matmul %a, %0 : (tensor<?x70x72xf16, #dl.t<[s0, 70, 72]>>, tensor<?x72x80xf16, #dl.t<[s0, 72, 80]>>) -> tensor<?x70x80xf16, #dl.t<[s0, 70, 80]>>
    dl.yield %1 : tensor<?x70x80xf16, #dl.t<[s0, 70, 80]>>)");
  for (int64_t batch : {0, 1, 3, 9})
    check({batch, 1}, kHalf);
  check({5, 1}, kExact, Fill::whole);
}

/// The kernel with a part of a header taken out.
class PlantedPingPongTest : public PingPongKernelTest {
protected:
  /// Returns true if the checker, or the result, told of the fault.
  bool isFound(const std::string &part) {
    loadInTurn(linear("f16", 264, 448));
    llvm::SmallVector<Tensor> inputs, same;
    Tensor right, wrong;
    engine.seed(7);
    EXPECT_EQ(run({400, 1}, Fill::whole, inputs, right), Result::Success) << report();
    removeFromHeader("dlc_contract90.cuh", part);
    engine.seed(7);
    return run({400, 1}, Fill::whole, same, wrong) != Result::Success ||
           right.floats() != wrong.floats();
  }
};

TEST_P(PlantedPingPongTest, SecondBeginsWithTheSlabsOfTheFirst) {
  EXPECT_TRUE(isFound("    tile += turn;\n    skip_tile();\n"));
}
TEST_P(PlantedPingPongTest, GoesOnWithTheSlabsOfTheOther) {
  EXPECT_TRUE(isFound("    if constexpr (kPingpong)\n      skip_tile();\n"));
}
TEST_P(PlantedPingPongTest, KeepsThePhase) {
  EXPECT_TRUE(isFound("    phase ^= (u32)(to / kStages & 1);\n"));
}
TEST_P(PlantedPingPongTest, BeginsBeforeItsTurn) {
  EXPECT_TRUE(isFound("      mbar_wait(met + group - 1, met_phase);\n"));
}
TEST_P(PlantedPingPongTest, KeepsItsTurn) {
  EXPECT_TRUE(isFound("      if (kPingpong && step + 1 == steps)\n        give_turn();\n"));
}
TEST_P(PlantedPingPongTest, WaitsForBothWarpgroups) { EXPECT_TRUE(isFound("kPingpong ? 1 : ")); }
TEST_P(PlantedPingPongTest, TakesEachTileTwice) { EXPECT_TRUE(isFound("kPingpong ? 0 : ")); }

INSTANTIATE_TEST_SUITE_P(Policies, PlantedPingPongTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, PingPongKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
