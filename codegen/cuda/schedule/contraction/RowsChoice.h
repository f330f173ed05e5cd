//===- RowsChoice.h - How few rows times a matrix share a GPU -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Such a product takes as long as its matrix takes to arrive, if enough of it is on its way at any
// time. An H100 needs about 1.0 MB for that (2.9 TB/s over 347 ns without load, and several times
// as much under load), 7.6 KB for each multiprocessor. Here each thread has eight vectors of up to
// 16 bytes or more on their way, and each multiprocessor gets 12 warps or more: 48 KB.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_ROWSCHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_ROWSCHOICE_H

#include "codegen/cuda/schedule/contraction/ContractionChoice.h"

#include <algorithm>

namespace dlc::codegen {

/// batch products of rows x depth by depth x columns. The matrix lies along k or along the columns,
/// with at most `width` elements together at addresses that are multiples of that.
struct RowsShape {
  int64_t rows, columns, depth, batch, elementBytes;
  bool alongK;
  int64_t width;
};

/// A block of eight warps: those along n have columns of their own, those along k share k.
struct RowsTile {
  static constexpr int64_t warps = 8;
  int64_t columns = 1; // of a thread: of different vectors along k, else of one vector
  int64_t deep = 1;    // steps of k of a thread: of one vector along k, else of different ones
  int64_t stages = 1;  // steps of a thread that are on their way at once
  int64_t lanesN = 1;  // lanes of a warp side by side along n; the others share k
  int64_t warpsK = 1;
  int64_t parts = 1; // blocks that share k
  /// The matrix is weights: it may be asked for before the kernels before this one have ended.
  bool early = false;

  int64_t warpsN() const { return warps / warpsK; }
  static constexpr int64_t threads() { return 32 * warps; }
  /// Columns of a block.
  int64_t blockColumns() const { return warpsN() * lanesN * columns; }
  /// Steps of k of a block before any thread goes on to its next.
  int64_t step() const { return warpsK * (32 / lanesN) * deep; }
  /// Totals of a block of so many rows.
  int64_t totals(int64_t rows) const { return rows * blockColumns(); }
  /// Bytes of shared memory: the rings, or the sums of warps that take their room at the end.
  int64_t sharedBytes(int64_t rows, int64_t elementBytes, int64_t sumBytes) const {
    return std::max(threads() * stages * columns * deep * elementBytes,
                    warpsK * totals(rows) * sumBytes);
  }
};

/// A pure function of the shape and of the GPU's multiprocessors. `maySplit`: several blocks may
/// share k.
RowsTile chooseRowsTile(const RowsShape &shape, const GpuModel &gpu, bool maySplit);
/// Clocks that such a product is estimated to take, whatever its tile: all bytes once, and the way
/// of the first and of the last.
double estimatedClocks(const RowsShape &shape, const GpuModel &gpu);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_ROWSCHOICE_H
