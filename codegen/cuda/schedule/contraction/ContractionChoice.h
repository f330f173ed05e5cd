//===- ContractionChoice.h - Which tile a matrix product gets -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An estimate, not a search: nothing is compiled or run. A kernel's text serves every GPU, so the
// estimate is for the one whose rates were measured (ir/machine).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONCHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONCHOICE_H

#include "ir/machine/GpuModel.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dlc::codegen {

/// batch products of m x k by k x n, of elements of `elementBytes`. Tiles hold whole groups of
/// `window` rows: a pool's.
struct ProductShape {
  int64_t m, n, k, batch, elementBytes, window = 1;
  /// The operand's elements are copied one by one, or computed.
  bool areRowsApart = false, areColumnsApart = false;
  int64_t finishing =
      0;             ///< operations that make a result of a total, by the weights of CostModel.h
  int64_t reads = 0; ///< numbers that it takes of other tensors of the size of the result
  /// Elements are e4m3: mma multiplies them as f16, and wgmma adds each slab by itself.
  bool isFloat8 = false;
};

/// A side of a product counts so much at most where its time is estimated.
inline constexpr int64_t kLongestSide = int64_t(1) << 22;

/// The units that multiply: tensor cores, the units of floats, or tensor cores of columns of which
/// two of each four neighbours along k are stored (dl.expand_two_of_four).
enum class ProductUnit { tensorCores, floats, sparseTensorCores };

/// Bytes of such columns, with the places of what is stored, over those of whole ones in 16 bits.
inline constexpr double kStoredOfSparse = 9.0 / 16;

/// A block's tile, its warps (those along k share the steps of a slab) and its ring of stages.
struct ProductTile {
  int64_t m, n, k, warpsM, warpsN, warpsK, stages;
  ProductUnit unit = ProductUnit::tensorCores;
  int64_t parts = 1; // blocks that share a tile's steps of k
  int64_t early = 0; // the operand, 1 of the rows and 2 of the columns, that is weights; 0: neither

  int64_t threads() const { return 32 * warpsM * warpsN * warpsK; }
  /// Rows of whole windows.
  int64_t usedRows(int64_t window) const { return m / window * window; }
  /// Floats of one block's totals, as blocks exchange them: those of its groups of warps are not
  /// added before.
  int64_t partFloats() const { return m * n * warpsK; }
  /// Bytes of shared memory: the stages, or the totals that take their room at the end.
  int64_t sharedBytes(int64_t elementBytes) const;
  bool operator==(const ProductTile &) const = default;
};

/// The operand of wgmma that threads gather from an image; TMA brings the others.
enum class Gathered { none, rows, columns };

/// A block's tile on Hopper's wgmma: rows and threads are fixed, a slab has 128 bytes of k.
struct WgmmaTile {
  static constexpr int64_t m = 128, threads = 384;
  static constexpr int64_t mostOfFloat8 = 128; // columns of a tile of e4m3
  int64_t n, stages, chunk; // columns; of the ring; columns that leave in a turn of the epilogue
  int64_t parts =
      1; // blocks, a cluster, that share a tile's steps of k; all columns leave in one turn then
  Gathered gathered = Gathered::none;
  int64_t taps = 1; // of the window that is gathered: memory gives what L2 gives so many times
  /// The operand, 1 of the rows and 2 of the columns, that is weights: its first slabs are brought
  /// before the kernels before this one have ended. 0: neither.
  int64_t early = 0;
  /// The two warpgroups that multiply take tiles in turn: the totals of one leave while the other
  /// one multiplies.
  bool pingpong = false;

  /// The same tile for operands that come as those of `other` do.
  WgmmaTile fedAs(const WgmmaTile &other) const {
    WgmmaTile fed = *this;
    fed.gathered = other.gathered;
    fed.taps = other.taps;
    fed.early = other.early;
    return fed;
  }

  /// Bytes of shared memory: stages, totals of eight warps, and mbarriers, with pingpong two more.
  /// `addsColumns`: also the sums of columns of two tiles in each of two warpgroups.
  int64_t sharedBytes(bool addsColumns = false) const {
    int64_t sums = addsColumns ? 2 * 8 + 4 * std::max<int64_t>(n, 128) * 4 : 0;
    return stages * (m + n) * 128 + 8 * 16 * (chunk + 8) * 4 + (2 * stages + 2 * pingpong) * 8 +
           sums;
  }
};

/// A block's tile where wgmma multiplies by columns of which two of each four neighbours along k
/// are stored: columns, threads and the steps of k of a slab are fixed.
struct SparseWgmmaTile {
  static constexpr int64_t n = 128, threads = 384, depth = 128;
  int64_t m, stages;  // rows; of the ring
  bool early = false; // the columns are weights, as of WgmmaTile::early

  /// Bytes of shared memory: stages of rows, columns and places, totals of eight warps, mbarriers.
  int64_t sharedBytes() const {
    return stages * (m * depth * 2 + n * depth + n * depth / 8) + 8 * 32 * 20 * 4 + 2 * stages * 8;
  }
};
std::span<const SparseWgmmaTile> sparseWgmmaTiles();
/// Clocks that the product is estimated to take on an H100.
double estimatedClocks(const SparseWgmmaTile &tile, const ProductShape &shape,
                       const GpuModel &gpu = kHopper);
/// The tile with the smallest estimate.
SparseWgmmaTile chooseSparseWgmmaTile(const ProductShape &shape);

/// Clocks that the product is estimated to take with wgmma, and the tile with the smallest estimate
/// on an H100 for operands that come as those of `fed` do. `maySplit`: blocks may share a tile.
double estimatedClocks(const WgmmaTile &tile, const ProductShape &shape,
                       const GpuModel &gpu = kHopper);
WgmmaTile chooseWgmmaTile(const ProductShape &shape, const WgmmaTile &fed, bool maySplit);

/// Clocks that the product is estimated to take.
double estimatedClocks(const ProductTile &tile, const ProductShape &shape, const GpuModel &gpu);
/// The tiles of wgmma that are tried, from large to small, first those of one block each; of no
/// gathered operand.
std::span<const WgmmaTile> wgmmaTiles();
/// The tiles of tensor cores that are tried, from large to small; `k` in 16-bit elements.
std::span<const ProductTile> tensorCoreTiles();
/// The tiles of `unit` that chooseTile would choose among, as they would be for this shape.
std::vector<ProductTile> tilesFor(ProductUnit unit, const ProductShape &shape, const GpuModel &gpu,
                                  bool maySplit);
/// The tile for `unit` with the smallest estimate; of equals the one with fewer blocks. `maySplit`:
/// several blocks may share a tile, where that is estimated to save a good part of the time and all
/// of them are busy at once.
ProductTile chooseTile(ProductUnit unit, const ProductShape &shape, const GpuModel &gpu,
                       bool maySplit = false);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONCHOICE_H
