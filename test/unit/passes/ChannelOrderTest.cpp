//===- ChannelOrderTest.cpp - An order of channels in which zeros cost least --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/ChannelOrder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace dlc;

namespace {

constexpr int64_t kMuch = int64_t{1} << 30;

/// Each column is a channel.
ChannelReader readerOf(std::vector<std::vector<float>> columns) {
  ChannelReader reader{static_cast<int64_t>(columns.front().size()), std::move(columns), {}};
  for (size_t channel = 0; channel < reader.columns.size(); ++channel)
    reader.ofChannel.push_back({static_cast<int64_t>(channel)});
  return reader;
}

ChannelReader randomReader(size_t columns, size_t rows, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<float>> numbers(columns, std::vector<float>(rows));
  for (std::vector<float> &column : numbers)
    for (float &number : column)
      number = static_cast<float>(random() % 1000) / 1000;
  return readerOf(numbers);
}

/// The sum over all readers of what they keep, as a part of what they hold.
double shareOf(const std::vector<ChannelReader> &readers) {
  double sum = 0;
  for (const ChannelReader &reader : readers) {
    double held = 0;
    for (const std::vector<float> &column : reader.columns)
      held = std::accumulate(column.begin(), column.end(), held);
    sum += reader.kept() / held;
  }
  return sum;
}

TEST(ChannelOrder, KeepsTheTwoLargestOfFour) {
  EXPECT_DOUBLE_EQ(readerOf({{1, 5}, {2, 0}, {4, 0}, {3, 5}}).kept(), 4 + 3 + 5 + 5);
  EXPECT_DOUBLE_EQ(readerOf({{1}, {1}, {1}, {1}, {0}, {2}, {0}, {0}}).kept(), 2 + 2);
}

TEST(ChannelOrder, SumsEachRow) {
  ChannelReader reader = randomReader(8, 1000, 3);
  double expected = 0;
  for (size_t row = 0; row < 1000; ++row)
    for (size_t first : {0, 4}) {
      std::vector<float> four;
      for (size_t i = first; i < first + 4; ++i)
        four.push_back(reader.columns[i][row]);
      std::sort(four.begin(), four.end());
      expected += static_cast<double>(four[2]) + static_cast<double>(four[3]);
    }
  EXPECT_NEAR(reader.kept(), expected, 1e-3);
}

TEST(ChannelOrder, PartsLargeChannels) {
  const std::vector<float> sizes = {9, 8, 7, 6, 0, 1, 2, 3};
  std::vector<std::vector<float>> columns;
  for (float size : sizes)
    columns.push_back({size});
  std::vector<ChannelReader> readers = {readerOf(columns)};
  const std::vector<size_t> order = orderChannels(readers, 8, kMuch);
  EXPECT_DOUBLE_EQ(readers.front().kept(), 30);
  for (size_t place = 0; place < 8; ++place)
    EXPECT_EQ(readers.front().columns[place].front(), sizes[order[place]]);
}

TEST(ChannelOrder, NeverKeepsLess) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::vector<ChannelReader> readers = {randomReader(16, 5, seed),
                                          randomReader(16, 70, seed + 100)};
    const std::vector<ChannelReader> before = readers;
    std::vector<size_t> order = orderChannels(readers, 16, kMuch);
    EXPECT_GT(shareOf(readers), shareOf(before));
    for (size_t i = 0; i < readers.size(); ++i)
      for (size_t place = 0; place < 16; ++place)
        EXPECT_EQ(readers[i].columns[place], before[i].columns[order[place]]);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < 16; ++i)
      EXPECT_EQ(order[i], i);
  }
}

TEST(ChannelOrder, MovesAllColumnsOfAChannel) {
  // Channel 0 is columns 0 and 4, channel 1 columns 1 and 5, channel 2 columns 2 and 8; the others
  // stay.
  ChannelReader reader = readerOf({{1}, {2}, {3}, {4}, {10}, {20}, {5}, {6}, {30}, {0}, {0}, {0}});
  reader.ofChannel = {{0, 4}, {1, 5}, {2, 8}};
  std::vector<ChannelReader> readers = {reader};
  const double before = reader.kept();
  const std::vector<size_t> order = orderChannels(readers, 3, kMuch);
  EXPECT_GE(readers.front().kept(), before);
  for (size_t place = 0; place < 3; ++place)
    for (size_t k : {0, 1})
      EXPECT_EQ(readers.front().columns[reader.ofChannel[place][k]],
                reader.columns[reader.ofChannel[order[place]][k]]);
  for (size_t column : {3, 6, 7, 9, 10, 11})
    EXPECT_EQ(readers.front().columns[column], reader.columns[column]);
}

TEST(ChannelOrder, StopsAtItsBudget) {
  std::vector<ChannelReader> readers = {readerOf({{9}, {8}, {7}, {6}, {0}, {1}, {2}, {3}})};
  EXPECT_EQ(orderChannels(readers, 8, 0), std::vector<size_t>({0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ChannelOrder, ZerosAloneStay) {
  std::vector<ChannelReader> readers = {readerOf({{0}, {0}, {0}, {0}})};
  EXPECT_EQ(orderChannels(readers, 4, kMuch), std::vector<size_t>({0, 1, 2, 3}));
}

} // namespace
