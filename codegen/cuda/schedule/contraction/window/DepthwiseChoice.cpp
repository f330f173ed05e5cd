//===- DepthwiseChoice.cpp - Which strip a thread of a depthwise convolution gets ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/window/DepthwiseChoice.h"

#include "codegen/cuda/schedule/contraction/ContractionChoice.h"
#include "ir/machine/InstructionCounts.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using llvm::divideCeilSigned;

namespace dlc::codegen {

/// Beyond these a block of 128 threads shares a multiprocessor with too few others to hide its
/// loads.
static constexpr int64_t kMostRegisters = 128;
/// What addresses and bounds take.
static constexpr int64_t kPlainRegisters = 28;
/// Longer strips are unrolled into more text than is worth it.
static constexpr int64_t kMostProducts = 1024;

/// Inputs that `count` neighbouring results read along one dim.
static int64_t inputsOf(const WindowShape &window, int64_t count) {
  int64_t all = 0;
  for (int64_t i = 0; i <= (count - 1) * window.stride + (window.taps - 1) * window.dilation; ++i)
    for (int64_t t = 0; t < count; ++t)
      if (int64_t at = i - t * window.stride;
          at >= 0 && at % window.dilation == 0 && at / window.dilation < window.taps) {
        ++all;
        break;
      }
  return all;
}

int64_t alongOf(const Strip &strip, const DepthwiseShape &shape) {
  if (strip.lanes > 1)
    return 1;
  int64_t along = shape.along, step = strip.columns * shape.columns.stride;
  while (step % along != 0)
    along /= 2;
  return along;
}

int64_t loadsOf(const Strip &strip, const DepthwiseShape &shape) {
  int64_t inputs = inputsOf(shape.columns, strip.columns), along = alongOf(strip, shape);
  // Half of the taps come before the first vector where padding keeps the image's size.
  inputs -= (inputs - shape.columns.taps / 2) / along * (along - 1);
  int64_t image = inputsOf(shape.rows, strip.rows) * inputs;
  return shape.depth * (image + shape.rows.taps * shape.columns.taps);
}

int64_t registersOf(const Strip &strip, const DepthwiseShape &shape) {
  int64_t taps = strip.rows > 1 ? shape.rows.taps * shape.columns.taps : 1;
  return strip.results() + strip.lanes * (inputsOf(shape.columns, strip.columns) + taps) +
         kPlainRegisters;
}

double estimatedClocks(const Strip &strip, const DepthwiseShape &shape, int64_t images,
                       const GpuModel &gpu) {
  double threads = double(divideCeilSigned(shape.rows.extent, strip.rows)) *
                   double(divideCeilSigned(shape.columns.extent, strip.columns)) *
                   double(divideCeilSigned(shape.channels, strip.lanes)) * double(images);
  double warps = std::max(1.0, threads / 32);
  double loads = double(loadsOf(strip, shape));
  double products = double(strip.results() * shape.rows.taps * shape.columns.taps * shape.depth);
  double instructions = kInstructions.depthwiseStart + products +
                        loads * kInstructions.depthwiseLoad +
                        kInstructions.depthwiseResult * double(strip.results());
  // Neighbouring threads begin a strip's width apart where columns are innermost; 128 bytes leave
  // L1 in a clock.
  int64_t apart = shape.isChannelsLast ? strip.lanes : strip.columns * shape.columns.stride;
  double lines = std::clamp(double(32 * apart * shape.elementBytes) / 128, 1.0, 32.0);
  double clocks = std::max(instructions / 4, loads * lines);
  // A warp alone waits for what it loads, row by row of the image, and issues every second clock.
  double alone = gpu.clocksOfLatency * 2 + instructions * 2;
  int64_t resident = gpu.registers / (32 * registersOf(strip, shape));
  double each = std::max(1.0, warps / double(gpu.multiprocessors));
  return std::max(each * clocks, std::max(1.0, each / double(resident)) * alone);
}

Strip chooseStrip(const DepthwiseShape &shape, const GpuModel &gpu) {
  Strip best = {1, 1, 1};
  double least = 0;
  for (int64_t lanes : {8, 4, 2, 1})
    for (int64_t columns : {8, 4, 2, 1})
      for (int64_t rows : {8, 4, 2, 1}) {
        Strip strip = {rows, columns, lanes};
        int64_t products =
            strip.results() * shape.rows.taps * shape.columns.taps * (rows > 1 ? 1 : 0);
        bool isOne = strip.results() == 1;
        if (lanes > shape.lanes || (rows > 1 && rows > shape.rows.extent) ||
            (columns > 1 && columns > shape.columns.extent) || products > kMostProducts ||
            (!isOne && registersOf(strip, shape) > kMostRegisters))
          continue;
        // One text serves few images and many: neither may pay for the other.
        double clocks = estimatedClocks(strip, shape, shape.fewest, gpu) *
                        estimatedClocks(strip, shape, shape.most, gpu);
        if (least == 0 || clocks < least) {
          least = clocks;
          best = strip;
        }
      }
  return best;
}

} // namespace dlc::codegen
