//===- dlc_simt.cuh - matrix products in IEEE float -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What contract_mma (dlc_contract.cuh) is to tensor cores: the same slabs and the same epilogue, multiplied by the ordinary
// units of floats, which round each step as the contract of f32 wants. A lane has rows and columns in quads. Where a slab
// lies along k, four reads of 16 bytes bring four steps of k of four rows; where it lies across, four rows of four steps: so
// neither kind is transposed, and 4 x 4 x 4 products come from eight reads, or fewer the more quads a lane has.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_slab.cuh"
#include "dlc_split.cuh"

namespace dlc {

/// Four rows and four steps of k of one operand, in a lane's registers. LANES of a warp share the rows.
template <class Slab, int LANES, bool ALONG_K> struct quad {
  vec<float, 4> lines[4];

  /// Row `e` of the quad, counted from the quad's first.
  static DLC_DEV constexpr int row(int lane, int e) {
    return ALONG_K ? e * LANES + lane : lane * 4 + e;
  }
  DLC_DEV void load_from(const float *stage, int first, int lane, int chunk) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      lines[i] = load<4>(stage + (ALONG_K ? Slab::place(first + row(lane, i), chunk)
                                          : Slab::place(chunk * 4 + i, first / 4 + lane)));
  }
  DLC_DEV float at(int e, int step) const { return ALONG_K ? lines[e][step] : lines[step][e]; }
};

/// total(m, n) = sum over k of a(m, k) b(n, k), added in the order of k within each of warps_k shares, and these in their
/// order; then `finish(m, n, totals of `vector` columns)` for all m < rows and n < columns. Config as of contract_mma, its
/// type float; a warp's tile is a multiple of 32 x 16, and has 32 rows where windows would straddle these. WINDOW as of
/// contract_mma.
template <class Config, int WINDOW, class Share, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_simt_share(const Share &share, typename Config::index rows,
                                 typename Config::index columns, typename Config::index depth,
                                 const float *a, const float *b, const FA &element_a,
                                 const FB &element_b, const FE &finish, const FP &...place) {
  using Index = typename Config::index;
  constexpr bool kAlongA = Config::along_k_a != 0, kAlongB = Config::along_k_b != 0;
  constexpr int kTileM = Config::tile_m, kTileN = Config::tile_n, kTileK = Config::tile_k,
                kWarpsM = Config::warps_m, kWarpsN = Config::warps_n, kVector = Config::vector;
  constexpr int kWarpM = kTileM / kWarpsM, kWarpN = kTileN / kWarpsN, kQuadsM = kWarpM / 32,
                kQuadsN = kWarpN / 16, kGroup = kWarpsM * kWarpsN, kGroups = Config::warps_k,
                kThreads = 32 * kGroup * kGroups, kChunks = kTileK / 4;
  static_assert(kWarpM % 32 == 0 && kWarpN % 16 == 0, "a lane's rows and columns come in quads");
  static_assert(kChunks % kGroups == 0, "each group of warps multiplies as many steps of a slab");
  static_assert(32 % WINDOW == 0 || kQuadsM == 1, "a window's totals leave together");
  constexpr int kPitch = kTileN + 4;
  using SlabA = slab<float, kTileM, kTileK, kAlongA, kAlongA>;
  using SlabB = slab<float, kTileN, kTileK, kAlongB, kAlongB>;
  using QuadA = quad<SlabA, 8, kAlongA>;
  using QuadB = quad<SlabB, 4, kAlongB>;

  DLC_DYN_SMEM(smem);
  float *stages_a = reinterpret_cast<float *>(smem),
        *stages_b = stages_a + Config::stages * SlabA::kElements;
  int thread = (int)threadIdx.x, warp = thread >> 5, lane_m = (thread & 31) >> 2,
      lane_n = thread & 3;
  int group = warp / kGroup, warp_m = warp % kGroup / kWarpsN, warp_n = warp % kWarpsN;
  const block_tile at = tile_of_block<Config, Share>();
  Index m0 = (Index)at.row * (kTileM / WINDOW * WINDOW), n0 = (Index)at.column * kTileN;
  slab_feed<SlabA, Config, Config::width_a, kThreads, false, Config::taps_a> feed_a;
  slab_feed<SlabB, Config, Config::width_b, kThreads, false, Config::taps_b> feed_b;
  feed_a.start(element_a, m0, rows, place...);
  feed_b.start(element_b, n0, columns, place...);
  Index begin, steps = share_steps<Share>((depth + kTileK - 1) / kTileK, begin);
  if constexpr (Share::kParts > 1) {
    feed_a.begin_at(begin * kTileK);
    feed_b.begin_at(begin * kTileK);
  }
  auto fill = [&](int stage, Index) { // for one step after the other
    feed_a.fill(stages_a + stage * SlabA::kElements, a, element_a, m0, rows, depth, place...);
    feed_b.fill(stages_b + stage * SlabB::kElements, b, element_b, n0, columns, depth, place...);
  };

  float acc[kQuadsM * 4][kQuadsN * 4] = {};
  through_ring<Config::stages>(steps, fill, [&](int stage) {
    const float *stage_a = stages_a + stage * SlabA::kElements;
    const float *stage_b = stages_b + stage * SlabB::kElements;
#pragma unroll
    for (int turn = 0; turn < kChunks / kGroups; ++turn) {
      int chunk = turn * kGroups + group;
      QuadB fb[kQuadsN];
#pragma unroll
      for (int j = 0; j < kQuadsN; ++j)
        fb[j].load_from(stage_b, warp_n * kWarpN + j * 16, lane_n, chunk);
#pragma unroll
      for (int i = 0; i < kQuadsM; ++i) {
        QuadA fa;
        fa.load_from(stage_a, warp_m * kWarpM + i * 32, lane_m, chunk);
#pragma unroll
        for (int step = 0; step < 4; ++step)
#pragma unroll
          for (int e = 0; e < 4; ++e)
#pragma unroll
            for (int j = 0; j < kQuadsN * 4; ++j)
              acc[i * 4 + e][j] = fma(fa.at(e, step), fb[j / 4].at(j % 4, step), acc[i * 4 + e][j]);
      }
    }
  });

  if constexpr (Share::kParts > 1)
    if (!share.template sum<kThreads, kQuadsM * kQuadsN * 16>(
            [&](int i) -> float & { return acc[i / (kQuadsN * 4)][i % (kQuadsN * 4)]; }))
      return;

  // The stages' room for the totals, a quad of rows of each warp at a time.
  float *totals = reinterpret_cast<float *>(smem);
#pragma unroll 1
  for (int part = 0; part < kQuadsM; ++part) {
#pragma unroll 1
    for (int turn = 0; turn < kGroups; ++turn) { // always in this order
#pragma unroll
      for (int i = 0; i < kQuadsM; ++i) // registers have no addresses
        if (group == turn && part == i)
#pragma unroll
          for (int e = 0; e < 4; ++e)
#pragma unroll
            for (int j = 0; j < kQuadsN * 4; ++j) {
              float *at = totals + (warp_m * 32 + QuadA::row(lane_m, e)) * kPitch +
                          warp_n * kWarpN + j / 4 * 16 + QuadB::row(lane_n, j % 4);
              *at = turn > 0 ? *at + acc[i * 4 + e][j] : acc[i * 4 + e][j];
            }
      barrier();
    }
#pragma unroll 1
    for (int i = thread; i < kWarpsM * 32 / WINDOW * (kTileN / kVector); i += kThreads) {
      int line = i / (kTileN / kVector) * WINDOW, column = i % (kTileN / kVector) * kVector;
      int row = line / 32 * kWarpM + part * 32 + line % 32;
      auto total = load_window<WINDOW, kVector>(totals + line * kPitch + column, kPitch);
      if (m0 + row < rows && n0 + column < columns)
        finish((m0 + row) / WINDOW, n0 + column, total);
    }
    barrier(); // before the next part takes the room
  }
}

/// contract_simt_share where a block sums all of k.
template <class Config, int WINDOW = 1, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_simt(typename Config::index rows, typename Config::index columns,
                           typename Config::index depth, const float *a, const float *b,
                           const FA &element_a, const FB &element_b, const FE &finish,
                           const FP &...place) {
  contract_simt_share<Config, WINDOW>(whole_depth{}, rows, columns, depth, a, b, element_a,
                                      element_b, finish, place...);
}

/// contract_simt with the config's `parts` blocks for each tile (split_depth): the grid's x has them side by side.
template <class Config, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_simt_split(typename Config::index rows, typename Config::index columns,
                                 typename Config::index depth, const float *a, const float *b,
                                 float *exchange, const FA &element_a, const FB &element_b,
                                 const FE &finish, const FP &...place) {
  contract_simt_share<Config, 1>(split_depth<Config::parts>{exchange}, rows, columns, depth, a, b,
                                 element_a, element_b, finish, place...);
}

/// contract_simt for windows of as many rows as the config's `window`.
template <class Config, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_simt_pooled(typename Config::index rows, typename Config::index columns,
                                  typename Config::index depth, const float *a, const float *b,
                                  const FA &element_a, const FB &element_b, const FE &finish,
                                  const FP &...place) {
  contract_simt<Config, Config::window>(rows, columns, depth, a, b, element_a, element_b, finish,
                                        place...);
}

/// contract_simt_pooled with several blocks for each tile, as of contract_simt_split.
template <class Config, class FA, class FB, class FE, class... FP>
DLC_DEV void contract_simt_pooled_split(typename Config::index rows, typename Config::index columns,
                                        typename Config::index depth, const float *a,
                                        const float *b, float *exchange, const FA &element_a,
                                        const FB &element_b, const FE &finish, const FP &...place) {
  contract_simt_share<Config, Config::window>(split_depth<Config::parts>{exchange}, rows, columns,
                                              depth, a, b, element_a, element_b, finish, place...);
}

} // namespace dlc
