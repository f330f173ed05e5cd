//===- FragmentTest.cpp - which lane holds which element --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Golden tables of the PTX ISA's figures for mma.m16n8k16 (f16, bf16), mma.m16n8k8 (tf32) and
// ldmatrix, its formulas for mma.m16n8k32 (bytes), and what the swizzle promises. A table's entry
// is lane * elements of a lane + number of the element.
//===----------------------------------------------------------------------===//
#include "test/unit/emulator/EmuDevice.h"
#include <array>
#include <set>

namespace dlc::test {

namespace {

template <int N> using Table = std::vector<std::array<int, N>>;

// clang-format off
/// A of m16n8k16: rows m, columns k; eight elements a lane.
const Table<16> kHalfA = {
    {0, 1, 8, 9, 16, 17, 24, 25, 4, 5, 12, 13, 20, 21, 28, 29},
    {32, 33, 40, 41, 48, 49, 56, 57, 36, 37, 44, 45, 52, 53, 60, 61},
    {64, 65, 72, 73, 80, 81, 88, 89, 68, 69, 76, 77, 84, 85, 92, 93},
    {96, 97, 104, 105, 112, 113, 120, 121, 100, 101, 108, 109, 116, 117, 124, 125},
    {128, 129, 136, 137, 144, 145, 152, 153, 132, 133, 140, 141, 148, 149, 156, 157},
    {160, 161, 168, 169, 176, 177, 184, 185, 164, 165, 172, 173, 180, 181, 188, 189},
    {192, 193, 200, 201, 208, 209, 216, 217, 196, 197, 204, 205, 212, 213, 220, 221},
    {224, 225, 232, 233, 240, 241, 248, 249, 228, 229, 236, 237, 244, 245, 252, 253},
    {2, 3, 10, 11, 18, 19, 26, 27, 6, 7, 14, 15, 22, 23, 30, 31},
    {34, 35, 42, 43, 50, 51, 58, 59, 38, 39, 46, 47, 54, 55, 62, 63},
    {66, 67, 74, 75, 82, 83, 90, 91, 70, 71, 78, 79, 86, 87, 94, 95},
    {98, 99, 106, 107, 114, 115, 122, 123, 102, 103, 110, 111, 118, 119, 126, 127},
    {130, 131, 138, 139, 146, 147, 154, 155, 134, 135, 142, 143, 150, 151, 158, 159},
    {162, 163, 170, 171, 178, 179, 186, 187, 166, 167, 174, 175, 182, 183, 190, 191},
    {194, 195, 202, 203, 210, 211, 218, 219, 198, 199, 206, 207, 214, 215, 222, 223},
    {226, 227, 234, 235, 242, 243, 250, 251, 230, 231, 238, 239, 246, 247, 254, 255},
};
/// B: rows k, columns n; four elements a lane.
const Table<8> kHalfB = {
    {0, 16, 32, 48, 64, 80, 96, 112},
    {1, 17, 33, 49, 65, 81, 97, 113},
    {4, 20, 36, 52, 68, 84, 100, 116},
    {5, 21, 37, 53, 69, 85, 101, 117},
    {8, 24, 40, 56, 72, 88, 104, 120},
    {9, 25, 41, 57, 73, 89, 105, 121},
    {12, 28, 44, 60, 76, 92, 108, 124},
    {13, 29, 45, 61, 77, 93, 109, 125},
    {2, 18, 34, 50, 66, 82, 98, 114},
    {3, 19, 35, 51, 67, 83, 99, 115},
    {6, 22, 38, 54, 70, 86, 102, 118},
    {7, 23, 39, 55, 71, 87, 103, 119},
    {10, 26, 42, 58, 74, 90, 106, 122},
    {11, 27, 43, 59, 75, 91, 107, 123},
    {14, 30, 46, 62, 78, 94, 110, 126},
    {15, 31, 47, 63, 79, 95, 111, 127},
};
/// C and D of both shapes: rows m, columns n; four elements a lane.
const Table<8> kTotals = {
    {0, 1, 4, 5, 8, 9, 12, 13},
    {16, 17, 20, 21, 24, 25, 28, 29},
    {32, 33, 36, 37, 40, 41, 44, 45},
    {48, 49, 52, 53, 56, 57, 60, 61},
    {64, 65, 68, 69, 72, 73, 76, 77},
    {80, 81, 84, 85, 88, 89, 92, 93},
    {96, 97, 100, 101, 104, 105, 108, 109},
    {112, 113, 116, 117, 120, 121, 124, 125},
    {2, 3, 6, 7, 10, 11, 14, 15},
    {18, 19, 22, 23, 26, 27, 30, 31},
    {34, 35, 38, 39, 42, 43, 46, 47},
    {50, 51, 54, 55, 58, 59, 62, 63},
    {66, 67, 70, 71, 74, 75, 78, 79},
    {82, 83, 86, 87, 90, 91, 94, 95},
    {98, 99, 102, 103, 106, 107, 110, 111},
    {114, 115, 118, 119, 122, 123, 126, 127},
};
/// A of m16n8k8 in tf32: rows m, columns k; four elements a lane.
const Table<8> kTf32A = {
    {0, 4, 8, 12, 2, 6, 10, 14},
    {16, 20, 24, 28, 18, 22, 26, 30},
    {32, 36, 40, 44, 34, 38, 42, 46},
    {48, 52, 56, 60, 50, 54, 58, 62},
    {64, 68, 72, 76, 66, 70, 74, 78},
    {80, 84, 88, 92, 82, 86, 90, 94},
    {96, 100, 104, 108, 98, 102, 106, 110},
    {112, 116, 120, 124, 114, 118, 122, 126},
    {1, 5, 9, 13, 3, 7, 11, 15},
    {17, 21, 25, 29, 19, 23, 27, 31},
    {33, 37, 41, 45, 35, 39, 43, 47},
    {49, 53, 57, 61, 51, 55, 59, 63},
    {65, 69, 73, 77, 67, 71, 75, 79},
    {81, 85, 89, 93, 83, 87, 91, 95},
    {97, 101, 105, 109, 99, 103, 107, 111},
    {113, 117, 121, 125, 115, 119, 123, 127},
};
/// B: rows k, columns n; two elements a lane.
const Table<8> kTf32B = {
    {0, 8, 16, 24, 32, 40, 48, 56},
    {2, 10, 18, 26, 34, 42, 50, 58},
    {4, 12, 20, 28, 36, 44, 52, 60},
    {6, 14, 22, 30, 38, 46, 54, 62},
    {1, 9, 17, 25, 33, 41, 49, 57},
    {3, 11, 19, 27, 35, 43, 51, 59},
    {5, 13, 21, 29, 37, 45, 53, 61},
    {7, 15, 23, 31, 39, 47, 55, 63},
};
// clang-format on

class FragmentTest : public EmuTest {
protected:
  /// Registers whose element number `place` is the bits `value`; an element has `Bits` bits.
  template <int Bits> static void put(std::vector<uint32_t> &registers, int place, uint32_t value) {
    int bit = place * Bits;
    registers[bit / 32] |= value << bit % 32;
  }

  /// Multiplies, for each (m, k), the matrix that is 1 there and 0 elsewhere by one of distinct
  /// numbers.
  template <int Bits, int K, int N>
  void expectTables(const char *kernel, const Table<K> &a, const Table<N> &b,
                    uint32_t (*bitsOf)(float)) {
    Function function = compileFile("fragments.cu", kernel);
    std::vector<uint32_t> registersB(64);
    for (int k = 0; k < K; ++k)
      for (int n = 0; n < 8; ++n)
        put<Bits>(registersB, b[k][n], bitsOf(float(k * 8 + n + 1)));
    DevicePtr inB = upload(registersB), out = allocate(128 * sizeof(float));
    for (int m = 0; m < 16; ++m)
      for (int k = 0; k < K; ++k) {
        std::vector<uint32_t> registersA(128);
        put<Bits>(registersA, a[m][k], bitsOf(1));
        DevicePtr inA = upload(registersA);
        ASSERT_EQ(launch(function, {1}, {32}, 0, inA, inB, out), Result::Success) << report();
        std::vector<float> d = download<float>(out, 128);
        for (int row = 0; row < 16; ++row)
          for (int n = 0; n < 8; ++n)
            ASSERT_EQ(d[kTotals[row][n]], row == m ? float(k * 8 + n + 1) : 0.0f)
                << kernel << ": A(" << m << "," << k << ") at D(" << row << "," << n << ")";
        api.memFree(inA);
      }
  }
};

uint32_t f32Bits(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}
uint32_t bf16Bits(float v) { return f32Bits(v) >> 16; } // exact for whole numbers up to 256
uint32_t f16Bits(float v) {
  _Float16 half = static_cast<_Float16>(v);
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}

TEST_F(FragmentTest, MmaF16) { expectTables<16, 16, 8>("mma_f16", kHalfA, kHalfB, f16Bits); }
TEST_F(FragmentTest, MmaBf16) { expectTables<16, 16, 8>("mma_bf16", kHalfA, kHalfB, bf16Bits); }
TEST_F(FragmentTest, MmaTf32) { expectTables<32, 8, 8>("mma_tf32", kTf32A, kTf32B, f32Bits); }

// As the PTX ISA says of .u8 and .s8: byte i of A in a lane is of row lane / 4, for i in 4..7 and
// 12..15 of row lane / 4 + 8, and of column lane % 4 * 4 + i % 4, from i = 8 on 16 more; byte i of
// B of column lane / 4 and row lane % 4 * 4 + i % 4, from i = 4 on 16 more.
int byteOfA(int m, int k) {
  return (m % 8 * 4 + k % 16 / 4) * 16 + (k >= 16 ? 8 : 0) + (m >= 8 ? 4 : 0) + k % 4;
}
int byteOfB(int k, int n) { return (n * 4 + k % 16 / 4) * 8 + (k >= 16 ? 4 : 0) + k % 4; }

TEST_F(FragmentTest, MmaBytes) {
  auto valueOf = [](int byte, bool isSigned) { return isSigned ? int(int8_t(byte)) : byte; };
  for (bool signedA : {false, true})
    for (bool signedB : {false, true}) {
      std::string kernel = std::string("mma_") + (signedA ? "i8" : "u8") + (signedB ? "i8" : "u8");
      Function function = compileFile("fragments.cu", kernel.c_str());
      std::vector<int> numbersB(32 * 8);
      std::vector<uint32_t> registersB(64);
      for (int k = 0; k < 32; ++k)
        for (int n = 0; n < 8; ++n) {
          int byte = (k * 8 + n) * 7 % 256; // all bytes
          numbersB[k * 8 + n] = valueOf(byte, signedB);
          put<8>(registersB, byteOfB(k, n), byte);
        }
      DevicePtr inB = upload(registersB);
      // One column of A at a time, another number in each row.
      for (int k = 0; k < 32; ++k) {
        std::vector<uint32_t> registersA(128);
        auto byte = [](int m) { return (m * 17 + 128) % 256; };
        for (int m = 0; m < 16; ++m)
          put<8>(registersA, byteOfA(m, k), byte(m));
        DevicePtr inA = upload(registersA), out = upload(std::vector<int32_t>(128));
        ASSERT_EQ(launch(function, {1}, {32}, 0, inA, inB, out), Result::Success) << report();
        auto d = download<int32_t>(out, 128);
        for (int m = 0; m < 16; ++m)
          for (int n = 0; n < 8; ++n)
            ASSERT_EQ(d[kTotals[m][n]], valueOf(byte(m), signedA) * numbersB[k * 8 + n])
                << kernel << ": A(" << m << "," << k << ") at D(" << m << "," << n << ")";
        api.memFree(inA);
        api.memFree(out);
      }
    }
}

// Without .satfinite sums of integers wrap.
TEST_F(FragmentTest, MmaBytesWrap) {
  Function function = compileFile("fragments.cu", "mma_u8u8");
  DevicePtr out = upload(std::vector<int32_t>(128, INT32_MAX - 31));
  ASSERT_EQ(launch(function, {1}, {32}, 0, upload(std::vector<uint32_t>(128, 0x01010101)),
                   upload(std::vector<uint32_t>(64, 0x01010101)), out),
            Result::Success)
      << report();
  for (int32_t total : download<int32_t>(out, 128))
    EXPECT_EQ(total, INT32_MIN); // 32 more
}

TEST_F(FragmentTest, SumsOfBytes) {
  const std::vector<uint32_t> in = {0, 0x01020304, 0xff000000, 0x80808080, 0x7f7f7f7f, 0xffffffff};
  const std::vector<int32_t> totals = {5, -3, 0, 1000, INT32_MIN, 0};
  const std::vector<int32_t> expected = {5, 7, 255, 1512, INT32_MIN + 508, 1020,
                                         5, 7, -1,  488,  INT32_MIN + 508, -4};
  Function function = compileFile("fragments.cu", "sums_of_bytes");
  DevicePtr out = allocate(expected.size() * 4);
  ASSERT_EQ(launch(function, {1}, {32}, 0, upload(in), upload(totals), out, int(in.size())),
            Result::Success)
      << report();
  EXPECT_EQ(download<int32_t>(out, expected.size()), expected);
}

// mma.tf32 does not see the lower 13 bits.
TEST_F(FragmentTest, MmaTf32IgnoresLowBits) {
  Function function = compileFile("fragments.cu", "mma_tf32");
  std::vector<uint32_t> a(128), b(64);
  a[kTf32A[3][5]] = 0x3f801fff;
  b[kTf32B[5][2]] = f32Bits(1);
  DevicePtr out = allocate(128 * sizeof(float));
  ASSERT_EQ(launch(function, {1}, {32}, 0, upload(a), upload(b), out), Result::Success) << report();
  EXPECT_EQ(download<float>(out, 128)[kTotals[3][2]], 1.0f);
}

// Register i of lane l: of matrix i the row l / 4 and there word l % 4; transposed, the column l /
// 4.
TEST_F(FragmentTest, Ldmatrix) {
  Function function = compileFile("fragments.cu", "ldmatrix");
  std::vector<uint16_t> in(256); // four matrices, row by row
  for (int i = 0; i < 256; ++i)
    in[i] = uint16_t(i);
  DevicePtr plain = allocate(512), transposed = allocate(512);
  ASSERT_EQ(launch(function, {1}, {32}, 0, upload(in), plain, transposed), Result::Success)
      << report();
  auto p = download<uint16_t>(plain, 256), t = download<uint16_t>(transposed, 256);
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix)
      for (int half = 0; half < 2; ++half) {
        int at = (lane * 4 + matrix) * 2 + half, major = lane / 4, minor = lane % 4 * 2 + half;
        ASSERT_EQ(p[at], matrix * 64 + major * 8 + minor) << lane << " " << matrix;
        ASSERT_EQ(t[at], matrix * 64 + minor * 8 + major) << lane << " " << matrix;
      }
}

// cvt.rna: to nearest, ties away from zero.
TEST_F(FragmentTest, RoundsToTf32) {
  const std::vector<uint32_t> in = {0x3f800000, 0x3f800fff, 0x3f801000, 0x3f801001,
                                    0xbf801000, 0x3fffffff, 0x7f7fffff, 0x7f800000,
                                    0xff800000, 0x7f800001, 0x00000fff, 0x80000000};
  const std::vector<uint32_t> expected = {0x3f800000, 0x3f800000, 0x3f802000, 0x3f802000,
                                          0xbf802000, 0x40000000, 0x7f800000, 0x7f800000,
                                          0xff800000, 0x7fffffff, 0x00000000, 0x80000000};
  Function function = compileFile("fragments.cu", "round_tf32");
  DevicePtr out = allocate(in.size() * 4);
  ASSERT_EQ(launch(function, {1}, {32}, 0, upload(in), out, int(in.size())), Result::Success)
      << report();
  EXPECT_EQ(download<uint32_t>(out, in.size()), expected);
}

// Shared memory serves 128 bytes, 32 banks of 4, at a time: eight chunks without a conflict lie in
// eight different groups of four banks. ldmatrix takes one chunk of eight neighbouring rows, a copy
// eight chunks in their order.
TEST_F(FragmentTest, SwizzleMeetsNoBankTwice) {
  Function function = compileFile("fragments.cu", "places");
  for (int chunks : {2, 4, 8, 16}) {
    DevicePtr out = allocate(16 * chunks * 4);
    ASSERT_EQ(launch(function, {1}, {32}, 0, chunks, out), Result::Success) << report();
    auto places = download<int32_t>(out, 16 * chunks);
    std::set<int> all(places.begin(), places.end());
    EXPECT_EQ(all.size(), places.size()) << "two chunks in one place";
    EXPECT_EQ(*all.rbegin(), (16 * chunks - 1) * 16) << "holes";
    auto conflicts = [](const std::vector<int> &bytes) {
      std::set<int> groups;
      for (int at : bytes)
        groups.insert(at / 16 % 8);
      return bytes.size() - groups.size();
    };
    size_t reads = 0, copies = 0;
    for (int row = 0; row < 16; row += 8)
      for (int chunk = 0; chunk < chunks; ++chunk) {
        std::vector<int> column;
        for (int i = 0; i < 8; ++i)
          column.push_back(places[(row + i) * chunks + chunk]);
        reads += conflicts(column);
      }
    for (size_t first = 0; first < places.size(); first += 8)
      copies += conflicts({places.begin() + first, places.begin() + first + 8});
    EXPECT_EQ(reads, 0u) << chunks << " chunks a row";
    EXPECT_EQ(copies, 0u) << chunks << " chunks a row";
  }
}

} // namespace
} // namespace dlc::test
