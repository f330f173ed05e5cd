//===- dlc_contract.cuh - matrix products on tensor cores -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One template for GEMM, batched GEMM and implicit-GEMM convolution: what an operand is and what
// becomes of the totals are functions of the caller's. A block computes a tile of m x n out of
// slabs (dlc_slab.cuh). The totals pass through shared memory once more, so that the epilogue is
// called from one place, on vectors.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_mma.cuh"
#include "dlc_slab.cuh"
#include "dlc_split.cuh"
#include "dlc_totals.cuh"

namespace dlc {

/// A slab that feeds mma. OUTSIDE as of slab.
template <class T, int ROWS, int DEPTH, bool ALONG_K, int OUTSIDE = 0>
struct mma_slab : slab<T, ROWS, DEPTH, ALONG_K, true, OUTSIDE> {
  static_assert(ALONG_K || sizeof(T) == 2, "ldmatrix transposes elements of 16 bits");
  using slab<T, ROWS, DEPTH, ALONG_K, true, OUTSIDE>::place;

  /// Floats become tf32 as late as possible: the copies moved them as they are.
  static DLC_DEV void round(u32 (&r)[4]) {
    if constexpr (sizeof(T) == 4)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        r[i] = tf32_bits(r[i]);
  }

  /// The operands of mma for 16 rows from `row` on and step `kk` of 32 bytes, as A ...
  static DLC_DEV void load_a(u32 (&r)[4], const T *stage, int row, int kk) {
    int lane = (int)threadIdx.x & 31;
    if constexpr (ALONG_K)
      ldmatrix_x4(r, stage + place(row + (lane & 15), kk * 2 + (lane >> 4)));
    else
      ldmatrix_x4_trans(
          r, stage + place(kk * 16 + (lane >> 4) * 8 + (lane & 7), row / 8 + (lane >> 3 & 1)));
    round(r);
  }
  /// ... and as B, for two tiles of eight columns.
  static DLC_DEV void load_b(u32 (&r)[4], const T *stage, int row, int kk) {
    int lane = (int)threadIdx.x & 31;
    if constexpr (ALONG_K)
      ldmatrix_x4(r, stage + place(row + (lane >> 4) * 8 + (lane & 7), kk * 2 + (lane >> 3 & 1)));
    else
      ldmatrix_x4_trans(r, stage + place(kk * 16 + (lane & 15), row / 8 + (lane >> 4)));
    round(r);
  }
};

/// The sums of a warp in MI x NJ tiles of mma: floats.
template <class Config, int MI, int NJ, int KIND = number_kind<Config>()> struct mma_sums {
  using Total = float;
  enum { kZeroA = 0, kZeroB = 0 }; // no variable, of which PTX would tell

  DLC_DEV void add(float (&acc)[MI][NJ][4], const u32 (&a)[MI][4],
                   const u32 (&b)[(NJ + 1) / 2][4]) {
    if constexpr (KIND == kFloat8)
      mma_tile_float8<MI, NJ>(acc, a, b);
    else
      mma_tile<typename Config::type, MI, NJ>(acc, a, b);
  }
  DLC_DEV void take_off_zeros(float (&)[MI][NJ][4]) {}
};

/// Bytes in i32. One operand may have a zero point, which is what its elements mean 0 by: the
/// sum of (a - zero_a) * b is that of a * b less zero_a times the sum of b, and the bytes of b are
/// in the lanes' registers anyway. The other operand is 0 beyond the end of k.
template <class Config, int MI, int NJ> struct mma_sums<Config, MI, NJ, kBytes> {
  using Total = i32;
  static constexpr int kZeroA = Config::zero_a, kZeroB = Config::zero_b;
  static constexpr bool kSignedA = Config::signed_a != 0, kSignedB = Config::signed_b != 0;
  static_assert(kZeroA == 0 || kZeroB == 0, "one operand alone has a zero point");

  i32 of_rows[kZeroB != 0 ? MI : 1][2] = {}, of_columns[kZeroA != 0 ? NJ : 1] = {};

  DLC_DEV void add(i32 (&acc)[MI][NJ][4], const u32 (&a)[MI][4], const u32 (&b)[NJ / 2][4]) {
    mma_tile_bytes<kSignedA, kSignedB, MI, NJ>(acc, a, b);
    if constexpr (kZeroB != 0)
#pragma unroll
      for (int i = 0; i < MI; ++i)
#pragma unroll
        for (int r = 0; r < 4; ++r) // of rows lane / 4 and 8 more, in turn
          of_rows[i][r & 1] = add_bytes<kSignedA>(a[i][r], of_rows[i][r & 1]);
    if constexpr (kZeroA != 0)
#pragma unroll
      for (int j = 0; j < NJ; ++j)
#pragma unroll
        for (int r = 0; r < 2; ++r) // of column lane / 4
          of_columns[j] = add_bytes<kSignedB>(b[j >> 1][(j & 1) * 2 + r], of_columns[j]);
  }
  DLC_DEV void take_off_zeros(i32 (&acc)[MI][NJ][4]) {
    auto of_four = [](i32 sum) { // the lanes of a row, or of a column, share its steps of k
      sum = add_wrap(sum, shfl_xor(sum, 1));
      return add_wrap(sum, shfl_xor(sum, 2));
    };
    if constexpr (kZeroB != 0)
#pragma unroll
      for (int i = 0; i < MI; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          i32 less = mul_wrap(of_four(of_rows[i][half]), kZeroB);
#pragma unroll
          for (int j = 0; j < NJ; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e)
              acc[i][j][half * 2 + e] = sub_wrap(acc[i][j][half * 2 + e], less);
        }
    if constexpr (kZeroA != 0)
#pragma unroll
      for (int j = 0; j < NJ; ++j) {
        i32 sum = of_four(of_columns[j]);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          // A lane has columns 2 (lane % 4) and the next one, whose sums other lanes have.
          i32 less = mul_wrap(shfl(sum, (((int)threadIdx.x & 3) * 2 + e) * 4), kZeroA);
#pragma unroll
          for (int i = 0; i < MI; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half)
              acc[i][j][half * 2 + e] = sub_wrap(acc[i][j][half * 2 + e], less);
        }
      }
  }
};

/// total(m, n) = sum over k of a(m, k) b(n, k); then `finish(m, n, totals of `vector` columns)` for
/// all m < rows and n < columns. Config: type (f16, bf16, float rounded to tf32, or i8, which are
/// e4m3 with `float8` and else have signed_X and zero_X of each operand: see mma_sums), index (int
/// or i64), the tile of a block (tile_m, tile_n, tile_k elements), its warps (warps_m x warps_n,
/// and warps_k of each that share a slab's steps of k), stages, the loops that k counts (slab_k),
/// and for each operand X its width and whether it is across (see slab), whether it lies along k in
/// shared memory, and the taps of its window (slab_feed; for that operand `place` follows).
/// `early`: the operand, 1 for A and 2 for B, that is weights, whose first slabs are asked for
/// before the grids before this one have ended; 0: neither; and row_tiles (tile_of_block). With
/// WINDOW the rows are those of windows one after the other, a tile has as many whole ones as it
/// holds, and `finish` takes the number of a window and the totals of its rows. Share: whole_depth,
/// or split_depth (dlc_split.cuh).
template <class Config, int WINDOW, class Share, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_mma_share(const Share &share, typename Config::index rows,
                                typename Config::index columns, typename Config::index depth,
                                const typename Config::type *a, const typename Config::type *b,
                                const FA &element_a, const FB &element_b, const FE &finish,
                                const FP &...place) {
  using T = typename Config::type;
  using Index = typename Config::index;
  constexpr int kTileM = Config::tile_m, kTileN = Config::tile_n, kTileK = Config::tile_k,
                kWarpsN = Config::warps_n, kStages = Config::stages, kVector = Config::vector;
  constexpr int kWarpM = kTileM / Config::warps_m, kWarpN = kTileN / kWarpsN,
                kGroup = Config::warps_m * kWarpsN, kGroups = Config::warps_k,
                kThreads = 32 * kGroup * kGroups, kSteps = kTileK * (int)sizeof(T) / 32;
  static_assert(kSteps % kGroups == 0, "each group of warps multiplies as many steps of a slab");
  constexpr int kPitch = kTileN + 8; // neighbouring rows of totals in different banks
  constexpr int kWindows = kTileM / WINDOW;
  using Sums = mma_sums<Config, kWarpM / 16, kWarpN / 8>;
  using Total = typename Sums::Total;
  using SlabA = mma_slab<T, kTileM, kTileK, Config::along_k_a != 0, Sums::kZeroA>;
  using SlabB = mma_slab<T, kTileN, kTileK, Config::along_k_b != 0, Sums::kZeroB>;
  constexpr int kEarly = Config::early;
  static_assert(kEarly == 0 || (kEarly == 1 ? Config::width_a : Config::width_b) * sizeof(T) >= 4,
                "what is copied can come early");

  DLC_DYN_SMEM(smem);
  if constexpr (kEarly == 0)
    begin_grid();
  T *stages_a = reinterpret_cast<T *>(smem), *stages_b = stages_a + kStages * SlabA::kElements;
  int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;
  int group = warp / kGroup, warp_m = warp % kGroup / kWarpsN * kWarpM,
      warp_n = warp % kWarpsN * kWarpN;
  const block_tile at = tile_of_block<Config, Share>();
  Index m0 = (Index)at.row * (kWindows * WINDOW), n0 = (Index)at.column * kTileN;
  Index begin, steps = share_steps<Share>((depth + kTileK - 1) / kTileK, begin);
  slab_feed<SlabA, Config, Config::width_a, kThreads, Config::across_a != 0, Config::taps_a> feed_a;
  slab_feed<SlabB, Config, Config::width_b, kThreads, Config::across_b != 0, Config::taps_b> feed_b;
  feed_a.start(element_a, m0, rows, place...);
  feed_b.start(element_b, n0, columns, place...);
  if constexpr (Share::kParts > 1) {
    feed_a.begin_at(begin * kTileK);
    feed_b.begin_at(begin * kTileK);
  }
  auto fill_a = [&](int stage) {
    feed_a.fill(stages_a + stage * SlabA::kElements, a, element_a, m0, rows, depth, place...);
  };
  auto fill_b = [&](int stage) {
    feed_b.fill(stages_b + stage * SlabB::kElements, b, element_b, n0, columns, depth, place...);
  };
  // Weights are on their way before the grids before this one have ended: as many slabs as are
  // asked for before the first is multiplied.
  if constexpr (kEarly != 0) {
#pragma unroll 1
    for (int stage = 0; stage < kStages - 1 && stage < steps; ++stage)
      if constexpr (kEarly == 1)
        fill_a(stage);
      else
        fill_b(stage);
    begin_grid();
  }
  auto fill = [&](int stage, Index step) { // for one step after the other
    if (kEarly != 1 || step >= kStages - 1)
      fill_a(stage);
    if (kEarly != 2 || step >= kStages - 1)
      fill_b(stage);
  };

  Sums sums;
  Total acc[kWarpM / 16][kWarpN / 8][4] = {};
  through_ring<kStages>(steps, fill, [&](int stage) {
    const T *stage_a = stages_a + stage * SlabA::kElements;
    const T *stage_b = stages_b + stage * SlabB::kElements;
#pragma unroll
    for (int turn = 0; turn < kSteps / kGroups; ++turn) {
      int kk = turn * kGroups + group;
      u32 fa[kWarpM / 16][4], fb[kWarpN / 16][4];
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
        SlabA::load_a(fa[i], stage_a, warp_m + i * 16, kk);
#pragma unroll
      for (int j = 0; j < kWarpN / 16; ++j)
        SlabB::load_b(fb[j], stage_b, warp_n + j * 16, kk);
      sums.add(acc, fa, fb);
    }
  });
  sums.take_off_zeros(acc);

  if constexpr (Share::kParts > 1)
    if (!share.template sum<kThreads, kWarpM / 16 * (kWarpN / 8) * 4>([&](int i) -> float & {
          return acc[i / 4 / (kWarpN / 8)][i / 4 % (kWarpN / 8)][i % 4];
        }))
      return;

  // The stages' room for the totals.
  Total *totals = reinterpret_cast<Total *>(smem);
#pragma unroll 1
  for (int turn = 0; turn < kGroups; ++turn) { // always in this order
    if (group == turn)
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
        for (int j = 0; j < kWarpN / 8; ++j)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            Total *at = totals + (warp_m + i * 16 + half * 8 + (lane >> 2)) * kPitch + warp_n +
                        j * 8 + (lane & 3) * 2;
            vec<Total, 2> pair = {{acc[i][j][half * 2], acc[i][j][half * 2 + 1]}};
            if (turn > 0) {
              vec<Total, 2> before = load<2>(at);
              pair[0] = add_totals(before[0], pair[0]);
              pair[1] = add_totals(before[1], pair[1]);
            }
            store(at, pair);
          }
    barrier();
  }
#pragma unroll 1
  for (int i = thread; i < kWindows * kTileN / kVector; i += kThreads) {
    int window = i / (kTileN / kVector), column = i % (kTileN / kVector) * kVector;
    auto total = load_window<WINDOW, kVector>(totals + window * WINDOW * kPitch + column, kPitch);
    if (m0 + window * WINDOW < rows && n0 + column < columns)
      finish(m0 / WINDOW + window, n0 + column, total);
  }
}

/// contract_mma_share where a block sums all of k.
template <class Config, int WINDOW = 1, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_mma(typename Config::index rows, typename Config::index columns,
                          typename Config::index depth, const typename Config::type *a,
                          const typename Config::type *b, const FA &element_a, const FB &element_b,
                          const FE &finish, const FP &...place) {
  contract_mma_share<Config, WINDOW>(whole_depth{}, rows, columns, depth, a, b, element_a,
                                     element_b, finish, place...);
}

/// contract_mma with the config's `parts` blocks for each tile (split_depth): the grid's x has them
/// side by side.
template <class Config, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_mma_split(typename Config::index rows, typename Config::index columns,
                                typename Config::index depth, const typename Config::type *a,
                                const typename Config::type *b, float *exchange,
                                const FA &element_a, const FB &element_b, const FE &finish,
                                const FP &...place) {
  contract_mma_share<Config, 1>(split_depth<Config::parts>{exchange}, rows, columns, depth, a, b,
                                element_a, element_b, finish, place...);
}

/// contract_mma for windows of as many rows as the config's `window`.
template <class Config, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_mma_pooled(typename Config::index rows, typename Config::index columns,
                                 typename Config::index depth, const typename Config::type *a,
                                 const typename Config::type *b, const FA &element_a,
                                 const FB &element_b, const FE &finish, const FP &...place) {
  contract_mma<Config, Config::window>(rows, columns, depth, a, b, element_a, element_b, finish,
                                       place...);
}

/// contract_mma_pooled with several blocks for each tile, as of contract_mma_split.
template <class Config, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_mma_pooled_split(typename Config::index rows, typename Config::index columns,
                                       typename Config::index depth, const typename Config::type *a,
                                       const typename Config::type *b, float *exchange,
                                       const FA &element_a, const FB &element_b, const FE &finish,
                                       const FP &...place) {
  contract_mma_share<Config, Config::window>(split_depth<Config::parts>{exchange}, rows, columns,
                                             depth, a, b, element_a, element_b, finish, place...);
}

} // namespace dlc
