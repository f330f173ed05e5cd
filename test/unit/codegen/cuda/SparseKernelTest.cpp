//===- SparseKernelTest.cpp - Products with 2:4 weights on tensor cores -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By mma.sp and by wgmma.sp, under each policy, checked. The emulator refuses places that are not
// in order.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
constexpr Tolerance kExact{}, kHalf{2.0, 2e-3}, kBfloat{2.0, 1.6e-2};

class SparseKernelTest : public CudaKernelTest {
protected:
  /// y = relu(x w^T + b), w of `columns` by `depth`; `wide`: x is in f32 and cast where it is read.
  void loadLinear(int columns, int depth, const std::string &type = "f16", bool wide = false,
                  bool hopper = false) {
    std::string n = std::to_string(columns), k = std::to_string(depth),
                x = "tensor<?x" + k + "x" + type + ", #dl.t<[s0, " + k + "]>>",
                from = wide ? "tensor<?x" + k + "xf32, #dl.t<[s0, " + k + "]>>" : x,
                v = "tensor<" + n + "x" + std::to_string(depth / 2) + "x" + type + ">",
                p = "tensor<" + n + "x" + std::to_string(depth / 8) + "xui8>",
                w = "tensor<" + n + "x" + k + "x" + type + ">",
                b = "tensor<" + n + "x" + type + ">",
                y = "tensor<?x" + n + "x" + type + ", #dl.t<[s0, " + n + "]>>";
    std::string body = "^bb0(%x: " + from + ", %v: " + v + ", %p: " + p + ", %b: " + b + "):\n";
    if (wide)
      body += "%h = dl.cast %x {dtype = " + type + "} : (" + from + ") -> " + x + "\n";
    body += "%w = dl.expand_two_of_four %v, %p : (" + v + ", " + p + ") -> " + w +
            "\n%0 = dl.linear " + (wide ? "%h" : "%x") + ", %w, %b : (" + x + ", " + w + ", " + b +
            ") -> " + y + "\n%1 = dl.relu %0 : (" + y + ") -> " + y + "\ndl.yield %1 : " + y;
    load("contraction", body, 400, "f32", hopper ? "always" : "never");
    const char *callee = hopper ? "dlc::contract_wgmma_sparse<config>" : "dlc::contract_sparse";
    EXPECT_NE(text().find(callee), std::string::npos) << text();
  }
  /// The checker's report must hold `phrase` with a part of a header taken out.
  void expectReport(const std::string &header, const std::string &part, const std::string &phrase,
                    int64_t rows) {
    check({rows, 1}, kHalf);
    removeFromHeader(header, part);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({rows, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  /// Bytes are the places of two groups, each in order.
  Tensor random(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> symbols, Fill fill) override {
    Tensor tensor = CudaKernelTest::random(type, symbols, fill);
    if (!type.getElementType().isUnsignedInteger(8))
      return tensor;
    constexpr int64_t kPairs[] = {0 | 1 << 2, 0 | 2 << 2, 0 | 3 << 2,
                                  1 | 2 << 2, 1 | 3 << 2, 2 | 3 << 2};
    std::uniform_int_distribution<int> pair(0, 5);
    for (int64_t &places : tensor.ints())
      places = kPairs[pair(engine)] | kPairs[pair(engine)] << 4;
    return tensor;
  }
};

class SparseHopperTest : public SparseKernelTest {};
} // namespace

TEST_P(SparseKernelTest, LinearRows) {
  loadLinear(80, 192);
  EXPECT_EQ(config("width_a"), 8) << text();
  EXPECT_EQ(config("vector"), 8);
  checkBoundaries(kHalf);
  for (int64_t rows : {1, 65, 129})
    check({rows, 1}, kExact, Fill::whole);
}

// Each tile, with sums that are no whole slabs and columns beyond the last.
TEST_P(SparseKernelTest, Tiles) {
  using Tile = llvm::SmallVector<std::pair<llvm::StringRef, int64_t>>;
  auto tile = [](int64_t m, int64_t n, int64_t k, int64_t warpsM, int64_t warpsN, int64_t warpsK,
                 int64_t stages) {
    return Tile{{"tile_m", m},       {"tile_n", n},       {"tile_k", k},     {"warps_m", warpsM},
                {"warps_n", warpsN}, {"warps_k", warpsK}, {"stages", stages}};
  };
  for (const Tile &one :
       {tile(128, 128, 64, 4, 2, 1, 3), tile(64, 128, 64, 2, 2, 1, 4),
        tile(64, 64, 128, 2, 2, 2, 3), tile(32, 128, 64, 1, 4, 1, 4), tile(8, 16, 256, 1, 1, 4, 6),
        tile(8, 128, 128, 1, 4, 1, 4), tile(16, 32, 128, 1, 1, 4, 4)}) {
    numbers = one;
    loadLinear(152, 320);
    EXPECT_EQ(config("tile_n"), one[1].second) << text();
    for (int64_t rows : {0, 1, 7, 8, 9, 33, 130})
      check({rows, 1}, kHalf);
    check({130, 1}, kExact, Fill::whole);
  }
}

// Several blocks share the sums of a tile.
TEST_P(SparseKernelTest, Parts) {
  numbers = {{"tile_m", 8},  {"tile_n", 32}, {"tile_k", 128}, {"warps_m", 1},
             {"warps_n", 1}, {"warps_k", 4}, {"stages", 3},   {"parts", 3}};
  loadLinear(40, 960);
  EXPECT_NE(text().find("contract_sparse_split"), std::string::npos) << text();
  for (int64_t rows : {1, 8, 9, 33})
    check({rows, 1}, kHalf);
}

// Columns in bf16 whose totals are stored one by one; rows that are rounded on their way.
TEST_P(SparseKernelTest, Others) {
  loadLinear(3, 64, "bf16");
  EXPECT_EQ(config("vector"), 1) << text();
  checkBoundaries(kBfloat);
  loadLinear(24, 128, "f16", /*wide=*/true);
  EXPECT_EQ(config("width_a"), 0) << text();
  checkBoundaries(kHalf);
}

// Weights are asked for before the grids before this one have ended: sums of fewer slabs than the
// ring has and of more.
TEST_P(SparseKernelTest, WeightsComeEarly) {
  for (int depth : {64, 640}) {
    numbers = {{"early", 2},   {"tile_m", 16}, {"tile_n", 32}, {"tile_k", 64},
               {"warps_m", 1}, {"warps_n", 2}, {"warps_k", 1}, {"stages", 4}};
    loadLinear(80, depth);
    EXPECT_EQ(config("early"), 2) << text();
    for (int64_t rows : {1, 17, 64})
      check({rows, 1}, kHalf);
  }
}

TEST_P(SparseHopperTest, LinearRows) {
  for (const char *type : {"f16", "bf16"}) {
    loadLinear(136, 384, type, /*wide=*/false, /*hopper=*/true);
    for (int64_t rows : {0, 1, 8, 63, 64, 65, 129, 400})
      check({rows, 1}, *type == 'b' ? kBfloat : kHalf);
    check({129, 1}, kExact, Fill::whole);
  }
}

TEST_P(SparseHopperTest, Tiles) {
  for (auto [rows, stages] : {std::pair(64, 6), {128, 4}, {64, 3}})
    for (int early : {0, 1}) {
      numbers = {{"tile_m", rows}, {"stages", stages}, {"early", early}};
      loadLinear(300, 640, "f16", /*wide=*/false, /*hopper=*/true);
      EXPECT_EQ(config("tile_m"), rows) << text();
      for (int64_t count : {1, 130, 257})
        check({count, 1}, kHalf);
    }
}

/// The kernels with a part of their headers taken out.
class PlantedSparseTest : public SparseKernelTest {
protected:
  void plant(const std::string &part, const std::string &phrase) {
    numbers = {{"tile_m", 16}, {"tile_n", 32}, {"tile_k", 64}, {"warps_m", 1},
               {"warps_n", 2}, {"warps_k", 1}, {"stages", 3}};
    loadLinear(80, 320);
    expectReport("dlc_contract_sparse.cuh", part, phrase, 33);
  }
  void plantInHopper(const std::string &part, const std::string &phrase) {
    numbers = {{"tile_m", 64}, {"stages", 3}};
    loadLinear(300, 640, "f16", /*wide=*/false, /*hopper=*/true);
    expectReport("dlc_contract_sparse90.cuh", part, phrase, 300);
  }
};

TEST_P(PlantedSparseTest, NoPlaces) {
  plant("      cp_async<8>(stage + piece * 4, places + column * (depth / 8) + k / 8, true);\n",
        "uninitialised: ");
}
TEST_P(PlantedSparseTest, NoBarrierBeforeTheTotalsAreRead) { plant("    barrier();\n", "race: "); }
TEST_P(PlantedSparseTest, NoWaitForTheProducts) {
  plantInHopper("      wgmma_wait<0>();\n", "missing wait: ");
}
TEST_P(PlantedSparseTest, NoPlacesInHopper) {
  plantInHopper(
      "        cp_async<16>(stages_places + (stage * kTileN + thread) * kPlaces, own + step "
      "* (kDepth / 8),\n                     true);\n",
      "uninitialised: ");
}
TEST_P(PlantedSparseTest, NoWaitForAFreeStage) {
  plantInHopper("        mbar_wait(empty + stage, phase ^ 1);\n", "missing wait: ");
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedSparseTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, SparseKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, SparseHopperTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
