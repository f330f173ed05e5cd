//===- TensorStepChoice.cpp - How blocks share a step on tensor cores ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/recurrent/TensorStepChoice.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using llvm::divideCeilSigned;

namespace dlc::codegen {

static constexpr int64_t kMostLineTiles = 4, kMostRowTiles = 4, kMostRowGroups = 8;
/// Multiply-adds of a tile of lines with a tile of rows over one chunk of k.
static constexpr double kTileProducts = 16 * 8 * kStepChunk;

static int64_t chunksOf(int64_t length) { return divideCeilSigned(length, kStepChunk); }

/// Warps that have sums of lines of this length, for each of so many sources.
static int64_t partsOf(int64_t length, int64_t sources = 1) {
  return sources * std::min(kStepWarps / sources, chunksOf(length));
}

/// Lines are filled up, and neighbouring columns lie on other banks of shared memory: the bytes are
/// an odd multiple of 64.
static int64_t bytesOfColumn(int64_t lines, int64_t length, int64_t layers = 1) {
  int64_t bytes = beginOfLayer(layers, lines * chunksOf(length) * kStepChunk * 2);
  return bytes / 64 % 2 == 0 ? bytes + 64 : bytes;
}

std::vector<abi::KeptColumns> TensorStep::columns(const StepShape &shape) const {
  std::vector<abi::KeptColumns> lists = {{shape.units * rowGroups * shape.cells,
                                          bytesOfColumn(shape.gates, shape.outputs, shape.layers)}};
  if (shape.hasProjection)
    lists.push_back({shape.outputs * rowGroups * shape.cells, bytesOfColumn(1, shape.units)});
  return lists;
}

int64_t TensorStep::stagedBytes(const StepShape &shape) const {
  int64_t parts = std::max(partsOf(shape.outputs), partsOf(shape.outputs, shape.sourcesOfLayer()));
  if (shape.hasProjection)
    parts = std::max(parts, partsOf(shape.units));
  return parts * 16 * lineTiles * 8 * rowTiles * 4;
}

double clocksOfTensorStep(const StepShape &shape, const TensorStep &step, const GpuModel &gpu) {
  const StepRates &rates = gpu.steps;
  const int64_t rows = divideCeilSigned(shape.rows, step.rowGroups);
  const double rowPasses = double(divideCeilSigned(rows, 8 * step.rowTiles));
  double clocks = 0;
  int64_t room = gpu.sharedBytes - step.stagedBytes(shape);
  for (auto [number, list] : llvm::enumerate(step.columns(shape))) {
    const int64_t gates = number == 0 ? shape.gates : 1,
                  length = number == 0 ? shape.outputs : shape.units;
    const int64_t own = abi::columnsOfBlock(list.count, step.blocks);
    const int64_t resident = abi::residentColumns(own, list.bytes, room);
    room -= resident * list.bytes;
    // Columns of two groups of rows or of two recurrences are never in one pass.
    const int64_t together = step.rowGroups * shape.cells;
    const bool isCut = together > 1 && list.count / together % own != 0;
    const double passes =
        rowPasses * double(divideCeilSigned(own, 16 * step.lineTiles / gates) + (isCut ? 1 : 0));
    const double tiles = double(step.lineTiles * step.rowTiles * chunksOf(length)),
                 lines = double(16 * step.lineTiles * chunksOf(length) * kStepChunk * 2),
                 states = double(std::min(rows, 8 * step.rowTiles) * length * 2),
                 sums = double(2 * partsOf(length) * 16 * step.lineTiles * 8 * step.rowTiles * 4);
    const double ofSource =
        std::max(tiles * kTileProducts / rates.tensorProducts, lines / rates.shared) +
        states / rates.states;
    clocks +=
        passes * (ofSource * double(shape.sources()) + sums / rates.shared * double(shape.layers));
    clocks += double((own - resident) * list.bytes) / rates.bytes * rowPasses;
    clocks += rates.meeting + rates.arrival * double(step.blocks);
  }
  return clocks * rates.tensorSteps;
}

TensorStep chooseTensorStep(const StepShape &shape, const GpuModel &gpu) {
  TensorStep best;
  if (shape.elementBytes != 2)
    return best;
  double least = std::numeric_limits<double>::infinity();
  const int64_t mostRows = shape.mostRows.value_or(std::numeric_limits<int32_t>::max());
  auto consider = [&](TensorStep step) {
    if (step.blocks > gpu.multiprocessors || step.stagedBytes(shape) > kMostStagedBytes)
      return;
    if (double clocks = clocksOfTensorStep(shape, step, gpu); clocks < least) {
      best = step;
      least = clocks;
    }
  };
  for (int64_t groups = 1; groups <= kMostRowGroups; groups *= 2) {
    if (groups > 1 && (groups - 1) * 8 >= shape.rows)
      break;
    int64_t rowTiles = 1;
    while (rowTiles < kMostRowTiles && rowTiles * 8 * groups < mostRows)
      rowTiles *= 2;
    const int64_t columns = shape.units * groups * shape.cells,
                  fewest = divideCeilSigned(columns, gpu.multiprocessors);
    for (int64_t lineTiles = 1; lineTiles <= kMostLineTiles; ++lineTiles) {
      const int64_t ofPass = 16 * lineTiles / shape.gates;
      for (int64_t own : {fewest, ofPass, divideCeilSigned(fewest, ofPass) * ofPass})
        consider({divideCeilSigned(columns, own), groups, lineTiles, rowTiles});
    }
  }
  return best;
}

double clocksOfUnitStep(const StepShape &shape, const GpuModel &gpu) {
  double clocks = std::numeric_limits<double>::infinity();
  if (UnitShare share = chooseUnitShare(shape, gpu); share.units > 0)
    clocks = clocksOfSharedStep(shape, share, gpu);
  if (TensorStep step = chooseTensorStep(shape, gpu); step.blocks > 0)
    clocks = std::min(clocks, clocksOfTensorStep(shape, step, gpu));
  return clocks;
}

} // namespace dlc::codegen
