//===- PrimitiveTest.cpp - each word gives exactly what it says -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values are computed here by other means than the vocabulary's: wider types, and rounding
// from its definition.
//===----------------------------------------------------------------------===//
#include "test/unit/emulator/EmuDevice.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

namespace dlc::test {

namespace {

template <class To, class From> To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// Edges of the formats and of the integer ranges, and random bit patterns.
template <class F> std::vector<F> floatInputs(size_t count, unsigned seed) {
  using Limits = std::numeric_limits<F>;
  std::vector<F> values;
  for (F value : {F(0),
                  F(0.5),
                  F(1),
                  F(1.5),
                  F(2.5),
                  F(3),
                  F(65504),
                  F(65519.996),
                  F(65520),
                  F(8388607.5),
                  F(8388609),
                  F(2147483520),
                  F(2147483648.0),
                  F(4294967040.0),
                  F(4294967296.0),
                  F(9223371487098961920.0),
                  F(9223372036854775808.0),
                  Limits::min(),
                  Limits::denorm_min(),
                  Limits::max(),
                  Limits::infinity(),
                  Limits::quiet_NaN(),
                  F(5.9604645e-8),
                  F(2.9802322e-8),
                  F(6.1035156e-5)}) {
    values.push_back(value);
    values.push_back(-value);
    values.push_back(std::nextafter(value, F(0)));
    values.push_back(std::nextafter(value, Limits::infinity()));
  }
  std::mt19937_64 generator(seed);
  using Bits = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
  std::shuffle(values.begin(), values.end(), generator); // pair edges with edges
  while (values.size() < count)
    values.push_back(generator() % 2 ? bitCast<F>(Bits(generator()))
                                     : F(int64_t(generator()) >> (generator() % 63)) / 16);
  return values;
}

template <class F> void expectSame(F got, F expected, const std::string &what) {
  if (std::isnan(got) && std::isnan(expected))
    return;
  using Bits = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>; // 0 and -0 differ
  ASSERT_EQ(bitCast<Bits>(got), bitCast<Bits>(expected))
      << what << ": got " << got << ", expected " << expected;
}

/// The value of `v` in a format with `mantissa` stored bits and exponents from `minExponent`, by
/// the definition of rounding to nearest even.
double roundToFormat(double v, int mantissa, int minExponent, double largest) {
  if (std::isnan(v) || std::isinf(v) || v == 0)
    return v;
  int exponent = std::max(std::ilogb(v), minExponent);
  double quantum = std::ldexp(1.0, exponent - mantissa);
  double rounded = std::nearbyint(v / quantum) * quantum;
  return std::fabs(rounded) > largest ? std::copysign(INFINITY, v) : rounded;
}

double decodeF16(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 31  ? (mantissa ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(mantissa, -24)
                                 : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -value : value;
}
double decodeBf16(uint16_t bits) { return bitCast<float>(uint32_t(bits) << 16); }

void expectNarrow(uint16_t got, double from, bool isBf16) {
  if (std::isnan(from)) {
    ASSERT_EQ(got, 0x7fff);
    return;
  }
  double expected =
      isBf16 ? roundToFormat(from, 7, -126, 0x1.fep127) : roundToFormat(from, 10, -14, 65504.0);
  expectSame(isBf16 ? decodeBf16(got) : decodeF16(got), expected,
             (isBf16 ? "bf16 of " : "f16 of ") + std::to_string(from));
}

class PrimitiveTest : public EmuTest {
protected:
  template <class Out, class... In>
  std::vector<Out> run(const char *kernel, int words, int n, const std::vector<In> &...inputs) {
    Function function = compileFile("primitives.cu", kernel);
    DevicePtr out = allocate(size_t(words) * n * sizeof(Out));
    EXPECT_EQ(launch(function, {unsigned(n + 255) / 256}, {256}, 0, upload(inputs)..., out, n),
              Result::Success)
        << report();
    return download<Out>(out, size_t(words) * n);
  }

  template <class F> void floatWords(const char *kernel) {
    const int n = 6000;
    auto a = floatInputs<F>(n, 1), b = floatInputs<F>(n, 2), c = floatInputs<F>(n, 3);
    // Each pair of these meets: signed zeros, infinities and NaN decide between the definitions.
    using Limits = std::numeric_limits<F>;
    const F special[] = {0,
                         F(-0.0),
                         1,
                         -1,
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         Limits::denorm_min(),
                         Limits::max()};
    size_t pair = 0;
    for (F x : special)
      for (F y : special) {
        a[pair] = x;
        b[pair++] = y;
      }
    std::vector<F> got = run<F>(kernel, 16, n, a, b, c);
    for (int i = 0; i < n; ++i) {
      F x = a[i], y = b[i], z = c[i];
      volatile F product = x * y; // two roundings, whatever this file is compiled with
      bool nan = std::isnan(x) || std::isnan(y);
      F larger = nan ? F(NAN) : x == y ? (std::signbit(x) ? y : x) : x > y ? x : y;
      F smaller = nan ? F(NAN) : x == y ? (std::signbit(x) ? x : y) : x < y ? x : y;
      const F expected[] = {std::fma(x, y, z),
                            product + z,
                            std::sqrt(x),
                            x / y,
                            std::floor(x),
                            std::ceil(x),
                            std::trunc(x),
                            std::nearbyint(x),
                            larger,
                            smaller,
                            std::fabs(x),
                            -x,
                            std::copysign(x, y),
                            x < y ? x : z,
                            x,
                            std::isnan(x) ? F(1) : F(0)};
      for (int word = 0; word < 16; ++word)
        expectSame(got[size_t(word) * n + i], expected[word],
                   "word " + std::to_string(word) + " of " + std::to_string(x) + ", " +
                       std::to_string(y) + ", " + std::to_string(z));
    }
  }

  void fastWords() {
    const int n = 6000;
    std::vector<float> a = floatInputs<float>(n, 8), got = run<float>("fast_words", 1, n, a);
    for (int i = 0; i < n; ++i) {
      double power = std::exp2(double(a[i]));
      if (power >= 0x1p-126 && power <= 0x1.fffffep127)
        EXPECT_LE(std::fabs(got[i] - power), power * 0x1p-22) << a[i];
      else
        expectSame(got[i], power < 1 ? 0.0f : float(power), "2^" + std::to_string(a[i]));
    }
  }

  template <class F> void toIntegers(const char *kernel) {
    const int n = 6000;
    auto a = floatInputs<F>(n, 4);
    std::vector<int64_t> got = run<int64_t>(kernel, 5, n, a);
    auto saturate = [](long double v, long double low, long double high) -> int64_t {
      return v != v ? 0 : v <= low ? int64_t(low) : v >= high ? int64_t(high) : int64_t(v);
    };
    for (int i = 0; i < n; ++i) {
      long double near = std::nearbyint((long double)a[i]), zero = std::trunc((long double)a[i]);
      const int64_t expected[] = {
          saturate(near, INT32_MIN, INT32_MAX), saturate(zero, INT32_MIN, INT32_MAX),
          saturate(zero, 0, UINT32_MAX), saturate(near, INT64_MIN, INT64_MAX),
          saturate(zero, INT64_MIN, INT64_MAX)};
      for (int word = 0; word < 5; ++word)
        ASSERT_EQ(got[size_t(word) * n + i], expected[word]) << word << " of " << a[i];
    }
  }

  template <class T> void integerWords(const char *words, const char *index) {
    const int n = 6000, bits = sizeof(T) * 8;
    std::vector<T> a, b;
    const T edges[] = {0,
                       1,
                       -1,
                       2,
                       7,
                       T(bits - 1),
                       T(bits),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max(),
                       T(std::numeric_limits<T>::min() + 1)};
    for (T x : edges)
      for (T y : edges) {
        a.push_back(x);
        b.push_back(y);
      }
    std::mt19937_64 generator(5);
    while (a.size() < size_t(n)) {
      a.push_back(T(generator() >> generator() % 64));
      b.push_back(T(generator() >> generator() % 64));
    }
    using U = std::make_unsigned_t<T>;
    __extension__ using Wide = __int128;
    std::vector<T> got = run<T>(words, 12, n, a, b);
    for (int i = 0; i < n; ++i) {
      Wide x = Wide(int64_t(a[i])), y = Wide(int64_t(b[i]));
      U ux = U(a[i]);
      bool inside = y >= 0 && y < bits;
      Wide quotient = y == 0 ? 0 : x / y, remainder = x - quotient * y;
      bool differs = y != 0 && remainder != 0 && (remainder < 0) != (y < 0);
      const Wide expected[] = {x + y,
                               x - y,
                               x * y,
                               -x,
                               x < 0 ? -x : x,
                               inside ? Wide(ux) << int(y) : 0,
                               inside ? Wide(ux >> int(y)) : 0,
                               inside ? x >> int(y) : (x < 0 ? -1 : 0),
                               quotient,
                               remainder,
                               quotient - differs,
                               remainder + (differs ? y : 0)};
      for (int word = 0; word < 12; ++word)
        ASSERT_EQ(got[size_t(word) * n + i], T(U(expected[word])))
            << "word " << word << " of " << int64_t(x) << ", " << int64_t(y);
    }
    if (!index)
      return;
    got = run<T>(index, 6, n, a, b);
    for (int i = 0; i < n; ++i) {
      U x = U(a[i]), y = U(b[i]), divisor = y ? y : 1;
      const T expected[] = {T(x / divisor),       T(x % divisor), std::max(a[i], b[i]),
                            std::min(a[i], b[i]), x < y,          x <= y};
      for (int word = 0; word < 6; ++word)
        ASSERT_EQ(got[size_t(word) * n + i], expected[word]) << "index word " << word;
    }
  }

  template <class T> void warpWords(const char *kernel) {
    std::vector<T> a(32);
    for (int i = 0; i < 32; ++i)
      a[i] = T(i) * T(i) * T(1000003) - T(77);
    DevicePtr out = allocate(5 * 32 * sizeof(T));
    ASSERT_EQ(launch(compileFile("primitives.cu", kernel), {1}, {32}, 0, upload(a), out),
              Result::Success)
        << report();
    std::vector<T> got = download<T>(out, 5 * 32);
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(got[i], a[5]);
      EXPECT_EQ(got[32 + i], a[(i + 3) & 31]);
      EXPECT_EQ(got[64 + i], a[i ^ 12]);
      EXPECT_EQ(got[96 + i], a[i + 7 < 32 ? i + 7 : i]);
      EXPECT_EQ(got[128 + i], a[i >= 9 ? i - 9 : i]);
    }
  }
};

TEST_F(PrimitiveTest, F32) { floatWords<float>("f32_words"); }
TEST_F(PrimitiveTest, F64) { floatWords<double>("f64_words"); }
TEST_F(PrimitiveTest, Fast) { fastWords(); }
TEST_F(PrimitiveTest, F32ToIntegers) { toIntegers<float>("f32_to_integers"); }
TEST_F(PrimitiveTest, F64ToIntegers) { toIntegers<double>("f64_to_integers"); }
TEST_F(PrimitiveTest, I8) { integerWords<int8_t>("i8_words", nullptr); }
TEST_F(PrimitiveTest, I16) { integerWords<int16_t>("i16_words", nullptr); }
TEST_F(PrimitiveTest, I32) { integerWords<int32_t>("i32_words", "i32_index"); }
TEST_F(PrimitiveTest, I64) { integerWords<int64_t>("i64_words", "i64_index"); }
TEST_F(PrimitiveTest, WarpI32) { warpWords<int32_t>("warp_i32"); }
TEST_F(PrimitiveTest, WarpI64) { warpWords<int64_t>("warp_i64"); }
TEST_F(PrimitiveTest, WarpF32) { warpWords<float>("warp_f32"); }
TEST_F(PrimitiveTest, WarpF64) { warpWords<double>("warp_f64"); }

TEST_F(PrimitiveTest, IntegersToFloats) {
  std::vector<int64_t> a = {0,
                            1,
                            -1,
                            16777217,
                            16777219,
                            INT32_MAX,
                            INT32_MIN,
                            INT64_MAX,
                            INT64_MIN,
                            (int64_t(1) << 53) + 1,
                            0x7fffff4000000001,
                            0x7fffffc000000000};
  std::mt19937_64 generator(6);
  while (a.size() < 4000)
    a.push_back(int64_t(generator()) >> generator() % 63);
  int n = int(a.size());
  std::vector<double> got = run<double>("integers_to_floats", 4, n, a);
  for (int i = 0; i < n; ++i) {
    // double holds each 32-bit integer; long double each 64-bit one.
    EXPECT_EQ(got[i], roundToFormat(double(int32_t(a[i])), 23, -126, INFINITY));
    EXPECT_EQ(got[n + i], roundToFormat(double(uint32_t(a[i])), 23, -126, INFINITY));
    long double exact = a[i];
    long double quantum = a[i] == 0 ? 1 : std::ldexp(1.0L, std::ilogb(exact) - 23);
    EXPECT_EQ(got[2 * n + i], double(std::nearbyint(exact / quantum) * quantum)) << a[i];
    quantum = a[i] == 0 ? 1 : std::ldexp(1.0L, std::ilogb(exact) - 52);
    EXPECT_EQ(got[3 * n + i], double(std::nearbyint(exact / quantum) * quantum)) << a[i];
  }
}

TEST_F(PrimitiveTest, NarrowF32) {
  // A stride over all bit patterns that meets each exponent and each low half.
  std::vector<float> a = floatInputs<float>(200, 8);
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 65537 - 256)
    a.push_back(bitCast<float>(uint32_t(bits)));
  for (uint32_t half = 0; half < 0x7c00; ++half) // ties, and their neighbours
    for (int step : {-1, 0, 1}) {
      float tie = float((decodeF16(uint16_t(half)) + decodeF16(uint16_t(half + 1))) / 2);
      a.push_back(step < 0 ? std::nextafter(tie, 0.0f)
                  : step   ? std::nextafter(tie, INFINITY)
                           : tie);
    }
  int n = int(a.size());
  std::vector<uint16_t> got = run<uint16_t>("narrow_f32", 4, n, a);
  for (int i = 0; i < n; ++i) {
    expectNarrow(got[i], a[i], false);
    expectNarrow(got[n + i], a[i], true);
    ASSERT_EQ(got[2 * n + i], got[i]);
    ASSERT_EQ(got[3 * n + i], got[n + i]);
  }
}

TEST_F(PrimitiveTest, NarrowF64RoundsOnce) {
  std::vector<double> a = floatInputs<double>(5000, 9);
  // Just off a tie by less than a float can hold: a second rounding would go the wrong way.
  for (int i = 1; i < 2000; ++i)
    for (double nudge : {-1e-14, 0.0, 1e-14}) {
      a.push_back((1 + (i + 0.5) / 1024) * (1 + nudge));
      a.push_back((1 + (i % 128 + 0.5) / 128) * (1 + nudge));
    }
  int n = int(a.size());
  std::vector<uint16_t> got = run<uint16_t>("narrow_f64", 2, n, a);
  for (int i = 0; i < n; ++i) {
    expectNarrow(got[i], a[i], false);
    expectNarrow(got[n + i], a[i], true);
  }
}

TEST_F(PrimitiveTest, WidenAll) {
  const int n = 65536;
  std::vector<uint16_t> a(n);
  for (int i = 0; i < n; ++i)
    a[i] = uint16_t(i);
  std::vector<double> got = run<double>("widen", 5, n, a);
  for (int i = 0; i < n; ++i) {
    double half = decodeF16(a[i]), brain = decodeBf16(a[i]);
    expectSame(got[i], half, "f16");
    expectSame(got[n + i], brain, "bf16");
    expectSame(got[2 * n + i], std::isnan(half) ? half : std::max(half, 1.0), "max f16");
    expectSame(got[3 * n + i], std::isnan(brain) ? brain : std::min(brain, 1.0), "min bf16");
    ASSERT_EQ(got[4 * n + i], i);
  }
}

TEST_F(PrimitiveTest, Votes) {
  DevicePtr out = allocate(32 * 4);
  ASSERT_EQ(launch(compileFile("primitives.cu", "warp_votes"), {1}, {32}, 0, out), Result::Success);
  for (uint32_t votes : download<uint32_t>(out, 32))
    EXPECT_EQ(votes, 0x49249249u);
}

TEST_F(PrimitiveTest, Atomics) {
  DevicePtr i = upload(std::vector<int32_t>(3)), l = upload(std::vector<int64_t>(3)),
            f = upload(std::vector<float>(1)), d = upload(std::vector<double>(1)),
            u = upload(std::vector<uint32_t>(3)), v = upload(std::vector<uint64_t>(1));
  ASSERT_EQ(launch(compileFile("primitives.cu", "atomics"), {8}, {32}, 0, i, l, f, d, u, v),
            Result::Success);
  EXPECT_EQ(download<int32_t>(i, 3), (std::vector<int32_t>{255 * 128, 255, -255}));
  EXPECT_EQ(
      download<int64_t>(l, 3),
      (std::vector<int64_t>{int64_t(255 * 128) << 32, int64_t(255) << 32, -(int64_t(255) << 32)}));
  EXPECT_EQ(download<float>(f, 1)[0], 128.0f);
  EXPECT_EQ(download<double>(d, 1)[0], 64.0);
  EXPECT_EQ(download<uint32_t>(u, 3), (std::vector<uint32_t>{256, 77, 5}));
  EXPECT_EQ(download<uint64_t>(v, 1)[0], uint64_t(1) << 41);
}

TEST_F(PrimitiveTest, VectorsAndConstants) {
  std::vector<uint8_t> from(144);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = uint8_t(i + 1);
  DevicePtr to = upload(std::vector<uint8_t>(144));
  ASSERT_EQ(launch(compileFile("primitives.cu", "vectors"), {1}, {1}, 0, upload(from), to),
            Result::Success);
  std::vector<uint8_t> got = download<uint8_t>(to, 144);
  for (int i = 0; i < 144; ++i)
    EXPECT_EQ(got[i], i >= 128 ? 9 : i >= 88 && i < 96 ? 0 : from[i]) << i;

  DevicePtr f = allocate(12), d = allocate(16);
  ASSERT_EQ(launch(compileFile("primitives.cu", "constants"), {1}, {1}, 0, f, d), Result::Success);
  std::vector<float> floats = download<float>(f, 3);
  EXPECT_EQ(floats[0], INFINITY);
  EXPECT_EQ(floats[1], -INFINITY);
  EXPECT_TRUE(std::isnan(floats[2]));
  EXPECT_EQ(download<double>(d, 1)[0], INFINITY);
  EXPECT_TRUE(std::isnan(download<double>(d, 2)[1]));

  DevicePtr mixed = allocate(32);
  ASSERT_EQ(launch(compileFile("primitives.cu", "mixed_index"), {1}, {1}, 0, mixed),
            Result::Success);
  EXPECT_EQ(download<int64_t>(mixed, 4), (std::vector<int64_t>{16, 16, 7, 7}));

  DevicePtr words = allocate(256);
  ASSERT_EQ(launch(compileFile("primitives.cu", "dynamic_shared"), {1}, {64}, 256, words),
            Result::Success);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(download<int32_t>(words, 64)[i], 63 - i);
}

} // namespace
} // namespace dlc::test
