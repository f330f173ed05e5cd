//===- dlc_attention_simt.cuh - attention in IEEE f32 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk of dlc_attention.cuh without tensor cores. 16 x 16 threads: a thread multiplies tile_m /
// 16 rows with tile_n / 16 keys, then has the weights of its rows times every sixteenth column.
// Weights pass through shared memory, where the rows of an operand lie one odd number of 16-byte
// chunks apart: eight neighbouring rows in eight different groups of four banks.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_async.cuh"
#include "dlc_attention_rows.cuh"

namespace dlc {

/// Floats from row to row of an operand with `elements` in each, zeros behind them up to a multiple
/// of 8.
DLC_DEV constexpr int simt_pitch(int elements) { return (elements + 7) / 8 * 8 + 4; }

/// Brings LINES lines from `first` on, of ELEMENTS elements and zeros up to WIDTH_TO, PITCH apart.
/// `element(line, e)` as in slab::fill; its lines end at `lines`. ALONG: elements of a line lie
/// together in memory, else those of neighbouring lines.
template <int WIDTH, bool ALONG, int LINES, int ELEMENTS, int WIDTH_TO, int PITCH, int THREADS,
          class Index, class Element>
DLC_DEV void fill_lines(float *to, const float *base, const Element &element, Index first,
                        Index lines) {
  constexpr int kStep = ALONG && WIDTH > 1 ? WIDTH : 1, kPerLine = WIDTH_TO / kStep;
  static_assert(WIDTH_TO % kStep == 0, "whole copies");
#pragma unroll 1
  for (int piece = (int)threadIdx.x; piece < LINES * kPerLine; piece += THREADS) {
    int line = ALONG ? piece / kPerLine : piece % LINES,
        e = (ALONG ? piece % kPerLine : piece / LINES) * kStep;
    bool exists = first + line < lines && e < ELEMENTS;
    float *at = to + line * PITCH + e;
    if constexpr (WIDTH > 0) {
      Index offset = exists ? element(first + line, (Index)e) : Index(-1);
      cp_async<kStep *(int)sizeof(float)>(at, base + (offset < 0 ? 0 : offset), offset >= 0);
    } else {
      *at = exists ? element(first + line, (Index)e) : 0.0f;
    }
  }
  cp_async_commit();
}

/// As attention_mma_share. Config: index, depth and columns, tile_m and tile_n, causal, vector, and
/// for query, key and value the width (0: computed) and whether a line (of depth; of the value: of
/// columns) lies along memory.
template <class Config, class Share, class FQ, class FK, class FV, class FS, class FN, class FX,
          class FE>
DLC_DEV void attention_simt_share(const Share &share, typename Config::index m0,
                                  typename Config::index rows, typename Config::index keys,
                                  const float *query, const float *key, const float *value,
                                  const FQ &element_q, const FK &element_k, const FV &element_v,
                                  const FS &score, const FN &seen, const FX &exponential,
                                  const FE &finish) {
  using Index = typename Config::index;
  constexpr int kSide = 16, kThreads = kSide * kSide, kTileM = Config::tile_m,
                kTileN = Config::tile_n, kDepth = Config::depth, kColumns = Config::columns,
                kVector = Config::vector;
  constexpr int kRows = kTileM / kSide, kKeys = kTileN / kSide,
                kCols = (kColumns + kSide - 1) / kSide, kWide = kCols * kSide;
  constexpr int kDeep = simt_pitch(kDepth) - 4, kPitchE = simt_pitch(kDepth), kPitchV = kWide,
                kPitchW = kTileN + 4, kPitch = kWide + 4;

  DLC_DYN_SMEM(smem);
  float *queries = reinterpret_cast<float *>(smem), *span_k = queries + kTileM * kPitchE,
        *span_v = span_k + kTileN * kPitchE, *weights = span_v + kTileN * kPitchV;
  int thread = (int)threadIdx.x, tx = thread % kSide, ty = thread / kSide;
  Index last = keys;
  if constexpr (Config::causal != 0)
    last = most_seen<kTileM>(m0, rows, keys, seen);
  Index begin, end;
  share_keys<Share, kTileN>(last, begin, end);
  Index limits[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    Index m = m0 + ty + i * kSide;
    limits[i] = m < rows ? keys : 0;
    if constexpr (Config::causal != 0)
      if (m < rows) {
        Index count = seen(m);
        limits[i] = count < keys ? count : keys;
      }
  }
  auto fill_k = [&](Index n0) {
    fill_lines<Config::width_k, Config::along_k != 0, kTileN, kDepth, kDeep, kPitchE, kThreads>(
        span_k, key, element_k, n0, keys);
  };
  auto fill_v = [&](Index n0) {
    auto element = [&](Index n, Index c) { return element_v(c, n); };
    fill_lines<Config::width_v, Config::along_v != 0, kTileN, kColumns, kWide, kPitchV, kThreads>(
        span_v, value, element, n0, keys);
  };

  float sums[kRows][kCols] = {}, largest[kRows], total[kRows] = {};
#pragma unroll
  for (int i = 0; i < kRows; ++i)
    largest[i] = minus_infinity();
  if (begin < end) {
    fill_lines<Config::width_q, Config::along_q != 0, kTileM, kDepth, kDeep, kPitchE, kThreads>(
        queries, query, element_q, m0, rows);
    fill_k(begin);
    cp_async_wait<0>();
    barrier();
  }
#pragma unroll 1
  for (Index n0 = begin; n0 < end; n0 += kTileN) {
    fill_v(n0);
    float s[kRows][kKeys] = {};
#pragma unroll 4
    for (int e = 0; e < kDeep; e += 4) {
      vec<float, 4> q[kRows], k[kKeys];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        q[i] = load<4>(queries + (ty + i * kSide) * kPitchE + e);
#pragma unroll
      for (int j = 0; j < kKeys; ++j)
        k[j] = load<4>(span_k + (tx + j * kSide) * kPitchE + e);
#pragma unroll
      for (int part = 0; part < 4; ++part)
#pragma unroll
        for (int i = 0; i < kRows; ++i)
#pragma unroll
          for (int j = 0; j < kKeys; ++j)
            s[i][j] = fma(q[i][part], k[j][part], s[i][j]);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float seen_now = minus_infinity();
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        Index n = n0 + tx + j * kSide;
        s[i][j] = n < limits[i] ? score(m0 + ty + i * kSide, n, s[i][j]) : minus_infinity();
        seen_now = max(seen_now, s[i][j]);
      }
#pragma unroll
      for (int mask = kSide / 2; mask > 0; mask >>= 1)
        seen_now = max(seen_now, shfl_xor(seen_now, mask));
      float before = largest[i];
      largest[i] = max(before, seen_now);
      float base = score_base(largest[i]), shrink = exponential(before - base);
      total[i] = total[i] * shrink;
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        float weight = exponential(s[i][j] - base);
        weights[(ty + i * kSide) * kPitchW + tx + j * kSide] = weight;
        total[i] = total[i] + weight;
      }
#pragma unroll
      for (int c = 0; c < kCols; ++c)
        sums[i][c] = sums[i][c] * shrink;
    }
    cp_async_wait<0>();
    barrier(); // weights and values are here, and nobody reads the keys any more
    if (n0 + kTileN < end)
      fill_k(n0 + kTileN);
#pragma unroll 1
    for (int n = 0; n < kTileN; n += 4) {
      vec<float, 4> w[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        w[i] = load<4>(weights + (ty + i * kSide) * kPitchW + n);
#pragma unroll
      for (int part = 0; part < 4; ++part)
#pragma unroll
        for (int c = 0; c < kCols; ++c) {
          float v = span_v[(n + part) * kPitchV + tx + c * kSide];
#pragma unroll
          for (int i = 0; i < kRows; ++i)
            sums[i][c] = fma(w[i][part], v, sums[i][c]);
        }
    }
    cp_async_wait<0>();
    barrier(); // the next keys are here, and nobody reads values or weights any more
  }

  barrier();
  attention_rows<kTileM, kWide, kPitch, kThreads> all(reinterpret_cast<float *>(smem));
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int mask = kSide / 2; mask > 0; mask >>= 1)
      total[i] = total[i] + shfl_xor(total[i], mask);
    if (tx == 0) {
      all.peaks[ty + i * kSide] = largest[i];
      all.weights[ty + i * kSide] = total[i];
    }
#pragma unroll
    for (int c = 0; c < kCols; ++c)
      all.totals[(ty + i * kSide) * kPitch + tx + c * kSide] = sums[i][c];
  }
  barrier();
  int exist = rows - m0 < kTileM ? (int)(rows - m0) : kTileM;
  if constexpr (Share::kParts > 1)
    if (!all.merge(share, exist, exponential))
      return;
  all.template finish<kColumns, kVector>(m0, exist, keys > 0, finish);
}

/// attention_simt_share where each block walks over all keys of its rows.
template <class Config, class FQ, class FK, class FV, class FS, class FN, class FX, class FE>
DLC_DEV void attention_simt(typename Config::index m0, typename Config::index rows,
                            typename Config::index keys, const float *query, const float *key,
                            const float *value, const FQ &element_q, const FK &element_k,
                            const FV &element_v, const FS &score, const FN &seen,
                            const FX &exponential, const FE &finish) {
  attention_simt_share<Config>(whole_depth{}, m0, rows, keys, query, key, value, element_q,
                               element_k, element_v, score, seen, exponential, finish);
}

/// attention_simt with the config's `parts` blocks for each tile (split_depth): the grid's x has
/// them side by side.
template <class Config, class FQ, class FK, class FV, class FS, class FN, class FX, class FE>
DLC_DEV void attention_simt_split(typename Config::index m0, typename Config::index rows,
                                  typename Config::index keys, const float *query, const float *key,
                                  const float *value, float *exchange, const FQ &element_q,
                                  const FK &element_k, const FV &element_v, const FS &score,
                                  const FN &seen, const FX &exponential, const FE &finish) {
  attention_simt_share<Config>(split_depth<Config::parts>{exchange}, m0, rows, keys, query, key,
                               value, element_q, element_k, element_v, score, seen, exponential,
                               finish);
}

} // namespace dlc
