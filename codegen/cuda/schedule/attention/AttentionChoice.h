//===- AttentionChoice.h - Which tile an attention gets --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From extents alone: nothing is compiled or run.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_SCHEDULE_CUDA_ATTENTIONCHOICE_H
#define DLC_CODEGEN_SCHEDULE_CUDA_ATTENTIONCHOICE_H

#include "ir/machine/GpuModel.h"

#include <cstdint>

namespace dlc::codegen {

/// Largest extents of one head: rows of the query that share keys, keys, width of query and key, of value.
struct HeadShape {
  int64_t rows, keys, depth, columns;
};

/// Rows up to which tiles are lower than the highest ones, in turn.
inline constexpr int64_t kFewAttentionRows[] = {16, 32};

/// Warps of 16 rows side by side (warpsM), and of those that share a row's keys (warpsN); keys that a warp takes at once.
struct AttentionMmaTile {
  int64_t warpsM, warpsN, keys;

  int64_t rows() const { return 16 * warpsM; }
  int64_t threads() const { return 32 * warpsM * warpsN; }
  /// Bytes of shared memory: query, a span of keys and of values, or the totals that take their room at the end.
  int64_t sharedBytes(const HeadShape &head, int64_t elementBytes) const;
};

/// Rows and keys of a block of 16 x 16 threads.
struct AttentionSimtTile {
  int64_t rows, keys;

  int64_t sharedBytes(const HeadShape &head) const;
};

/// Four warps where the rows and the keys have work for them: few rows share the keys, many keys a step make few steps.
/// Two blocks fit a multiprocessor of 164 KiB.
AttentionMmaTile chooseAttentionMmaTile(const HeadShape &head, int64_t elementBytes,
                                        const GpuModel &gpu = kAmpere);
/// 64 rows with up to 64 keys, fewer where there are no more or two blocks would not fit.
AttentionSimtTile chooseAttentionSimtTile(const HeadShape &head, const GpuModel &gpu = kAmpere);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_SCHEDULE_CUDA_ATTENTIONCHOICE_H
