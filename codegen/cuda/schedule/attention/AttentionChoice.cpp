//===- AttentionChoice.cpp - Which tile an attention gets ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionChoice.h"

#include <algorithm>

namespace dlc::codegen {

/// Shared memory of a block, so that two share a multiprocessor, and one of them fits any GPU.
static int64_t mostShared(const GpuModel &gpu) {
  return std::min(gpu.sharedBytes, kAmpere.sharedBytes) / 2;
}
/// Beyond this width the sums take most of a lane's registers, and its scores get fewer.
static constexpr int64_t kWideHead = 128;

static int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// slab_width of dlc_attention.cuh.
static int64_t slabWidth(int64_t elements, int64_t elementBytes) {
  int64_t per = 16 / elementBytes, chunks = roundUp(elements, per) / per;
  return per * (chunks <= 2 ? 2 : chunks <= 4 ? 4 : roundUp(chunks, 8));
}

int64_t AttentionMmaTile::sharedBytes(const HeadShape &head, int64_t elementBytes) const {
  int64_t deep = slabWidth(head.depth, elementBytes), wide = roundUp(head.columns, 16);
  int64_t span = keys * warpsN;
  int64_t operands =
      (rows() * deep + span * deep + span * slabWidth(wide, elementBytes)) * elementBytes;
  int64_t totals = (rows() * (wide + 8) + 2 * warpsN * rows()) * 4;
  return std::max(operands, totals);
}

AttentionMmaTile chooseAttentionMmaTile(const HeadShape &head, int64_t elementBytes,
                                        const GpuModel &gpu) {
  AttentionMmaTile tile;
  tile.warpsM = head.rows <= 16 ? 1 : head.rows <= 32 ? 2 : 4;
  tile.warpsN = 4 / tile.warpsM;
  tile.keys = std::max(head.depth, head.columns) <= kWideHead ? 64 : 32;
  auto isTooMuch = [&] {
    return tile.sharedBytes(head, elementBytes) > mostShared(gpu) ||
           tile.keys * tile.warpsN >= 2 * head.keys;
  };
  while (tile.keys > 16 && isTooMuch())
    tile.keys /= 2;
  while (tile.warpsN > 1 && isTooMuch())
    tile.warpsN /= 2;
  while (tile.warpsM > 1 && tile.sharedBytes(head, elementBytes) > mostShared(gpu))
    tile.warpsM /= 2;
  return tile;
}

int64_t AttentionSimtTile::sharedBytes(const HeadShape &head) const {
  int64_t pitch = roundUp(head.depth, 8) + 4, wide = roundUp(head.columns, 16);
  int64_t operands = rows * pitch + keys * pitch + keys * wide + rows * (keys + 4);
  return std::max(operands, rows * (wide + 4)) * 4;
}

AttentionSimtTile chooseAttentionSimtTile(const HeadShape &head, const GpuModel &gpu) {
  auto side = [](int64_t extent) { return extent <= 16 ? 16 : extent <= 32 ? 32 : 64; };
  AttentionSimtTile tile = {side(head.rows), side(head.keys)};
  while (tile.keys > 16 && tile.sharedBytes(head) > mostShared(gpu))
    tile.keys /= 2;
  while (tile.rows > 16 && tile.sharedBytes(head) > mostShared(gpu))
    tile.rows /= 2;
  return tile;
}

} // namespace dlc::codegen
