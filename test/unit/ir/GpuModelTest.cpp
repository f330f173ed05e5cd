//===- GpuModelTest.cpp - The table of GPUs ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------===//
#include "ir/machine/TargetGpu.h"

#include <gtest/gtest.h>

#include <string>

using namespace dlc;

static_assert(&gpuModelOf(80) == &kGpus[0]);

TEST(GpuModel, AnArchitectureWithoutAModelHasThatOfTheLastBeforeIt) {
  EXPECT_STREQ(gpuModelOf(90).name, kHopper.name);
  EXPECT_EQ(gpuModelOf(87).architecture, 86);
  EXPECT_EQ(gpuModelOf(110).architecture, gpuModelOf(109).architecture);
  EXPECT_EQ(gpuModelOf(999).architecture, 120);
  EXPECT_EQ(gpuModelOf(75).architecture, 80);
}

TEST(GpuModel, EachIsWholeAndInOrder) {
  int last = 0;
  for (const GpuModel &gpu : kGpus) {
    SCOPED_TRACE(gpu.name);
    EXPECT_GT(gpu.architecture, last);
    last = gpu.architecture;
    // Any block that dlc emits has at most what the smallest of them gives one.
    EXPECT_GE(gpu.sharedBytes, 99 << 10);
    EXPECT_GE(gpu.threads, 1536);
    EXPECT_LE(gpu.halfProducts, gpu.peakHalves);
    EXPECT_LE(gpu.floatProducts, gpu.peakFloats);
    for (const RingRates *ring : {&gpu.mma, &gpu.floats}) {
      EXPECT_GT(ring->products, 0);
      EXPECT_GT(ring->bytes, 0);
      EXPECT_GT(ring->latency, 0);
      EXPECT_GT(ring->exchange, 0);
    }
    EXPECT_GT(gpu.steps.bytes, 0);
    EXPECT_GT(gpu.bytesOnce, 0);
    // wgmma is sm_90's alone.
    EXPECT_EQ(gpu.wgmma.products > 0, gpu.architecture == 90);
    // A model with measured rates names their file.
    EXPECT_EQ(std::string(gpu.source).empty(), gpu.architecture != 90);
  }
}
