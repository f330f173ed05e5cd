//===- RecurrentChoice.cpp - Which blocks a recurrence gets ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/RecurrentChoice.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using llvm::divideCeilSigned;

namespace dlc::codegen {

static constexpr int64_t kMultiprocessors = 108;
/// Blocks that may wait for each other: few enough that each of them has a multiprocessor, or half of one, to itself.
static constexpr int64_t kMostBlocks = 128;
/// Weights of a block in static shared memory, which is 48 KiB.
static constexpr int64_t kShareBytes = 40 << 10;
/// What a multiprocessor reads in a clock, and how many multiply-adds it starts with their operands in shared memory.
static constexpr double kBytesFromL2 = 64, kProducts = 32;
/// From the last store of one block to the first load of another behind a barrier of the grid, and what each block's arrival
/// adds.
static constexpr double kClocksOfMeeting = 1500, kClocksOfArrival = 8;

double clocksOfRowStep(const StepShape &shape) {
  return double(shape.weightBytes()) / kBytesFromL2 *
         double(divideCeilSigned(shape.rows, kMultiprocessors));
}

double clocksOfSharedStep(const StepShape &shape, const UnitShare &share) {
  int64_t products = share.units * shape.gates * shape.outputs + share.outputs * shape.units;
  double perRow = double(products) / kProducts + double(shape.outputs) * 4 / kBytesFromL2;
  double meeting = kClocksOfMeeting + kClocksOfArrival * double(share.blocks(shape));
  return meeting * (shape.hasProjection ? 2 : 1) + perRow * double(shape.rows);
}

UnitShare chooseUnitShare(const StepShape &shape) {
  UnitShare best;
  double least = clocksOfRowStep(shape);
  for (int64_t units = 1; units < shape.units; units *= 2) {
    UnitShare share = {units, 0};
    if (shape.hasProjection)
      share.outputs = divideCeilSigned(shape.outputs, share.blocks(shape));
    if (share.blocks(shape) > kMostBlocks || share.sharedBytes(shape) > kShareBytes)
      continue;
    if (double clocks = clocksOfSharedStep(shape, share); clocks < least) {
      best = share;
      least = clocks;
    }
  }
  return best;
}

} // namespace dlc::codegen
