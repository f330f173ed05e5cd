//===- HopperKernelTest.cpp - Matrix products by TMA and wgmma ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked, on a GPU with three multiprocessors, so that blocks take several
// tiles. Whole numbers are exact: an element in the wrong place shows.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
class HopperKernelTest : public CudaKernelTest {
protected:
  void loadHopper(const std::string &body, const std::string &precision = "f32",
                  int64_t largest = 400) {
    load("contraction", body, largest, precision, "always");
    EXPECT_NE(text().find("dlc::contract_wgmma<config>"), std::string::npos) << text();
  }
  void linear(const std::string &type, int columns, int depth, const std::string &precision = "f32",
              int64_t largest = 400) {
    loadHopper(CudaKernelTest::linear(type, columns, depth), precision, largest);
  }
};

constexpr Tolerance kHalf{2.0, 2e-3}, kBrain{2.0, 1.6e-2}, kTf32{2.0, 4e-3}, kExact{};
} // namespace

// A last slab that is half empty, columns in whole vectors.
TEST_P(HopperKernelTest, Linear) {
  linear("f16", 80, 72);
  EXPECT_EQ(config("vector"), 8) << text();
  EXPECT_EQ(config("along_m"), 0);
  EXPECT_EQ(config("along_n"), 0);
  checkBoundaries(kHalf);
  for (int64_t rows : {1, 65, 129})
    check({rows, 1}, kExact, Fill::whole);
}

// Weights begin before the grids before this one have ended: more slabs than the ring has, and
// fewer.
TEST_P(HopperKernelTest, WeightsComeEarly) {
  for (int early : {1, 2}) {
    numbers = {{"early", early}};
    linear("f16", 520, 648);
    EXPECT_EQ(config("early"), early) << text();
    check({400, 1}, kHalf);
    linear("f16", 80, 72);
    for (int64_t rows : {0, 1, 129})
      check({rows, 1}, kExact, Fill::whole);
  }
}

// Columns that no vector divides.
TEST_P(HopperKernelTest, OddColumns) {
  linear("bf16", 129, 64);
  EXPECT_EQ(config("vector"), 1) << text();
  checkBoundaries(kBrain);
  check({129, 1}, kExact, Fill::whole);
}

// The ring goes round several times, blocks take several tiles.
TEST_P(HopperKernelTest, ManyTiles) {
  linear("f16", 520, 648);
  check({400, 1}, kHalf);
  check({300, 1}, kExact, Fill::whole);
}

// What large products take: wide tiles, whose totals leave in several turns.
TEST_P(HopperKernelTest, WideTiles) {
  numbers = {{"tile_n", 256}, {"stages", 4}, {"chunk", 32}, {"pingpong", 0}};
  linear("bf16", 1016, 72, "f32", 50000);
  EXPECT_EQ(config("tile_n"), 256) << text();
  check({130, 1}, kBrain);
  check({130, 1}, kExact, Fill::whole);
  numbers.clear();
  linear("f16", 376, 72, "f32", 50000);
  EXPECT_EQ(config("tile_n"), 128) << text();
  check({257, 1}, kHalf);
  check({257, 1}, kExact, Fill::whole);
}

TEST_P(HopperKernelTest, Tf32) {
  linear("f32", 72, 100, "tf32");
  EXPECT_EQ(config("vector"), 4) << text();
  for (int64_t rows : {0, 1, 2, 17, 63, 64, 65, 129, 257})
    check({rows, 1}, kTf32);
  check({129, 1}, kExact, Fill::whole);
}

// The second operand along its columns; then the first along its rows as well.
TEST_P(HopperKernelTest, Matmul) {
  loadHopper(R"(^bb0(%a: tensor<?x136xbf16, #dl.t<[s0, 136]>>, %b: tensor<136x152xbf16>):
    %0 = dl.matmul %a, %b : (tensor<?x136xbf16, #dl.t<[s0, 136]>>, tensor<136x152xbf16>) -> tensor<?x152xbf16, #dl.t<[s0, 152]>>
    dl.yield %0 : tensor<?x152xbf16, #dl.t<[s0, 152]>>)");
  EXPECT_EQ(config("along_m"), 0) << text();
  EXPECT_EQ(config("along_n"), 1);
  checkBoundaries(kBrain);
  for (int64_t rows : {1, 65, 129, 257})
    check({rows, 1}, kExact, Fill::whole);
}

TEST_P(HopperKernelTest, TransposedFirst) {
  auto body = [](int depth) {
    std::string k = std::to_string(depth), a = "tensor<" + k + "x72xf16>",
                t = "tensor<72x" + k + "xf16>", b = "tensor<" + k + "x88xf16>";
    return "^bb0(%a: " + a + ", %b: " + b + "):\n%0 = dl.permute %a {dims = array<i64: 1, 0>} : (" +
           a + ") -> " + t + "\n%1 = dl.matmul %0, %b : (" + t + ", " + b +
           ") -> tensor<72x88xf16>\ndl.yield %1 : tensor<72x88xf16>";
  };
  for (int depth : {2, 63, 64, 65, 129}) {
    loadHopper(body(depth));
    check({1, 1}, kHalf);
    check({1, 1}, kExact, Fill::whole);
  }
}

// Products one after the other: torch.bmm. A last slab of k that is half empty, rows and columns
// that end within tiles: what follows there is the next product.
TEST_P(HopperKernelTest, Batched) {
  load(
      "contraction",
      R"(^bb0(%a: tensor<?x70x72xf16, #dl.t<[s0, 70, 72]>>, %b: tensor<?x80x72xf16, #dl.t<[s0, 80, 72]>>):
    %0 = dl.permute %b {dims = array<i64: 0, 2, 1>} : (tensor<?x80x72xf16, #dl.t<[s0, 80, 72]>>) -> tensor<?x72x80xf16, #dl.t<[s0, 72, 80]>>
    %1 = dl.matmul %a, %0 : (tensor<?x70x72xf16, #dl.t<[s0, 70, 72]>>, tensor<?x72x80xf16, #dl.t<[s0, 72, 80]>>) -> tensor<?x70x80xf16, #dl.t<[s0, 70, 80]>>
    dl.yield %1 : tensor<?x70x80xf16, #dl.t<[s0, 70, 80]>>)",
      64, "f32", "always");
  EXPECT_NE(text().find("dlc::contract_wgmma_batched<config>"), std::string::npos) << text();
  for (int64_t batch : {0, 1, 2, 3, 9})
    check({batch, 1}, kHalf);
  check({5, 1}, kExact, Fill::whole);
  check({3, 1}, kHalf, Fill::special);
}

// Two dims of the batch, rows known at run time alone; the second operand along its columns.
TEST_P(HopperKernelTest, BatchedAlongColumns) {
  load("contraction",
       R"(^bb0(%a: tensor<3x2x?x128xbf16, #dl.t<[3, 2, s0, 128]>>, %b: tensor<3x2x128x136xbf16>):
    %0 = dl.matmul %a, %b : (tensor<3x2x?x128xbf16, #dl.t<[3, 2, s0, 128]>>, tensor<3x2x128x136xbf16>) -> tensor<3x2x?x136xbf16, #dl.t<[3, 2, s0, 136]>>
    dl.yield %0 : tensor<3x2x?x136xbf16, #dl.t<[3, 2, s0, 136]>>)",
       200, "f32", "always");
  EXPECT_NE(text().find("dlc::contract_wgmma_batched<config>"), std::string::npos) << text();
  EXPECT_EQ(config("along_n"), 1);
  for (int64_t rows : {0, 1, 63, 64, 129})
    check({rows, 1}, kBrain);
  check({130, 1}, kExact, Fill::whole);
}

// Not a number spreads along its row and nowhere else, also not from beyond the ends.
TEST_P(HopperKernelTest, Specials) {
  linear("f16", 80, 72);
  check({65, 1}, kHalf, Fill::special);
}

// Large products pay, also where their rows are whole tiles whatever the symbols are, and where
// there is a batch of them. What TMA cannot read keeps the kernel that all GPUs have, however
// large.
TEST_P(HopperKernelTest, WhereItPays) {
  auto pays = [&](const std::string &body) {
    load("contraction", body, 5000, "f32", "auto");
    return hasHopperKernel();
  };
  EXPECT_TRUE(pays(R"(^bb0(%a: tensor<?x2048xf16, #dl.t<[s0, 2048]>>, %b: tensor<2048x4096xf16>):
    %0 = dl.matmul %a, %b : (tensor<?x2048xf16, #dl.t<[s0, 2048]>>, tensor<2048x4096xf16>) -> tensor<?x4096xf16, #dl.t<[s0, 4096]>>
    dl.yield %0 : tensor<?x4096xf16, #dl.t<[s0, 4096]>>)"));
  EXPECT_TRUE(pays(R"(^bb0(%a: tensor<4096x2048xf16>, %b: tensor<2048x4096xf16>):
    %0 = dl.matmul %a, %b : (tensor<4096x2048xf16>, tensor<2048x4096xf16>) -> tensor<4096x4096xf16>
    dl.yield %0 : tensor<4096x4096xf16>)"));
  EXPECT_TRUE(pays(
      R"(^bb0(%a: tensor<?x1024x1024xf16, #dl.t<[s0, 1024, 1024]>>, %b: tensor<?x1024x1024xf16, #dl.t<[s0, 1024, 1024]>>):
    %0 = dl.matmul %a, %b : (tensor<?x1024x1024xf16, #dl.t<[s0, 1024, 1024]>>, tensor<?x1024x1024xf16, #dl.t<[s0, 1024, 1024]>>) -> tensor<?x1024x1024xf16, #dl.t<[s0, 1024, 1024]>>
    dl.yield %0 : tensor<?x1024x1024xf16, #dl.t<[s0, 1024, 1024]>>)"));
  // Few rows; rows of 4088 bytes; steps of k that end within a slab, where those of the next
  // product follow.
  EXPECT_FALSE(pays(R"(^bb0(%a: tensor<16x2048xf16>, %b: tensor<2048x4096xf16>):
    %0 = dl.matmul %a, %b : (tensor<16x2048xf16>, tensor<2048x4096xf16>) -> tensor<16x4096xf16>
    dl.yield %0 : tensor<16x4096xf16>)"));
  EXPECT_FALSE(pays(R"(^bb0(%a: tensor<?x2044xf16, #dl.t<[s0, 2044]>>, %b: tensor<2044x4096xf16>):
    %0 = dl.matmul %a, %b : (tensor<?x2044xf16, #dl.t<[s0, 2044]>>, tensor<2044x4096xf16>) -> tensor<?x4096xf16, #dl.t<[s0, 4096]>>
    dl.yield %0 : tensor<?x4096xf16, #dl.t<[s0, 4096]>>)"));
  EXPECT_FALSE(pays(
      R"(^bb0(%a: tensor<?x1024x1032xf16, #dl.t<[s0, 1024, 1032]>>, %b: tensor<?x1032x1024xf16, #dl.t<[s0, 1032, 1024]>>):
    %0 = dl.matmul %a, %b : (tensor<?x1024x1032xf16, #dl.t<[s0, 1024, 1032]>>, tensor<?x1032x1024xf16, #dl.t<[s0, 1032, 1024]>>) -> tensor<?x1024x1024xf16, #dl.t<[s0, 1024, 1024]>>
    dl.yield %0 : tensor<?x1024x1024xf16, #dl.t<[s0, 1024, 1024]>>)"));
}

INSTANTIATE_TEST_SUITE_P(Policies, HopperKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
