//===- BytesKernelTest.cpp - Matrix products of bytes on tensor cores ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked. Integers are exact: nothing may be off.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
constexpr Tolerance kExact{};

class BytesKernelTest : public CudaKernelTest {
protected:
  /// A product whose operands are cast to i32, the first one less `zero`: of `x` by `w`, tensors of
  /// `xType` and `wType`.
  void loadProduct(const std::string &op, const std::string &x, const std::string &xType, int zero,
                   const std::string &w, const std::string &wType, const std::string &y,
                   const std::string &callee = "contract_mma") {
    auto wide = [](std::string type, const std::string &element) {
      return type.replace(type.rfind("x" + element) + 1, element.size(), "i32");
    };
    std::string xs = "tensor<" + x + ">", ws = "tensor<" + w + ">",
                xw = "tensor<" + wide(x, xType) + ">", ww = "tensor<" + wide(w, wType) + ">",
                ys = "tensor<" + y + ">";
    std::string body = "^bb0(%x: " + xs + ", %w: " + ws + "):\n%0 = dl.cast %x {dtype = i32} : (" +
                       xs + ") -> " + xw + "\n%1 = dl.cast %w {dtype = i32} : (" + ws + ") -> " +
                       ww + "\n";
    std::string left = "%0";
    if (zero != 0) {
      body += "%z = dl.full " + std::to_string(zero) + " : i32 -> " + xw +
              "\n%2 = dl.sub %0, %z : (" + xw + ", " + xw + ") -> " + xw + "\n";
      left = "%2";
    }
    body += "%3 = dl." + op + " : (" + xw + ", " + ww + ") -> " + ys + "\ndl.yield %3 : " + ys;
    size_t at = body.find("LEFT");
    body.replace(at, 4, left);
    load("contraction", body);
    EXPECT_NE(text().find("dlc::" + callee + "<config>"), std::string::npos) << text();
  }
};
} // namespace

// Both operands along k, 16 bytes at a time; rows beyond the end, a last slab that is half empty.
TEST_P(BytesKernelTest, LinearRows) {
  loadProduct("linear LEFT, %1", "?x80xui8, #dl.t<[s0, 80]>", "ui8", 0, "40x80xi8", "i8",
              "?x40xi32, #dl.t<[s0, 40]>");
  EXPECT_EQ(config("width_a"), 16) << text();
  EXPECT_EQ(config("width_b"), 16);
  EXPECT_EQ(config("signed_a"), 0);
  EXPECT_EQ(config("signed_b"), 1);
  checkBoundaries(kExact);
}

// The zero point is taken off the totals; where rows have no element, it is what stands there.
TEST_P(BytesKernelTest, ZeroPoint) {
  loadProduct("linear LEFT, %1", "?x72xui8, #dl.t<[s0, 72]>", "ui8", 131, "40x72xi8", "i8",
              "?x40xi32, #dl.t<[s0, 40]>");
  EXPECT_EQ(config("zero_a"), 131) << text();
  EXPECT_EQ(config("width_a"), 8);
  checkBoundaries(kExact);
}

// Two operands without a sign, and two with one: neither is what the others are.
TEST_P(BytesKernelTest, OtherSigns) {
  loadProduct("linear LEFT, %1", "?x36xui8, #dl.t<[s0, 36]>", "ui8", 255, "24x36xui8", "ui8",
              "?x24xi32, #dl.t<[s0, 24]>");
  EXPECT_EQ(config("signed_b"), 0) << text();
  EXPECT_EQ(config("width_a"), 4);
  checkBoundaries(kExact);
  loadProduct("linear LEFT, %1", "?x36xi8, #dl.t<[s0, 36]>", "i8", -3, "24x36xi8", "i8",
              "?x24xi32, #dl.t<[s0, 24]>");
  EXPECT_EQ(config("signed_a"), 1) << text();
  EXPECT_EQ(config("zero_a"), -3);
  for (int64_t rows : {1, 17, 65})
    check({rows, 1}, kExact);
}

// Sums of each length, of which copies take none: elements go one by one.
TEST_P(BytesKernelTest, SymbolicDepth) {
  loadProduct("linear LEFT, %1", "33x?xui8, #dl.t<[33, s0]>", "ui8", 7, "24x?xi8, #dl.t<[24, s0]>",
              "i8", "33x24xi32");
  EXPECT_EQ(config("width_a"), 1) << text();
  EXPECT_EQ(config("width_b"), 1);
  checkBoundaries(kExact);
}

// Bytes that lie across the sums are turned on the way in.
TEST_P(BytesKernelTest, Across) {
  loadProduct("matmul LEFT, %1", "?x64xui8, #dl.t<[s0, 64]>", "ui8", 128, "64x48xi8", "i8",
              "?x48xi32, #dl.t<[s0, 48]>");
  EXPECT_EQ(config("width_a"), 16) << text();
  EXPECT_EQ(config("width_b"), 1);
  for (int64_t rows : {0, 1, 17, 33, 129})
    check({rows, 1}, kExact);
}

// The result's columns are those of the first operand, so that the zero point is that of the
// template's second one.
TEST_P(BytesKernelTest, ZeroPointOfColumns) {
  loadProduct(
      "contract LEFT, %1 {x_loops = array<i64: 1, 2>, other_loops = array<i64: 0, 2>, rank = 2 "
      ": i64}",
      "?x32xui8, #dl.t<[s0, 32]>", "ui8", 9, "40x32xi8", "i8", "40x?xi32, #dl.t<[40, s0]>");
  EXPECT_EQ(config("zero_a"), 0) << text();
  EXPECT_EQ(config("zero_b"), 9);
  EXPECT_EQ(config("signed_a"), 1);
  checkBoundaries(kExact);
}

// Both operands in e4m3: products as f16, exact, with sums in f32. Each length of k; then a linear
// layer whose rows lie along k.
TEST_P(BytesKernelTest, Float8) {
  auto loadFloat8 = [&](const std::string &op, const std::string &x, const std::string &w,
                        const std::string &y) {
    auto as = [](std::string type, const std::string &element) {
      return type.replace(type.find("ELEMENT"), 7, element);
    };
    std::string xs = as(x, "f8E4M3FN"), ws = as(w, "f8E4M3FN"), xw = as(x, "f32"),
                ww = as(w, "f32");
    load("contraction", "^bb0(%x: " + xs + ", %w: " + ws + "):\n%0 = dl.cast %x {dtype = f32} : (" +
                            xs + ") -> " + xw + "\n%1 = dl.cast %w {dtype = f32} : (" + ws +
                            ") -> " + ww + "\n%2 = dl." + op + " : (" + xw + ", " + ww + ") -> " +
                            y + "\ndl.yield %2 : " + y);
    EXPECT_NE(text().find("dlc::contract_mma<config>"), std::string::npos) << text();
    EXPECT_EQ(config("float8"), 1);
  };
  constexpr Tolerance kSums{2.0, 1e-6};
  loadFloat8("linear %0, %1", "tensor<33x?xELEMENT, #dl.t<[33, s0]>>",
             "tensor<24x?xELEMENT, #dl.t<[24, s0]>>", "tensor<33x24xf32>");
  checkBoundaries(kSums);
  loadFloat8("linear %0, %1", "tensor<?x80xELEMENT, #dl.t<[s0, 80]>>", "tensor<40x80xELEMENT>",
             "tensor<?x40xf32, #dl.t<[s0, 40]>>");
  EXPECT_EQ(config("width_a"), 16) << text();
  checkBoundaries(kSums);
  check({65, 1}, kExact, Fill::whole);
  check({65, 1}, kSums, Fill::special);
}

// Implicit GEMM, channels last, with an epilogue that makes bytes again: what pads the image means
// 0, and so is the zero point.
TEST_P(BytesKernelTest, Convolution) {
  for (int channels : {16, 3}) {
    std::string c = std::to_string(channels), dims = "[s0, " + c + ", 9, 7], order = [0, 2, 3, 1]",
                x = "tensor<?x" + c + "x9x7xELEMENT, #dl.t<" + dims + ">>",
                w = "tensor<24x" + c + "x3x3xELEMENT, #dl.t<[24, " + c +
                    ", 3, 3], order = [0, 2, 3, 1]>>",
                y = "tensor<?x24x5x7xELEMENT, #dl.t<[s0, 24, 5, 7], order = [0, 2, 3, 1]>>";
    auto of = [](std::string type, const std::string &element) {
      return type.replace(type.find("ELEMENT"), 7, element);
    };
    std::string xi = of(x, "i32"), wi = of(w, "i32"), yi = of(y, "i32"), yf = of(y, "f32"),
                yb = of(y, "ui8");
    load("contraction",
         "^bb0(%x: " + of(x, "ui8") + ", %w: " + of(w, "i8") +
             "):\n%0 = dl.cast %x {dtype = i32} : (" + of(x, "ui8") + ") -> " + xi +
             "\n%z = dl.full 100 : i32 -> " + xi + "\n%1 = dl.sub %0, %z : (" + xi + ", " + xi +
             ") -> " + xi + "\n%2 = dl.cast %w {dtype = i32} : (" + of(w, "i8") + ") -> " + wi +
             "\n%3 = dl.conv2d %1, %2 {padding = array<i64: 1, 1>, stride = array<i64: 2, 1>} : (" +
             xi + ", " + wi + ") -> " + yi + "\n%4 = dl.cast %3 {dtype = f32} : (" + yi + ") -> " +
             yf + "\n%s = dl.full 0.0625 : f32 -> " + yf + "\n%5 = dl.mul %4, %s : (" + yf + ", " +
             yf + ") -> " + yf + "\n%6 = dl.round %5 : (" + yf + ") -> " + yf +
             "\n%7 = dl.cast %6 {dtype = ui8} : (" + yf + ") -> " + yb + "\ndl.yield %7 : " + yb);
    EXPECT_NE(text().find("dlc::contract_mma<config>"), std::string::npos) << text();
    EXPECT_EQ(config("width_a"), channels == 16 ? 16 : 1) << text();
    EXPECT_EQ(config("taps_a"), channels == 16 ? 9 : 0);
    EXPECT_EQ(config("vector"), 8);
    for (int64_t size : {0, 1, 2, 3, 8})
      check({size, 1}, kExact);
  }
}

// Few tiles and a long sum: several warps of a block share the steps of a slab, and their totals
// are added, the zero point taken off each.
TEST_P(BytesKernelTest, WarpsShareSums) {
  loadProduct("linear LEFT, %1", "?x4112xui8, #dl.t<[s0, 4112]>", "ui8", 200, "40x4112xi8", "i8",
              "?x40xi32, #dl.t<[s0, 40]>");
  EXPECT_GT(config("warps_k"), 1) << text();
  for (int64_t rows : {0, 1, 33, 40})
    check({rows, 1}, kExact);
}

// A bug: nobody takes the zero point off the totals.
TEST_P(BytesKernelTest, PlantedUncorrectedTotals) {
  loadProduct("linear LEFT, %1", "?x80xui8, #dl.t<[s0, 80]>", "ui8", 131, "40x80xi8", "i8",
              "?x40xi32, #dl.t<[s0, 40]>");
  check({33, 1}, kExact);
  removeFromHeader("dlc_contract.cuh", "  sums.take_off_zeros(acc);\n");
  llvm::SmallVector<Tensor> inputs;
  Tensor actual;
  ASSERT_EQ(run({33, 1}, Fill::uniform, inputs, actual), Result::Success) << report();
  int64_t wrong = 0;
  for (int64_t row = 0; row < 33; ++row)
    for (int64_t n = 0; n < 40; ++n) {
      int64_t sum = 0;
      for (int64_t k = 0; k < 80; ++k)
        sum += (inputs[0].ints()[row * 80 + k] - 131) * inputs[1].ints()[n * 80 + k];
      wrong += actual.ints()[row * 40 + n] != sum;
    }
  EXPECT_GT(wrong, 1000);
}

// Elements that another thread has not brought yet, by a copy or by a store of what has no place.
TEST_P(BytesKernelTest, PlantedMissingBarrier) {
  loadProduct("linear LEFT, %1", "?x520xui8, #dl.t<[s0, 520]>", "ui8", 131, "40x520xi8", "i8",
              "?x40xi32, #dl.t<[s0, 40]>");
  check({33, 1}, kExact);
  removeFromHeader(
      "dlc_slab.cuh",
      "      barrier(); // which also ends all reads of the stage that is filled now\n");
  llvm::SmallVector<Tensor> inputs;
  Tensor actual;
  EXPECT_NE(run({33, 1}, Fill::uniform, inputs, actual), Result::Success);
  EXPECT_NE(report().find("with no barrier between"), std::string::npos) << report();
}

INSTANTIATE_TEST_SUITE_P(Policies, BytesKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
