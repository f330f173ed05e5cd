//===- ClusterKernelTest.cpp - Matrix products whose tiles a cluster of blocks shares ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked. Whole numbers are exact: an element in the wrong place, and a part
// that is added twice or not at all, shows.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
constexpr Tolerance kHalf{2.0, 2e-3}, kTf32{2.0, 4e-3}, kExact{};

class ClusterKernelTest : public CudaKernelTest {
protected:
  void loadSplit(const std::string &body, int64_t columns, int64_t parts,
                 const std::string &precision = "f32") {
    numbers = {{"tile_n", columns},
               {"stages", columns == 64 ? 6 : 4},
               {"chunk", columns},
               {"parts", parts},
               {"pingpong", 0}};
    numbers.append(more);
    load("contraction", body, 400, precision, "always");
    EXPECT_NE(text().find("dlc::contract_wgmma_split<config>"), std::string::npos) << text();
    EXPECT_NE(text().find("DLC_KERNEL_CLUSTER(384, " + std::to_string(parts) + ")"),
              std::string::npos)
        << text();
  }
  /// Further numbers of the plan.
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>> more;
};
} // namespace

// Rows and columns that end within tiles; clusters of each size, of which some have rows that end
// before those of others.
TEST_P(ClusterKernelTest, Linear) {
  for (int64_t parts : {2, 3, 4, 8}) {
    loadSplit(linear("f16", 80, 1032), 64, parts);
    for (int64_t rows : {0, 1, 63, 129})
      check({rows, 1}, kHalf);
    check({200, 1}, kExact, Fill::whole);
  }
}

TEST_P(ClusterKernelTest, WideTiles) {
  for (int64_t parts : {2, 5, 6}) {
    loadSplit(linear("f16", 264, 520), 128, parts);
    check({130, 1}, kHalf);
    check({257, 1}, kExact, Fill::whole);
  }
}

// Weights begin before the grids before this one have ended, each block with its part.
TEST_P(ClusterKernelTest, WeightsComeEarly) {
  for (int early : {1, 2}) {
    more = {{"early", early}};
    loadSplit(linear("f16", 80, 2056), 64, 3);
    check({129, 1}, kExact, Fill::whole);
  }
}

// Columns that no vector divides; blocks that have no step of k.
TEST_P(ClusterKernelTest, OddColumnsAndShortSums) {
  loadSplit(linear("f16", 129, 72), 64, 4);
  check({129, 1}, kExact, Fill::whole);
  check({65, 1}, kHalf, Fill::special);
}

TEST_P(ClusterKernelTest, Tf32) {
  loadSplit(linear("f32", 72, 300), 64, 4, "tf32");
  for (int64_t rows : {1, 65, 129})
    check({rows, 1}, kTf32);
  check({129, 1}, kExact, Fill::whole);
}

// Both operands along their rows and columns, the sum of a length that is known at run time alone.
TEST_P(ClusterKernelTest, DepthOfASymbol) {
  loadSplit(
      R"(^bb0(%a: tensor<?x72xf16, #dl.t<[s0 + 1, 72]>>, %b: tensor<?x88xf16, #dl.t<[s0 + 1, 88]>>):
    %0 = dl.permute %a {dims = array<i64: 1, 0>} : (tensor<?x72xf16, #dl.t<[s0 + 1, 72]>>) -> tensor<72x?xf16, #dl.t<[72, s0 + 1]>>
    %1 = dl.matmul %0, %b : (tensor<72x?xf16, #dl.t<[72, s0 + 1]>>, tensor<?x88xf16, #dl.t<[s0 + 1, 88]>>) -> tensor<72x88xf16>
    dl.yield %1 : tensor<72x88xf16>)",
      64, 3);
  for (int64_t before : {0, 62, 64, 129, 256})
    check({before, 1}, kExact, Fill::whole);
}

/// The kernel with a barrier of the cluster taken out.
class PlantedClusterTest : public ClusterKernelTest {
protected:
  std::string reportWithout(const std::string &part) {
    loadSplit(linear("f16", 80, 1032), 64, 4);
    check({129, 1}, kHalf);
    removeFromHeader("dlc_contract90.cuh", part);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({129, 1}, Fill::uniform, inputs, actual), Result::Success);
    return report();
  }
};

TEST_P(PlantedClusterTest, ReadsBeforeAllHaveWritten) {
  std::string report = reportWithout("      cluster_barrier(); // all totals are there\n");
  EXPECT_TRUE(report.find("race: ") != std::string::npos ||
              report.find("uninitialised: load") != std::string::npos)
      << report;
}
TEST_P(PlantedClusterTest, EndsBeforeAllHaveRead) {
  std::string report = reportWithout("      cluster_leave();\n");
  EXPECT_TRUE(report.find("missing cluster barrier: ") != std::string::npos ||
              report.find("that block has ended") != std::string::npos)
      << report;
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedClusterTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, ClusterKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
