//===- AttentionWgmmaChoice.cpp - Which tile an attention gets on Hopper ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionWgmmaChoice.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using llvm::divideCeilSigned;

namespace dlc::codegen {

/// Up to this width of values a thread has registers for spans of 128 keys: 64 sums, 64 scores and
/// 32 words of weights.
static constexpr int64_t kWideHead = 128;
static constexpr int64_t kWidestHead = 256;
/// Bytes of a line of shared memory, of a step of wgmma along k, and of what TMA counts in.
static constexpr int64_t kLineBytes = 128, kStepBytes = 32, kPieceBytes = 16;
/// Stages of values of e4m3 that TMA has brought and that are not turned yet.
static constexpr int64_t kComingStages = 2;
/// Stages beyond these hold nothing that is waited for.
static constexpr int64_t kMostStages = 4;

int64_t WgmmaAttentionTile::columns(const HeadShape &head) {
  return head.columns <= 64 ? 64 : head.columns <= kWideHead ? kWideHead : kWidestHead;
}

int64_t WgmmaAttentionTile::chunk(const HeadShape &head) {
  return std::max(head.depth, columns(head)) > kWideHead ? 32 : 64;
}

int64_t WgmmaAttentionTile::sharedBytes(const HeadShape &head, int64_t elementBytes) const {
  const bool isFloat8 = elementBytes == 1;
  auto line = [&](int64_t width) -> int64_t {
    return llvm::alignTo(width * elementBytes, kLineBytes);
  };
  const int64_t width = columns(head);
  int64_t values = isFloat8 ? width * kLineBytes : keys * line(width); // of a stage
  int64_t bytes = rows * line(head.depth) + stages * (keys * line(head.depth) + values) +
                  (isFloat8 ? kComingStages * keys * line(width) : 0);
  int64_t barriers = 3 + 4 * stages + (isFloat8 ? 2 * kComingStages : 0);
  return bytes + 8 * 16 * (chunk(head) + 8) * 4 + barriers * 8;
}

llvm::SmallVector<WgmmaAttentionTile, 2> wgmmaAttentionTiles(const AttentionShape &shape,
                                                             const GpuModel &gpu) {
  const HeadShape &head = shape.head;
  llvm::SmallVector<WgmmaAttentionTile, 2> tiles;
  const int64_t widest = shape.isFloat8() ? kWideHead : kWidestHead; // hardware sums 128 of e4m3
  const int64_t step = kStepBytes / shape.elementBytes, piece = kPieceBytes / shape.elementBytes;
  bool hasWidth = head.depth % step == 0 && head.depth <= widest && head.columns % piece == 0 &&
                  head.columns <= widest;
  if (!hasWidth)
    return tiles;
  for (int64_t keys : {128, 64}) {
    WgmmaAttentionTile tile = {keys, kMostStages};
    while (tile.stages > 1 && tile.sharedBytes(head, shape.elementBytes) > gpu.sharedBytes)
      --tile.stages;
    if (tile.stages > 1 &&
        (keys == 64 || (WgmmaAttentionTile::columns(head) <= kWideHead && !shape.masked)))
      tiles.push_back(tile);
  }
  return tiles;
}

double estimatedClocks(const WgmmaAttentionTile &tile, const AttentionShape &shape,
                       const GpuModel &gpu) {
  const HeadShape &head = shape.head;
  const ScheduleRates &rates = gpu.schedules;
  // A span's products and weights pass side by side, as far as two warpgroups hide each other's.
  auto scores = double(WgmmaAttentionTile::rows * tile.keys);
  const auto columns = double(WgmmaAttentionTile::columns(head));
  double products = scores * (double(head.depth) + columns) / gpu.wgmma.products *
                    double(shape.elementBytes) / 2,
         weights = scores / rates.attentionWeights * (shape.masked ? rates.attentionMasked : 1);
  if (shape.isFloat8()) // the same instructions turn values, and add what a span gives
    weights += double(tile.keys) * columns / rates.attentionTurned +
               double(WgmmaAttentionTile::rows) * columns / gpu.peakFloats;
  double shorter = std::min(products, weights);
  double span =
      std::max(products, weights) + (1 - rates.attentionHidden) * shorter + rates.attentionSpan;
  int64_t tilesOfHead = divideCeilSigned(head.rows, WgmmaAttentionTile::rows);
  double share = shape.causal ? 0.5 + 0.5 / double(tilesOfHead) : 1;
  double spans = std::max(1.0, double(divideCeilSigned(head.keys, tile.keys)) * share);
  // Nothing hides the first scores and the last values.
  double one = gpu.wgmma.ends + gpu.wgmma.total * double(WgmmaAttentionTile::rows * head.columns) +
               spans * span + rates.attentionHidden * shorter;
  // Blocks stay. With a causal mask long tiles come first, and short ones fill the gaps.
  double turns = double(tilesOfHead * shape.batch) / double(gpu.multiprocessors);
  turns = shape.causal ? std::max(1.0, turns) : std::ceil(turns);
  double bytes = double(shape.batch) * double(head.depth + head.columns) *
                 double(shape.elementBytes) * (double(head.keys) * share + double(head.rows)) /
                 gpu.bytesOnce;
  return std::hypot(rates.attentionEnds + turns * one, bytes);
}

WgmmaAttentionTile chooseWgmmaAttentionTile(const AttentionShape &shape, const GpuModel &gpu) {
  llvm::SmallVector<WgmmaAttentionTile, 2> tiles = wgmmaAttentionTiles(shape, gpu);
  return *std::min_element(tiles.begin(), tiles.end(), [&](const auto &a, const auto &b) {
    return estimatedClocks(a, shape, gpu) < estimatedClocks(b, shape, gpu);
  });
}

} // namespace dlc::codegen
