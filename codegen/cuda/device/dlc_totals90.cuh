//===- dlc_totals90.cuh - totals of wgmma on their way out ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The totals of a product lie in the registers of wgmma in an order that suits no store. They pass
// through shared memory: a warp's own rows, or, where the blocks of a cluster share a tile, all of
// them.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_cluster.cuh"
#include "dlc_split.cuh"
#include "dlc_totals.cuh"
#include "dlc_wgmma.cuh"

#ifdef DLC_HAS_WGMMA
namespace dlc {

/// Totals from one of a warp's 16 rows to the next in the room through which its totals leave,
/// CHUNK columns a turn.
DLC_DEV constexpr int totals_pitch(int chunk) { return chunk + 8; }

/// Stores columns `chunk` * CHUNK to (chunk + 1) * CHUNK of a warp's 16 rows of totals, as an
/// accumulator of wgmma has them, to `totals`.
template <int N, int CHUNK, class Total>
DLC_DEV void store_totals(Total *totals, const Total (&d)[N / 2], int chunk, int lane) {
#pragma unroll
  for (int j = 0; j < CHUNK / 8; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int at = (chunk * (CHUNK / 8) + j) * 4 + half * 2;
      vec<Total, 2> pair = {{d[at], d[at + 1]}};
      store(totals + (half * 8 + (lane >> 2)) * totals_pitch(CHUNK) + j * 8 + (lane & 3) * 2, pair);
    }
}

/// The totals of a warp's 16 rows of each of PARTS times 64 rows, and N columns, as accumulators of
/// wgmma have them, on their way through `totals` of shared memory: calls `visit(row, column,
/// VECTOR totals)` for several vectors in a row, so that what it reads is on its way for all of
/// them at once.
template <int N, int CHUNK, int VECTOR, int PARTS, class Total, class Visit>
DLC_DEV void give_totals(const Total (&d)[PARTS][N / 2], Total *totals, int lane,
                         const Visit &visit) {
  constexpr int kPitch = totals_pitch(CHUNK), kTurns = 16 * CHUNK / VECTOR / 32,
                kUnroll = kTurns < 4 ? kTurns : 4, kChunks = N / CHUNK;
  static_assert(16 * CHUNK / VECTOR % 32 == 0, "each lane has as many vectors");
#pragma unroll 1
  for (int chunk = 0; chunk < PARTS * kChunks; ++chunk) {
    // Registers have no index: each chunk's own are named in a branch of its own.
#pragma unroll
    for (int c = 0; c < PARTS * kChunks; ++c)
      if (c == chunk)
        store_totals<N, CHUNK>(totals, d[c / kChunks], c % kChunks, lane);
    warp_barrier();
#pragma unroll kUnroll
    for (int turn = 0; turn < kTurns; ++turn) {
      int i = turn * 32 + lane;
      int row = i / (CHUNK / VECTOR), column = i % (CHUNK / VECTOR) * VECTOR;
      visit(chunk / kChunks * 64 + row, chunk % kChunks * CHUNK + column,
            load_totals<VECTOR>(totals + row * kPitch + column));
    }
    warp_barrier();
  }
}

/// A tile's steps of k are shared by the blocks of a cluster: PARTS neighbours along the grid's x.
template <int PARTS> struct cluster_depth {
  static constexpr int kParts = PARTS;
};

/// Adds the totals of a tile's 128 rows and N columns that each block of the cluster has at
/// `totals`, always in the order of the blocks, and calls `visit(row, column, VECTOR sums)` for the
/// rows of this block: every PARTS-th, so that all blocks have some where the product ends within
/// the tile. By 256 threads of each block, of which this one is `thread`.
template <int PARTS, int N, int VECTOR, class Total, class Visit>
DLC_DEV void sum_totals(const Total *totals, int thread, const Visit &visit) {
  constexpr int kVectors = N / VECTOR, kPitch = totals_pitch(N);
  const int rank = (int)cluster_rank();
#pragma unroll 1
  for (int i = thread; i < (128 + PARTS - 1) / PARTS * kVectors; i += 256) {
    int row = i / kVectors * PARTS + rank, column = i % kVectors * VECTOR;
    if (128 % PARTS != 0 && row >= 128)
      return;
    // All on their way at once.
    vec<Total, VECTOR> theirs[PARTS];
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
      theirs[part] = load_totals<VECTOR>(map_shared(totals, part) + row * kPitch + column);
#pragma unroll
    for (int part = 1; part < PARTS; ++part)
#pragma unroll
      for (int e = 0; e < VECTOR; ++e)
        theirs[0][e] = add_totals(theirs[0][e], theirs[part][e]);
    visit(row, column, theirs[0]);
  }
}

} // namespace dlc
#endif // DLC_HAS_WGMMA
