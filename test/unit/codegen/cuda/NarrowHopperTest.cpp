//===- NarrowHopperTest.cpp - Products of bytes and of e4m3 by wgmma ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked, on a GPU with three multiprocessors, so that blocks take several
// tiles. Integers are exact. So are whole numbers of e4m3: the emulator cuts their sums off as an
// H100 does, below bits that they do not have.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
constexpr Tolerance kExact{}, kFloat8{2.0, 4e-4};

/// The type of a tensor in another element type.
std::string of(std::string type, const std::string &element) {
  return type.replace(type.find("ELEMENT"), 7, element);
}

class NarrowHopperTest : public CudaKernelTest {
protected:
  /// y = (x - zero) w^T of bytes, x of `rows` or symbolic, w of `columns` by `depth`.
  void linearOfBytes(const std::string &type, int zero, const std::string &other, int columns,
                     int depth, const std::string &callee = "contract_wgmma") {
    std::string n = std::to_string(columns), k = std::to_string(depth),
                x = "tensor<?x" + k + "xELEMENT, #dl.t<[s0, " + k + "]>>",
                w = "tensor<" + n + "x" + k + "xELEMENT>",
                y = "tensor<?x" + n + "xi32, #dl.t<[s0, " + n + "]>>";
    loadHopper(casts(x, type, zero, w, other) + "%y = dl.linear %a, %b : (" + of(x, "i32") + ", " +
                   of(w, "i32") + ") -> " + y + "\ndl.yield %y : " + y,
               callee);
  }
  /// The transposed product: the template's columns have the zero point.
  void columnsOfBytes(int zero, int rows, int depth) {
    std::string m = std::to_string(rows), k = std::to_string(depth),
                x = "tensor<?x" + k + "xELEMENT, #dl.t<[s0, " + k + "]>>",
                w = "tensor<" + m + "x" + k + "xELEMENT>",
                y = "tensor<" + m + "x?xi32, #dl.t<[" + m + ", s0]>>";
    loadHopper(casts(x, "ui8", zero, w, "i8") +
               "%y = dl.contract %a, %b {x_loops = array<i64: 1, 2>, other_loops = array<i64: 0, "
               "2>, rank = 2 : i64} : (" +
               of(x, "i32") + ", " + of(w, "i32") + ") -> " + y + "\ndl.yield %y : " + y);
  }
  /// A padded convolution, 3 x 3, channels last.
  void convolution(int channels, int filters, int zero, bool isFloat8) {
    std::string c = std::to_string(channels), f = std::to_string(filters),
                x = "tensor<?x" + c + "x9x7xELEMENT, #dl.t<[s0, " + c +
                    ", 9, 7], order = [0, 2, 3, 1]>>",
                w = "tensor<" + f + "x" + c + "x3x3xELEMENT, #dl.t<[" + f + ", " + c +
                    ", 3, 3], order = [0, 2, 3, 1]>>",
                y = "tensor<?x" + f + "x9x7xELEMENT, #dl.t<[s0, " + f +
                    ", 9, 7], order = [0, 2, 3, 1]>>";
    std::string wide = isFloat8 ? "f32" : "i32";
    loadHopper((isFloat8 ? castsOfFloat8(x, w) : casts(x, "ui8", zero, w, "i8")) +
                   "%y = dl.conv2d %a, %b {padding = array<i64: 1, 1>} : (" + of(x, wide) + ", " +
                   of(w, wide) + ") -> " + of(y, wide) + "\ndl.yield %y : " + of(y, wide),
               "contract_wgmma_gathered");
  }
  void linearOfFloat8(int columns, int depth, const std::string &callee = "contract_wgmma") {
    std::string n = std::to_string(columns), k = std::to_string(depth),
                x = "tensor<?x" + k + "xELEMENT, #dl.t<[s0, " + k + "]>>",
                w = "tensor<" + n + "x" + k + "xELEMENT>",
                y = "tensor<?x" + n + "xf32, #dl.t<[s0, " + n + "]>>";
    loadHopper(castsOfFloat8(x, w) + "%y = dl.linear %a, %b : (" + of(x, "f32") + ", " +
                   of(w, "f32") + ") -> " + y + "\ndl.yield %y : " + y,
               callee);
  }
  /// The checker's report must hold `phrase` with a part of a header taken out.
  void expectReport(const std::string &header, const std::string &part, const std::string &phrase,
                    int64_t rows) {
    check({rows, 1}, kExact, Fill::whole);
    removeFromHeader(header, part);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({rows, 1}, Fill::whole, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }

private:
  void loadHopper(const std::string &body, const std::string &callee = "contract_wgmma") {
    load("contraction", body, 400, "f32", "always");
    EXPECT_NE(text().find("dlc::" + callee + "<config>"), std::string::npos) << text();
  }
  /// %a is %x less its zero point, %b is %w, both in i32.
  static std::string casts(const std::string &x, const std::string &type, int zero,
                           const std::string &w, const std::string &other) {
    std::string xi = of(x, "i32");
    std::string body = "^bb0(%x: " + of(x, type) + ", %w: " + of(w, other) + "):\n";
    body += std::string(zero ? "%c" : "%a") + " = dl.cast %x {dtype = i32} : (" + of(x, type) +
            ") -> " + xi + "\n";
    if (zero)
      body += "%z = dl.full " + std::to_string(zero) + " : i32 -> " + xi +
              "\n%a = dl.sub %c, %z : (" + xi + ", " + xi + ") -> " + xi + "\n";
    return body + "%b = dl.cast %w {dtype = i32} : (" + of(w, other) + ") -> " + of(w, "i32") +
           "\n";
  }
  static std::string castsOfFloat8(const std::string &x, const std::string &w) {
    auto cast = [](const std::string &from, const std::string &to, const std::string &type) {
      return to + " = dl.cast " + from + " {dtype = f32} : (" + of(type, "f8E4M3FN") + ") -> " +
             of(type, "f32") + "\n";
    };
    return "^bb0(%x: " + of(x, "f8E4M3FN") + ", %w: " + of(w, "f8E4M3FN") + "):\n" +
           cast("%x", "%a", x) + cast("%w", "%b", w);
  }
};
} // namespace

// Slabs of 128 bytes, the last one half empty; each sign.
TEST_P(NarrowHopperTest, Bytes) {
  linearOfBytes("i8", 0, "i8", 80, 208);
  EXPECT_EQ(config("signed_a"), 1) << text();
  EXPECT_EQ(config("float8"), 0);
  checkBoundaries(kExact);
  linearOfBytes("ui8", 0, "i8", 80, 208);
  EXPECT_EQ(config("signed_a"), 0) << text();
  check({129, 1}, kExact);
  linearOfBytes("ui8", 0, "ui8", 80, 208);
  EXPECT_EQ(config("signed_b"), 0) << text();
  check({129, 1}, kExact);
}

// Columns of the other operand are added beside the products: in tiles of which two threads share a
// column, each has one, or two.
TEST_P(NarrowHopperTest, ZeroPointOfRows) {
  for (auto [columns, stages, chunk] : {std::tuple(64, 6, 64), {128, 4, 64}, {256, 4, 32}}) {
    numbers = {{"tile_n", columns}, {"stages", stages}, {"chunk", chunk}};
    linearOfBytes("ui8", 131, "i8", 280, 336);
    EXPECT_EQ(config("zero_a"), 131) << text();
    for (int64_t rows : {0, 1, 64, 129, 400})
      check({rows, 1}, kExact);
  }
}

// Rows of the other operand are added.
TEST_P(NarrowHopperTest, ZeroPointOfColumns) {
  columnsOfBytes(9, 200, 336);
  EXPECT_EQ(config("zero_b"), 9) << text();
  for (int64_t columns : {0, 16, 64, 144, 400})
    check({columns, 1}, kExact);
}

// An image is padded with its zero point. A slab ends within its channels.
TEST_P(NarrowHopperTest, Convolution) {
  for (int channels : {16, 48, 128}) {
    convolution(channels, 72, 100, false);
    EXPECT_EQ(config("zero_a"), 100) << text();
    for (int64_t images : {0, 1, 2, 5})
      check({images, 1}, kExact);
  }
}

// Blocks of a cluster share the steps of k, and the zero point is taken off each one's totals.
TEST_P(NarrowHopperTest, SharedDepth) {
  numbers = {{"tile_n", 128}, {"chunk", 128}, {"stages", 4}, {"parts", 3}};
  std::string callee = "contract_wgmma_split";
  linearOfBytes("ui8", 131, "i8", 136, 1040, callee);
  for (int64_t rows : {1, 129, 300})
    check({rows, 1}, kExact);
  linearOfFloat8(136, 1040, callee);
  check({130, 1}, kFloat8);
  check({130, 1}, kExact, Fill::whole);
}

TEST_P(NarrowHopperTest, Float8) {
  linearOfFloat8(80, 208);
  EXPECT_EQ(config("float8"), 1) << text();
  checkBoundaries(kFloat8);
  for (int64_t rows : {1, 65, 129})
    check({rows, 1}, kExact, Fill::whole);
  // The ring goes round several times, blocks take several tiles.
  linearOfFloat8(272, 1296);
  check({400, 1}, kFloat8);
  check({300, 1}, kExact, Fill::whole);
  check({300, 1}, kFloat8, Fill::special);
}

TEST_P(NarrowHopperTest, Float8Convolution) {
  convolution(48, 72, 0, true);
  EXPECT_EQ(config("float8"), 1) << text();
  for (int64_t images : {0, 1, 5})
    check({images, 1}, kFloat8);
  check({3, 1}, kExact, Fill::whole);
}

// A wide tile has no room for totals of a slab beside those of all.
TEST_P(NarrowHopperTest, NoWideTilesOfFloat8) {
  linearOfFloat8(4096, 4096);
  EXPECT_LE(config("tile_n"), 128) << text();
}

/// Kernels with a part of a header taken out.
class PlantedNarrowTest : public NarrowHopperTest {};

// A slab that is given free while other warps read its bytes.
TEST_P(PlantedNarrowTest, NoBarrierOfTheWarp) {
  numbers = {{"tile_n", 64}, {"chunk", 64}, {"stages", 6}, {"parts", 1}};
  linearOfBytes("ui8", 131, "i8", 72, 2064);
  expectReport("dlc_contract90.cuh", "      warp_barrier();\n", "missing wait: tma_load_2d to ",
               129);
}
// Sums of columns that are read before all threads have written theirs.
TEST_P(PlantedNarrowTest, NoMeetingOfTheWarpgroup) {
  linearOfBytes("ui8", 131, "i8", 72, 336);
  expectReport("dlc_sums90.cuh", "      mbar_wait(room.met, tile & 1);\n", "race: store at ", 129);
}
// Padding that nobody writes.
TEST_P(PlantedNarrowTest, NoPadding) {
  convolution(16, 72, 100, false);
  expectReport("dlc_gather.cuh", "          store(to, outside);\n", "uninitialised: wgmma of ", 2);
}
// Totals of a slab that are added while it is multiplied.
TEST_P(PlantedNarrowTest, NoWaitForTheSlab) {
  linearOfFloat8(80, 208);
  expectReport("dlc_sums90.cuh", "    wgmma_wait<0>();\n    wgmma_arrived(of_slab);\n",
               "the thread ends with wgmma in flight", 65);
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedNarrowTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, NarrowHopperTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
