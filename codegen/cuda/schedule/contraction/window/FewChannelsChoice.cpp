//===- FewChannelsChoice.cpp - Which rows a block of a first layer gets -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/window/FewChannelsChoice.h"

#include "ir/machine/InstructionCounts.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using llvm::alignTo;
using llvm::divideCeilSigned;

namespace dlc::codegen {

/// Neighbours along k that a row of the window is.
static int64_t groupOf(const FewChannelsShape &shape) {
  return shape.tapsWide + shape.padLeft % 2 <= 4 ? 4 : 8;
}

/// Elements of a line of the image in shared memory.
static int64_t pitchOf(const FewChannelsShape &shape) {
  int64_t lead = 8, first = lead - shape.padLeft - shape.padLeft % 2,
          end = first + (shape.outWide - 1) * shape.strideWide + groupOf(shape);
  return int64_t(alignTo(std::max(end, lead + shape.wide), 8));
}

static int64_t linesOf(const FewChannelsTile &tile, const FewChannelsShape &shape) {
  return shape.channels * shape.tapsDeep * ((tile.rows - 1) * shape.strideHigh + shape.tapsHigh);
}

int64_t FewChannelsTile::spans(const FewChannelsShape &shape) const {
  return divideCeilSigned(shape.outHigh, rows * turns);
}

int64_t FewChannelsTile::depth(const FewChannelsShape &shape) {
  return int64_t(alignTo(shape.channels * shape.tapsDeep * shape.tapsHigh * groupOf(shape), 16));
}

int64_t FewChannelsTile::sharedBytes(const FewChannelsShape &shape) const {
  int64_t copies = shape.strideWide % 2 == 0 ? 1 : 2;
  return (filters * (depth(shape) + 8) + copies * linesOf(*this, shape) * pitchOf(shape)) * 2 +
         threads / 32 * (shape.isAcross ? filters * (32 + 4) : 16 * (filters + 8)) * 4;
}

double estimatedClocks(const FewChannelsTile &tile, const FewChannelsShape &shape,
                       const GpuModel &gpu) {
  int64_t blocks = shape.images * tile.spans(shape) * divideCeilSigned(shape.filters, tile.filters);
  int64_t fit =
      std::min(gpu.sharedBytes / tile.sharedBytes(shape), gpu.threads / FewChannelsTile::threads);
  int64_t together = std::clamp<int64_t>(divideCeilSigned(blocks, gpu.multiprocessors), 1, fit);
  // A turn of a block has pairs of tiles of 16 places, shared out to four warps.
  int64_t depth = FewChannelsTile::depth(shape), steps = depth / 16,
          pairs = divideCeilSigned(tile.rows * shape.outWide, 32);
  double rounds = double(divideCeilSigned(pairs, 4));
  double products = double(pairs * 32 * depth * tile.filters) / gpu.mma.products;
  // A read of one word a lane takes a clock, four matrices of the filters take four.
  double reads = double(pairs * steps) * (8 + double(tile.filters) / 4);
  double lines = double(linesOf(tile, shape));
  double copies = std::max(lines * double(shape.wide) * 2 / gpu.mma.bytes,
                           lines * double(shape.wide) / 8 * kInstructions.fewChannelsCopy / 128);
  double totals =
      double(tile.rows * shape.outWide * tile.filters) *
      (gpu.mma.total + double(shape.finishing) / (2 * gpu.peakFloats * gpu.schedules.arithmetic));
  double filters = double(tile.filters * depth) / 8 * kInstructions.fewChannelsFilter / 128;
  // One block waits for its lines in each turn, and for the products of a pair in each round.
  double waits = double(tile.turns) * gpu.clocksOfLatency * 2 + gpu.clocksOfLatency * 2;
  double alone = waits + double(tile.turns * steps) * rounds * 40;
  double shared = filters + double(tile.turns) * (std::max(products, reads) + copies + totals);
  double clocks = double(divideCeilSigned(blocks, gpu.multiprocessors * together)) *
                  std::max(alone + shared, waits + shared * double(together));
  double bytes = double(shape.images) * 2 *
                 double(shape.channels * shape.outHigh * shape.strideHigh * shape.wide +
                        shape.filters * shape.outHigh * shape.outWide);
  return std::max(clocks, bytes / gpu.bytesOnce);
}

std::vector<FewChannelsTile> fewChannelsTiles(const FewChannelsShape &shape) {
  int64_t filters = shape.filters <= 16 ? 16 : shape.filters <= 32 ? 32 : 64;
  // A video's filters may take more room than there is for so many.
  while (filters > 16 &&
         FewChannelsTile{1, 1, filters}.sharedBytes(shape) > FewChannelsTile::mostShared)
    filters /= 2;
  std::vector<FewChannelsTile> tiles;
  for (int64_t rows : {1, 2, 4, 8})
    for (int64_t turns : {1, 2, 4, 8}) {
      FewChannelsTile tile = {rows, turns, filters};
      bool isTooLarge = tile.sharedBytes(shape) > FewChannelsTile::mostShared ||
                        (rows * turns > 1 && rows * turns >= 2 * shape.outHigh);
      if (!isTooLarge)
        tiles.push_back(tile);
    }
  return tiles;
}

FewChannelsTile chooseFewChannelsTile(const FewChannelsShape &shape, const GpuModel &gpu) {
  FewChannelsTile best = {};
  double least = 0;
  for (const FewChannelsTile &tile : fewChannelsTiles(shape)) {
    double clocks = estimatedClocks(tile, shape, gpu);
    if (best.rows > 0 && clocks >= least)
      continue;
    best = tile;
    least = clocks;
  }
  return best;
}

} // namespace dlc::codegen
