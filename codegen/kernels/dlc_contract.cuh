//===- dlc_contract.cuh - matrix products on tensor cores -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One template for GEMM, batched GEMM and implicit-GEMM convolution: what an operand is and what
// becomes of the totals are functions of the caller's. A block computes a tile of m x n. Slabs of
// both operands go through a ring of stages in shared memory: 16-byte chunks, permuted within their
// row so that neither ldmatrix nor the copies meet a bank twice. Operands that lie in memory as they
// are wanted are copied asynchronously; others are computed element by element on the way. The totals
// pass through shared memory once more, so that the epilogue is called from one place, on vectors.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_mma.cuh"

namespace dlc {

/// Place of a 16-byte chunk in a row of CHUNKS (2, 4, 8 or more): the same chunk of eight
/// neighbouring rows lies in eight different groups of four banks.
template <int CHUNKS> DLC_DEV constexpr int swizzled(int row, int chunk) {
  constexpr int kRows = CHUNKS < 8 ? 8 / CHUNKS : 1, kMask = CHUNKS < 8 ? CHUNKS - 1 : 7;
  return chunk ^ (row / kRows & kMask);
}

/// An operand's slab in shared memory. ALONG_K: ROWS rows of DEPTH elements; else the other way round.
template <class T, int ROWS, int DEPTH, bool ALONG_K> struct slab {
  static_assert(ALONG_K || sizeof(T) == 2, "ldmatrix transposes elements of 16 bits");
  static constexpr int kPerChunk = 16 / (int)sizeof(T), kLines = ALONG_K ? ROWS : DEPTH,
                       kChunks = (ALONG_K ? DEPTH : ROWS) / kPerChunk, kElements = ROWS * DEPTH;

  /// Where a chunk begins, in elements.
  static DLC_DEV constexpr int place(int line, int chunk) {
    return (line * kChunks + swizzled<kChunks>(line, chunk)) * kPerChunk;
  }

  /// Brings rows from `first` on and steps of k from `k0` on. `operand(row, k)` is the offset from `base` of WIDTH
  /// elements that lie together, or -1 where they are zeros; with WIDTH 0 it is the element itself.
  template <int WIDTH, int THREADS, class Index, class Operand>
  static DLC_DEV void fill(T *stage, const T *base, const Operand &operand, Index first, Index rows,
                           Index k0, Index depth) {
    if constexpr (WIDTH > 0) {
      constexpr int kPerLine = kChunks * kPerChunk / WIDTH, kPieces = kLines * kPerLine;
#pragma unroll
      for (int round = 0; round < (kPieces + THREADS - 1) / THREADS; ++round) {
        int piece = round * THREADS + (int)threadIdx.x;
        if (kPieces % THREADS != 0 && piece >= kPieces)
          break;
        // Single elements: neighbours in memory are neighbours across the lines.
        int line = WIDTH == 1 ? piece % kLines : piece / kPerLine,
            at = WIDTH == 1 ? piece / kLines : piece % kPerLine * WIDTH;
        Index row = first + (ALONG_K ? line : at), k = k0 + (ALONG_K ? at : line);
        Index offset = row < rows && k < depth ? operand(row, k) : -1;
        cp_async<WIDTH *(int)sizeof(T)>(stage + place(line, at / kPerChunk) + at % kPerChunk,
                                        base + (offset < 0 ? 0 : offset), offset >= 0);
      }
    } else {
      // Rolled: an operand that must be computed is a long expression.
#pragma unroll 1
      for (int piece = (int)threadIdx.x; piece < kLines * kChunks; piece += THREADS) {
        int line = piece / kChunks, chunk = piece % kChunks;
        vec<T, kPerChunk> values;
#pragma unroll
        for (int e = 0; e < kPerChunk; ++e) {
          int at = chunk * kPerChunk + e;
          Index row = first + (ALONG_K ? line : at), k = k0 + (ALONG_K ? at : line);
          values[e] = row < rows && k < depth ? (T)operand(row, k) : T{};
        }
        store(stage + place(line, chunk), values);
      }
    }
  }

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

/// total(m, n) = sum over k of a(m, k) b(n, k); then `finish(m, n, totals of `vector` columns)` for all m < rows and
/// n < columns. Config: type (f16, bf16, or float rounded to tf32), index (int or i64), the tile of a block (tile_m, tile_n, tile_k
/// elements), its warps (warps_m x warps_n, and warps_k of each that share a slab's steps of k), stages, and for each operand X its width (see slab::fill) and whether it lies
/// along k in shared memory. The grid's x and y count tiles.
template <class Config, class FA, class FB, class FE>
DLC_DEV void contract_mma(typename Config::index rows, typename Config::index columns,
                          typename Config::index depth, const typename Config::type *a,
                          const typename Config::type *b, const FA &element_a, const FB &element_b,
                          const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  constexpr int kTileM = Config::tile_m, kTileN = Config::tile_n, kTileK = Config::tile_k,
                kWarpsN = Config::warps_n, kStages = Config::stages, kVector = Config::vector;
  constexpr int kWarpM = kTileM / Config::warps_m, kWarpN = kTileN / kWarpsN,
                kGroup = Config::warps_m * kWarpsN, kGroups = Config::warps_k,
                kThreads = 32 * kGroup * kGroups, kSteps = kTileK * (int)sizeof(T) / 32;
  static_assert(kSteps % kGroups == 0, "each group of warps multiplies as many steps of a slab");
  constexpr int kPitch = kTileN + 8; // neighbouring rows of totals in different banks
  using SlabA = slab<T, kTileM, kTileK, Config::along_k_a != 0>;
  using SlabB = slab<T, kTileN, kTileK, Config::along_k_b != 0>;

  DLC_DYN_SMEM(smem);
  T *stages_a = reinterpret_cast<T *>(smem), *stages_b = stages_a + kStages * SlabA::kElements;
  int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;
  int group = warp / kGroup, warp_m = warp % kGroup / kWarpsN * kWarpM,
      warp_n = warp % kWarpsN * kWarpN;
  Index m0 = (Index)blockIdx.x * kTileM, n0 = (Index)blockIdx.y * kTileN;
  Index steps = (depth + kTileK - 1) / kTileK;
  auto fill = [&](int stage, Index step) {
    SlabA::template fill<Config::width_a, kThreads>(stages_a + stage * SlabA::kElements, a,
                                                    element_a, m0, rows, step * kTileK, depth);
    SlabB::template fill<Config::width_b, kThreads>(stages_b + stage * SlabB::kElements, b,
                                                    element_b, n0, columns, step * kTileK, depth);
  };

  float acc[kWarpM / 16][kWarpN / 8][4] = {};
#pragma unroll 1
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < steps)
      fill(stage, stage);
    cp_async_commit();
  }
  int stage = 0, last = kStages - 1; // the one read now, and the one that was read before
#pragma unroll 1
  for (Index step = 0; step < steps; ++step) {
    cp_async_wait<kStages - 2>();
    barrier();
    if (step + kStages - 1 < steps)
      fill(last, step + kStages - 1);
    cp_async_commit();
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
      mma_tile<T, kWarpM / 16, kWarpN / 8>(acc, fa, fb);
    }
    last = stage;
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }

  // The stages' room for the totals.
  cp_async_wait<0>();
  barrier();
  float *totals = reinterpret_cast<float *>(smem);
#pragma unroll 1
  for (int turn = 0; turn < kGroups; ++turn) { // always in this order
    if (group == turn)
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
        for (int j = 0; j < kWarpN / 8; ++j)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float *at = totals + (warp_m + i * 16 + half * 8 + (lane >> 2)) * kPitch + warp_n +
                        j * 8 + (lane & 3) * 2;
            vec<float, 2> pair = {{acc[i][j][half * 2], acc[i][j][half * 2 + 1]}};
            if (turn > 0) {
              vec<float, 2> before = load<2>(at);
              pair[0] = before[0] + pair[0];
              pair[1] = before[1] + pair[1];
            }
            store(at, pair);
          }
    barrier();
  }
#pragma unroll 1
  for (int i = thread; i < kTileM * kTileN / kVector; i += kThreads) {
    int row = i / (kTileN / kVector), column = i % (kTileN / kVector) * kVector;
    vec<float, kVector> total;
#pragma unroll
    for (int e = 0; e < kVector; e += kVector < 4 ? 1 : 4)
      if constexpr (kVector < 4) {
        total[e] = totals[row * kPitch + column + e];
      } else {
        vec<float, 4> part = load<4>(totals + row * kPitch + column + e);
        total[e] = part[0];
        total[e + 1] = part[1];
        total[e + 2] = part[2];
        total[e + 3] = part[3];
      }
    if (m0 + row < rows && n0 + column < columns)
      finish(m0 + row, n0 + column, total);
  }
}

} // namespace dlc
