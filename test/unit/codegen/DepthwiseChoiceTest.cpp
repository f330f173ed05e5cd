//===- DepthwiseChoiceTest.cpp - Which strip a thread of a depthwise convolution gets ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/window/DepthwiseChoice.h"

#include <gtest/gtest.h>

namespace dlc::codegen {

/// `extent` x `extent` results of `channels`, channels last, in f32.
static DepthwiseShape square(int64_t extent, int64_t channels, int64_t taps, int64_t stride,
                             int64_t most = 64) {
  WindowShape window = {extent, taps, stride, 1};
  return {window, window, channels, 1, 1, most, 4, channels % 4 == 0 ? 4 : 1, true};
}

TEST(DepthwiseChoiceTest, CountsLoads) {
  DepthwiseShape shape = square(56, 144, 3, 1);
  EXPECT_EQ(loadsOf({1, 1, 1}, shape), 18);
  EXPECT_EQ(loadsOf({2, 4, 4}, shape), 4 * 6 + 9);
  shape.columns.stride = 2;
  EXPECT_EQ(loadsOf({1, 2, 4}, shape), 3 * 5 + 9);
  // What lies between the taps is not loaded.
  shape.columns = {56, 3, 1, 4};
  EXPECT_EQ(loadsOf({1, 2, 4}, shape), 3 * 6 + 9);
}

// Neighbours along a row come together: 1 + 8 + 1 inputs of 8 results by three accesses.
TEST(DepthwiseChoiceTest, LoadsAlongRows) {
  DepthwiseShape shape = square(56, 96, 3, 1);
  shape.lanes = 1;
  shape.isChannelsLast = false;
  shape.along = 8;
  EXPECT_EQ(alongOf({2, 8, 1}, shape), 8);
  EXPECT_EQ(loadsOf({2, 8, 1}, shape), 4 * 3 + 9);
  EXPECT_EQ(alongOf({2, 4, 1}, shape), 4);
  EXPECT_EQ(alongOf({2, 1, 1}, shape), 1);
  shape.columns.stride = 2;
  EXPECT_EQ(alongOf({1, 4, 1}, shape), 8);
  EXPECT_EQ(loadsOf({1, 8, 1}, shape), 3 * 3 + 9);
  EXPECT_EQ(alongOf({2, 8, 4}, shape), 1);
}

// The layers of MobileNetV2: at most an eighth of the 18 loads of one thread a result.
TEST(DepthwiseChoiceTest, LoadsOfMobileNet) {
  for (auto [extent, channels, stride] :
       std::initializer_list<std::tuple<int, int, int>>{{112, 32, 1},
                                                        {56, 96, 2},
                                                        {56, 144, 1},
                                                        {28, 144, 2},
                                                        {28, 192, 1},
                                                        {14, 192, 2},
                                                        {14, 384, 1},
                                                        {14, 576, 1},
                                                        {7, 576, 2},
                                                        {7, 960, 1}}) {
    DepthwiseShape shape = square(extent, channels, 3, stride);
    Strip strip = chooseStrip(shape);
    double each = double(loadsOf(strip, shape)) / double(strip.results());
    EXPECT_LE(each, 18.0 / 8) << extent << " " << channels << " " << stride;
  }
}

TEST(DepthwiseChoiceTest, FitsImageAndGpu) {
  for (int64_t extent : {1, 2, 3, 7, 14, 112, 4096})
    for (int64_t channels : {1, 3, 4, 32, 960})
      for (int64_t taps : {1, 2, 3, 7, 31})
        for (int64_t stride : {1, 2, 3}) {
          DepthwiseShape shape = square(extent, channels, taps, stride);
          Strip strip = chooseStrip(shape);
          EXPECT_LE(strip.lanes, shape.lanes);
          EXPECT_LE(strip.rows, extent);
          EXPECT_LE(strip.columns, extent);
          if (strip.results() > 1) {
            EXPECT_LE(registersOf(strip, shape), 128) << extent << " " << channels << " " << taps;
          }
        }
}

// A single small image is spread over the GPU rather than loaded with the fewest accesses.
TEST(DepthwiseChoiceTest, SmallGridsGetSmallStrips) {
  EXPECT_LE(chooseStrip(square(7, 16, 3, 1, 1)).results(),
            chooseStrip(square(112, 96, 3, 1, 1)).results());
}

// Channels first, neighbouring threads stand side by side: strips go down.
TEST(DepthwiseChoiceTest, ChannelsFirstGoesDown) {
  DepthwiseShape shape = square(112, 96, 3, 1);
  shape.lanes = 1;
  shape.isChannelsLast = false;
  Strip strip = chooseStrip(shape);
  EXPECT_GT(strip.rows, strip.columns);
}

} // namespace dlc::codegen
