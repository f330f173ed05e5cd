//===- dlc_contract_sparse.cuh - products with 2:4 weights ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of rows with a matrix of which two of each four neighbours along k are stored, on
// sparse tensor cores: they multiply twice as many steps of k in the time of others, and memory
// moves 9/16 of the matrix's bytes. Only their first operand may be sparse. So that is the matrix,
// and the totals are turned on their way through shared memory.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_contract.cuh"

namespace dlc {

/// The places of a slab's stored elements as dl.expand_two_of_four has them, 16 bits for 16 steps
/// of k: those of COLUMNS columns one after the other.
template <int COLUMNS, int DEPTH> struct places_slab {
  static_assert(DEPTH % 64 == 0, "copies have eight bytes");
  static constexpr int kWords = DEPTH / 16, kElements = COLUMNS * kWords;

  /// Brings columns from `first` on and steps of k from `k0` on. Beyond the matrix other places of
  /// it stand: the elements there are 0, and pairs of places are in order everywhere.
  template <int THREADS, class Index>
  static DLC_DEV void fill(u16 *stage, const u8 *places, Index first, Index columns, Index k0,
                           Index depth) {
    constexpr int kPerColumn = DEPTH / 64, kPieces = COLUMNS * kPerColumn;
#pragma unroll
    for (int round = 0; round < (kPieces + THREADS - 1) / THREADS; ++round) {
      int piece = round * THREADS + (int)threadIdx.x;
      if (kPieces % THREADS != 0 && piece >= kPieces)
        break;
      Index column = min(first + piece / kPerColumn, columns - 1),
            k = min(k0 + piece % kPerColumn * 64, depth - 64);
      cp_async<8>(stage + piece * 4, places + column * (depth / 8) + k / 8, true);
    }
  }
  /// The places for mma_tile_sparse, of 16 columns from `column` on and step `kk` of 32.
  static DLC_DEV u32 load(const u16 *stage, int column, int kk) {
    int lane = (int)threadIdx.x & 31;
    const u16 *at = stage + (column + (lane >> 2)) * kWords + kk * 2 + (lane & 1);
    return at[0] | (u32)at[8 * kWords] << 16;
  }
};

/// contract_mma_share for a matrix of `columns` by `depth`, a multiple of 64, whose `values` and
/// `places` are those of dl.expand_two_of_four, row by row. Config: as there, where the operand A
/// is the rows, which lie along k in shared memory; `tile_m` is a multiple of 8 for each of its
/// warps, `tile_n` of 16, and `tile_k` of 64. `early`: 2 where values and places are weights, which
/// come before the grids before this one have ended, else 0.
template <class Config, class Share, class FA, class FE>
DLC_DEV void contract_sparse_share(const Share &share, typename Config::index rows,
                                   typename Config::index columns, typename Config::index depth,
                                   const typename Config::type *a,
                                   const typename Config::type *values, const u8 *places,
                                   const FA &element_a, const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  constexpr int kTileM = Config::tile_m, kTileN = Config::tile_n, kTileK = Config::tile_k,
                kWarpsN = Config::warps_n, kStages = Config::stages, kVector = Config::vector;
  constexpr int kWarpM = kTileM / Config::warps_m, kWarpN = kTileN / kWarpsN,
                kGroup = Config::warps_m * kWarpsN, kGroups = Config::warps_k,
                kThreads = 32 * kGroup * kGroups, kSteps = kTileK / 32;
  static_assert(kWarpM % 8 == 0 && kWarpN % 16 == 0 && kSteps % kGroups == 0,
                "warps have whole tiles of mma, and the same share of a slab");
  constexpr int kPitch = kTileN + 4; // the totals of a store lie in different banks
  constexpr int kRowsTiles = kWarpM / 8, kColumnsTiles = kWarpN / 16;
  using SlabA = mma_slab<T, kTileM, kTileK, true>;
  using SlabB = mma_slab<T, kTileN, kTileK / 2, true>;
  using Places = places_slab<kTileN, kTileK>;

  DLC_DYN_SMEM(smem);
  if constexpr (Config::early == 0)
    begin_grid();
  T *stages_a = reinterpret_cast<T *>(smem), *stages_b = stages_a + kStages * SlabA::kElements;
  u16 *stages_places = reinterpret_cast<u16 *>(stages_b + kStages * SlabB::kElements);
  int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;
  int group = warp / kGroup, warp_m = warp % kGroup / kWarpsN * kWarpM,
      warp_n = warp % kWarpsN * kWarpN;
  const block_tile at = tile_of_block<Config, Share>();
  Index m0 = (Index)at.row * kTileM, n0 = (Index)at.column * kTileN;
  Index begin, steps = share_steps<Share>((depth + kTileK - 1) / kTileK, begin);
  slab_feed<SlabA, Config, Config::width_a, kThreads, Config::across_a != 0, 0> feed_a;
  feed_a.start(element_a, m0, rows);
  if constexpr (Share::kParts > 1)
    feed_a.begin_at(begin * kTileK);
  auto element_b = [&](Index column, Index stored) { return column * (depth / 2) + stored; };
  auto fill_a = [&](int stage) {
    feed_a.fill(stages_a + stage * SlabA::kElements, a, element_a, m0, rows, depth);
  };
  auto fill_b = [&](int stage, Index step) {
    Index k0 = (begin + step) * kTileK;
    SlabB::template fill<8, kThreads>(stages_b + stage * SlabB::kElements, values, element_b, n0,
                                      columns, k0 / 2, depth / 2);
    Places::template fill<kThreads>(stages_places + stage * Places::kElements, places, n0, columns,
                                    k0, depth);
  };
  if constexpr (Config::early != 0) {
#pragma unroll 1
    for (int stage = 0; stage < kStages - 1 && stage < steps; ++stage)
      fill_b(stage, stage);
    begin_grid();
  }
  auto fill = [&](int stage, Index step) { // for one step after the other
    fill_a(stage);
    if (Config::early == 0 || step >= kStages - 1)
      fill_b(stage, step);
  };

  float acc[kColumnsTiles][kRowsTiles][4] = {};
  through_ring<kStages>(steps, fill, [&](int stage) {
    const T *stage_a = stages_a + stage * SlabA::kElements;
    const T *stage_b = stages_b + stage * SlabB::kElements;
    const u16 *stage_places = stages_places + stage * Places::kElements;
#pragma unroll
    for (int turn = 0; turn < kSteps / kGroups; ++turn) {
      int kk = turn * kGroups + group;
      u32 stored[kColumnsTiles][4], words[kColumnsTiles], whole[kRowsTiles][4];
#pragma unroll
      for (int i = 0; i < kColumnsTiles; ++i) {
        SlabB::load_a(stored[i], stage_b, warp_n + i * 16, kk);
        words[i] = Places::load(stage_places, warp_n + i * 16, kk);
      }
#pragma unroll
      for (int j = 0; j < kRowsTiles; ++j)
        ldmatrix_x4(whole[j],
                    stage_a + SlabA::place(warp_m + j * 8 + (lane & 7), kk * 4 + (lane >> 3)));
      mma_tile_sparse<T, kColumnsTiles, kRowsTiles>(acc, stored, words, whole);
    }
  });

  if constexpr (Share::kParts > 1)
    if (!share.template sum<kThreads, kColumnsTiles * kRowsTiles * 4>(
            [&](int i) -> float & { return acc[i / 4 / kRowsTiles][i / 4 % kRowsTiles][i % 4]; }))
      return;

  // The stages' room for the totals, row by row.
  float *totals = reinterpret_cast<float *>(smem);
#pragma unroll 1
  for (int turn = 0; turn < kGroups; ++turn) { // always in this order
    if (group == turn)
#pragma unroll
      for (int i = 0; i < kColumnsTiles; ++i)
#pragma unroll
        for (int j = 0; j < kRowsTiles; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            float *at = totals + (warp_m + j * 8 + (lane & 3) * 2 + (e & 1)) * kPitch + warp_n +
                        i * 16 + (e >> 1) * 8 + (lane >> 2);
            *at = turn > 0 ? *at + acc[i][j][e] : acc[i][j][e];
          }
    barrier();
  }
#pragma unroll 1
  for (int i = thread; i < kTileM * kTileN / kVector; i += kThreads) {
    int row = i / (kTileN / kVector), column = i % (kTileN / kVector) * kVector;
    if (m0 + row < rows && n0 + column < columns)
      finish(m0 + row, n0 + column, load_totals<kVector>(totals + row * kPitch + column));
  }
}

/// contract_sparse_share where a block sums all of k.
template <class Config, class P, class FA, class FE>
DLC_DEV void contract_sparse(typename Config::index rows, typename Config::index columns,
                             typename Config::index depth, const typename Config::type *a,
                             const typename Config::type *values, const P *places,
                             const FA &element_a, const FE &finish) {
  contract_sparse_share<Config>(whole_depth{}, rows, columns, depth, a, values,
                                reinterpret_cast<const u8 *>(places), element_a, finish);
}

/// The same with the config's `parts` blocks for each tile (split_depth).
template <class Config, class P, class FA, class FE>
DLC_DEV void contract_sparse_split(typename Config::index rows, typename Config::index columns,
                                   typename Config::index depth, const typename Config::type *a,
                                   const typename Config::type *values, const P *places,
                                   float *exchange, const FA &element_a, const FE &finish) {
  contract_sparse_share<Config>(split_depth<Config::parts>{exchange}, rows, columns, depth, a,
                                values, reinterpret_cast<const u8 *>(places), element_a, finish);
}

} // namespace dlc
