//===- AttentionWgmmaChoice.h - Which tile an attention gets on Hopper --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONWGMMACHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONWGMMACHOICE_H

#include "codegen/cuda/schedule/attention/AttentionChoice.h"

namespace dlc::codegen {

/// A block's tile of attention_wgmma (dlc_attention90.cuh): rows and threads are fixed.
struct WgmmaAttentionTile {
  static constexpr int64_t rows = 128, threads = 384;
  int64_t keys, stages; ///< of a span; of the rings of keys and of values

  /// Columns of values that are multiplied: a head that has fewer leaves the last ones unused.
  static int64_t columns(const HeadShape &head);
  /// Columns that leave in a turn of the epilogue.
  static int64_t chunk(const HeadShape &head);
  /// Bytes of shared memory: queries, stages, of e4m3 also values before they are turned, totals of
  /// eight warps, and mbarriers.
  int64_t sharedBytes(const HeadShape &head, int64_t elementBytes) const;
  bool operator==(const WgmmaAttentionTile &) const = default;
};

/// The tiles whose sums, scores and weights have registers, beside the addresses of a mask, and
/// whose stages have room, from long spans to short ones; none for heads of other widths than the
/// template takes.
llvm::SmallVector<WgmmaAttentionTile, 2> wgmmaAttentionTiles(const AttentionShape &shape,
                                                             const GpuModel &gpu = kHopper);

/// Clocks that the attention is estimated to take. Its rows are those of one head.
double estimatedClocks(const WgmmaAttentionTile &tile, const AttentionShape &shape,
                       const GpuModel &gpu = kHopper);

/// The tile with the smallest estimate of those that there are.
WgmmaAttentionTile chooseWgmmaAttentionTile(const AttentionShape &shape,
                                            const GpuModel &gpu = kHopper);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONWGMMACHOICE_H
