//===- OutputDifferenceTest.cpp - Figures of differences against numbers by hand ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/OutputDifference.h"
#include "tools/driver/measure/AnswerTally.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace dlc;

static HostTensor tensor(const std::vector<int64_t> &dims, const std::vector<float> &values) {
  HostTensor tensor = {DLC_F32, dims, {}};
  EXPECT_TRUE(tensor.allocate());
  EXPECT_EQ(tensor.data.size(), values.size() * sizeof(float));
  if (!values.empty())
    std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

TEST(OutputDifference, GivesTheFiguresOfAllBatches) {
  OutputDifference difference;
  difference.add(tensor({2, 2}, {1, 2, 3, 4}), tensor({2, 2}, {1, 2, 3, 4.5f}), {0, 2});
  difference.add(tensor({1, 2}, {8, 0}), tensor({1, 2}, {8, 0.25f}), {2, 1});
  EXPECT_EQ(difference.numElements(), 6);
  EXPECT_EQ(difference.maxAbsolute(), 0.5);
  EXPECT_EQ(difference.maxRelative(), 0.5 / 8);
  double expected = 1 + 4 + 9 + 4.5 * 4.5 + 64 + 0.0625, actual = 1 + 4 + 9 + 16 + 64;
  EXPECT_DOUBLE_EQ(difference.signalToNoise(), 10 * std::log10(expected / (0.25 + 0.0625)));
  EXPECT_DOUBLE_EQ(difference.cosine(),
                   (1 + 4 + 9 + 18 + 64) / (std::sqrt(expected) * std::sqrt(actual)));
  EXPECT_EQ(difference.worst(), "[1, 1]: 4, expected 4.5");
  // A worse one in the third batch: its sample counts from the first batch on.
  difference.add(tensor({1, 2}, {0, 1}), tensor({1, 2}, {1, 1}), {3, 1});
  EXPECT_EQ(difference.worst(), "[3, 0]: 0, expected 1");
}

TEST(OutputDifference, ComparesDtypesByTheirNumbers) {
  HostTensor half = {DLC_F16, {1, 2}, {0x00, 0x3c, 0x00, 0xc0}}; // 1 and -2
  OutputDifference difference;
  difference.add(half, tensor({1, 2}, {1, -2}), {0, 1});
  EXPECT_EQ(difference.maxAbsolute(), 0);
  EXPECT_EQ(difference.maxRelative(), 0);
  EXPECT_EQ(difference.signalToNoise(), INFINITY);
  EXPECT_DOUBLE_EQ(difference.cosine(), 1);
  EXPECT_EQ(difference.worst(), "");
}

TEST(OutputDifference, HasLimitsWhereAllIsZero) {
  OutputDifference zero;
  zero.add(tensor({2}, {0, 0}), tensor({2}, {0, 0}), {0, 2});
  EXPECT_EQ(zero.maxRelative(), 0);
  EXPECT_EQ(zero.cosine(), 1);
  zero.add(tensor({2}, {0, 3}), tensor({2}, {0, 0}), {2, 2});
  EXPECT_EQ(zero.maxRelative(), INFINITY);
  EXPECT_EQ(zero.signalToNoise(), -INFINITY);
  EXPECT_EQ(zero.cosine(), 0);
  EXPECT_EQ(zero.worst(), "[3]: 3, expected 0");
}

TEST(OutputDifference, CountsWhatIsNotFinite) {
  OutputDifference difference;
  difference.add(tensor({5}, {1, NAN, 2, INFINITY, INFINITY}),
                 tensor({5}, {1, 1, NAN, INFINITY, -INFINITY}), {0, 5});
  EXPECT_EQ(difference.numNaN(), 2);
  EXPECT_EQ(difference.numUnlikeInfinities(), 1);
  EXPECT_FALSE(difference.isFinite());
  EXPECT_EQ(difference.maxAbsolute(), 0);
  EXPECT_EQ(difference.worst(), "[1]: nan, expected 1");
  OutputDifference both;
  both.add(tensor({2}, {NAN, INFINITY}), tensor({2}, {NAN, INFINITY}), {0, 2});
  EXPECT_EQ(both.numNaN(),
            1); // a model that gives NaN is not right because another one does as well
  EXPECT_EQ(both.numUnlikeInfinities(), 0);
}

TEST(OutputDifference, NamesTheSampleOfAWholeOutput) {
  OutputDifference difference;
  difference.add(tensor({3, 1}, {0, 0, 7}), tensor({3, 1}, {0, 0, 0}), {41, 1});
  EXPECT_EQ(difference.worst(), "[41, 2, 0]: 7, expected 0");
}

TEST(AnswerTally, KnowsRowsOfClasses) {
  auto classes = [](const std::vector<int64_t> &dims, int64_t rows) {
    HostTensor output = {DLC_F32, dims, {}};
    return AnswerTally::numClasses(output, rows);
  };
  EXPECT_EQ(classes({4, 10}, 4), 10);
  EXPECT_EQ(classes({4, 10, 1, 1}, 4), 10);
  EXPECT_EQ(classes({10}, 1), 10);
  EXPECT_EQ(classes({1, 10}, 1), 10);
  EXPECT_EQ(classes({4, 10, 2}, 4), 0);
  EXPECT_EQ(classes({4, 1}, 4), 0);
  EXPECT_EQ(classes({4}, 4), 0);
  EXPECT_EQ(classes({5, 10}, 4), 0);
  EXPECT_EQ(classes({4, 0}, 4), 0);
}

TEST(AnswerTally, CountsWhoChangedSides) {
  HostTensor before = tensor({5, 2}, {1, 0, 1, 0, 0, 1, 0, 1, 2, 2}),
             after = tensor({5, 2}, {1, 0, 0, 1, 1, 0, NAN, 1, 2, 2});
  int64_t labels[] = {0, 0, 0, 1, 0};
  AnswerTally tally;
  tally.add(before, after, 5, labels);
  EXPECT_EQ(tally.rows, 5);
  EXPECT_EQ(tally.agreeing, 2);
  EXPECT_EQ(tally.rightBefore, 4);
  EXPECT_EQ(tally.rightAfter, 3);
  EXPECT_EQ(tally.gained, 1);
  EXPECT_EQ(tally.lost, 2); // NaN is the largest, as for NumPy
  EXPECT_EQ(tally.agreement(), 0.4);
  EXPECT_EQ(tally.accuracyBefore(), 0.8);
}

TEST(AnswerTally, McNemarsTestIsExact) {
  EXPECT_EQ(mcNemar(0, 0), 1);
  EXPECT_EQ(mcNemar(1, 1), 1);
  EXPECT_NEAR(mcNemar(0, 1), 1, 1e-12);
  EXPECT_NEAR(mcNemar(0, 6), 2.0 / 64, 1e-12);
  EXPECT_NEAR(mcNemar(6, 0), 2.0 / 64, 1e-12);
  EXPECT_NEAR(mcNemar(5, 7), 2.0 * (1 + 12 + 66 + 220 + 495 + 792) / 4096, 1e-12);
  EXPECT_NEAR(mcNemar(3, 12), 2.0 * (1 + 15 + 105 + 455) / 32768, 1e-12);
  // An f64 cannot hold 2^4000.
  EXPECT_NEAR(mcNemar(1900, 2100), 0.0016492663751357, 1e-9);
}
