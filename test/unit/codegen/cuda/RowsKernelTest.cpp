//===- RowsKernelTest.cpp - Few rows times a matrix ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
class RowsKernelTest : public CudaKernelTest {
protected:
  void expectTemplate(const std::string &number = "") {
    EXPECT_NE(text().find("dlc::contract_rows"), std::string::npos) << text();
    EXPECT_NE(text().find(number), std::string::npos) << text();
  }
  /// `rows` x 72 times the transpose of 70 x 72, and `rows` x 72 times 72 x 72.
  void loadLinear(const std::string &type, int rows) {
    std::string x = "tensor<" + std::to_string(rows) + "x72x" + type + ">",
                w = "tensor<70x72x" + type + ">",
                y = "tensor<" + std::to_string(rows) + "x70x" + type + ">";
    load("contraction", "^bb0(%x: " + x + ", %w: " + w + "):\n%0 = dl.linear %x, %w : (" + x +
                            ", " + w + ") -> " + y + "\ndl.yield %0 : " + y);
  }
  void loadMatmul(const std::string &type, int rows) {
    std::string x = "tensor<" + std::to_string(rows) + "x72x" + type + ">",
                w = "tensor<72x72x" + type + ">";
    load("contraction", "^bb0(%x: " + x + ", %w: " + w + "):\n%0 = dl.matmul %x, %w : (" + x +
                            ", " + w + ") -> " + x + "\ndl.yield %0 : " + x);
  }
};
} // namespace

constexpr Tolerance kProducts{16.0, 4e-6};
constexpr Tolerance kHalf{2.0, 1.6e-2};
constexpr Tolerance kExact{};

// Sixteen bytes of each operand a lane, in every dtype; the last warp's columns are beyond the end.
TEST_P(RowsKernelTest, AlongDepth) {
  for (const char *type : {"f32", "f16", "bf16", "f64", "i32", "i64", "i8", "ui8"}) {
    loadLinear(type, 8);
    expectTemplate("along_k = 1");
    check({0, 1}, kExact, Fill::whole);
  }
  loadLinear("f32", 1);
  check({0, 1}, kProducts);
  loadLinear("f32", 3);
  expectTemplate("deep = 4");
  check({0, 1}, kProducts);
  loadLinear("bf16", 8);
  expectTemplate("deep = 8");
  check({0, 1}, kHalf);
}

// Weights are asked for before the grids before this one have ended, also by threads without
// columns; elements of less than four bytes never are.
TEST_P(RowsKernelTest, WeightsComeEarly) {
  numbers = {{"early", 1}};
  for (const char *type : {"f32", "f16", "i8"}) {
    loadLinear(type, 8);
    expectTemplate("early = 1");
    EXPECT_EQ(text().find("begin_grid"), std::string::npos) << text();
    check({0, 1}, kExact, Fill::whole);
    loadMatmul(type, 2);
    check({0, 1}, kExact, Fill::whole);
  }
  load("contraction", R"(^bb0(%x: tensor<1x77xf16>, %w: tensor<70x77xf16>):
    %0 = dl.linear %x, %w : (tensor<1x77xf16>, tensor<70x77xf16>) -> tensor<1x70xf16>
    dl.yield %0 : tensor<1x70xf16>)");
  expectTemplate("early = 0");
  check({0, 1}, kExact, Fill::whole);
}

TEST_P(RowsKernelTest, AcrossDepth) {
  for (const char *type : {"f32", "f16", "bf16", "f64", "i32", "i64", "i8", "ui8"}) {
    loadMatmul(type, 8);
    expectTemplate("along_k = 0");
    check({0, 1}, kExact, Fill::whole);
  }
  loadMatmul("f32", 1);
  check({0, 1}, kProducts);
  loadMatmul("f16", 4);
  expectTemplate("columns = 8");
  check({0, 1}, kHalf);
}

// No vectors in odd rows; the rows are a symbol of at most four.
TEST_P(RowsKernelTest, OddAndSymbolic) {
  load("contraction", R"(^bb0(%x: tensor<?x37xf32, #dl.t<[s1, 37]>>, %w: tensor<70x37xf32>):
    %0 = dl.linear %x, %w : (tensor<?x37xf32, #dl.t<[s1, 37]>>, tensor<70x37xf32>) -> tensor<?x70xf32, #dl.t<[s1, 70]>>
    dl.yield %0 : tensor<?x70xf32, #dl.t<[s1, 70]>>)");
  expectTemplate("rows = 4");
  for (int64_t rows : {1, 2, 3, 4})
    check({0, rows}, kProducts);
  load("contraction",
       R"(^bb0(%x: tensor<2x?xf16, #dl.t<[2, s0]>>, %w: tensor<?x37xf16, #dl.t<[s0, 37]>>):
    %0 = dl.matmul %x, %w : (tensor<2x?xf16, #dl.t<[2, s0]>>, tensor<?x37xf16, #dl.t<[s0, 37]>>) -> tensor<2x37xf16>
    dl.yield %0 : tensor<2x37xf16>)");
  expectTemplate("columns = 1,");
  checkBoundaries(kHalf);
}

// Few columns: the same with the operands' parts exchanged. A symbolic number of the others.
TEST_P(RowsKernelTest, FewColumns) {
  load("contraction",
       R"(^bb0(%x: tensor<?x64xf32, #dl.t<[s0, 64]>>, %w: tensor<3x64xf32>, %b: tensor<3xf32>):
    %0 = dl.linear %x, %w, %b : (tensor<?x64xf32, #dl.t<[s0, 64]>>, tensor<3x64xf32>, tensor<3xf32>) -> tensor<?x3xf32, #dl.t<[s0, 3]>>
    %1 = dl.relu %0 : (tensor<?x3xf32, #dl.t<[s0, 3]>>) -> tensor<?x3xf32, #dl.t<[s0, 3]>>
    dl.yield %1 : tensor<?x3xf32, #dl.t<[s0, 3]>>)");
  expectTemplate("rows = 3");
  checkBoundaries(kProducts);
}

// Rings that go round several times, with warps side by side and warps that share k; rows and steps
// beyond the end.
TEST_P(RowsKernelTest, LongSums) {
  for (int64_t rows : {1, 2, 7, 8})
    for (int64_t depth : {1000, 1016, 4096}) {
      std::string r = std::to_string(rows), k = std::to_string(depth), x = r + "x" + k + "xf16",
                  w = "27x" + k + "xf16", y = r + "x27xf16";
      load("contraction", "^bb0(%x: tensor<" + x + ">, %w: tensor<" + w +
                              ">):\n%0 = dl.linear %x, %w : (tensor<" + x + ">, tensor<" + w +
                              ">) -> tensor<" + y + ">\ndl.yield %0 : tensor<" + y + ">");
      expectTemplate("along_k = 1");
      check({0, 1}, kExact, Fill::whole);
    }
}

// Several blocks share k, of floats alone. Parts of unequal length, the last step half empty;
// columns beyond the end.
TEST_P(RowsKernelTest, Split) {
  auto loadSplit = [&](const std::string &type, int rows, const std::string &depth) {
    std::string x = std::to_string(rows) + "x" + depth + "x" + type, w = depth + "x40x" + type,
                y = std::to_string(rows) + "x40x" + type;
    load("contraction", "^bb0(%x: tensor<" + x + ">, %w: tensor<" + w +
                            ">):\n%0 = dl.matmul %x, %w : (tensor<" + x + ">, tensor<" + w +
                            ">) -> tensor<" + y + ">\ndl.yield %0 : tensor<" + y + ">");
  };
  for (const char *type : {"f32", "f16"})
    for (int rows : {1, 8}) {
      loadSplit(type, rows, "2999");
      EXPECT_GT(config("parts"), 1) << text();
      check({0, 1}, kExact, Fill::whole);
    }
  loadSplit("bf16", 8, "2999"); // whose sums of whole numbers are rounded
  check({0, 1}, kHalf);
  loadSplit("f32", 2, "4096");
  check({0, 1}, kProducts);
  for (const char *type : {"f64", "i32", "i8"}) {
    loadSplit(type, 3, "4096");
    EXPECT_EQ(config("parts"), -1) << text();
    check({0, 1}, kExact, Fill::whole);
  }
  load("contraction",
       R"(^bb0(%x: tensor<2x?xf32, #dl.t<[2, s0]>>, %w: tensor<?x36xf32, #dl.t<[s0, 36]>>):
    %0 = dl.matmul %x, %w : (tensor<2x?xf32, #dl.t<[2, s0]>>, tensor<?x36xf32, #dl.t<[s0, 36]>>) -> tensor<2x36xf32>
    dl.yield %0 : tensor<2x36xf32>)",
       8192);
  EXPECT_GT(config("parts"), 1) << text();
  for (int64_t depth : {0, 1, 127, 128, 129, 1000})
    check({depth, 1}, kExact, Fill::whole);
}

// A batch, something computed on the way in, a residual on the way out.
TEST_P(RowsKernelTest, BatchesBetweenMaps) {
  load(
      "contraction",
      R"(^bb0(%a: tensor<?x2x40xf16, #dl.t<[s1, 2, 40]>>, %b: tensor<?x40x24xf16, #dl.t<[s1, 40, 24]>>, %z: tensor<?x2x24xf16, #dl.t<[s1, 2, 24]>>):
    %0 = dl.neg %a : (tensor<?x2x40xf16, #dl.t<[s1, 2, 40]>>) -> tensor<?x2x40xf16, #dl.t<[s1, 2, 40]>>
    %1 = dl.matmul %0, %b : (tensor<?x2x40xf16, #dl.t<[s1, 2, 40]>>, tensor<?x40x24xf16, #dl.t<[s1, 40, 24]>>) -> tensor<?x2x24xf16, #dl.t<[s1, 2, 24]>>
    %2 = dl.add %1, %z : (tensor<?x2x24xf16, #dl.t<[s1, 2, 24]>>, tensor<?x2x24xf16, #dl.t<[s1, 2, 24]>>) -> tensor<?x2x24xf16, #dl.t<[s1, 2, 24]>>
    dl.yield %2 : tensor<?x2x24xf16, #dl.t<[s1, 2, 24]>>)");
  expectTemplate("width_a = 0");
  for (int64_t batch : {1, 3, 4})
    check({0, batch}, kHalf);
  check({0, 2}, kExact, Fill::whole);
}

// Sums too short for a warp, and too few of them for its template, keep the simple ways.
TEST_P(RowsKernelTest, ShortSums) {
  load("contraction",
       R"(^bb0(%x: tensor<1x?xf32, #dl.t<[1, s0]>>, %w: tensor<2x?xf32, #dl.t<[2, s0]>>):
    %0 = dl.linear %x, %w : (tensor<1x?xf32, #dl.t<[1, s0]>>, tensor<2x?xf32, #dl.t<[2, s0]>>) -> tensor<1x2xf32>
    dl.yield %0 : tensor<1x2xf32>)");
  EXPECT_EQ(text().find("contract_rows"), std::string::npos) << text();
  for (int64_t depth : {0, 1, 33, 129})
    check({depth, 1}, kProducts);
  load("contraction", R"(^bb0(%x: tensor<1x7xf32>, %w: tensor<70x7xf32>):
    %0 = dl.linear %x, %w : (tensor<1x7xf32>, tensor<70x7xf32>) -> tensor<1x70xf32>
    dl.yield %0 : tensor<1x70xf32>)");
  EXPECT_EQ(text().find("contract_rows"), std::string::npos) << text();
  check({0, 1}, kProducts);
  load("contraction", R"(^bb0(%x: tensor<1x7xf32>, %w: tensor<7x70xf32>):
    %0 = dl.matmul %x, %w : (tensor<1x7xf32>, tensor<7x70xf32>) -> tensor<1x70xf32>
    dl.yield %0 : tensor<1x70xf32>)");
  check({0, 1}, kProducts);
}

INSTANTIATE_TEST_SUITE_P(Policies, RowsKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
