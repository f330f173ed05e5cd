//===- dlc_attention90.cuh - attention on Hopper's tensor cores -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax(query key^T) value without the scores in memory, by TMA and wgmma (FlashAttention-3,
// Shah et al. 2024). A block has three warpgroups: the first warp of the first one lets TMA bring
// queries, and keys and values a span at a time, each into a ring of stages of its own; the two
// others have 64 rows of queries each. Scores stay in registers, where they become weights, which
// are the operand in registers of the product with the values. While tensor cores multiply these,
// the next span's scores become weights. Blocks stay and take tile after tile, so that the next
// one's queries and keys arrive while the last one's rows leave. In e4m3 the tensor cores want
// values along the keys: the first warpgroup turns them (dlc_attention90_spans.cuh).
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_attention90_spans.cuh"
#include "dlc_attention_rows.cuh"

#ifdef DLC_HAS_WGMMA
namespace dlc {

/// y(h, m, c) = sum over n of w(h, m, n) value(h, n, c), with w the softmax along n of score(h, m,
/// n, sum over e of query(h, m, e) key(h, n, e)); then `finish(h, m, c, `vector` neighbours)` for
/// all m < rows and c < columns of each of `heads`, which share nothing. Row m sees keys n <
/// seen(h, m). Its weights are NaN where it sees none, or -inf alone. There is at least one key.
/// Query, key and value lie in one matrix each (maps with boxes of 128 bytes; 128 rows, tile_n,
/// tile_n): head h begins at line line_q(h), column column_q(h); lines after its last one may be
/// of anything. Config: type (f16, bf16 or, with `float8`, i8, which is e4m3), float8, index,
/// depth (of query and key: up to 256, of e4m3 128, a multiple of 32 bytes), columns (64, 128 or,
/// but for e4m3, 256), width (how many of these columns values have: what lies in the others is
/// multiplied and left out), tile_n (keys of a span: 64 or 128), stages (of keys, and of values),
/// causal (whether `seen` matters), scaled (whether score() is its last argument times a positive
/// constant), chunk (columns of a turn of the epilogue) and vector. 384 threads, one block on a
/// multiprocessor (DLC_KERNEL_OCCUPANCY(384, 1)); any number of blocks.
template <class Config, class FS, class FN, class LQ, class CQ, class LK, class CK, class LV,
          class CV, class FE>
DLC_DEV void attention_wgmma(typename Config::index heads, typename Config::index rows,
                             typename Config::index keys, const tensor_map *query,
                             const tensor_map *key, const tensor_map *value, const FS &score,
                             const FN &seen, const LQ &line_q, const CQ &column_q, const LK &line_k,
                             const CK &column_k, const LV &line_v, const CV &column_v,
                             const FE &finish) {
  using Index = typename Config::index;
  using Products = span_products<Config>;
  constexpr bool kIsFloat8 = Config::float8 != 0;
  constexpr int kBytes = Products::kBytes;
  constexpr int kTileM = 128, kTileN = Config::tile_n, kStages = Config::stages,
                kDepth = Config::depth, kColumns = Config::columns, kVector = Config::vector,
                kTotals = 16 * totals_pitch(Config::chunk);
  constexpr bool kCausal = Config::causal != 0, kScaled = Config::scaled != 0;
  using SlabQ = head_slab<kTileM, kDepth, kBytes>;
  using SlabK = head_slab<kTileN, kDepth, kBytes>;
  using SlabV = typename Products::SlabV;
  // Values of e4m3 come to a stage of a ring of their own before they are turned.
  constexpr int kStageV = Products::kStage, kComing = kIsFloat8 ? 2 : 0;

  DLC_DYN_SMEM(smem);
  u8 *queries = smem, *stages_k = queries + SlabQ::kBytes,
     *stages_v = stages_k + kStages * SlabK::kBytes, *coming = stages_v + kStages * kStageV;
  float *all_totals = reinterpret_cast<float *>(coming + kComing * SlabV::kBytes);
  u64 *bars = reinterpret_cast<u64 *>(all_totals + 8 * kTotals);
  stage_ring<1> ring_q(queries, bars + 1);
  stage_ring<kStages> ring_k(stages_k, bars + 3), ring_v(stages_v, bars + 3 + 2 * kStages);
  stage_ring<2> ring_coming(coming, bars + 3 + 4 * kStages); // of e4m3 alone
  u64 *landed = bars; // the values of a last span, which the producer completes
  int thread = (int)threadIdx.x, group = thread >> 7, lane = thread & 31;
  if (thread == 0) {
    prefetch_map(query);
    prefetch_map(key);
    prefetch_map(value);
    mbar_init(landed, 1);
    mbar_init(ring_q.full, 1);
    mbar_init(ring_q.empty, 2);
#pragma unroll 1
    for (int stage = 0; stage < kStages; ++stage) {
      mbar_init(ring_k.full + stage, 1);
      mbar_init(ring_k.empty + stage, 2);
      mbar_init(ring_v.full + stage, kIsFloat8 ? 4 : 1); // of e4m3, the warps that turn them
      mbar_init(ring_v.empty + stage, 2);
    }
    for (int stage = 0; stage < kComing; ++stage) {
      mbar_init(ring_coming.full + stage, 1);
      mbar_init(ring_coming.empty + stage, 4);
    }
    mbar_fence_init();
  }
  barrier();
  begin_grid();
  // Heads side by side; in each the last rows come first: with a causal mask they take longest.
  const tile_order<Index> order = {heads, (rows + kTileM - 1) / kTileM};
  const Index tiles = order.count();
  auto place = [&](Index tile, Index &head, Index &m0) {
    Index row;
    order.place(tile, head, row);
    m0 = (order.columns - 1 - row) * kTileM;
  };
  // Spans that the tile's rows see.
  auto spans_of = [&](Index head, Index m0) {
    Index last = keys;
    if constexpr (kCausal)
      last =
          shfl((i32)most_seen<kTileM>(m0, rows, keys, [&](Index m) { return seen(head, m); }), 0);
    return (last + kTileN - 1) / kTileN;
  };

  if (group == 0) {
    reg_dealloc<kIsFloat8 ? 48 : 40>();
    if (!kIsFloat8 && thread >= 32)
      return;
    u32 landed_phase = 0, asked = 0; // values of e4m3 that are on their way or were
#pragma unroll 1
    for (Index tile = (Index)blockIdx.x; tile < tiles; tile += (Index)gridDim.x) {
      Index head, m0;
      place(tile, head, m0);
      const Index spans = spans_of(head, m0);
      const int first_k = (int)line_k(head), first_v = (int)line_v(head),
                left_k = (int)column_k(head), left_v = (int)column_v(head);
      if (thread == 0) {
        ring_q.wait_empty();
        mbar_expect_tx(ring_q.full, SlabQ::kBytes);
        SlabQ::load(queries, query, ring_q.full, (int)column_q(head), (int)(line_q(head) + m0));
      }
      ring_q.advance();
      // Keys are asked for a span before values, as they are read.
#pragma unroll 1
      for (Index span = 0; span <= spans; ++span) {
        if (span < spans) {
          if (thread == 0) {
            ring_k.wait_empty();
            u64 *full = ring_k.full + ring_k.stage;
            mbar_expect_tx(full, SlabK::kBytes);
            SlabK::load(ring_k.stages + ring_k.stage * SlabK::kBytes, key, full, left_k,
                        first_k + (int)span * kTileN);
            if constexpr (kIsFloat8) {
              int stage = asked & 1;
              mbar_wait(ring_coming.empty + stage, asked >> 1 & 1 ^ 1);
              mbar_expect_tx(ring_coming.full + stage, SlabV::kBytes);
              SlabV::load(coming + stage * SlabV::kBytes, value, ring_coming.full + stage, left_v,
                          first_v + (int)span * kTileN);
              ++asked;
            }
          }
          ring_k.advance();
        }
        if (span > 0) {
          int n0 = (int)(span - 1) * kTileN;
          if constexpr (kIsFloat8) {
            ring_coming.wait_full(); // these values are here
            ring_v.wait_empty();     // and nothing multiplies those before them
            Products::turn(coming + ring_coming.stage * SlabV::kBytes,
                           stages_v + ring_v.stage * kStageV, (int)keys - n0);
            fence_async();  // tensor cores read what was written
            warp_barrier(); // the warp's share is complete
            if (lane == 0)
              mbar_arrive(ring_v.full + ring_v.stage);
            ring_coming.release(lane == 0);
            ring_v.advance();
            continue;
          }
          bool ends = keys - n0 < kTileN; // what follows the last value must be 0, like its weight
          u64 *full = ring_v.full + ring_v.stage, *bar = ends ? landed : full;
          u8 *stage = ring_v.stages + ring_v.stage * kStageV;
          if (lane == 0) {
            ring_v.wait_empty();
            mbar_expect_tx(bar, SlabV::kBytes);
            SlabV::load(stage, value, bar, left_v, first_v + n0);
          }
          warp_barrier();
          if (ends) {
            mbar_wait(landed, landed_phase);
            landed_phase ^= 1;
            SlabV::clear(stage, (int)(keys - n0));
            fence_async();
            warp_barrier(); // the values are complete
            if (lane == 0)
              mbar_arrive(full);
          }
          ring_v.advance();
        }
      }
    }
    return;
  }

  reg_alloc<232>();
  const int first = (group - 1) * 64, warp = (thread >> 5) - 4;
  const bool speaks = (thread & 127) == 0;
  float *totals = all_totals + warp * kTotals;
  float s[kTileN / 2], sums[kColumns / 2];
  Products products;
#pragma unroll 1
  for (Index tile = (Index)blockIdx.x; tile < tiles; tile += (Index)gridDim.x) {
    Index head, m0;
    place(tile, head, m0);
    const Index spans = spans_of(head, m0);
    m0 += first;
    // The lane's rows are 8 apart. `least` is how many keys each row of the warp sees.
    Index lines[2], limits[2], own = m0 < rows ? spans : 0, least = keys;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Index m = m0 + (warp & 3) * 16 + (lane >> 2) + half * 8;
      lines[half] = m < rows ? m : rows - 1;
      limits[half] = keys;
    }
    if constexpr (kCausal) {
      Index last = most_seen<64>(m0, rows, keys, [&](Index m) { return seen(head, m); });
      own = (last + kTileN - 1) / kTileN;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Index count = seen(head, lines[half]);
        limits[half] = count < keys ? count : keys;
        least = limits[half] < least ? limits[half] : least;
      }
      i32 fewest = (i32)least;
#pragma unroll
      for (int mask = 4; mask < 32; mask <<= 1) {
        i32 other = shfl_xor(fewest, mask);
        fewest = other < fewest ? other : fewest;
      }
      least = shfl(fewest, 0);
    }
    own = shfl((i32)own, 0); // so that the compiler knows: a warp's lanes go one way
    const float scale = kScaled ? score(head, Index(0), Index(0), 1.0f) * 1.44269504f : 0.0f;
    float largest[2] = {minus_infinity(), minus_infinity()}, total[2] = {0.0f, 0.0f}, shrinks[2];
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i)
      sums[i] = 0.0f;

    // Calls visit(half, key, score) for the lane's scores of the span at n0.
    auto each = [&](Index n0, const auto &visit) {
#pragma unroll
      for (int j = 0; j < kTileN / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          visit(i >> 1, n0 + j * 8 + (lane & 3) * 2 + (i & 1), s[j * 4 + i]);
    };
    // Scores of the span in the stage become in work.
    auto multiply_keys = [&] {
      const u8 *stage = ring_k.stages + ring_k.stage * SlabK::kBytes;
#pragma unroll
      for (int kk = 0; kk < kDepth * kBytes / 32; ++kk)
        Products::scores(s, SlabQ::at(queries, first, kk), SlabK::at(stage, 0, kk), kk > 0);
      wgmma_commit();
    };
    auto multiply_values = [&] {
      products.multiply(sums, ring_v.stages + ring_v.stage * kStageV);
      wgmma_commit();
    };
    // Scores become weights, measured from the largest score so far; `shrinks` is what that makes
    // of earlier ones.
    auto weigh = [&](Index n0) {
      if constexpr (!kScaled)
        each(n0, [&](int half, Index n, float &s) {
          s = score(head, lines[half], n < keys ? n : keys - 1, s);
        });
      if (n0 + kTileN > least) // as few spans do
        each(n0, [&](int half, Index n, float &s) { s = n < limits[half] ? s : minus_infinity(); });
      float peaks[2] = {largest[0], largest[1]}, bases[2];
      each(n0, [&](int half, Index, float s) { peaks[half] = max(peaks[half], s); });
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        peaks[half] = max(peaks[half], shfl_xor(peaks[half], 1));
        peaks[half] = max(peaks[half], shfl_xor(peaks[half], 2));
        bases[half] = score_base(peaks[half]) * (kScaled ? -scale : 1.0f);
        shrinks[half] = kScaled ? exp2_fast(fma(largest[half], scale, bases[half]))
                                : weight_of(largest[half] - bases[half]);
        largest[half] = peaks[half];
        total[half] = total[half] * shrinks[half];
      }
      if constexpr (kIsFloat8 && kScaled) {
        bases[0] = bases[0] + Products::kLogOfOne;
        bases[1] = bases[1] + Products::kLogOfOne;
      }
      each(n0, [&](int half, Index, float &s) {
        s = kScaled ? exp2_fast(fma(s, scale, bases[half]))
                    : weight_of(s - bases[half]) * Products::kOne;
        total[half] = total[half] + s;
      });
    };

    ring_q.wait_full();
    if (own > 0) {
      ring_k.wait_full();
      wgmma_fence();
      multiply_keys();
      wgmma_wait<0>();
      wgmma_arrived(s);
      ring_k.release(speaks);
      weigh(0);
      products.pack(s);
      if (own > 1)
        ring_k.wait_full();
#pragma unroll 1
      for (Index span = 1; span < own; ++span) {
        wgmma_fence();
        multiply_keys();
        ring_v.wait_full();
        wgmma_fence();
        multiply_values();
        wgmma_wait<1>(); // the scores are here
        wgmma_arrived(s);
        ring_k.release(speaks);
        weigh(span * kTileN);
        // A loop between weights and wait: without one the compiler waits before it makes weights.
        if (span + 1 < own)
          ring_k.wait_full(); // for the next keys

        wgmma_wait<0>(); // the values have been multiplied
        products.arrive(sums);
        ring_v.release(speaks);
#pragma unroll
        for (int i = 0; i < kColumns / 2; ++i)
          sums[i] = sums[i] * shrinks[i >> 1 & 1];
        products.pack(s);
      }
    }
    if (speaks)
      mbar_arrive(ring_q.empty);
    ring_q.advance();
    if (own > 0) {
      ring_v.wait_full();
      wgmma_fence();
      multiply_values();
      wgmma_wait<0>();
      products.arrive(sums);
      ring_v.release(speaks);
    }
    // Spans that the other warpgroup's rows see and these do not are released unread.
#pragma unroll 1
    for (Index span = own; span < spans; ++span) {
      ring_k.wait_full();
      ring_k.release(speaks);
      ring_v.wait_full();
      ring_v.release(speaks);
    }

#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] = total[half] + shfl_xor(total[half], 1);
      total[half] = total[half] + shfl_xor(total[half], 2);
      total[half] = div(1.0f, total[half]);
    }
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i)
      sums[i] = sums[i] * total[i >> 1 & 1];
    give_totals<kColumns, Config::chunk, kVector>(
        reinterpret_cast<const float (&)[1][kColumns / 2]>(sums), totals, lane,
        [&](int row, int column, const vec<float, kVector> &y) {
          Index m = m0 + (warp & 3) * 16 + row;
          if (m < rows && (Config::width == kColumns || column < Config::width))
            finish(head, m, (Index)column, y);
        });
  }
}

} // namespace dlc
#endif // DLC_HAS_WGMMA
