//===- dlc_split.cuh - several blocks for one tile of a product -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of few tiles and a long sum leaves most of a GPU idle. So several blocks share a tile,
// each of which sums a part of k; their totals meet in memory. Whichever block comes last adds all
// parts in their order, so that the bits do not depend on who that is, and goes on alone. Nobody
// waits: this is an ordinary launch.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_device.cuh"

namespace dlc {

/// One block sums all of k.
struct whole_depth {
  static constexpr int kParts = 1;
  static DLC_DEV u32 block() { return blockIdx.x; }
  static DLC_DEV void begin() { begin_grid(); }
};

/// PARTS blocks for each tile, neighbours along the grid's x. `exchange`: kExchangeWords counters,
/// zero before and after each launch, of which each tile has one (the last is grid_barrier's); then
/// the parts.
template <int PARTS> struct split_depth {
  static constexpr int kParts = PARTS;
  static constexpr int kExchangeWords = 1024; // kExchangeCounterBytes of KernelAbi.h
  float *exchange;

  static DLC_DEV u32 block() { return blockIdx.x; }
  static DLC_DEV void begin() { begin_grid(); }
  static DLC_DEV i64 tile() {
    return ((i64)blockIdx.z * gridDim.y + blockIdx.y) * (gridDim.x / PARTS) + blockIdx.x / PARTS;
  }
  /// The first part of this block's tile, of COUNT floats each.
  template <int COUNT> DLC_DEV float *parts() const {
    return exchange + kExchangeWords + tile() * PARTS * COUNT;
  }

  /// True in the one block of a tile that comes last: all parts are there to be read.
  DLC_DEV bool is_last() const {
    DLC_SHARED(u32, last, [1]);
    barrier(); // the part is complete
    if (threadIdx.x == 0) {
      u32 *arrived = reinterpret_cast<u32 *>(exchange) + tile();
      fence(); // it is seen before its arrival
      last[0] = atomic_add(arrived, 1u) == PARTS - 1;
      if (last[0]) {
        fence(); // arrivals are seen before their parts
        atomic_exchange(arrived, 0u);
      }
    }
    barrier(); // all know who goes on
    return last[0];
  }

  /// True in the one block of a tile that comes last, with the sum of all blocks' totals in this
  /// thread's: at(0) to at(COUNT - 1) are its registers.
  template <int THREADS, int COUNT, class At> DLC_DEV bool sum(const At &at) const {
    static_assert(COUNT % 4 == 0, "totals travel in fours");
    constexpr int kPart = THREADS * COUNT;
    // The same thread of each block has the same totals of the tile: which they are does not
    // matter.
    float *first = parts<kPart>() + (int)threadIdx.x * 4, *own = first + blockIdx.x % PARTS * kPart;
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
      vec<float, 4> four = {{at(i), at(i + 1), at(i + 2), at(i + 3)}};
      store(own + i * THREADS, four);
    }
    if (!is_last())
      return false;
#pragma unroll 1
    for (int part = 0; part < PARTS; ++part)
#pragma unroll
      for (int i = 0; i < COUNT; i += 4) {
        vec<float, 4> four = load<4>(first + part * kPart + i * THREADS);
#pragma unroll
        for (int e = 0; e < 4; ++e)
          at(i + e) = part == 0 ? four[e] : at(i + e) + four[e];
      }
    return true;
  }
};

/// The steps of k, of `steps` in all, that this block takes, from `begin` on: as many as the
/// others, or one more.
template <class Share, class Index> DLC_DEV Index share_steps(Index steps, Index &begin) {
  begin = 0;
  if constexpr (Share::kParts > 1) {
    i64 part = blockIdx.x % Share::kParts;
    begin = (Index)(steps * part / Share::kParts);
    steps = (Index)(steps * (part + 1) / Share::kParts) - begin;
  }
  return steps;
}

/// The tile of a block of a product, counted in tiles along rows and columns.
struct block_tile {
  u32 row, column;
};

/// The grid's x counts the tiles along the rows, with the blocks that share each, and its y those
/// along the columns. Where these may be more than y can count, Config::row_tiles says how many
/// there are along the rows, and x counts all tiles.
template <class Config, class Share> DLC_DEV block_tile tile_of_block() {
  constexpr u32 kRowTiles = (u32)Config::row_tiles;
  if constexpr (kRowTiles > 0) {
    static_assert(Share::kParts == 1, "few tiles are shared, and y counts them");
    return {blockIdx.x % kRowTiles, blockIdx.x / kRowTiles};
  } else {
    return {blockIdx.x / (u32)Share::kParts, blockIdx.y};
  }
}

} // namespace dlc
