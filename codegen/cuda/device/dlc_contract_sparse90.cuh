//===- dlc_contract_sparse90.cuh - products with 2:4 weights on Hopper ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// contract_sparse with wgmma. Its first operand may be sparse: so the columns of the product are
// the rows of wgmma, 64 for each of two warpgroups, and a tile's rows are its columns. One thread
// of the first warpgroup lets TMA bring slabs of 128 steps of k, and all its threads copy the
// places of what is stored. Blocks stay, as those of contract_wgmma do.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_contract90.cuh"

#ifdef DLC_HAS_WGMMA
namespace dlc {

/// Totals from one row of the product to the next in the room through which a warp's 16 columns
/// leave: the totals of a store lie in different banks.
inline constexpr int kSparsePitch = 20;

/// The totals of a warp's 16 columns and N rows, as an accumulator of wgmma has them turned, on
/// their way through `totals` of shared memory, CHUNK rows a turn: calls
/// `visit(row, column, VECTOR totals)`.
template <int N, int CHUNK, int VECTOR, class Visit>
DLC_DEV void give_turned(const float (&d)[N / 2], float *totals, int lane, const Visit &visit) {
  constexpr int kPerRow = 16 / VECTOR, kVectors = CHUNK * kPerRow, kTurns = kVectors / 32;
  static_assert(kVectors % 32 == 0 && N % CHUNK == 0, "each lane has as many vectors");
#pragma unroll 1
  for (int chunk = 0; chunk < N / CHUNK; ++chunk) {
    // Registers have no index: each chunk's own are named in a branch of its own.
#pragma unroll
    for (int c = 0; c < N / CHUNK; ++c)
      if (c == chunk)
#pragma unroll
        for (int j = 0; j < CHUNK / 8; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            totals[(j * 8 + (lane & 3) * 2 + (e & 1)) * kSparsePitch + (e >> 1) * 8 + (lane >> 2)] =
                d[(c * (CHUNK / 8) + j) * 4 + e];
    warp_barrier();
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      int i = turn * 32 + lane, row = i / kPerRow, column = i % kPerRow * VECTOR;
      visit(chunk * CHUNK + row, column, load_totals<VECTOR>(totals + row * kSparsePitch + column));
    }
    warp_barrier();
  }
}

/// total(m, n) = sum over k of x(m, k) w(n, k), where w, `columns` by `depth`, is that of
/// dl.expand_two_of_four of the matrix of `values_map` and of `places`, and `x_map`'s matrix lies
/// along k; then `finish` as of contract_wgmma_of. Config: type (f16 or bf16), index, tile_m (rows:
/// 64 or 128), stages, vector, and early: 1 where values and places are weights, whose first slabs
/// come before the grids before this one have ended, else 0. `depth` is a multiple of 128. The
/// boxes of the maps have 64 elements by 128 rows, of x by tile_m rows. 384 threads; any number of
/// blocks.
template <class Config, class P, class FE>
DLC_DEV void contract_wgmma_sparse(typename Config::index rows, typename Config::index columns,
                                   typename Config::index depth, const tensor_map *x_map,
                                   const tensor_map *values_map, const P *all_places,
                                   const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  constexpr int kTileM = Config::tile_m, kTileN = 128, kDepth = 128, kStages = Config::stages,
                kVector = Config::vector, kChunk = 32;
  using SlabX = wgmma_slab<T, kTileM, false>; // two for each slab of the values
  using SlabW = wgmma_slab<T, kTileN, false>;
  constexpr int kBytesX = 2 * SlabX::kBytes, kPlaces = kDepth / 16; // of a column: words of 16 bits
  constexpr u32 kMapped = kBytesX + SlabW::kBytes;
  const u8 *places = reinterpret_cast<const u8 *>(all_places);

  DLC_DYN_SMEM(smem);
  u8 *stages_x = smem, *stages_w = stages_x + kStages * kBytesX;
  u16 *stages_places = reinterpret_cast<u16 *>(stages_w + kStages * SlabW::kBytes);
  float *all_totals = reinterpret_cast<float *>(stages_places + kStages * kTileN * kPlaces);
  u64 *full = reinterpret_cast<u64 *>(all_totals + 8 * kChunk * kSparsePitch),
      *empty = full + kStages;
  int thread = (int)threadIdx.x, group = thread >> 7, lane = thread & 31;
  if (thread == 0) {
    prefetch_map(x_map);
    prefetch_map(values_map);
#pragma unroll 1
    for (int stage = 0; stage < kStages; ++stage) {
      mbar_init(full + stage, 1 + 4); // TMA, and each warp that copies places
      mbar_init(empty + stage, 8);    // each warp that reads them
    }
    mbar_fence_init();
  }
  barrier();
  const tile_order<Index> order = {(rows + kTileM - 1) / kTileM, (columns + kTileN - 1) / kTileN};
  const Index steps = depth / kDepth, tiles = order.count(), turn = (Index)gridDim.x,
              first_tile = (Index)blockIdx.x;
  auto bring_w = [&](int stage, Index tile_n, Index step) {
    SlabW::load(stages_w + stage * SlabW::kBytes, values_map, full + stage, (int)tile_n * kTileN,
                (int)step * (kDepth / 2), 0);
  };
  if (Config::early != 0 && thread == 0 && first_tile < tiles) {
    Index tile_m, tile_n;
    order.place(first_tile, tile_m, tile_n);
#pragma unroll 1
    for (int stage = 0; stage < kStages && stage < steps; ++stage) {
      mbar_expect_tx(full + stage, kMapped);
      bring_w(stage, tile_n, stage);
    }
  }
  begin_grid();
  int stage = 0;
  u32 phase = 0; // of `full`
  auto advance = [&] {
    phase ^= stage + 1 == kStages;
    stage = stage + 1 == kStages ? 0 : stage + 1;
  };

  if (group == 0) {
    late_arrivals<kStages> arrivals;
#pragma unroll 1
    for (Index tile = first_tile; tile < tiles; tile += turn) {
      Index tile_m, tile_n;
      order.place(tile, tile_m, tile_n);
      // A column after the last one has the places of that: its numbers are 0.
      const u8 *own = places + min(tile_n * kTileN + thread, columns - 1) * (depth / 8);
#pragma unroll 1
      for (Index step = 0; step < steps; ++step) {
        mbar_wait(empty + stage, phase ^ 1);
        if (thread == 0) {
          if (Config::early == 0 || tile != first_tile || step >= kStages) {
            mbar_expect_tx(full + stage, kMapped);
            bring_w(stage, tile_n, step);
          }
#pragma unroll
          for (int half = 0; half < 2; ++half)
            SlabX::load(stages_x + stage * kBytesX + half * SlabX::kBytes, x_map, full + stage,
                        (int)tile_m * kTileM, (int)step * kDepth + half * SlabX::kDepth, 0);
        }
        cp_async<16>(stages_places + (stage * kTileN + thread) * kPlaces, own + step * (kDepth / 8),
                     true);
        arrivals.commit(full);
        advance();
      }
    }
    arrivals.finish(full);
    return;
  }

  const int first = (group - 1) * 64, warp = (thread >> 5) - 4,
            own = first + (warp & 3) * 16; // the warp's first column
  float *totals = all_totals + warp * kChunk * kSparsePitch;
  float d[kTileM / 2];
#pragma unroll 1
  for (Index tile = first_tile; tile < tiles; tile += turn) {
    Index tile_m, tile_n;
    order.place(tile, tile_m, tile_n);
    clear_totals(d);
#pragma unroll 1
    for (Index step = 0; step < steps; ++step) {
      mbar_wait(full + stage, phase);
      const u16 *at = stages_places + (stage * kTileN + own + (lane >> 2)) * kPlaces + (lane & 1);
      u32 words[4];
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        words[kk] = at[kk * 2] | (u32)at[8 * kPlaces + kk * 2] << 16;
      const u8 *stage_w = stages_w + stage * SlabW::kBytes, *stage_x = stages_x + stage * kBytesX;
      wgmma_fence();
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        wgmma_sparse<T, kTileM>(d, SlabW::at(stage_w, first, kk), words[kk],
                                SlabX::at(stage_x + (kk >> 1) * SlabX::kBytes, 0, (kk & 1) * 2),
                                true);
      wgmma_commit();
      // The other warpgroup multiplies while this one reads the next places.
      wgmma_wait<0>();
      warp_barrier();
      if (lane == 0)
        mbar_arrive(empty + stage);
      advance();
    }
    const Index m0 = tile_m * kTileM, n0 = tile_n * kTileN + own;
    give_turned<kTileM, kChunk, kVector>(
        d, totals, lane, [&](int row, int column, const vec<float, kVector> &total) {
          // No branch, so that the reads of the next vectors need not wait for its end.
          bool inside = m0 + row < rows && n0 + column < columns;
          finish(min(m0 + row, rows - 1), min(n0 + column, columns - kVector), total, inside);
        });
  }
}

} // namespace dlc
#endif // DLC_HAS_WGMMA
