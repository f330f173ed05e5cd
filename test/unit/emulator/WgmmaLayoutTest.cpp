//===- WgmmaLayoutTest.cpp - where wgmma and TMA put elements ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Golden tables of the PTX ISA's figures for the 128-byte swizzle and for the accumulators of
// wgmma, the two ways in which an operand may lie in shared memory, and A in registers.
//===----------------------------------------------------------------------===//
#include "test/unit/emulator/EmuDevice.h"

#include <cmath>

namespace dlc::test {

namespace {

// clang-format off
/// In row r of eight, the 16-byte chunk c of the matrix lies at kSwizzle128[r][c].
const int kSwizzle128[8][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7},
    {1, 0, 3, 2, 5, 4, 7, 6},
    {2, 3, 0, 1, 6, 7, 4, 5},
    {3, 2, 1, 0, 7, 6, 5, 4},
    {4, 5, 6, 7, 0, 1, 2, 3},
    {5, 4, 7, 6, 1, 0, 3, 2},
    {6, 7, 4, 5, 2, 3, 0, 1},
    {7, 6, 5, 4, 3, 2, 1, 0},
};
/// The accumulators for eight columns: rows m, columns n; thread of the warpgroup * 4 + register.
const int kAccumulators[64][8] = {
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
    {128, 129, 132, 133, 136, 137, 140, 141},
    {144, 145, 148, 149, 152, 153, 156, 157},
    {160, 161, 164, 165, 168, 169, 172, 173},
    {176, 177, 180, 181, 184, 185, 188, 189},
    {192, 193, 196, 197, 200, 201, 204, 205},
    {208, 209, 212, 213, 216, 217, 220, 221},
    {224, 225, 228, 229, 232, 233, 236, 237},
    {240, 241, 244, 245, 248, 249, 252, 253},
    {130, 131, 134, 135, 138, 139, 142, 143},
    {146, 147, 150, 151, 154, 155, 158, 159},
    {162, 163, 166, 167, 170, 171, 174, 175},
    {178, 179, 182, 183, 186, 187, 190, 191},
    {194, 195, 198, 199, 202, 203, 206, 207},
    {210, 211, 214, 215, 218, 219, 222, 223},
    {226, 227, 230, 231, 234, 235, 238, 239},
    {242, 243, 246, 247, 250, 251, 254, 255},
    {256, 257, 260, 261, 264, 265, 268, 269},
    {272, 273, 276, 277, 280, 281, 284, 285},
    {288, 289, 292, 293, 296, 297, 300, 301},
    {304, 305, 308, 309, 312, 313, 316, 317},
    {320, 321, 324, 325, 328, 329, 332, 333},
    {336, 337, 340, 341, 344, 345, 348, 349},
    {352, 353, 356, 357, 360, 361, 364, 365},
    {368, 369, 372, 373, 376, 377, 380, 381},
    {258, 259, 262, 263, 266, 267, 270, 271},
    {274, 275, 278, 279, 282, 283, 286, 287},
    {290, 291, 294, 295, 298, 299, 302, 303},
    {306, 307, 310, 311, 314, 315, 318, 319},
    {322, 323, 326, 327, 330, 331, 334, 335},
    {338, 339, 342, 343, 346, 347, 350, 351},
    {354, 355, 358, 359, 362, 363, 366, 367},
    {370, 371, 374, 375, 378, 379, 382, 383},
    {384, 385, 388, 389, 392, 393, 396, 397},
    {400, 401, 404, 405, 408, 409, 412, 413},
    {416, 417, 420, 421, 424, 425, 428, 429},
    {432, 433, 436, 437, 440, 441, 444, 445},
    {448, 449, 452, 453, 456, 457, 460, 461},
    {464, 465, 468, 469, 472, 473, 476, 477},
    {480, 481, 484, 485, 488, 489, 492, 493},
    {496, 497, 500, 501, 504, 505, 508, 509},
    {386, 387, 390, 391, 394, 395, 398, 399},
    {402, 403, 406, 407, 410, 411, 414, 415},
    {418, 419, 422, 423, 426, 427, 430, 431},
    {434, 435, 438, 439, 442, 443, 446, 447},
    {450, 451, 454, 455, 458, 459, 462, 463},
    {466, 467, 470, 471, 474, 475, 478, 479},
    {482, 483, 486, 487, 490, 491, 494, 495},
    {498, 499, 502, 503, 506, 507, 510, 511},
};
// clang-format on

/// Bytes of 64 lines of 128 at which an element lies that is the `at`th of its line.
size_t place(int line, int at, int bytes) {
  int perChunk = 16 / bytes;
  return size_t(line) * 128 + kSwizzle128[line % 8][at / perChunk] * 16 + at % perChunk * bytes;
}

template <class T> T encode(int value, bool isBf16) {
  if constexpr (sizeof(T) == 4)
    return static_cast<T>(value);
  float wide = static_cast<float>(value);
  if (isBf16) { // exact for whole numbers up to 256
    uint32_t bits;
    std::memcpy(&bits, &wide, 4);
    return static_cast<T>(bits >> 16);
  }
  _Float16 half = static_cast<_Float16>(wide);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return static_cast<T>(bits);
}

class WgmmaLayoutTest : public CheckedTest {
protected:
  void expectReport(Result result, const std::string &phrase) {
    EXPECT_EQ(result, Result::LaunchFailed);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  /// A is 1 at one place and 0 elsewhere, B holds distinct numbers: D has the row of B at the row
  /// of A.
  template <class T> void expectLayout(const char *kernel, bool alongM, bool alongN, bool isBf16) {
    constexpr int kDepth = 128 / sizeof(T), kStep = 32 / sizeof(T), kBytes = sizeof(T);
    Function function = compileFile("wgmma.cu", kernel);
    auto number = [](int k, int n) { return k % 4 * 64 + n + 1; };
    std::vector<T> b(64 * 128 / sizeof(T));
    for (int k = 0; k < kDepth; ++k)
      for (int n = 0; n < 64; ++n)
        b[place(alongN ? k : n, alongN ? n : k, kBytes) / kBytes] = encode<T>(number(k, n), isBf16);
    DevicePtr inB = upload(b), out = allocate(64 * 64 * 4);
    for (int i = 0; i < 64; ++i) {
      int m = i, k = i * 5 % kDepth;
      std::vector<T> a(64 * 128 / sizeof(T));
      a[place(alongM ? k : m, alongM ? m : k, kBytes) / kBytes] = encode<T>(1, isBf16);
      DevicePtr inA = upload(a);
      ASSERT_EQ(launch(function, {1}, {128}, 2 * 64 * 128, inA, inB, out, k / kStep),
                Result::Success)
          << report();
      std::vector<float> d = download<float>(out, 64 * 64);
      for (int row = 0; row < 64; ++row)
        for (int n = 0; n < 64; ++n) {
          int entry = kAccumulators[row][n % 8];
          ASSERT_EQ(d[entry / 4 * 32 + n / 8 * 4 + entry % 4],
                    row == m ? float(number(k, n)) : 0.0f)
              << kernel << ": A(" << m << "," << k << ") at D(" << row << "," << n << ")";
        }
      api.memFree(inA);
    }
  }
  /// The same with A in registers: for 16 steps of k a thread holds what it would have of the
  /// accumulators of 16 columns, two to a word.
  void expectHeld(const char *kernel, bool alongN, bool isBf16) {
    Function function = compileFile("wgmma.cu", kernel);
    auto number = [](int k, int n) { return k % 4 * 64 + n + 1; };
    std::vector<uint16_t> b(64 * 64);
    for (int k = 0; k < 64; ++k)
      for (int n = 0; n < 64; ++n)
        b[place(alongN ? k : n, alongN ? n : k, 2) / 2] = encode<uint16_t>(number(k, n), isBf16);
    DevicePtr inB = upload(b), out = allocate(64 * 64 * 4);
    for (int m = 0; m < 64; ++m) {
      int step = m % 4, k = m * 5 % 16, entry = kAccumulators[m][k % 8];
      std::vector<uint16_t> a(128 * 8);
      a[entry / 4 * 8 + k / 8 * 4 + entry % 4] = encode<uint16_t>(1, isBf16);
      DevicePtr inA = upload(a);
      ASSERT_EQ(launch(function, {1}, {128}, 64 * 128, inA, inB, out, step), Result::Success)
          << report();
      std::vector<float> d = download<float>(out, 64 * 64);
      for (int row = 0; row < 64; ++row)
        for (int n = 0; n < 64; ++n) {
          int at = kAccumulators[row][n % 8];
          ASSERT_EQ(d[at / 4 * 32 + n / 8 * 4 + at % 4],
                    row == m ? float(number(step * 16 + k, n)) : 0.0f)
              << kernel << ": A(" << m << "," << k << ") at D(" << row << "," << n << ")";
        }
      api.memFree(inA);
    }
  }
};

TEST_P(WgmmaLayoutTest, AlongK) {
  expectLayout<uint16_t>("f16_kk", false, false, false);
  expectLayout<uint16_t>("bf16_kk", false, false, true);
  expectLayout<float>("tf32_kk", false, false, false);
}
TEST_P(WgmmaLayoutTest, AlongRows) {
  expectLayout<uint16_t>("f16_mk", true, false, false);
  expectLayout<uint16_t>("f16_kn", false, true, false);
  expectLayout<uint16_t>("bf16_mn", true, true, true);
}

/// The value of an e4m3 by its definition.
float valueOfFloat8(int bits) {
  int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7)
    return NAN;
  float magnitude =
      exponent ? std::ldexp(1 + mantissa / 8.0f, exponent - 7) : std::ldexp(mantissa / 8.0f, -6);
  return bits & 128 ? -magnitude : magnitude;
}

TEST_P(WgmmaLayoutTest, Bytes) {
  std::vector<uint8_t> a(64 * 128), b(64 * 128);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = uint8_t(i * 37 + i / 128 * 11);
    b[i] = uint8_t(i * 101 + i / 128 * 59);
  }
  DevicePtr inA = upload(a), inB = upload(b), out = allocate(64 * 64 * 4);
  auto number = [](uint8_t byte, bool isSigned) { return isSigned ? int(int8_t(byte)) : byte; };
  for (auto [kernel, signedA, signedB] : {std::tuple("s8_s8", true, true),
                                          {"s8_u8", true, false},
                                          {"u8_s8", false, true},
                                          {"u8_u8", false, false}})
    for (int step : {0, 3}) {
      ASSERT_EQ(
          launch(compileFile("wgmma.cu", kernel), {1}, {128}, 2 * 64 * 128, inA, inB, out, step),
          Result::Success)
          << report();
      std::vector<int> d = download<int>(out, 64 * 64);
      for (int m = 0; m < 64; ++m)
        for (int n = 0; n < 64; ++n) {
          int sum = 0, entry = kAccumulators[m][n % 8];
          for (int k = step * 32; k < step * 32 + 32; ++k)
            sum += number(a[place(m, k, 1)], signedA) * number(b[place(n, k, 1)], signedB);
          ASSERT_EQ(d[entry / 4 * 32 + n / 8 * 4 + entry % 4], sum)
              << kernel << ": D(" << m << "," << n << ")";
        }
    }
}

// Every number of e4m3 as f16.
TEST_P(WgmmaLayoutTest, HalvesOfFloat8) {
  DevicePtr out = allocate(256 * 2);
  ASSERT_EQ(launch(compileFile("wgmma.cu", "halves"), {1}, {128}, 0, out), Result::Success)
      << report();
  std::vector<uint16_t> d = download<uint16_t>(out, 256);
  for (int bits = 0; bits < 256; ++bits) {
    _Float16 half;
    std::memcpy(&half, &d[bits], 2);
    float value = valueOfFloat8(bits), got = float(half);
    EXPECT_TRUE(std::isnan(value) ? std::isnan(got)
                                  : got == value && std::signbit(got) == std::signbit(value))
        << bits << ": " << got;
  }
}

// Whole numbers are exact; beside 448 * 448, which is 2^17 and more, what is below 2^4 is lost.
TEST_P(WgmmaLayoutTest, Float8) {
  std::vector<uint8_t> a(64 * 128), b(64 * 128);
  const uint8_t kWhole[] = {0x00, 0x38, 0x40, 0x44, 0xb8, 0xc0, 0xc4}; // 0, 1, 2, 3, -1, -2, -3
  for (int line = 0; line < 64; ++line)
    for (int k = 0; k < 128; ++k) {
      a[place(line, k, 1)] = kWhole[(line * 5 + k * 3) % 7];
      b[place(line, k, 1)] = kWhole[(line * 2 + k) % 7];
    }
  DevicePtr out = allocate(64 * 64 * 4);
  auto multiply = [&](int step) {
    EXPECT_EQ(launch(compileFile("wgmma.cu", "e4m3"), {1}, {128}, 2 * 64 * 128, upload(a),
                     upload(b), out, step),
              Result::Success)
        << report();
    return download<float>(out, 64 * 64);
  };
  std::vector<float> d = multiply(1);
  for (int m = 0; m < 64; ++m)
    for (int n = 0; n < 64; ++n) {
      float sum = 0;
      for (int k = 32; k < 64; ++k)
        sum += valueOfFloat8(a[place(m, k, 1)]) * valueOfFloat8(b[place(n, k, 1)]);
      int entry = kAccumulators[m][n % 8];
      ASSERT_EQ(d[entry / 4 * 32 + n / 8 * 4 + entry % 4], sum) << "D(" << m << "," << n << ")";
    }
  for (int k = 0; k < 32; ++k) {
    a[place(0, k, 1)] = k == 0 ? 0x7e : 0x50;                 // 448, then 8
    b[place(0, k, 1)] = k == 0 ? 0x7e : k == 1 ? 0x42 : 0x38; // 448, 2.5, then 1
  }
  EXPECT_EQ(multiply(0)[0], 200704.0f + 16);
}

TEST_P(WgmmaLayoutTest, HeldInRegisters) {
  expectHeld("f16_held_k", false, false);
  expectHeld("f16_held_n", true, false);
  expectHeld("bf16_held_k", false, true);
  expectHeld("bf16_held_n", true, true);
}
// PTX ISA, register fragments of wgmma.m64nNk32: byte e of word w of thread t.
TEST_P(WgmmaLayoutTest, Float8HeldInRegisters) {
  std::vector<uint8_t> b(64 * 128);
  auto code = [](int k, int n) { return uint8_t((k * 7 + n) % 120); };
  for (int n = 0; n < 64; ++n)
    for (int k = 0; k < 128; ++k)
      b[place(n, k, 1)] = code(k, n);
  DevicePtr inB = upload(b), out = allocate(64 * 64 * 4);
  for (int t = 0; t < 128; t += 3)
    for (int byte = t % 2; byte < 16; byte += 5) {
      int w = byte / 4, e = byte % 4, step = t % 4;
      std::vector<uint8_t> a(128 * 16);
      a[t * 16 + byte] = 0x38; // 1
      ASSERT_EQ(launch(compileFile("wgmma.cu", "e4m3_held"), {1}, {128}, 64 * 128, upload(a), inB,
                       out, step),
                Result::Success)
          << report();
      std::vector<float> d = download<float>(out, 64 * 64);
      int m = t / 32 * 16 + t % 32 / 4 + w % 2 * 8, k = step * 32 + t % 4 * 4 + e + w / 2 * 16;
      for (int row = 0; row < 64; ++row)
        for (int n = 0; n < 64; ++n) {
          int at = kAccumulators[row][n % 8];
          ASSERT_EQ(d[at / 4 * 32 + n / 8 * 4 + at % 4],
                    row == m ? valueOfFloat8(code(k, n)) : 0.0f)
              << "byte " << byte << " of thread " << t << " at D(" << row << "," << n << ")";
        }
    }
}

// Each number becomes the nearest one, ties the even code; beyond the largest there is none.
TEST_P(WgmmaLayoutTest, PackedFloat8) {
  std::vector<float> x;
  for (int bits = 0; bits < 126; ++bits) {
    float low = valueOfFloat8(bits), high = valueOfFloat8(bits + 1), half = (low + high) / 2;
    x.insert(x.end(), {low, half, -std::nextafter(half, 0.0f), std::nextafter(half, 1000.0f)});
  }
  x.insert(x.end(), {448.0f, -464.0f, 1e9f, -INFINITY, NAN, 1e-9f, -0.0f, 0.0f});
  DevicePtr out = allocate(128 * 4);
  ASSERT_EQ(x.size(), 128u * 4);
  ASSERT_EQ(launch(compileFile("wgmma.cu", "packed"), {1}, {128}, 0, upload(x), out),
            Result::Success)
      << report();
  std::vector<uint8_t> d = download<uint8_t>(out, 128 * 4);
  for (int bits = 0; bits < 126; ++bits) {
    EXPECT_EQ(d[bits * 4], bits);
    EXPECT_EQ(d[bits * 4 + 1], bits + bits % 2) << bits;
    EXPECT_EQ(d[bits * 4 + 2], bits | 0x80);
    EXPECT_EQ(d[bits * 4 + 3], bits + 1);
  }
  const uint8_t last[] = {0x7e, 0xfe, 0x7e, 0xfe, 0x7f, 0x00, 0x80, 0x00};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(d[126 * 4 + i], last[i]) << x[126 * 4 + i];
}
TEST_P(WgmmaLayoutTest, HeldRegistersThatChangeBeforeTheWait) {
  DevicePtr in = upload(std::vector<uint16_t>(64 * 64)), out = allocate(64 * 64 * 4);
  expectReport(
      launch(compileFile("wgmma.cu", "f16_held_changed"), {1}, {128}, 64 * 128, in, in, out, 0),
      "missing wait: registers of A changed in thread ");
}
TEST_P(WgmmaLayoutTest, RegistersBetweenWarpgroups) {
  Function function = compileFile("wgmma.cu", "registers");
  EXPECT_EQ(launch(function, {2}, {384}, 0, 0), Result::Success) << report();
}
TEST_P(WgmmaLayoutTest, RegistersThatAWarpDoesNotGive) {
  expectReport(launch(compileFile("wgmma.cu", "registers"), {1}, {384}, 0, 1), "of its warpgroup");
}
TEST_P(WgmmaLayoutTest, MoreRegistersThanThereAre) {
  expectReport(launch(compileFile("wgmma.cu", "registers"), {1}, {384}, 0, 2),
               "66560 registers of the block's threads, of 65536");
}
TEST_P(WgmmaLayoutTest, FewerRegistersWhereItSaysMore) {
  expectReport(launch(compileFile("wgmma.cu", "registers"), {1}, {384}, 0, 3),
               "from 168 registers to 160 is not more");
}

// A box of 64 x 64: what it brings, and zeros beyond the array.
TEST_P(WgmmaLayoutTest, Tma) {
  constexpr int kRows = 50, kColumns = 40;
  std::vector<uint16_t> in(kRows * kColumns);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint16_t(i + 1);
  DevicePtr from = upload(in), out = allocate(64 * 128);
  TensorMap map = describe(TensorMapType::Bf16, from, kRows, kColumns, 64);
  int column = 8, row = 16;
  ASSERT_EQ(launch(compileFile("wgmma.cu", "box"), {1}, {128}, 64 * 128, map, column, row, out),
            Result::Success)
      << report();
  std::vector<uint16_t> got = download<uint16_t>(out, 64 * 64);
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 64; ++c) {
      bool inside = row + r < kRows && column + c < kColumns;
      ASSERT_EQ(got[place(r, c, 2) / 2], inside ? in[(row + r) * kColumns + column + c] : 0)
          << r << "," << c;
    }
}

// Floats come rounded to 11 significant bits.
TEST_P(WgmmaLayoutTest, TmaRoundsToTf32) {
  std::vector<uint32_t> in(32 * 64, 0x3f800fff);
  in[0] = 0x3f801001;
  in[1] = 0x7f800000;
  DevicePtr from = upload(in), out = allocate(64 * 128);
  TensorMap map = describe(TensorMapType::Tf32, from, 64, 32, 64);
  ASSERT_EQ(launch(compileFile("wgmma.cu", "box"), {1}, {128}, 64 * 128, map, 0, 0, out),
            Result::Success)
      << report();
  std::vector<uint32_t> got = download<uint32_t>(out, 32 * 64);
  EXPECT_EQ(got[0], 0x3f802000u);
  EXPECT_EQ(got[1], 0x7f800000u);
  EXPECT_EQ(got[2], 0x3f800000u);
}

INSTANTIATE_TEST_SUITE_P(Policies, WgmmaLayoutTest, ::testing::Values("order", "random:2"));

} // namespace
} // namespace dlc::test
