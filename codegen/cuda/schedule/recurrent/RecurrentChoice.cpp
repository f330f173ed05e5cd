//===- RecurrentChoice.cpp - Which blocks a recurrence gets -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/recurrent/RecurrentChoice.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using llvm::alignTo;
using llvm::divideCeilSigned;

namespace dlc::codegen {

/// Rows at most that a warp multiplies at once, and that are staged at a time.
static constexpr int64_t kRowsAtOnce = 4, kRowsStaged = 16;

int64_t beginOfLayer(int64_t layer, int64_t lineBytes) {
  auto bytes = [&](int64_t sources) {
    return static_cast<int64_t>(alignTo(sources * lineBytes, 16));
  };
  return layer == 0 ? 0 : bytes(1) + (layer - 1) * bytes(2);
}

std::vector<abi::KeptColumns> StepShape::columns() const {
  std::vector<abi::KeptColumns> lists = {
      {units * cells, beginOfLayer(layers, gates * outputs * elementBytes)}};
  if (hasProjection)
    lists.push_back({outputs * cells, beginOfLayer(1, units * elementBytes)});
  return lists;
}

StagedRows chooseStagedRows(const StepShape &shape) {
  int64_t most = std::max<int64_t>(1, shape.mostRows.value_or(std::numeric_limits<int32_t>::max()));
  auto fits = [&](const StagedRows &staged, int64_t bytes) { return staged.bytes(shape) <= bytes; };
  int64_t atOnce = std::min(most, kRowsAtOnce);
  if (most <= kRowsStaged)
    if (StagedRows all = {int64_t(alignTo(most, atOnce)), atOnce, 1}; fits(all, kStagedBytes))
      return all;
  for (int64_t rows = kRowsStaged; rows >= kRowsAtOnce; rows /= 2)
    if (StagedRows pair = {rows, kRowsAtOnce, 2}; fits(pair, kStagedBytes))
      return pair;
  for (int64_t rows = kRowsAtOnce; rows > 1; rows /= 2)
    if (StagedRows one = {rows, rows, 1}; fits(one, kStagedBytes))
      return one;
  StagedRows last = {1, 1, 1};
  return fits(last, kMostStagedBytes) ? last : StagedRows();
}

double clocksOfRowStep(const StepShape &shape, const GpuModel &gpu) {
  // An A100 runs the same launch.
  const int64_t together = std::min(gpu.multiprocessors, kAmpere.multiprocessors);
  return double(shape.weightBytes()) / gpu.steps.bytes *
         double(divideCeilSigned(shape.rows, together));
}

double clocksOfSharedStep(const StepShape &shape, const UnitShare &share, const GpuModel &gpu) {
  const StepRates &rates = gpu.steps;
  StagedRows staged = chooseStagedRows(shape);
  int64_t blocks = share.blocks(shape), room = gpu.sharedBytes - staged.bytes(shape);
  double products = 0, streamed = 0;
  for (const abi::KeptColumns &list : shape.columns()) {
    int64_t own = abi::columnsOfBlock(list.count, blocks);
    int64_t resident = abi::residentColumns(own, list.bytes, room);
    room -= resident * list.bytes;
    products += double(own * list.bytes) / double(shape.elementBytes);
    streamed += double((own - resident) * list.bytes);
  }
  // A block whose units are of two recurrences brings the states of both.
  bool isCut =
      shape.cells > 1 && shape.units % abi::columnsOfBlock(shape.units * shape.cells, blocks);
  double states = double(shape.outputs * shape.sources()) * (isCut ? 2 : 1);
  double perRow = products / rates.products + states * 4 / rates.bytes;
  double meeting = rates.meeting + rates.arrival * double(blocks);
  double passes = double(divideCeilSigned(shape.rows, std::max<int64_t>(1, staged.atOnce)));
  return meeting * (shape.hasProjection ? 2 : 1) + perRow * double(shape.rows) +
         streamed / rates.bytes * passes;
}

/// Bytes of weights that one of the blocks needs in every step.
static int64_t bytesOfShare(const StepShape &shape, const UnitShare &share) {
  int64_t bytes = 0;
  for (const abi::KeptColumns &list : shape.columns())
    bytes += abi::columnsOfBlock(list.count, share.blocks(shape)) * list.bytes;
  return bytes;
}

UnitShare chooseUnitShare(const StepShape &shape, const GpuModel &gpu) {
  UnitShare best, fewest = {divideCeilSigned(shape.units * shape.cells, gpu.multiprocessors)};
  if (chooseStagedRows(shape).rows == 0)
    return best;
  bool mayBeRows = shape.cells == 1 && shape.layers == 1 && shape.weightBytes() <= kRowBytes,
       isSmall = bytesOfShare(shape, fewest) <= kSmallShare;
  double least = mayBeRows ? clocksOfRowStep(shape, gpu) : std::numeric_limits<double>::infinity();
  auto consider = [&](UnitShare share) {
    if (share.blocks(shape) > gpu.multiprocessors ||
        (isSmall && bytesOfShare(shape, share) > kSmallShare))
      return;
    if (double clocks = clocksOfSharedStep(shape, share, gpu); clocks < least) {
      best = share;
      least = clocks;
    }
  };
  for (int64_t units = 1; units < shape.units; units *= 2)
    consider({units});
  consider(fewest);
  return best;
}

} // namespace dlc::codegen
