//===- dlc_attention.cuh - attention on tensor cores ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax(query key^T) value without the scores in memory (FlashAttention-2, Dao 2023). A block has
// a tile of query rows and walks the keys, a span at a time: products of the warps' rows with the
// keys, the running largest score and sum of each row, products with the values. Weights go from
// the accumulators of one product to the operands of the next within a lane's registers. While one
// operand is multiplied, the next one is on its way into shared memory. Warps side by side
// (warps_n) share the span's keys, each with a running maximum of its own; their sums are merged at
// the end, in one order. Blocks may share the keys of a tile of few rows (dlc_attention_rows.cuh).
// Of many rows a warp may have 32, for which it reads keys and values once.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_attention_rows.cuh"
#include "dlc_contract.cuh"

namespace dlc {

/// Elements of a slab's row: chunks of 16 bytes, 2, 4 or a multiple of 8 of them.
template <class T> DLC_DEV constexpr int slab_width(int elements) {
  int per = 16 / (int)sizeof(T), chunks = (elements + per - 1) / per;
  return per * (chunks <= 2 ? 2 : chunks <= 4 ? 4 : (chunks + 7) / 8 * 8);
}

/// A span of values for operands of tf32. A lane's accumulators are of keys 2t and 2t + 1, its
/// operands of places t and t + 4: in each eight places the keys lie in that order. `element(c, n)`
/// as in slab::fill, of single elements.
template <class Slab, int WIDTH, int COLUMNS, int SPAN, int THREADS, class Index, class Element>
DLC_DEV void fill_exchanged(float *span, const float *base, const Element &element, Index n0,
                            Index keys) {
#pragma unroll 4
  for (int piece = (int)threadIdx.x; piece < Slab::kLines * SPAN; piece += THREADS) {
    int c = piece % Slab::kLines, place = piece / Slab::kLines, at = place & 7;
    Index n = n0 + (place - at + (at < 4 ? 2 * at : 2 * at - 7));
    float *to = span + Slab::place(c, place / 4) + place % 4;
    bool exists = c < COLUMNS && n < keys;
    if constexpr (WIDTH > 0) {
      Index offset = exists ? element((Index)c, n) : Index(-1);
      cp_async<4>(to, base + (offset < 0 ? 0 : offset), offset >= 0);
    } else {
      *to = exists ? element((Index)c, n) : 0.0f;
    }
  }
}

/// y(m, c) = sum over n of w(m, n) value(n, c), with w the softmax along n of score(m, n, sum over
/// e of query(m, e) key(n, e)); then `finish(m, c, `vector` neighbours)` for all m < rows and c <
/// columns. Row m sees keys n < seen(m). Its weights are NaN where it sees none, or -inf alone;
/// without any keys y is 0. Config: type (f16, bf16, or float rounded to tf32), index, depth and
/// columns (of a head), warps_m x warps_n, tiles_m (of a warp, 16 rows each), tile_n (keys that a
/// warp takes at once), causal (whether `seen` matters), vector, and for query, key and value (q,
/// k, v) the width (see slab::fill) and whether it lies along the dim that is summed over in shared
/// memory. `m0` is the block's first row. Share: whole_depth, or split_depth for blocks that share
/// the keys of these rows.
template <class Config, class Share, class FQ, class FK, class FV, class FS, class FN, class FE>
DLC_DEV void
attention_mma_share(const Share &share, typename Config::index m0, typename Config::index rows,
                    typename Config::index keys, const typename Config::type *query,
                    const typename Config::type *key, const typename Config::type *value,
                    const FQ &element_q, const FK &element_k, const FV &element_v, const FS &score,
                    const FN &seen, const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  constexpr int kWarpsM = Config::warps_m, kWarpsN = Config::warps_n, kTiles = Config::tiles_m,
                kRows = 16 * kTiles, kTileM = kRows * kWarpsM, kTileN = Config::tile_n,
                kSpan = kTileN * kWarpsN, kThreads = 32 * kWarpsM * kWarpsN,
                kVector = Config::vector;
  constexpr int kDepth = Config::depth, kColumns = Config::columns, kBytes = (int)sizeof(T);
  constexpr int kDeepSteps = (kDepth * kBytes + 31) / 32, kKeySteps = kTileN * kBytes / 32;
  constexpr int kWide = (kColumns + 15) / 16 * 16,
                kPart = kWide % 64 == 0   ? 64
                        : kWide % 32 == 0 ? 32
                                          : 16, // columns of one mma_tile
      kPitch = kWide + 8;
  constexpr bool kKeepsQuery = kDepth * kTiles <= 128; // in registers
  using SlabQ = mma_slab<T, kTileM, slab_width<T>(kDepth), Config::along_k_q != 0>;
  using SlabK = mma_slab<T, kSpan, slab_width<T>(kDepth), Config::along_k_k != 0>;
  using SlabV = mma_slab<T, slab_width<T>(kWide), kSpan, Config::along_k_v != 0>;

  DLC_DYN_SMEM(smem);
  T *queries = reinterpret_cast<T *>(smem), *span_k = queries + SlabQ::kElements,
    *span_v = span_k + SlabK::kElements;
  int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;
  int warp_row = warp / kWarpsN * kRows, row = warp_row + (lane >> 2), group = warp % kWarpsN;
  Index last = keys;
  if constexpr (Config::causal != 0)
    last = most_seen<kTileM>(m0, rows, keys, seen);
  Index begin, end;
  share_keys<Share, kSpan>(last, begin, end);
  // The lane's rows are 8 apart. `least` is how many keys each of them sees.
  Index limits[2 * kTiles], lines[2 * kTiles], least = keys;
#pragma unroll
  for (int half = 0; half < 2 * kTiles; ++half) {
    Index m = m0 + row + half * 8;
    lines[half] = m < rows ? m : rows - 1;
    limits[half] = m < rows ? keys : 0;
    if constexpr (Config::causal != 0)
      if (m < rows) {
        Index count = seen(m);
        limits[half] = count < keys ? count : keys;
      }
    least = limits[half] < least ? limits[half] : least;
  }

  auto fill_k = [&](Index n0) {
    SlabK::template fill<Config::width_k, kThreads>(span_k, key, element_k, n0, keys, Index(0),
                                                    Index(kDepth));
    cp_async_commit();
  };
  auto fill_v = [&](Index n0) {
    if constexpr (kBytes == 2) {
      SlabV::template fill<Config::width_v, kThreads>(span_v, value, element_v, Index(0),
                                                      Index(kColumns), n0, keys);
    } else {
      fill_exchanged<SlabV, Config::width_v, kColumns, kSpan, kThreads>(span_v, value, element_v,
                                                                        n0, keys);
    }
    cp_async_commit();
  };

  float sums[kWide / kPart][kTiles][kPart / 8][4] = {};
  float largest[2 * kTiles], total[2 * kTiles] = {};
#pragma unroll
  for (int half = 0; half < 2 * kTiles; ++half)
    largest[half] = minus_infinity();
  u32 kept[kKeepsQuery ? kDeepSteps : 1][kTiles][4];
  auto load_query = [&](u32(&to)[kTiles][4], int kk) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
      SlabQ::load_a(to[i], queries, warp_row + i * 16, kk);
  };
  if (begin < end) {
    SlabQ::template fill<Config::width_q, kThreads>(queries, query, element_q, m0, rows, Index(0),
                                                    Index(kDepth));
    fill_k(begin);
    cp_async_wait<0>();
    barrier();
    if constexpr (kKeepsQuery)
#pragma unroll
      for (int kk = 0; kk < kDeepSteps; ++kk)
        load_query(kept[kk], kk);
  }
#pragma unroll 1
  for (Index n0 = begin; n0 < end; n0 += kSpan) {
    fill_v(n0);
    float s[kTiles][kTileN / 8][4] = {};
    // Operands of a query that is read again and again must not pile up in registers.
#pragma unroll(kKeepsQuery ? kDeepSteps : 2)
    for (int kk = 0; kk < kDeepSteps; ++kk) {
      u32 fk[kTileN / 16][4];
#pragma unroll
      for (int j = 0; j < kTileN / 16; ++j)
        SlabK::load_b(fk[j], span_k, group * kTileN + j * 16, kk);
      if constexpr (kKeepsQuery) {
        mma_tile<T, kTiles, kTileN / 8>(s, kept[kk], fk);
      } else {
        u32 fq[kTiles][4];
        load_query(fq, kk);
        mma_tile<T, kTiles, kTileN / 8>(s, fq, fk);
      }
    }

    // Calls visit(half, key, score) for the lane's scores.
    auto each = [&](const auto &visit) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int j = 0; j < kTileN / 8; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            visit(tile * 2 + (i >> 1), n0 + group * kTileN + j * 8 + (lane & 3) * 2 + (i & 1),
                  s[tile][j][i]);
    };
    float peaks[2 * kTiles];
#pragma unroll
    for (int half = 0; half < 2 * kTiles; ++half)
      peaks[half] = largest[half];
    each([&](int half, Index n, float &s) { s = score(lines[half], n < keys ? n : keys - 1, s); });
    if (n0 + kSpan > least) // as few spans do
      each([&](int half, Index n, float &s) { s = n < limits[half] ? s : minus_infinity(); });
    each([&](int half, Index, float s) { peaks[half] = max(peaks[half], s); });
    float bases[2 * kTiles], shrinks[2 * kTiles];
#pragma unroll
    for (int half = 0; half < 2 * kTiles; ++half) {
      peaks[half] = max(peaks[half], shfl_xor(peaks[half], 1));
      peaks[half] = max(peaks[half], shfl_xor(peaks[half], 2));
      bases[half] = score_base(peaks[half]);
      shrinks[half] = weight_of(largest[half] - bases[half]);
      largest[half] = peaks[half];
      total[half] = total[half] * shrinks[half];
    }
    each([&](int half, Index, float &s) {
      s = weight_of(s - bases[half]);
      total[half] = total[half] + s;
    });
#pragma unroll
    for (int part = 0; part < kWide / kPart; ++part)
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int j = 0; j < kPart / 8; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            sums[part][tile][j][i] = sums[part][tile][j][i] * shrinks[tile * 2 + (i >> 1)];

    cp_async_wait<0>();
    barrier(); // the values are here, and nobody reads the keys any more
    if (n0 + kSpan < end)
      fill_k(n0 + kSpan);
#pragma unroll
    for (int kk = 0; kk < kKeySteps; ++kk) {
      u32 weights[kTiles][4];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if constexpr (kBytes == 2)
            weights[tile][i] = pack2<T>(s[tile][kk * 2 + i / 2][i % 2 * 2],
                                        s[tile][kk * 2 + i / 2][i % 2 * 2 + 1]);
          else
            weights[tile][i] = tf32_bits((u32)bits_of(s[tile][kk][i % 2 * 2 + i / 2]));
#pragma unroll
      for (int part = 0; part < kWide / kPart; ++part) {
        u32 fv[kPart / 16][4];
#pragma unroll
        for (int j = 0; j < kPart / 16; ++j)
          SlabV::load_b(fv[j], span_v, part * kPart + j * 16, group * kKeySteps + kk);
        mma_tile<T, kTiles, kPart / 8>(sums[part], weights, fv);
      }
    }
    cp_async_wait<0>();
    barrier(); // the next keys are here, and nobody reads the values any more
  }

  // The sums of the warps that shared the keys, through the room of the spans.
  barrier();
  attention_rows<kTileM, kWide, kPitch, kThreads> all(reinterpret_cast<float *>(smem));
  float *peaks = reinterpret_cast<float *>(smem) + all.kFloats, *weights = peaks + kWarpsN * kTileM;
#pragma unroll
  for (int half = 0; half < 2 * kTiles; ++half) {
    total[half] = total[half] + shfl_xor(total[half], 1);
    total[half] = total[half] + shfl_xor(total[half], 2);
    if ((lane & 3) == 0) {
      peaks[group * kTileM + row + half * 8] = largest[half];
      weights[group * kTileM + row + half * 8] = total[half];
    }
  }
  barrier();
#pragma unroll
  for (int half = 0; half < 2 * kTiles; ++half) {
    float most = minus_infinity(), weight = 0.0f;
#pragma unroll
    for (int other = 0; other < kWarpsN; ++other)
      most = max(most, peaks[other * kTileM + row + half * 8]);
    float base = score_base(most);
#pragma unroll
    for (int other = 0; other < kWarpsN; ++other) {
      int at = other * kTileM + row + half * 8;
      weight = fma(weights[at], weight_of(peaks[at] - base), weight);
    }
    if (group == 0 && (lane & 3) == 0) {
      all.peaks[row + half * 8] = most;
      all.weights[row + half * 8] = weight;
    }
    largest[half] = weight_of(largest[half] - base);
  }
#pragma unroll 1
  for (int turn = 0; turn < kWarpsN; ++turn) {
    if (group == turn)
#pragma unroll
      for (int part = 0; part < kWide / kPart; ++part)
#pragma unroll
        for (int half = 0; half < 2 * kTiles; ++half)
#pragma unroll
          for (int j = 0; j < kPart / 8; ++j) {
            const float (&four)[4] = sums[part][half / 2][j];
            float *at =
                all.totals + (row + half * 8) * kPitch + part * kPart + j * 8 + (lane & 3) * 2;
            vec<float, 2> pair = {
                {four[half % 2 * 2] * largest[half], four[half % 2 * 2 + 1] * largest[half]}};
            if (turn > 0) {
              vec<float, 2> before = load<2>(at);
              pair[0] = before[0] + pair[0];
              pair[1] = before[1] + pair[1];
            }
            store(at, pair);
          }
    barrier();
  }
  int exist = rows - m0 < kTileM ? (int)(rows - m0) : kTileM;
  if constexpr (Share::kParts > 1)
    if (!all.merge(share, exist, [](float x) { return weight_of(x); }))
      return;
  all.template finish<kColumns, kVector>(m0, exist, keys > 0, finish);
}

/// attention_mma_share where each block walks over all keys of its rows.
template <class Config, class FQ, class FK, class FV, class FS, class FN, class FE>
DLC_DEV void attention_mma(typename Config::index m0, typename Config::index rows,
                           typename Config::index keys, const typename Config::type *query,
                           const typename Config::type *key, const typename Config::type *value,
                           const FQ &element_q, const FK &element_k, const FV &element_v,
                           const FS &score, const FN &seen, const FE &finish) {
  attention_mma_share<Config>(whole_depth{}, m0, rows, keys, query, key, value, element_q,
                              element_k, element_v, score, seen, finish);
}

/// attention_mma with the config's `parts` blocks for each tile (split_depth): the grid's x has
/// them side by side.
template <class Config, class FQ, class FK, class FV, class FS, class FN, class FE>
DLC_DEV void attention_mma_split(typename Config::index m0, typename Config::index rows,
                                 typename Config::index keys, const typename Config::type *query,
                                 const typename Config::type *key,
                                 const typename Config::type *value, float *exchange,
                                 const FQ &element_q, const FK &element_k, const FV &element_v,
                                 const FS &score, const FN &seen, const FE &finish) {
  attention_mma_share<Config>(split_depth<Config::parts>{exchange}, m0, rows, keys, query, key,
                              value, element_q, element_k, element_v, score, seen, finish);
}

} // namespace dlc
