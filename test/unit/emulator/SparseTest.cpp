//===- SparseTest.cpp - products with two of each four elements -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX ISA's formulas and figures for mma.sp.m16n8k32 and wgmma.mma_async.sp.m64nNk32 of f16 and
// bf16: which lane holds which element and which places. The figure of the places is the same one
// for both. Planted mistakes must show.
//===----------------------------------------------------------------------===//
#include "test/unit/emulator/EmuDevice.h"
#include <algorithm>
#include <cmath>
#include <functional>

namespace dlc::test {

namespace {

/// Lane pairs beyond the first do not contribute: whatever they hold, here places that do not
/// ascend.
constexpr uint32_t kNotRead = 0xffffffff;

uint16_t encode(float value, bool isBf16) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (isBf16)
    return uint16_t(bits >> 16); // exact for whole numbers up to 256
  _Float16 half = static_cast<_Float16>(value);
  uint16_t halfBits;
  std::memcpy(&halfBits, &half, 2);
  return halfBits;
}

/// Where the two stored elements of four neighbours in k stand, of all the ways that there are.
int placeOf(int row, int group, int element) {
  static const int kPlaces[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  return kPlaces[(row * 3 + group * 5 + row * group) % 6][element];
}
float storedOf(int row, int group, int element) {
  return float((row * 7 + group * 2 + element) % 31 + 1);
}
float elementOfB(int k, int column) { return float((k * 11 + column * 5) % 29 - 14); }

/// The total of \p row and \p column over \p groups fours of k; A begins at its group \p first.
float totalOf(int row, int column, int first, int groups) {
  float total = 0;
  for (int group = 0; group < groups; ++group)
    for (int e : {0, 1})
      total += storedOf(row, first + group, e) *
               elementOfB(group * 4 + placeOf(row, first + group, e), column);
  return total;
}

/// The word of lane \p lane with the places of 16 rows from \p row on, of 32 steps from \p group
/// on.
uint32_t placesOfLane(int lane, int row, int group) {
  if (lane % 4 >= 2)
    return kNotRead;
  uint32_t word = 0;
  for (int half : {0, 1})
    for (int g = 0; g < 4; ++g)
      for (int e : {0, 1})
        word |= uint32_t(placeOf(row + lane / 4 + half * 8, group + lane % 4 * 4 + g, e))
                << (half * 16 + g * 4 + e * 2);
  return word;
}

void swapHalves(std::vector<uint32_t> &places) {
  for (size_t t = 0; t < places.size(); ++t)
    places[t] = places[t] << 16 | places[t] >> 16;
}

/// mma.sp on 32x24: two tiles of rows, three of columns.
class SparseFragmentTest : public EmuTest {
protected:
  std::vector<uint16_t> a, b; // element i of a lane's registers
  std::vector<uint32_t> places;

  void fill(bool isBf16) {
    a.assign(size_t(32) * 2 * 8, 0);
    b.assign(size_t(32) * 3 * 8, 0);
    places.clear();
    for (int lane = 0; lane < 32; ++lane) {
      int inGroup = lane % 4;
      for (int tile = 0; tile < 2; ++tile) {
        for (int i = 0; i < 8; ++i) {
          int row = tile * 16 + lane / 4 + (i % 4 < 2 ? 0 : 8);
          int firstColumn = inGroup * 4 + (i < 4 ? 0 : 16);
          a[(lane * 2 + tile) * 8 + i] = encode(storedOf(row, firstColumn / 4, i % 2), isBf16);
        }
        places.push_back(placesOfLane(lane, tile * 16, 0));
      }
      for (int tile = 0; tile < 3; ++tile)
        for (int i = 0; i < 8; ++i)
          b[(lane * 3 + tile) * 8 + i] =
              encode(elementOfB(inGroup * 2 + i % 2 + i / 2 * 8, tile * 8 + lane / 4), isBf16);
    }
  }
  Result multiply(bool isBf16, std::vector<float> &d) {
    DevicePtr out = allocate(32 * 24 * 4);
    Result result = launch(compileFile("fragments.cu", isBf16 ? "sparse_bf16" : "sparse_f16"), {1},
                           {32}, 0, upload(a), upload(places), upload(b), out);
    if (result == Result::Success) // an error is sticky
      d = download<float>(out, size_t(32) * 24);
    return result;
  }
  /// Visits (m, n, the entry of the results).
  static void forEachResult(const std::function<void(int, int, int)> &visit) {
    for (int m = 0; m < 32; ++m)
      for (int n = 0; n < 24; ++n)
        visit(m, n,
              (((m % 8 * 4 + n % 8 / 2) * 2 + m / 16) * 3 + n / 8) * 4 + m % 16 / 8 * 2 + n % 2);
  }
  /// How many results are not those of the matrices.
  int wrongOf(const std::vector<float> &d) {
    int wrong = 0;
    forEachResult([&](int m, int n, int entry) { wrong += d[entry] != totalOf(m, n, 0, 8); });
    return wrong;
  }
  /// Multiplies what was planted; many results must be wrong.
  void expectWrong() {
    std::vector<float> d;
    ASSERT_EQ(multiply(false, d), Result::Success) << report();
    EXPECT_GT(wrongOf(d), 32 * 24 / 4);
  }
};

TEST_F(SparseFragmentTest, Products) {
  for (bool isBf16 : {false, true}) {
    fill(isBf16);
    std::vector<float> d;
    ASSERT_EQ(multiply(isBf16, d), Result::Success) << report();
    forEachResult([&](int m, int n, int entry) {
      ASSERT_EQ(d[entry], totalOf(m, n, 0, 8)) << isBf16 << ": D(" << m << "," << n << ")";
    });
  }
}

// NaN in B does not reach a result by the elements of A that are not stored.
TEST_F(SparseFragmentTest, OnlyWhatIsStoredIsMultiplied) {
  fill(false);
  for (size_t i = 0; i < places.size(); ++i)
    places[i] = i / 2 % 4 < 2 ? 0x44444444 : kNotRead; // 0 and 1 of each four
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 24; ++i)
      if (lane % 2) // steps 2 and 3 of each four
        b[lane * 24 + i] = encode(NAN, false);
  std::vector<float> d;
  ASSERT_EQ(multiply(false, d), Result::Success) << report();
  EXPECT_TRUE(std::all_of(d.begin(), d.end(), [](float v) { return std::isfinite(v); }));
}

TEST_F(SparseFragmentTest, PlacesOfTheOtherLaneOfThePair) {
  fill(false);
  for (int lane = 0; lane < 32; lane += 4)
    std::swap_ranges(&places[lane * 2], &places[lane * 2] + 2, &places[lane * 2 + 2]);
  expectWrong();
}

TEST_F(SparseFragmentTest, PlacesOfTheRowEightFurther) {
  fill(false);
  swapHalves(places);
  expectWrong();
}

TEST_F(SparseFragmentTest, PlacesOfTheOtherTile) {
  fill(false);
  for (size_t i = 0; i < places.size(); i += 2)
    std::swap(places[i], places[i + 1]);
  expectWrong();
}

TEST_F(SparseFragmentTest, RegistersOfBInTheWrongOrder) {
  fill(false);
  for (size_t i = 0; i < b.size(); i += 8) // 0 2 1 3, as of two dense products
    std::swap_ranges(&b[i + 2], &b[i + 2] + 2, &b[i + 4]);
  expectWrong();
}

TEST_F(SparseFragmentTest, PlacesThatDoNotAscend) {
  fill(false);
  std::vector<float> d;
  places[5 * 2 + 1] = 0x44444441; // lane 5: steps 16-19 of row 1
  EXPECT_EQ(multiply(false, d), Result::LaunchFailed);
  EXPECT_NE(report().find("unordered places: mma_tile_sparse, lane 5: the two elements of group 4 "
                          "of row 1 stand at 1 and 0 of its four"),
            std::string::npos)
      << report();
}

TEST_F(SparseFragmentTest, PlacesThatAreTheSame) {
  fill(false);
  std::vector<float> d;
  places[0] = 0xf4444444; // lane 0: steps 12-15 of row 8
  EXPECT_EQ(multiply(false, d), Result::LaunchFailed);
  EXPECT_NE(report().find("group 3 of row 8 stand at 3 and 3 of its four"), std::string::npos)
      << report();
}

/// wgmma.sp on 64 rows over 64 steps of k.
class SparseWgmmaTest : public CheckedTest {
protected:
  std::vector<uint16_t> a, b; // as they lie in shared memory
  std::vector<uint32_t> places;

  /// The element of lines of 128 bytes, with the swizzle, that is the \p at th of its line.
  static size_t place(int line, int at) {
    return size_t(line) * 64 + size_t((at / 8 ^ line % 8) * 8 + at % 8);
  }
  /// \p first: number of the first product's 16 stored columns among the four that A has.
  void fill(int columns, bool isBf16, int first) {
    a.assign(size_t(64) * 64, 0);
    b.assign(size_t(columns) * 64, 0);
    places.clear();
    for (int row = 0; row < 64; ++row)
      for (int stored = 0; stored < 64; ++stored)
        a[place(row, stored)] = encode(storedOf(row, stored / 2, stored % 2), isBf16);
    for (int column = 0; column < columns; ++column)
      for (int k = 0; k < 64; ++k)
        b[place(column, k)] = encode(elementOfB(k, column), isBf16);
    for (int product = 0; product < 2; ++product)
      for (int t = 0; t < 128; ++t)
        places.push_back(placesOfLane(t % 32, t / 32 * 16, (first + product) * 8));
  }
  Result multiply(int columns, bool isBf16, int first, std::vector<float> &d,
                  const char *option = "-DNOTHING") {
    std::string kernel =
        std::string(isBf16 ? "sparse_bf16_" : "sparse_f16_") + std::to_string(columns);
    DevicePtr out = allocate(size_t(64) * columns * 4);
    Result result = launch(compileFile("wgmma.cu", kernel, {option}), {1}, {128},
                           8192 + columns * 128, upload(a), upload(places), upload(b), out, first);
    if (result == Result::Success)
      d = download<float>(out, size_t(64) * columns);
    return result;
  }
  static int wrongOf(const std::vector<float> &d, int columns, int first) {
    int wrong = 0;
    for (int m = 0; m < 64; ++m)
      for (int n = 0; n < columns; ++n) {
        int thread = m / 16 * 32 + m % 8 * 4 + n % 8 / 2;
        wrong += d[thread * columns / 2 + n / 8 * 4 + m % 16 / 8 * 2 + n % 2] !=
                 totalOf(m, n, first * 8, 16);
      }
    return wrong;
  }
  void expectWrong() {
    std::vector<float> d;
    ASSERT_EQ(multiply(64, false, 0, d), Result::Success) << report();
    EXPECT_GT(wrongOf(d, 64, 0), 64 * 64 / 4);
  }
  void expectReport(const char *option, const std::string &phrase) {
    std::vector<float> d;
    fill(64, false, 0);
    EXPECT_EQ(multiply(64, false, 0, d, option), Result::LaunchFailed);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
};

TEST_P(SparseWgmmaTest, Products) {
  for (int columns : {64, 128, 256})
    for (bool isBf16 : {false, true})
      for (int first : {0, 2}) {
        fill(columns, isBf16, first);
        std::vector<float> d;
        ASSERT_EQ(multiply(columns, isBf16, first, d), Result::Success) << report();
        EXPECT_EQ(wrongOf(d, columns, first), 0) << columns << " " << isBf16 << " " << first;
      }
}

TEST_P(SparseWgmmaTest, PlacesOfTheOtherLaneOfThePair) {
  fill(64, false, 0);
  for (size_t t = 0; t < places.size(); t += 4)
    std::swap(places[t], places[t + 1]);
  expectWrong();
}

TEST_P(SparseWgmmaTest, PlacesOfTheRowEightFurther) {
  fill(64, false, 0);
  swapHalves(places);
  expectWrong();
}

TEST_P(SparseWgmmaTest, PlacesOfTheOtherProduct) {
  fill(64, false, 0);
  std::rotate(places.begin(), places.begin() + 128, places.end());
  expectWrong();
}

TEST_P(SparseWgmmaTest, PlacesThatDoNotAscend) {
  fill(64, false, 0);
  std::vector<float> d;
  places[36] = 0x44441444; // warp 1, lane 4: steps 12-15 of its row 1
  EXPECT_EQ(multiply(64, false, 0, d), Result::LaunchFailed);
  EXPECT_NE(report().find("unordered places: wgmma_sparse, lane 4: the two elements of group 3 of "
                          "row 1 stand at 1 and 0 of its four"),
            std::string::npos)
      << report();
}

TEST_P(SparseWgmmaTest, TotalsReadBeforeTheWait) {
  fill(64, false, 0);
  std::vector<float> d;
  ASSERT_EQ(multiply(64, false, 0, d, "-DPLANT_EARLY_READ"), Result::Success) << report();
  EXPECT_TRUE(std::all_of(d.begin(), d.end(), [](float v) { return std::isnan(v); }));
}

// The products read the first 64 bytes of row 0 of A, and all 128 of a column of B.
TEST_P(SparseWgmmaTest, TheFirstStoredElementChangesBeforeTheWait) {
  expectReport("-DPLANT_STORE=0", "race: ");
}
TEST_P(SparseWgmmaTest, TheLastStoredElementChangesBeforeTheWait) {
  expectReport("-DPLANT_STORE=15", "race: ");
}
TEST_P(SparseWgmmaTest, TheDenseOperandChangesBeforeTheWait) {
  expectReport("-DPLANT_STORE=2048+31", "race: ");
}
TEST_P(SparseWgmmaTest, WhatIsNotMultipliedMayChange) {
  fill(64, false, 0);
  std::vector<float> d;
  ASSERT_EQ(multiply(64, false, 0, d, "-DPLANT_STORE=16"), Result::Success) << report();
  EXPECT_EQ(wrongOf(d, 64, 0), 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, SparseWgmmaTest, ::testing::Values("order", "random:2"));

} // namespace
} // namespace dlc::test
