//===- MagnitudeMaskTest.cpp - Which numbers become zero ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/MagnitudeMask.h"

#include "llvm/ADT/bit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace dlc;

namespace {

/// Numbers of a type, and their bytes.
template <class Number> struct Weight {
  Weight(FloatStorage type, std::vector<Number> numbers)
      : type(type), numbers(std::move(numbers)) {}
  StoredNumbers stored() {
    return {type, {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * sizeof(Number)}};
  }
  FloatStorage type;
  std::vector<Number> numbers;
};

using Floats = Weight<float>;
using Bits = Weight<uint16_t>;

Floats floats(std::vector<float> numbers) { return {FloatStorage::f32, std::move(numbers)}; }

TEST(MagnitudeMask, ReadsEachType) {
  Bits half(FloatStorage::f16, {0x3c00, 0xc000, 0x0001, 0x8000, 0x7c00, 0x7e00, 0x7bff, 0x0400});
  StoredNumbers numbers = half.stored();
  EXPECT_EQ(numbers.size(), 8u);
  EXPECT_EQ(numbers.at(0), 1.0);
  EXPECT_EQ(numbers.at(1), -2.0);
  EXPECT_EQ(numbers.at(2), std::ldexp(1.0, -24));
  EXPECT_TRUE(numbers.at(3) == 0 && std::signbit(numbers.at(3)));
  EXPECT_EQ(numbers.at(4), HUGE_VAL);
  EXPECT_TRUE(std::isnan(numbers.at(5)));
  EXPECT_EQ(numbers.at(6), 65504.0);
  EXPECT_EQ(numbers.at(7), std::ldexp(1.0, -14));
  Bits brain(FloatStorage::bf16, {0x3f80, 0xc040, 0x7f80});
  EXPECT_EQ(brain.stored().at(0), 1.0);
  EXPECT_EQ(brain.stored().at(1), -3.0);
  EXPECT_EQ(brain.stored().at(2), HUGE_VAL);
  Weight<double> wide(FloatStorage::f64, {0.1, -1e300});
  EXPECT_EQ(wide.stored().at(0), 0.1);
  EXPECT_EQ(wide.stored().at(1), -1e300);
}

TEST(MagnitudeMask, TheSmallestByMagnitude) {
  Floats weight = floats({-4, 1, -2, 3, 0.5F, -6});
  EXPECT_EQ(smallestNumbers(weight.stored(), 0.5),
            std::vector<ZeroMask>({{false, true, true, false, true, false}}));
}

TEST(MagnitudeMask, EqualNumbersByPosition) {
  Floats weight = floats({1, -1, 1, 1, -1, 1, 1, 1});
  EXPECT_EQ(smallestNumbers(weight.stored(), 0.375),
            std::vector<ZeroMask>({{true, true, true, false, false, false, false, false}}));
}

TEST(MagnitudeMask, ZerosCountAndNaNIsLargest) {
  const float kNaN = std::numeric_limits<float>::quiet_NaN();
  Floats weight = floats({kNaN, -0.0F, HUGE_VALF, 5});
  EXPECT_EQ(smallestNumbers(weight.stored(), 0.25)[0], ZeroMask({false, true, false, false}));
  EXPECT_EQ(smallestNumbers(weight.stored(), 0.5)[0], ZeroMask({false, true, false, true}));
  EXPECT_EQ(smallestNumbers(weight.stored(), 0.75)[0], ZeroMask({false, true, true, true}));
}

TEST(MagnitudeMask, OneThresholdOverWeightsOfSeveralTypes) {
  Floats first = floats({0.25F, 8, 7, 6});
  Bits second(FloatStorage::f16, {0x3c00, 0x3400, 0x2c00, 0x4900}); // 1, 0.25, 0.0625, 10
  std::vector<StoredNumbers> both{first.stored(), second.stored()};
  EXPECT_EQ(smallestNumbers(both, 0.25),
            std::vector<ZeroMask>({{true, false, false, false}, {false, false, true, false}}));
  EXPECT_EQ(smallestNumbers(both, 0.5),
            std::vector<ZeroMask>({{true, false, false, false}, {true, true, true, false}}));
}

TEST(MagnitudeMask, SmallSharesAndNothing) {
  Floats weight = floats({3, 2, 1}), none = floats({});
  EXPECT_EQ(smallestNumbers(weight.stored(), 0.1)[0], ZeroMask(3));
  EXPECT_EQ(smallestNumbers(weight.stored(), 0.17)[0], ZeroMask({false, false, true}));
  EXPECT_EQ(smallestNumbers(none.stored(), 0.5)[0], ZeroMask());
}

/// Against a sort of the same numbers; exponents far apart and near reach each digit of the search.
TEST(MagnitudeMask, AgreesWithSorting) {
  std::mt19937 random(17);
  std::normal_distribution<double> normal;
  for (double spread : {0.0, 1.0, 40.0}) {
    Weight<double> weight(FloatStorage::f64, {});
    for (int i = 0; i < 5000; ++i)
      weight.numbers.push_back(normal(random) * std::exp(spread * normal(random)));
    std::copy_n(weight.numbers.begin(), 500, weight.numbers.end() - 500); // equal ones
    std::vector<size_t> order(weight.numbers.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::sort(order, {},
                      [&](size_t i) { return std::pair(std::fabs(weight.numbers[i]), i); });
    for (double share : {0.0002, 0.1, 0.5, 0.93}) {
      ZeroMask expected(order.size());
      for (size_t i = 0; i < static_cast<size_t>(std::lround(share * 5000)); ++i)
        expected[order[i]] = true;
      EXPECT_EQ(smallestNumbers(weight.stored(), share)[0], expected) << share;
    }
  }
}

TEST(MagnitudeMask, TwoOfFourAlongRows) {
  Floats weight = floats({1, -4, 2, 3, /**/ 1, 1, 1, 1, /**/ 0, 0, 0, -9, /**/ 4, 3, 2, 1});
  EXPECT_EQ(smallestTwoOfFour(weight.stored(), {8, 1}),
            ZeroMask({true, false, true, false, true, true, false, false, true, true, false, false,
                      false, false, true, true}));
}

/// [2, 4, 3]: four channels of three taps, for two outputs.
TEST(MagnitudeMask, TwoOfFourAlongChannels) {
  std::vector<float> numbers(24);
  for (int output = 0; output < 2; ++output)
    for (int channel = 0; channel < 4; ++channel)
      for (int tap = 0; tap < 3; ++tap)
        // The largest channel is another one for each tap.
        numbers[(output * 4 + channel) * 3 + tap] = static_cast<float>(1 + (channel + tap) % 4);
  Floats weight = floats(numbers);
  ZeroMask mask = smallestTwoOfFour(weight.stored(), {4, 3});
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(mask[i], numbers[i] <= 2) << i;
}

TEST(MagnitudeMask, ZerosAreWrittenAndMeasured) {
  Floats weight = floats({3, -4, 0, 12});
  ZeroEffect effect = makeZero(weight.stored(), {false, true, true, false});
  EXPECT_EQ(weight.numbers, std::vector<float>({3, 0, 0, 12}));
  EXPECT_FALSE(std::signbit(weight.numbers[1]));
  EXPECT_EQ(effect.numbers, 4u);
  EXPECT_EQ(effect.zerosBefore, 1u);
  EXPECT_EQ(effect.zerosAfter, 2u);
  EXPECT_DOUBLE_EQ(effect.removedShare(), 4.0 / 13);
  ZeroEffect untouched = makeZero(weight.stored(), {});
  EXPECT_EQ(untouched.zerosAfter, 2u);
  EXPECT_EQ(untouched.removedShare(), 0.0);
  effect += untouched;
  EXPECT_EQ(effect.numbers, 8u);
  EXPECT_DOUBLE_EQ(effect.removedSquares, 16);
}

/// Stored in 16 bits: the other numbers keep their bits.
TEST(MagnitudeMask, HalvesStayHalves) {
  Bits weight(FloatStorage::bf16, {0xbf80, 0x3f81, 0x4049, 0xc2f7});
  makeZero(weight.stored(), smallestTwoOfFour(weight.stored(), {4, 1}));
  EXPECT_EQ(weight.numbers, std::vector<uint16_t>({0, 0, 0x4049, 0xc2f7}));
}

} // namespace
