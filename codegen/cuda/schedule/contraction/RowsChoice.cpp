//===- RowsChoice.cpp - How few rows times a matrix share a GPU ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/RowsChoice.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using llvm::divideCeilSigned;

namespace dlc::codegen {

/// Vectors that a thread has on their way, at least; and steps, of which one is being multiplied.
static constexpr int64_t kVectors = 8, kLeastStages = 3;
static constexpr int64_t kMostParts = 16;
/// Bytes of a line of the cache, of which the lanes of a warp that lie side by side read one; and
/// of its smallest piece.
static constexpr int64_t kLineBytes = 128, kSectorBytes = 32;

/// The largest power of two that is not above `value`, at least 1.
static int64_t powerBelow(int64_t value) {
  return value < 2 ? 1 : int64_t(llvm::bit_floor(uint64_t(value)));
}

/// Lanes share k, and a warp has some columns, each of which is read as a row of its own. Several
/// columns share what is read of the few rows, which costs more the more of these there are.
static RowsTile tileAlongK(const RowsShape &shape, const GpuModel &gpu) {
  RowsTile tile;
  tile.deep = std::min(shape.width, kVectors);
  int64_t steps = divideCeilSigned(shape.depth, 32 * tile.deep), // of one warp
      enough = gpu.rows.busyWarps * gpu.multiprocessors;
  auto warpsOf = [&] { return divideCeilSigned(shape.columns, tile.columns) * shape.batch; };
  for (tile.columns = shape.rows > 2 ? 4 : 2;; tile.columns /= 2) {
    tile.stages = std::clamp<int64_t>(steps, 1, std::max(kLeastStages, kVectors / tile.columns));
    int64_t sharing = std::min(RowsTile::warps, powerBelow(steps / tile.stages));
    if (tile.columns == 1 || warpsOf() * sharing >= enough)
      break;
  }
  while (tile.warpsK < RowsTile::warps && warpsOf() * tile.warpsK < enough &&
         steps >= 2 * tile.warpsK * tile.stages)
    tile.warpsK *= 2;
  return tile;
}

/// Some lanes read a line of the matrix's row, and all others of the block other steps of k.
static RowsTile tileAcross(const RowsShape &shape, const GpuModel &gpu, bool maySplit) {
  RowsTile tile;
  tile.columns = std::min(shape.width, kVectors);
  tile.deep = std::min<int64_t>(4, 16 / shape.elementBytes);
  tile.stages = kLeastStages;
  int64_t bytes = tile.columns * shape.elementBytes;
  tile.lanesN = std::min<int64_t>(32, kLineBytes / bytes);
  auto blocks = [&] { return divideCeilSigned(shape.columns, tile.blockColumns()) * shape.batch; };
  tile.warpsK = RowsTile::warps;
  while (tile.lanesN > 1 && tile.lanesN * tile.columns / 2 >= shape.columns)
    tile.lanesN /= 2;
  // Blocks that cannot share k take narrower pieces of more of it.
  while (!maySplit && blocks() < gpu.multiprocessors && tile.lanesN * bytes > kSectorBytes)
    tile.lanesN /= 2;
  while (tile.warpsK > 1 && tile.step() > shape.depth && tile.blockColumns() < shape.columns)
    tile.warpsK /= 2;
  return tile;
}

RowsTile chooseRowsTile(const RowsShape &shape, const GpuModel &gpu, bool maySplit) {
  RowsTile tile = shape.alongK ? tileAlongK(shape, gpu) : tileAcross(shape, gpu, maySplit);
  int64_t blocks = divideCeilSigned(shape.columns, tile.blockColumns()) * shape.batch;
  if (!maySplit || blocks == 0)
    return tile;
  int64_t bytes = tile.blockColumns() * shape.depth * shape.elementBytes;
  tile.parts = std::max<int64_t>(
      1,
      std::min({kMostParts, (gpu.rows.blocksTogether * gpu.multiprocessors + blocks / 2) / blocks,
                bytes / gpu.bytesOfMeeting, shape.depth / (tile.step() * tile.stages)}));
  return tile;
}

double estimatedClocks(const RowsShape &shape, const GpuModel &gpu) {
  int64_t numbers = shape.depth * (shape.rows + shape.columns) + shape.rows * shape.columns;
  return double(numbers * shape.batch * shape.elementBytes) / gpu.bytesOnce +
         2 * gpu.clocksOfLatency;
}

} // namespace dlc::codegen
