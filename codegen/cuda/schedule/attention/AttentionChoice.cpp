//===- AttentionChoice.cpp - Which tile an attention gets ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionChoice.h"

#include "ir/machine/EstimateMargins.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using llvm::divideCeilSigned;

namespace dlc::codegen {

/// Shared memory of a block, so that two share a multiprocessor, and one of them fits any GPU.
static int64_t mostShared(const GpuModel &gpu) {
  return std::min(gpu.sharedBytes, kAmpere.sharedBytes) / 2;
}
/// Beyond this width the sums take most of a lane's registers, and its scores get fewer.
static constexpr int64_t kWideHead = 128;
/// Up to this width a lane has registers for the sums of 32 rows.
static constexpr int64_t kNarrowHead = 64;
/// Blocks that share the keys of a tile at most: the last of them reads what all have found.
static constexpr int64_t kMostParts = 64;

static int64_t roundUp(int64_t value, int64_t to) { return divideCeilSigned(value, to) * to; }

/// slab_width of dlc_attention.cuh.
static int64_t slabWidth(int64_t elements, int64_t elementBytes) {
  int64_t per = 16 / elementBytes, chunks = divideCeilSigned(elements, per);
  return per * (chunks <= 2 ? 2 : chunks <= 4 ? 4 : roundUp(chunks, 8));
}

int64_t AttentionTile::sharedBytes(const HeadShape &head, int64_t elementBytes) const {
  int64_t wide = roundUp(head.columns, 16);
  if (unit == ProductUnit::floats) {
    int64_t pitch = roundUp(head.depth, 8) + 4;
    int64_t operands = rows * pitch + keys * pitch + keys * wide + rows * (keys + 4);
    return std::max(operands, rows * (wide + 4 + 2)) * 4;
  }
  int64_t deep = slabWidth(head.depth, elementBytes);
  int64_t operands =
      (rows * deep + span() * deep + span() * slabWidth(wide, elementBytes)) * elementBytes;
  // Sums, peak and weight of each row, and before that a peak and a weight from each warp.
  int64_t totals = rows * (wide + 8 + 2 + 2 * warpsN) * 4;
  return std::max(operands, totals);
}

int64_t AttentionTile::partFloats(const HeadShape &head) const {
  return rows * (roundUp(head.columns, 16) + 2);
}

static AttentionTile chooseMmaTile(const HeadShape &head, int64_t elementBytes,
                                   const GpuModel &gpu) {
  AttentionTile tile;
  tile.rows = head.rows <= 16 ? 16 : head.rows <= 32 ? 32 : 64;
  tile.warpsN = 4 / tile.warpsM();
  tile.keys = std::max(head.depth, head.columns) <= kWideHead ? 64 : 32;
  auto isTooMuch = [&] {
    return tile.sharedBytes(head, elementBytes) > mostShared(gpu) || tile.span() >= 2 * head.keys;
  };
  while (tile.keys > 16 && isTooMuch())
    tile.keys /= 2;
  while (tile.warpsN > 1 && isTooMuch())
    tile.warpsN /= 2;
  while (tile.rows > 16 && tile.sharedBytes(head, elementBytes) > mostShared(gpu))
    tile.rows /= 2;
  return tile;
}

static AttentionTile chooseFloatTile(const HeadShape &head, const GpuModel &gpu) {
  auto side = [](int64_t extent) { return extent <= 16 ? 16 : extent <= 32 ? 32 : 64; };
  AttentionTile tile = {side(head.rows), side(head.keys), 1, 1, ProductUnit::floats};
  while (tile.keys > 16 && tile.sharedBytes(head, 4) > mostShared(gpu))
    tile.keys /= 2;
  while (tile.rows > 16 && tile.sharedBytes(head, 4) > mostShared(gpu))
    tile.rows /= 2;
  return tile;
}

llvm::SmallVector<AttentionTile, 2> attentionTiles(ProductUnit unit, const HeadShape &head,
                                                   int64_t elementBytes, const GpuModel &gpu) {
  if (unit == ProductUnit::floats)
    return {chooseFloatTile(head, gpu)};
  AttentionTile tile = chooseMmaTile(head, elementBytes, gpu);
  AttentionTile wide = tile;
  wide.rows *= 2;
  wide.tilesM = 2;
  bool mayBeWide = elementBytes == 2 && std::max(head.depth, head.columns) <= kNarrowHead &&
                   head.rows > tile.rows && tile.warpsM() == 4 && tile.keys == 64 &&
                   wide.sharedBytes(head, elementBytes) <= mostShared(gpu);
  if (!mayBeWide)
    return {tile};
  return {tile, wide};
}

static const RingRates &ratesOf(const AttentionTile &tile, const GpuModel &gpu) {
  return tile.unit == ProductUnit::floats ? gpu.floats : gpu.mma;
}

/// Clocks in which a block writes what it found, the blocks of a tile meet, and the last one reads
/// the parts of all.
static double clocksOfSharing(const AttentionTile &tile, const AttentionShape &shape,
                              const GpuModel &gpu) {
  if (tile.parts == 1)
    return 0;
  const RingRates &rates = ratesOf(tile, gpu);
  auto rows = double(std::min(tile.rows, shape.head.rows));
  double part = rows * double(shape.head.columns + 2) * 4 / rates.exchange;
  return part + rates.meeting + double(tile.parts) * std::max(part, rates.leastPart);
}

double estimatedClocks(const AttentionTile &tile, const AttentionShape &shape,
                       const GpuModel &gpu) {
  const ScheduleRates &rates = gpu.schedules;
  const HeadShape &head = shape.head;
  int64_t tiles = divideCeilSigned(head.rows, tile.rows);
  double seen = double(head.keys) * (shape.causal ? 0.5 + 0.5 / double(tiles) : 1);
  double products = tile.unit == ProductUnit::floats
                        ? rates.attentionFloats
                        : rates.attentionProducts * 2 / double(shape.elementBytes) *
                              std::min(1.0, double(tile.threads()) / rates.attentionThreads) *
                              (tile.tilesM > 1 ? rates.attentionShared : 1);
  // A span takes its products, all of it where its keys end before. Alone on a multiprocessor, a
  // block also waits for keys, then for values.
  double span = double(tile.rows * tile.span()) * double(head.depth + head.columns) / products;
  double casts = shape.computed
                     ? double(tile.span() * (head.depth + head.columns)) / rates.gatheredElements
                     : 0;
  const RingRates &ring = ratesOf(tile, gpu);
  double spans = std::ceil(std::ceil(seen / double(tile.span())) / double(tile.parts));
  double ends = rates.attentionEnds + clocksOfSharing(tile, shape, gpu);
  double alone = ends + spans * std::max(span + casts, 2 * ring.latency);
  double together = double(gpu.multiprocessors) * rates.attentionBlocks;
  double busy = (ends + spans * (span + casts * rates.attentionBlocks)) *
                double(tile.count(shape) * tile.parts) / together;
  // Keys and values pass from memory once. The nearer that comes to its rate, the longer each
  // waits.
  double bytes = double(shape.batch) * seen * double(head.depth + head.columns) *
                 double(shape.elementBytes) / gpu.bytesOnce;
  return std::hypot(std::max(alone, busy), ends + bytes);
}

/// The same tile with as many blocks sharing its keys as are estimated to be fastest.
static AttentionTile shareKeys(AttentionTile tile, const AttentionShape &shape,
                               const GpuModel &gpu) {
  tile.parts = 1;
  AttentionTile best = tile;
  double least = estimatedClocks(tile, shape, gpu) * kMargins.change;
  int64_t most = std::min(kMostParts, divideCeilSigned(shape.head.keys, tile.span()));
  for (tile.parts = 2; tile.parts <= most; ++tile.parts) {
    double clocks = estimatedClocks(tile, shape, gpu);
    if (clocks < least) {
      best = tile;
      least = clocks;
    }
  }
  return best;
}

AttentionTile chooseAttentionTile(ProductUnit unit, const AttentionShape &shape,
                                  const GpuModel &gpu, bool maySplit, const GpuModel &smallest) {
  llvm::SmallVector<AttentionTile, 2> tiles =
      attentionTiles(unit, shape.head, shape.elementBytes, smallest);
  if (shape.masked) // warps of 32 rows have no registers left
    tiles.truncate(1);
  for (AttentionTile &tile : tiles)
    if (maySplit)
      tile = shareKeys(tile, shape, gpu);
  return *std::min_element(tiles.begin(), tiles.end(),
                           [&](const AttentionTile &a, const AttentionTile &b) {
                             return estimatedClocks(a, shape, gpu) < estimatedClocks(b, shape, gpu);
                           });
}

} // namespace dlc::codegen
