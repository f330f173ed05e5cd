//===- dlc_contract90.cuh - matrix products on Hopper's tensor cores ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of two operands that lie in memory as they are multiplied. A block has three
// warpgroups: one thread of the first lets TMA bring slabs of both operands into a ring of stages,
// the two others multiply them with wgmma, 64 rows of the tile each. The rows of one operand may be
// an image under a window, which all threads of the first warpgroup gather (dlc_gather.cuh). Blocks
// stay and take tile after tile, so that the slabs of the next tile arrive while the totals of the
// last one leave. With pingpong the two others take tiles in turn, all rows of each, so that the
// totals of one tile leave while the next one is multiplied. Or the blocks of a cluster share a
// tile, each a part of k. Totals pass through shared memory (dlc_totals90.cuh), so that the
// epilogue is called from one place, on vectors.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_gather.cuh"
#include "dlc_sums90.cuh"
#include "dlc_totals90.cuh"
#include "dlc_wgmma.cuh"

#ifdef DLC_HAS_WGMMA
namespace dlc {

/// Rows and columns of tiles as blocks take them: bands of eight rows of tiles, so that tiles in
/// work at a time share slabs in the L2 cache.
template <class Index> struct tile_order {
  Index rows, columns; // in tiles

  DLC_DEV Index count() const { return rows * columns; }
  DLC_DEV void place(Index tile, Index &row, Index &column) const {
    constexpr int kBand = 8;
    Index band = tile / (kBand * columns), inside = tile % (kBand * columns);
    Index height = min(rows - band * kBand, (Index)kBand);
    row = band * kBand + inside % height;
    column = inside / height;
  }
};

/// The stages of one operand: ROWS rows of 128 bytes along k, or ALONG_ROWS blocks of 64 rows, 128
/// bytes a step of k.
template <class T, int ROWS, bool ALONG_ROWS> struct wgmma_slab {
  static constexpr int kDepth = 128 / (int)sizeof(T), kBytes = ROWS * 128, kBlock = kDepth * 128;

  /// Brings the slab that begins at (row, k) of the product whose first line is `line`.
  static DLC_DEV void load(u8 *stage, const tensor_map *map, u64 *full, int row, int k, int line) {
    if constexpr (ALONG_ROWS) {
#pragma unroll
      for (int block = 0; block < ROWS / 64; ++block)
        tma_load_2d(stage + block * kBlock, map, full, row + block * 64, line + k);
    } else {
      tma_load_2d(stage, map, full, k, line + row);
    }
  }
  /// Names the rows from `row` (a multiple of 64) on, and step `kk` of 32 bytes.
  static DLC_DEV u64 at(const u8 *stage, int row, int kk) {
    if constexpr (ALONG_ROWS)
      return wgmma_along_rows(stage + row / 64 * kBlock, kBlock) + kk * (16 * 128 >> 4);
    else
      return wgmma_along_k(stage + row * 128) + kk * (32 >> 4);
  }
};

/// An operand whose slabs TMA brings: a matrix of the map's from line `line(batch)` on, a row or,
/// ALONG_ROWS, a step of k. The map's boxes are slabs: 128 bytes of k by ROWS rows, or 64 rows by
/// the slab's steps of k.
template <class T, int ROWS, bool ALONG_ROWS, class Index, class FL> struct mapped_operand {
  using slab = wgmma_slab<T, ROWS, ALONG_ROWS>;
  enum { kGathers = 0, kAlongRows = ALONG_ROWS }; // no variables, of which PTX would tell
  DLC_DEV void prefetch() const { prefetch_map(map); }

  const tensor_map *map;
  const FL &line;
  int first = 0, tile = 0;

  DLC_DEV void begin(Index batch, Index at, Index) {
    first = (int)line(batch);
    tile = (int)at;
  }
  DLC_DEV void bring(u8 *stage, u64 *full, Index step) {
    if (threadIdx.x == 0)
      slab::load(stage, map, full, tile * ROWS, (int)step * slab::kDepth, first);
  }
};

/// An operand whose slabs the first warpgroup copies: see gathered_rows.
template <class Config, int ROWS, int OUTSIDE, class FO, class FP> struct gathered_operand {
  using T = typename Config::type;
  using Index = typename Config::index;
  using slab = wgmma_slab<T, ROWS, false>;
  enum { kGathers = 1, kAlongRows = 0 };
  DLC_DEV void prefetch() const {}

  const T *base;
  Index rows, depth;
  const FO &element;
  const FP &place;
  gathered_rows<Config, ROWS, OUTSIDE> gather;

  /// `step`: of k, with which the slabs begin.
  DLC_DEV void begin(Index, Index tile, Index step) {
    gather.begin(element, place, tile * ROWS, rows);
    if (step != 0)
      gather.skip(step);
  }
  DLC_DEV void bring(u8 *stage, u64 *, Index) {
    gather.bring(reinterpret_cast<T *>(stage), base, place, depth);
  }
};

/// The arrivals of a warp of the first warpgroup at `full`, for slabs of which it has copied a
/// part. They are made as late as half of the ring, so that several slabs are on their way;
/// consumers have the other half.
template <int STAGES> struct late_arrivals {
  enum { kLag = STAGES / 2 };
  static_assert((int)kLag <= STAGES - 2, "a stage is given free after the next one has arrived");
  int stage = 0, waiting = 0;

  /// After the copies of a slab.
  DLC_DEV void commit(u64 *full) {
    cp_async_commit();
    if (waiting < kLag) {
      ++waiting;
      return;
    }
    cp_async_wait<kLag>();
    arrive(full);
  }
  /// After those of the last slab.
  DLC_DEV void finish(u64 *full) {
    cp_async_wait<0>();
#pragma unroll 1
    for (; waiting > 0; --waiting)
      arrive(full);
  }

private:
  DLC_DEV void arrive(u64 *full) {
    fence_async();  // the copies are plain stores, wgmma reads asynchronously
    warp_barrier(); // one lane speaks for the copies of all
    if ((threadIdx.x & 31) == 0)
      mbar_arrive(full + stage);
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
};

/// total(m, n) = sum over k of a(m, k) b(n, k); then
/// `finish(m, n, totals of `vector` columns, true)` for all m < rows and n < columns, and
/// `finish(m, n, something, false)` for others of them: it may read what lies there before it
/// knows, and stores nothing.
///
/// Config: type (f16, bf16, or float, which the maps round to tf32, or i8: as of contract_mma),
/// index (int or i64), tile_n (64, 128 or 256; 128 rows and 128 bytes of k are fixed), stages, and
/// the columns of a turn of the epilogue, `chunk`. A and B bring the slabs of the operands:
/// mapped_operand, or one of them gathered_operand. 384 threads; any number of blocks. With a Share
/// of cluster_depth the grid has a cluster for each tile, and `chunk` is `tile_n`. `early`: the
/// operand, 1 for A and 2 for B, that no kernel writes, weights: its first slabs are brought before
/// the grids before this one have ended. 0: neither. `pingpong` (floats, 128 columns at most): 1
/// where a warpgroup has a tile by itself.
///
/// BATCHED: the same for each of `batches` products, whose operands lie one below the other in the
/// maps' matrices. Then `finish` is told the batch first. A box that reaches beyond a product's
/// rows brings rows of the next one, whose totals nobody takes.
template <class Config, bool BATCHED, class Share, class A, class B, class FE>
DLC_DEV void contract_wgmma_of(typename Config::index rows, typename Config::index columns,
                               typename Config::index depth, typename Config::index batches, A a,
                               B b, const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  using SlabA = typename A::slab;
  using SlabB = typename B::slab;
  constexpr int kTileM = 128, kTileN = Config::tile_n, kStages = Config::stages,
                kVector = Config::vector, kChunk = Config::chunk, kPitch = totals_pitch(kChunk);
  constexpr bool kGathers = A::kGathers != 0 || B::kGathers != 0;
  constexpr int kEarly = Config::early;
  constexpr bool kPingpong = Config::pingpong != 0;
  static_assert(!kPingpong || (Share::kParts == 1 && kTileN <= 128), "registers of a tile");
  static_assert(kEarly == 0 || (kEarly == 1 ? A::kGathers : B::kGathers) == 0, "TMA brings it");
  constexpr u32 kMapped =
      (A::kGathers != 0 ? 0 : SlabA::kBytes) + (B::kGathers != 0 ? 0 : SlabB::kBytes); // of a stage

  DLC_DYN_SMEM(smem);
  u8 *stages_a = smem, *stages_b = stages_a + kStages * SlabA::kBytes;
  using Sums = wgmma_sums<Config, kTileN>;
  using Total = typename Sums::Total;
  Total *all_totals = reinterpret_cast<Total *>(stages_b + kStages * SlabB::kBytes);
  u64 *full = reinterpret_cast<u64 *>(all_totals + 8 * 16 * kPitch), *empty = full + kStages;
  int thread = (int)threadIdx.x, group = thread >> 7, lane = thread & 31;
  if (thread == 0) {
    a.prefetch();
    b.prefetch();
#pragma unroll 1
    for (int stage = 0; stage < kStages; ++stage) {
      mbar_init(full + stage, kGathers ? 1 + 4 : 1); // TMA, and each warp that gathers
      mbar_init(empty + stage, Sums::kCounts ? 8 : kPingpong ? 1 : 2);
    }
    if constexpr (Sums::kZeroA != 0) {
      mbar_init(empty + kStages, 128);
      mbar_init(empty + kStages + 1, 128);
    }
    if constexpr (kPingpong) {
      mbar_init(empty + kStages, 1);
      mbar_init(empty + kStages + 1, 1);
    }
    mbar_fence_init();
  }
  barrier();
  const tile_order<Index> order = {(rows + kTileM - 1) / kTileM, (columns + kTileN - 1) / kTileN};
  Index begin;
  const Index steps = share_steps<Share>((depth + SlabA::kDepth - 1) / SlabA::kDepth, begin),
              tiles = BATCHED ? order.count() * batches : order.count(),
              turn = (Index)(gridDim.x / Share::kParts);
  const Index first_tile = (Index)(blockIdx.x / Share::kParts);
  auto place = [&](Index tile, Index &batch, Index &tile_m, Index &tile_n) {
    batch = BATCHED ? tile / order.count() : 0;
    order.place(BATCHED ? tile - batch * order.count() : tile, tile_m, tile_n);
  };
  // The barriers are ready before the grids before this one have ended, and the weights on their
  // way.
  if (kEarly != 0 && thread == 0 && first_tile < tiles) {
    Index batch, tile_m, tile_n;
    place(first_tile, batch, tile_m, tile_n);
    if constexpr (kEarly == 1)
      a.begin(batch, tile_m, begin);
    if constexpr (kEarly == 2)
      b.begin(batch, tile_n, begin);
#pragma unroll 1
    for (int stage = 0; stage < kStages && stage < steps; ++stage) {
      mbar_expect_tx(full + stage, kMapped);
      if constexpr (kEarly == 1)
        a.bring(stages_a + stage * SlabA::kBytes, full + stage, begin + stage);
      if constexpr (kEarly == 2)
        b.bring(stages_b + stage * SlabB::kBytes, full + stage, begin + stage);
    }
  }
  begin_grid();
  int stage = 0;
  u32 phase = 0; // of `full`
  auto advance = [&] {
    phase ^= stage + 1 == kStages;
    stage = stage + 1 == kStages ? 0 : stage + 1;
  };

  // A tile's 128 rows of 128 totals leave no room in the registers that each thread begins with.
  constexpr bool kMovesRegisters = kPingpong && kTileN == 128;
  if (group == 0) {
    if constexpr (kMovesRegisters)
      reg_dealloc<kGathers ? 56 : 40>();
    if (!kGathers && thread != 0)
      return;
    late_arrivals<kStages> arrivals;
#pragma unroll 1
    for (Index tile = first_tile; tile < tiles; tile += turn) {
      Index batch, tile_m, tile_n;
      place(tile, batch, tile_m, tile_n);
      a.begin(batch, tile_m, begin);
      b.begin(batch, tile_n, begin);
#pragma unroll 1
      for (Index step = begin; step < begin + steps; ++step) {
        mbar_wait(empty + stage, phase ^ 1);
        const bool begun = kEarly != 0 && tile == first_tile && step < begin + kStages;
        if (thread == 0 && !begun)
          mbar_expect_tx(full + stage, kMapped);
        if constexpr (A::kGathers == 0)
          if (kEarly != 1 || !begun)
            a.bring(stages_a + stage * SlabA::kBytes, full + stage, step);
        if (kEarly != 2 || !begun)
          b.bring(stages_b + stage * SlabB::kBytes, full + stage, step);
        if constexpr (A::kGathers != 0) // TMA comes first: it goes on by itself
          a.bring(stages_a + stage * SlabA::kBytes, full + stage, step);
        if constexpr (kGathers)
          arrivals.commit(full);
        advance();
      }
    }
    if constexpr (kGathers)
      arrivals.finish(full);
    return;
  }

  if constexpr (kMovesRegisters)
    reg_alloc<kGathers ? 224 : 232>();
  const int first = kPingpong ? 0 : (group - 1) * 64, warp = (thread >> 5) - 4;
  Total *totals = all_totals + warp * 16 * kPitch;
  // A warpgroup's products are done together; what warps read besides they tell one by one.
  const bool speaks = (thread & (Sums::kCounts ? 31 : 127)) == 0;
  auto free_stage = [&](int done) {
    if constexpr (Sums::kCounts)
      warp_barrier();
    if (speaks)
      mbar_arrive(empty + done);
  };
  u64 *met = empty + kStages;
  Sums sums(column_sums_room{met + group - 1, reinterpret_cast<i32 *>(met + 2) +
                                                  (group - 1) * 2 * max(kTileN, 128)});
  // Slabs come in the order of the tiles. A warpgroup passes over those of the other one's tile,
  // and waits at `met` until the other one has seen them all: a stage tells the phase that it is in
  // from the one before alone.
  auto skip_tile = [&] {
    const Index to = stage + steps;
    phase ^= (u32)(to / kStages & 1);
    stage = (int)(to % kStages);
  };
  auto give_turn = [&] {
    if (speaks)
      mbar_arrive(met + 2 - group);
  };
  Index tile = first_tile;
  u32 met_phase = group == 2 ? 0 : 1; // the first warpgroup begins
  if (kPingpong && group == 2) {
    tile += turn;
    skip_tile();
  }
#pragma unroll 1
  for (; tile < tiles; tile += kPingpong ? 2 * turn : turn) {
    Index batch, tile_m, tile_n;
    place(tile, batch, tile_m, tile_n);
    if constexpr (kPingpong) {
      mbar_wait(met + group - 1, met_phase);
      met_phase ^= 1;
    }
    if (kPingpong && steps == 0)
      give_turn();
    sums.begin();
    int last = 0;
#pragma unroll 1
    for (Index step = 0; step < steps; ++step) {
      mbar_wait(full + stage, phase);
      if (kPingpong && step + 1 == steps)
        give_turn();
      sums.template multiply<A, B>(stages_a + stage * SlabA::kBytes,
                                   stages_b + stage * SlabB::kBytes, first);
      if constexpr (Sums::kInFlight == 0)
        free_stage(stage);
      else if (step > 0)
        free_stage(last);
      last = stage;
      advance();
    }
    sums.end();
    if (Sums::kInFlight != 0 && steps > 0)
      free_stage(last);
    if constexpr (kPingpong)
      skip_tile();

    const Index m0 = tile_m * kTileM, n0 = tile_n * kTileN;
    auto give = [&](int row, int column, const vec<Total, kVector> &total) {
      // No branch, so that the reads of the next vectors need not wait for its end.
      Index m = min(m0 + row, rows - 1), n = min(n0 + column, columns - kVector);
      bool inside = m0 + row < rows && n0 + column < columns;
      if constexpr (BATCHED)
        finish(batch, m, n, total, inside);
      else
        finish(m, n, total, inside);
    };
    if constexpr (Share::kParts > 1) {
      static_assert(kChunk == kTileN, "the totals of a tile lie in shared memory at once");
      store_totals<kTileN, kTileN>(totals, sums.d[0], 0, lane);
      cluster_barrier(); // all totals are there
      sum_totals<Share::kParts, kTileN, kVector>(all_totals, thread - 128, give);
      cluster_leave();
    } else {
      const int own = first + (warp & 3) * 16;
      give_totals<kTileN, kChunk, kVector>(
          sums.d, totals, lane, [&](int row, int column, const vec<Total, kVector> &total) {
            give(own + row, column, total);
          });
    }
  }
}

/// One product. Config: also along_m and along_n, where an operand lies along its rows (columns).
template <class Config, class Share = whole_depth, class FE>
DLC_DEV void contract_wgmma(typename Config::index rows, typename Config::index columns,
                            typename Config::index depth, const tensor_map *a, const tensor_map *b,
                            const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  auto top = [](Index) { return (Index)0; };
  mapped_operand<T, 128, Config::along_m != 0, Index, decltype(top)> of_a = {a, top};
  mapped_operand<T, Config::tile_n, Config::along_n != 0, Index, decltype(top)> of_b = {b, top};
  contract_wgmma_of<Config, false, Share>(rows, columns, depth, (Index)1, of_a, of_b, finish);
}

/// The same by the config's `parts` blocks for each tile, which are a cluster.
template <class Config, class FE>
DLC_DEV void contract_wgmma_split(typename Config::index rows, typename Config::index columns,
                                  typename Config::index depth, const tensor_map *a,
                                  const tensor_map *b, const FE &finish) {
  contract_wgmma<Config, cluster_depth<Config::parts>>(rows, columns, depth, a, b, finish);
}

/// `batches` of them, those of `batch` from line line_a(batch) (line_b) of the maps' matrices on.
template <class Config, class FE, class FA, class FB>
DLC_DEV void contract_wgmma_batched(typename Config::index rows, typename Config::index columns,
                                    typename Config::index depth, typename Config::index batches,
                                    const tensor_map *a, const tensor_map *b, const FE &finish,
                                    const FA &line_a, const FB &line_b) {
  using T = typename Config::type;
  using Index = typename Config::index;
  mapped_operand<T, 128, Config::along_m != 0, Index, FA> of_a = {a, line_a};
  mapped_operand<T, Config::tile_n, Config::along_n != 0, Index, FB> of_b = {b, line_b};
  contract_wgmma_of<Config, true, whole_depth>(rows, columns, depth, batches, of_a, of_b, finish);
}

/// One product whose rows (with the config's gathers_columns: columns) are gathered from `image`,
/// `element` and `place` as gathered_rows has them; `map` is the other operand's, which lies along
/// k. Config: also what gathered_rows asks for.
template <class Config, class Share = whole_depth, class FE, class FO, class FP>
DLC_DEV void contract_wgmma_gathered(typename Config::index rows, typename Config::index columns,
                                     typename Config::index depth, const tensor_map *map,
                                     const typename Config::type *image, const FE &finish,
                                     const FO &element, const FP &place) {
  using T = typename Config::type;
  using Index = typename Config::index;
  using Sums = wgmma_sums<Config, Config::tile_n>;
  auto top = [](Index) { return (Index)0; };
  if constexpr (Config::gathers_columns != 0) {
    mapped_operand<T, 128, false, Index, decltype(top)> a = {map, top};
    gathered_operand<Config, Config::tile_n, Sums::kZeroB, FO, FP> b = {image, columns, depth,
                                                                        element, place};
    contract_wgmma_of<Config, false, Share>(rows, columns, depth, (Index)1, a, b, finish);
  } else {
    gathered_operand<Config, 128, Sums::kZeroA, FO, FP> a = {image, rows, depth, element, place};
    mapped_operand<T, Config::tile_n, false, Index, decltype(top)> b = {map, top};
    contract_wgmma_of<Config, false, Share>(rows, columns, depth, (Index)1, a, b, finish);
  }
}

/// The same by the config's `parts` blocks for each tile, which are a cluster.
template <class Config, class FE, class FO, class FP>
DLC_DEV void contract_wgmma_gathered_split(typename Config::index rows,
                                           typename Config::index columns,
                                           typename Config::index depth, const tensor_map *map,
                                           const typename Config::type *image, const FE &finish,
                                           const FO &element, const FP &place) {
  contract_wgmma_gathered<Config, cluster_depth<Config::parts>>(rows, columns, depth, map, image,
                                                                finish, element, place);
}

} // namespace dlc
#endif // DLC_HAS_WGMMA
