//===- dlc_simt.cuh - matrix products in IEEE float -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What contract_mma (dlc_contract.cuh) is to tensor cores: the same slabs and the same epilogue,
// multiplied by the ordinary units of floats, which round each step as the contract of f32 wants. A
// lane has rows and columns in quads. Where a slab lies along k, four reads of 16 bytes bring four
// steps of k of four rows; where it lies across, four rows of four steps: so neither kind is
// transposed, and 4 x 4 x 4 products come from eight reads, or fewer the more quads a lane has.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_slab.cuh"
#include "dlc_split.cuh"

namespace dlc {

/// ROWS rows (four, or two) and four steps of k of one operand, in a lane's registers. LANES of a
/// warp share the rows.
template <class Slab, int LANES, bool ALONG_K, int ROWS = 4> struct quad {
  vec<float, ALONG_K ? 4 : ROWS> lines[ALONG_K ? ROWS : 4];

  /// Row `e` of the quad, counted from the quad's first.
  static DLC_DEV constexpr int row(int lane, int e) {
    return ALONG_K ? e * LANES + lane : lane * ROWS + e;
  }
  /// All of a lane's reads have this in common: where chunk `group` of its first row from `first`
  /// on lies.
  struct origin {
    int lane, group, first, place;
  };
  static DLC_DEV origin origin_of(int first, int lane, int group) {
    return {lane, group, first, Slab::place(first + row(lane, 0), group)};
  }
  /// Reads the chunk that lies `chunks` after the origin's (a multiple of the groups), `rows` after
  /// its rows.
  DLC_DEV void load_from(const float *stage, const origin &own, int rows, int chunks) {
    if constexpr (ALONG_K) {
      // Rows and chunks differ by constants: these permute by an exclusive or, and the rest stays
      // with the address.
      constexpr int kMask = (Slab::kChunks < 8 ? Slab::kChunks : 8) - 1;
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        int other = (swizzled<Slab::kChunks>(i * LANES, 0) ^ chunks) & kMask;
        const float *at = stage + (own.place ^ other * 4);
        lines[i] = load<4>(at + (chunks & ~kMask) * 4 + (rows + i * LANES) * Slab::kChunks * 4);
      }
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        lines[i] = load<ROWS>(stage +
                              Slab::place((chunks + own.group) * 4 + i,
                                          (own.first + rows) / 4 + own.lane * ROWS / 4) +
                              own.lane * ROWS % 4);
    }
  }
  DLC_DEV float at(int e, int step) const { return ALONG_K ? lines[e][step] : lines[step][e]; }
};

/// total(m, n) = sum over k of a(m, k) b(n, k), added in the order of k within each of warps_k
/// shares, and these in their order; then `finish(m, n, totals of `vector` columns)` for all m <
/// rows and n < columns. Config as of contract_mma, its type float; the grid begins here (`early`).
/// A warp's tile is a multiple of 32 x 16, or has 8 columns; it has 32 rows where windows would
/// straddle these. WINDOW as of contract_mma.
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
                kWide = kWarpN % 16 == 0 ? 4 : 2, kQuadsN = kWarpN / (4 * kWide),
                kColumns = kQuadsN * kWide, // of a lane
      kGroup = kWarpsM * kWarpsN, kGroups = Config::warps_k, kThreads = 32 * kGroup * kGroups,
                kChunks = kTileK / 4;
  static_assert(kWarpM % 32 == 0 && kWarpN % (4 * kWide) == 0,
                "a lane's rows and columns come in quads");
  static_assert(kChunks % kGroups == 0 && (kGroups & (kGroups - 1)) == 0,
                "each group of warps multiplies as many steps of a slab");
  static_assert(32 % WINDOW == 0 || kQuadsM == 1, "a window's totals leave together");
  constexpr int kPitch = kTileN + 4, kEarly = Config::early;
  static_assert(kEarly == 0 || (kEarly == 1 ? Config::width_a : Config::width_b) > 0,
                "what is copied can come early");
  using SlabA = slab<float, kTileM, kTileK, kAlongA, kAlongA>;
  using SlabB = slab<float, kTileN, kTileK, kAlongB, kAlongB>;
  using QuadA = quad<SlabA, 8, kAlongA>;
  using QuadB = quad<SlabB, 4, kAlongB, kWide>;

  DLC_DYN_SMEM(smem);
  float *stages_a = reinterpret_cast<float *>(smem),
        *stages_b = stages_a + Config::stages * SlabA::kElements;
  u32 warp = threadIdx.x >> 5; // unsigned: it is divided by shifts
  // Reads of 16 bytes a lane take half as long where lanes that differ in bit 0, or those that
  // differ in bit 1, ask for the same: rows do the former, columns the latter. This is not
  // measured.
  int lane_m = (int)(threadIdx.x >> 1 & 1 | threadIdx.x >> 2 & 6),
      lane_n = (int)(threadIdx.x & 1 | threadIdx.x >> 1 & 2);
  int group = (int)(warp / kGroup % kGroups), warp_m = (int)(warp % kGroup / kWarpsN),
      warp_n = (int)(warp % kWarpsN);
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
  auto fill_a = [&](int stage) {
    feed_a.fill(stages_a + stage * SlabA::kElements, a, element_a, m0, rows, depth, place...);
  };
  auto fill_b = [&](int stage) {
    feed_b.fill(stages_b + stage * SlabB::kElements, b, element_b, n0, columns, depth, place...);
  };
  // As of contract_mma: weights are on their way before the grids before this one have ended.
  if constexpr (kEarly != 0) {
#pragma unroll 1
    for (int stage = 0; stage < Config::stages - 1 && stage < steps; ++stage)
      if constexpr (kEarly == 1)
        fill_a(stage);
      else
        fill_b(stage);
  }
  // Where rows are and which taps they have is known before, too.
  begin_grid();
  auto fill = [&](int stage, Index step) { // for one step after the other
    if (kEarly != 1 || step >= Config::stages - 1)
      fill_a(stage);
    if (kEarly != 2 || step >= Config::stages - 1)
      fill_b(stage);
  };

  auto origin_a = QuadA::origin_of(warp_m * kWarpM, lane_m, group);
  auto origin_b = QuadB::origin_of(warp_n * kWarpN, lane_n, group);
  float acc[kQuadsM * 4][kColumns] = {};
  through_ring<Config::stages>(steps, fill, [&](int stage) {
    const float *stage_a = stages_a + stage * SlabA::kElements;
    const float *stage_b = stages_b + stage * SlabB::kElements;
#pragma unroll
    for (int turn = 0; turn < kChunks / kGroups; ++turn) {
      QuadB fb[kQuadsN];
#pragma unroll
      for (int j = 0; j < kQuadsN; ++j)
        fb[j].load_from(stage_b, origin_b, j * 4 * kWide, turn * kGroups);
#pragma unroll
      for (int i = 0; i < kQuadsM; ++i) {
        QuadA fa;
        fa.load_from(stage_a, origin_a, i * 32, turn * kGroups);
#pragma unroll
        for (int step = 0; step < 4; ++step)
#pragma unroll
          for (int e = 0; e < 4; ++e)
#pragma unroll
            for (int j = 0; j < kColumns; ++j)
              acc[i * 4 + e][j] =
                  fma(fa.at(e, step), fb[j / kWide].at(j % kWide, step), acc[i * 4 + e][j]);
      }
    }
  });

  if constexpr (Share::kParts > 1)
    if (!share.template sum<kThreads, kQuadsM * 4 * kColumns>(
            [&](int i) -> float & { return acc[i / kColumns][i % kColumns]; }))
      return;

  // The stages' room for the totals, a quad of rows of each warp at a time, then for those of each
  // group.
  constexpr int kOfQuad = 4 * kColumns, kOwn = kOfQuad / kGroups, kTogether = kOwn < 4 ? kOwn : 4;
  static_assert(kOfQuad % kGroups == 0, "each group of warps adds as many totals");
  float *totals = reinterpret_cast<float *>(smem), *apart = totals + kWarpsM * 32 * kPitch;
  auto total_at = [&](int i) -> float & { // of a lane's in the quad
    int e = i / kColumns, j = i % kColumns;
    return totals[(warp_m * 32 + QuadA::row(lane_m, e)) * kPitch + warp_n * kWarpN +
                  j / kWide * 4 * kWide + QuadB::row(lane_n, j % kWide)];
  };
  auto apart_at = [&](int of, int some) { // of the same lane of group `of`
    return apart + ((of * (kOfQuad / kTogether) + some) * (kGroup * 32) +
                    (int)(threadIdx.x % (kGroup * 32))) *
                       kTogether;
  };
#pragma unroll 1
  for (int part = 0; part < kQuadsM; ++part) {
#pragma unroll
    for (int i = 0; i < kQuadsM; ++i) // registers have no addresses
      if (part == i)
#pragma unroll
        for (int first = 0; first < kOfQuad; first += kTogether) {
          vec<float, kTogether> some;
#pragma unroll
          for (int e = 0; e < kTogether; ++e)
            some[e] = acc[i * 4 + (first + e) / kColumns][(first + e) % kColumns];
          if constexpr (kGroups == 1)
#pragma unroll
            for (int e = 0; e < kTogether; ++e)
              total_at(first + e) = some[e];
          else
            store(apart_at(group, first / kTogether), some);
        }
    if constexpr (kGroups > 1) {
      barrier();
      // Each group adds its share of all groups' totals, always in this order.
#pragma unroll
      for (int own = 0; own < kOwn / kTogether; ++own) {
        int at = group * (kOwn / kTogether) + own;
        vec<float, kTogether> sum = load<kTogether>(apart_at(0, at));
#pragma unroll
        for (int of = 1; of < kGroups; ++of) {
          vec<float, kTogether> more = load<kTogether>(apart_at(of, at));
#pragma unroll
          for (int e = 0; e < kTogether; ++e)
            sum[e] = sum[e] + more[e];
        }
#pragma unroll
        for (int e = 0; e < kTogether; ++e)
          total_at(at * kTogether + e) = sum[e];
      }
    }
    barrier();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < kWarpsM * 32 / WINDOW * (kTileN / kVector); i += kThreads) {
      int line = (int)(i / (kTileN / kVector)) * WINDOW,
          column = (int)(i % (kTileN / kVector)) * kVector;
      int row = line / 32 * kWarpM + part * 32 + line % 32;
      auto total = load_window<WINDOW, kVector>(totals + line * kPitch + column, kPitch);
      if (m0 + row < rows && n0 + column < columns)
        finish((m0 + row) / WINDOW, n0 + column, total);
    }
    if constexpr (kQuadsM > 1)
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

/// contract_simt with the config's `parts` blocks for each tile (split_depth): the grid's x has
/// them side by side.
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
