//===- RecurrentChoiceTest.cpp - Which blocks a recurrence gets ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/recurrent/RecurrentChoice.h"

#include "gtest/gtest.h"

namespace dlc::codegen {

/// An LSTM of as many outputs as units.
static StepShape lstm(int64_t units, int64_t rows, int64_t bytes = 4) {
  return {4, units, units, rows, bytes, false, rows};
}

TEST(RecurrentChoiceTest, SmallStatesStayInOneBlock) {
  for (int64_t units : {1, 7, 16, 64, 72})
    EXPECT_EQ(chooseUnitShare(lstm(units, 1)).units, 0) << units;
}

TEST(RecurrentChoiceTest, OneRowIsShared) {
  for (int64_t units : {200, 256, 500, 512}) {
    StepShape shape = lstm(units, 1);
    UnitShare share = chooseUnitShare(shape);
    ASSERT_GT(share.units, 0) << units;
    EXPECT_LT(clocksOfSharedStep(shape, share), clocksOfRowStep(shape) / 2);
  }
}

// The plans that an H100 has timed (LSTM in f16 and a GRU, one row): blocks of eight units.
TEST(RecurrentChoiceTest, TimedPlansStay) {
  for (int64_t units : {256, 384, 512})
    EXPECT_EQ(chooseUnitShare(lstm(units, 1, 2)).units, 8) << units;
  EXPECT_EQ(chooseUnitShare({3, 256, 256, 1, 4, false, 1}).units, 8);
  EXPECT_EQ(chooseUnitShare(lstm(512, 8, 2)).units, 4);
}

// A block for each of many rows has them all read the weights at once.
TEST(RecurrentChoiceTest, ManyRowsHaveBlocksOfTheirOwn) {
  EXPECT_EQ(chooseUnitShare(lstm(128, 100)).units, 0);
  EXPECT_GT(chooseUnitShare(lstm(512, 64)).units, 0);
}

// Both sides of kRowBytes, 5,242,880: an LSTM in f16 has 5,235,848 bytes with 809 units and
// 5,248,800 with 810. 108 rows are those for which a block each looks best.
TEST(RecurrentChoiceTest, LargeWeightsAreSharedHoweverManyRows) {
  EXPECT_EQ(lstm(809, 1, 2).weightBytes(), 5235848);
  EXPECT_EQ(lstm(810, 1, 2).weightBytes(), 5248800);
  EXPECT_EQ(chooseUnitShare(lstm(809, 108, 2)).units, 0);
  EXPECT_EQ(chooseUnitShare(lstm(810, 108, 2)).units, 7);
  for (int64_t units : {573, 810, 1024, 2048, 8192})
    for (int64_t rows : {1, 8, 32, 108, 1000, 100000})
      for (int64_t bytes : {2, 4})
        if (StepShape shape = lstm(units, rows, bytes); shape.weightBytes() > kRowBytes) {
          EXPECT_GT(chooseUnitShare(shape).units, 0) << units << " units, " << rows << " rows";
        }
}

// Both sides of kSmallShare: 792 units in f16 are six a block in 38,016 bytes; 793 are seven at
// least, which take more.
TEST(RecurrentChoiceTest, SharesBeyondTheSmallOnes) {
  EXPECT_EQ(chooseUnitShare(lstm(792, 1, 2)).units, 6);
  EXPECT_GE(chooseUnitShare(lstm(793, 1, 2)).units, 7);
  // Eight times 64 blocks fit as well, with 64 KiB each; four times 128 are small.
  EXPECT_EQ(chooseUnitShare(lstm(512, 1, 4)).units, 4);
  for (int64_t units : {1024, 1100, 2048, 4096})
    EXPECT_EQ(chooseUnitShare(lstm(units, 1, 2)).units,
              (units + kHopper.multiprocessors - 1) / kHopper.multiprocessors)
        << units;
}

// Both sides of each limit of the states in shared memory, for any number of rows.
TEST(RecurrentChoiceTest, StagedRows) {
  struct Case {
    int64_t units, rows, atOnce, buffers;
  };
  const Case cases[] = {{512, 16, 4, 2}, {513, 8, 4, 2},  {1024, 8, 4, 2},  {1025, 4, 4, 2},
                        {2048, 4, 4, 2}, {2049, 4, 4, 1}, {4096, 4, 4, 1},  {4097, 2, 2, 1},
                        {8192, 2, 2, 1}, {8193, 1, 1, 1}, {24576, 1, 1, 1}, {24577, 0, 0, 0}};
  for (const Case &c : cases) {
    StepShape shape = lstm(c.units, 32);
    shape.mostRows = std::nullopt;
    StagedRows staged = chooseStagedRows(shape);
    EXPECT_EQ(staged.rows, c.rows) << c.units;
    EXPECT_EQ(staged.atOnce, c.atOnce) << c.units;
    EXPECT_EQ(staged.buffers, c.buffers) << c.units;
    EXPECT_LE(staged.bytes(shape), c.units > 8192 ? kMostStagedBytes : kStagedBytes) << c.units;
    EXPECT_EQ(chooseUnitShare(shape).units > 0, c.rows > 0) << c.units;
  }
}

TEST(RecurrentChoiceTest, FewRowsAreStagedAtOnce) {
  for (int64_t rows : {1, 3, 4, 5, 16}) {
    StagedRows staged = chooseStagedRows(lstm(256, rows));
    EXPECT_EQ(staged.buffers, 1) << rows;
    EXPECT_GE(staged.rows, rows);
    EXPECT_EQ(staged.rows % staged.atOnce, 0) << rows;
  }
  EXPECT_EQ(chooseStagedRows(lstm(256, 17)).buffers, 2);
}

/// The GPUs that differ in what they hold.
struct Gpu {
  const char *name;
  int64_t multiprocessors, sharedBytes;
};
static constexpr Gpu kGpus[] = {{"H100, sm_90", 132, 227 << 10},
                                {"A100, sm_80", 108, 163 << 10},
                                {"a laptop's, sm_86", 20, 99 << 10},
                                {"a laptop's, sm_120", 26, 99 << 10}};

/// As the runtime launches it.
static abi::Spread spreadOn(const Gpu &gpu, const StepShape &shape) {
  std::vector<abi::KeptColumns> lists = shape.columns();
  return abi::spreadColumns(chooseUnitShare(shape).blocks(shape), gpu.multiprocessors,
                            chooseStagedRows(shape).bytes(shape), gpu.sharedBytes, lists.data(),
                            lists.size());
}

/// Columns that a block streams in every step, of the units alone.
static int64_t streamedOn(const Gpu &gpu, const StepShape &shape) {
  abi::Spread spread = spreadOn(gpu, shape);
  abi::KeptColumns units = shape.columns().front();
  int64_t room = spread.sharedBytes - chooseStagedRows(shape).bytes(shape);
  return abi::columnsOfBlock(units.count, spread.blocks) - room / units.bytes;
}

TEST(RecurrentChoiceTest, EveryLaunchFitsEveryGpu) {
  for (int64_t gates : {1, 3, 4})
    for (int64_t units = 1; units <= 24576; units += units < 40 ? 1 : units / 3)
      for (int64_t outputs : {units, units / 3 + 1})
        for (int64_t rows : {1, 8, 64})
          for (const Gpu &gpu : kGpus) {
            StepShape shape = {gates, units, outputs, rows, 2, outputs != units, rows};
            UnitShare share = chooseUnitShare(shape);
            if (share.units == 0)
              continue;
            abi::Spread spread = spreadOn(gpu, shape);
            EXPECT_LE(spread.blocks, gpu.multiprocessors) << gpu.name << " " << units;
            EXPECT_LE(spread.sharedBytes, gpu.sharedBytes) << gpu.name << " " << units;
            EXPECT_GE(spread.sharedBytes, chooseStagedRows(shape).bytes(shape));
            EXPECT_GE(share.blocks(shape), 2);
            EXPECT_LE(share.blocks(shape), kHopper.multiprocessors);
            // No block without a unit.
            int64_t own = abi::columnsOfBlock(units, spread.blocks);
            EXPECT_GE(spread.blocks * own, units);
            EXPECT_LT((spread.blocks - 1) * own, units);
          }
}

// Both sides of what each GPU holds, LSTM in f16 of one row: a block has 4 * units bytes of states,
// and 8 * units of each of its units. 1874 units on the H100 are 15 a block, 224,880 + 7,504 of
// 232,448 bytes.
TEST(RecurrentChoiceTest, WhatStaysResident) {
  const int64_t last[] = {1874, 1438, 496, 562};
  for (size_t i = 0; i < std::size(kGpus); ++i) {
    EXPECT_EQ(streamedOn(kGpus[i], lstm(last[i], 1, 2)), 0) << kGpus[i].name;
    EXPECT_EQ(streamedOn(kGpus[i], lstm(last[i] + 1, 1, 2)), 1) << kGpus[i].name;
  }
  // Beyond: no cliff, one column after the other.
  EXPECT_EQ(streamedOn(kGpus[0], lstm(2048, 1, 2)), 3);
  EXPECT_EQ(streamedOn(kGpus[0], lstm(1024, 1, 4)), 0);
  EXPECT_EQ(streamedOn(kGpus[1], lstm(1024, 1, 4)), 1);
}

// Several side by side always share the units, of all of them, however few there are.
TEST(RecurrentChoiceTest, SideBySide) {
  for (int64_t units : {16, 256, 512}) {
    StepShape two = lstm(units, 1);
    two.cells = 2;
    UnitShare share = chooseUnitShare(two);
    ASSERT_GT(share.units, 0) << units;
    EXPECT_EQ(share.blocks(two), (2 * units + share.units - 1) / share.units);
    EXPECT_LE(share.blocks(two), kHopper.multiprocessors);
    EXPECT_EQ(two.columns().front().count, 2 * units);
  }
}

// Layers in waves: the first GPU that holds both layers of 1024 units is the H100, where a wave
// takes less time than a step of each.
TEST(RecurrentChoiceTest, Waves) {
  StepShape one = lstm(1024, 1, 2), two = one;
  two.layers = 2;
  EXPECT_EQ(two.columns().front().bytes, 3 * one.columns().front().bytes);
  EXPECT_EQ(chooseStagedRows(two).bytes(two), 2 * chooseStagedRows(one).bytes(one));
  EXPECT_EQ(streamedOn(kGpus[0], two), 0);
  EXPECT_GT(streamedOn(kGpus[1], two), 0);
  EXPECT_LT(clocksOfSharedStep(two, chooseUnitShare(two)),
            2 * clocksOfSharedStep(one, chooseUnitShare(one)));
  // Never a block for each row, however few units there are.
  two = lstm(16, 1, 2);
  two.layers = 2;
  EXPECT_GT(chooseUnitShare(two).units, 0);
}

/// A file for one GPU is for as many blocks as that has.
TEST(RecurrentChoiceTest, BlocksAreThoseOfTheNamedGpu) {
  const StepShape shape = lstm(2048, 1, 2);
  for (const GpuModel &gpu : dlc::kGpus) {
    const int64_t blocks = chooseUnitShare(shape, gpu).blocks(shape);
    EXPECT_GT(blocks, gpu.multiprocessors / 2) << gpu.name;
    EXPECT_LE(blocks, gpu.multiprocessors) << gpu.name;
  }
}

} // namespace dlc::codegen
