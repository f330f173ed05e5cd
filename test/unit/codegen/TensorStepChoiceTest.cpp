//===- TensorStepChoiceTest.cpp - How blocks share a step on tensor cores -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/recurrent/TensorStepChoice.h"

#include "gtest/gtest.h"

namespace dlc::codegen {

/// An LSTM of as many outputs as units, in f16.
static StepShape lstm(int64_t units, int64_t rows) {
  return {4, units, units, rows, 2, false, rows};
}

TEST(TensorStepChoiceTest, FloatsAreNotRounded) {
  for (int64_t bytes : {4, 8})
    EXPECT_EQ(chooseTensorStep({4, 512, 512, 32, bytes, false, 32}).blocks, 0) << bytes;
  EXPECT_GT(chooseTensorStep({4, 512, 512, 32, 2, false, 32}).blocks, 0);
}

// No more groups than eights of rows; a pass has as many tiles of rows as the largest batch fills.
TEST(TensorStepChoiceTest, RowsFillTheirTiles) {
  const std::pair<int64_t, int64_t> cases[] = {{1, 1}, {8, 1}, {9, 2}, {16, 2}, {17, 4}, {32, 4}};
  for (auto [rows, tiles] : cases)
    for (int64_t units : {64, 500, 1024}) {
      TensorStep step = chooseTensorStep(lstm(units, rows));
      EXPECT_LT((step.rowGroups - 1) * 8, rows) << rows;
      EXPECT_GE(step.rowTiles * step.rowGroups, tiles) << rows;
      EXPECT_LE(step.rowTiles, tiles) << rows;
    }
  StepShape any = lstm(512, 1);
  any.mostRows = std::nullopt;
  EXPECT_EQ(chooseTensorStep(any).rowTiles, 4);
}

// The weights of 1024 units leave room for two groups of rows on an H100 and not on an A100, whose
// blocks hold less.
TEST(TensorStepChoiceTest, GroupsOfRowsWhereTheirWeightsFit) {
  EXPECT_EQ(chooseTensorStep(lstm(1024, 8)).rowGroups, 1);
  EXPECT_EQ(chooseTensorStep(lstm(1024, 32)).rowGroups, 2);
  EXPECT_EQ(chooseTensorStep(lstm(1024, 32), kAmpere).rowGroups, 1);
  EXPECT_EQ(chooseTensorStep(lstm(2048, 32)).rowGroups, 1);
}

// One row after the other by lanes, eight at a time here. An H100 took 0.57 ms for one row of two
// layers of 1024 units, and 0.86 by lanes.
TEST(TensorStepChoiceTest, ManyRowsAreFasterThanByLanes) {
  for (int64_t units : {256, 512, 1024, 2048}) {
    StepShape one = lstm(units, 1), eight = lstm(units, 8), many = lstm(units, 32);
    EXPECT_LT(clocksOfTensorStep(one, chooseTensorStep(one)),
              clocksOfSharedStep(one, chooseUnitShare(one)))
        << units;
    EXPECT_LT(clocksOfTensorStep(eight, chooseTensorStep(eight)),
              0.8 * clocksOfSharedStep(eight, chooseUnitShare(eight)))
        << units;
    EXPECT_LT(clocksOfTensorStep(many, chooseTensorStep(many)),
              0.6 * clocksOfSharedStep(many, chooseUnitShare(many)))
        << units;
  }
}

// The directions of a layer run in one launch where the weights of both fit.
TEST(TensorStepChoiceTest, SideBySide) {
  auto gain = [](int64_t units, int64_t rows, int64_t bytes) {
    StepShape one = {4, units, units, rows, bytes, false, rows}, two = one;
    two.cells = 2;
    return 2 * clocksOfUnitStep(one) / clocksOfUnitStep(two);
  };
  for (int64_t bytes : {2, 4})
    for (int64_t units : {256, 512}) {
      EXPECT_GT(gain(units, 1, bytes), 1.25) << units;
      EXPECT_GT(gain(units, 8, bytes), 1.25) << units;
    }
  EXPECT_GT(gain(1024, 1, 2), 1.25);
  EXPECT_LT(gain(1800, 1, 2), 1.25);
  StepShape two = {4, 512, 512, 8, 2, false, 8};
  two.cells = 2;
  EXPECT_EQ(chooseTensorStep(two).columns(two).front().count, 1024);
  EXPECT_EQ(chooseTensorStep(two).blocks, 64); // of sixteen units
}

// A wave of two layers takes less time than a step of each, the less the smaller the layers are and
// the fewer rows there are.
TEST(TensorStepChoiceTest, Waves) {
  auto gain = [](int64_t units, int64_t rows, int64_t bytes) {
    StepShape one = {4, units, units, rows, bytes, false, rows}, two = one;
    two.layers = 2;
    return 2 * clocksOfUnitStep(one) / clocksOfUnitStep(two);
  };
  for (int64_t bytes : {2, 4}) {
    EXPECT_GT(gain(256, 1, bytes), 1.4);
    EXPECT_GT(gain(512, 1, bytes), 1.5);
  }
  EXPECT_GT(gain(256, 32, 2), 1.25);
  EXPECT_GT(gain(1024, 1, 2), 1.25);
  EXPECT_LT(gain(1024, 32, 2), 1.0); // all rows of three states, where one layer has two groups
  EXPECT_LT(gain(2048, 1, 2), 1.25); // streamed
  StepShape two = {4, 1024, 1024, 1, 2, false, 1};
  two.layers = 2;
  EXPECT_EQ(chooseTensorStep(two).columns(two).front().bytes, 3 * 8192 + 64);
}

TEST(TensorStepChoiceTest, EveryLaunchFitsEveryGpu) {
  for (int64_t gates : {1, 3, 4})
    for (int64_t units = 1; units <= 24576; units += units < 40 ? 1 : units / 3)
      for (int64_t outputs : {units, units / 3 + 1})
        for (int64_t rows : {1, 9, 64})
          for (const GpuModel &gpu : dlc::kGpus) {
            StepShape shape = {gates, units, outputs, rows, 2, outputs != units, rows};
            TensorStep step = chooseTensorStep(shape, gpu);
            ASSERT_GT(step.blocks, 0);
            EXPECT_LE(step.blocks, gpu.multiprocessors);
            EXPECT_LE(step.stagedBytes(shape), kMostStagedBytes);
            std::vector<abi::KeptColumns> lists = step.columns(shape);
            abi::Spread spread =
                abi::spreadColumns(step.blocks, gpu.multiprocessors, step.stagedBytes(shape),
                                   gpu.sharedBytes, lists.data(), lists.size());
            EXPECT_LE(spread.sharedBytes, gpu.sharedBytes) << gpu.name << " " << units;
            for (const abi::KeptColumns &list : lists) {
              EXPECT_EQ(list.bytes % 128, 64);
              EXPECT_GE(list.bytes, (list.count == units * step.rowGroups ? outputs : units) * 2);
            }
          }
}

} // namespace dlc::codegen
