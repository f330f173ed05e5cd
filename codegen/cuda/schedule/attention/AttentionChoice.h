//===- AttentionChoice.h - Which tile an attention gets -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From extents alone: nothing is compiled or run.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONCHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONCHOICE_H

#include "codegen/cuda/schedule/contraction/ContractionChoice.h"

#include "llvm/ADT/SmallVector.h"

namespace dlc::codegen {

/// The extents of one head: rows of queries that share keys, keys, width of query and key, of
/// value.
struct HeadShape {
  int64_t rows, keys, depth, columns;
};

/// `batch` heads, of elements of `elementBytes`. Causal: a row sees the keys up to some last one.
/// Masked: a score is computed with what is read for it, whose addresses take registers.
struct AttentionShape {
  HeadShape head;
  int64_t batch, elementBytes;
  bool causal, masked = false;
  bool computed = false; ///< keys and values are cast from fewer bits, element by element

  /// Whether tensor cores multiply e4m3.
  bool isFloat8() const { return elementBytes == 1; }
};

/// A block has `rows` queries, 16 or 32 for each row of warps, and each of its steps takes `keys`
/// keys for each of the warpsN that share them. On the units of floats a block is 16 x 16 threads.
struct AttentionTile {
  int64_t rows, keys, warpsN = 1;
  int64_t tilesM =
      1; ///< 16 rows of a warp each: two of them share what it reads of keys and values
  ProductUnit unit = ProductUnit::tensorCores;
  int64_t parts = 1; ///< blocks that share the keys of a tile

  int64_t warpsM() const { return rows / (16 * tilesM); }
  int64_t threads() const { return unit == ProductUnit::floats ? 256 : 32 * warpsM() * warpsN; }
  /// Keys that the block takes at once.
  int64_t span() const { return keys * warpsN; }
  /// Tiles of the attention.
  int64_t count(const AttentionShape &shape) const {
    return (shape.head.rows + rows - 1) / rows * shape.batch;
  }
  /// Bytes of shared memory: query, a span of keys and of values, or the rows that take their room
  /// at the end.
  int64_t sharedBytes(const HeadShape &head, int64_t elementBytes) const;
  /// Floats of what a block tells the others that share its tile (attention_rows::merge).
  int64_t partFloats(const HeadShape &head) const;
  bool operator==(const AttentionTile &) const = default;
};

/// The tiles that suit an attention on `unit`, without regard to how many blocks there are: one or
/// two. On tensor cores: four warps where the rows and the keys have work for them; few rows share
/// the keys, and many keys a step make few steps. Where rows are many and heads narrow, warps of 32
/// rows are the second one. On the units of floats: 64 rows with up to 64 keys, fewer where there
/// are no more. Two blocks fit a multiprocessor of `gpu`.
llvm::SmallVector<AttentionTile, 2> attentionTiles(ProductUnit unit, const HeadShape &head,
                                                   int64_t elementBytes,
                                                   const GpuModel &gpu = kAmpere);

/// The tile that is estimated to be the fastest on `gpu`. `maySplit`: as many blocks share its keys
/// as are estimated to be fastest, one unless several save a good part of the time.
AttentionTile chooseAttentionTile(ProductUnit unit, const AttentionShape &shape,
                                  const GpuModel &gpu, bool maySplit = true,
                                  const GpuModel &smallest = kAmpere);

/// Clocks that all blocks of the attention are estimated to take.
double estimatedClocks(const AttentionTile &tile, const AttentionShape &shape, const GpuModel &gpu);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONCHOICE_H
