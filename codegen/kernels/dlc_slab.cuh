//===- dlc_slab.cuh - the way of an operand into shared memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products bring slabs of both operands through a ring of stages in shared memory: 16-byte
// chunks, permuted within their row so that neither copies nor reads meet a bank twice. Operands
// that lie in memory as they are wanted are copied asynchronously; others are computed element by
// element on the way.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_async.cuh"

namespace dlc {

/// Place of a 16-byte chunk in a row of CHUNKS (2, 4, 8 or more): the same chunk of eight
/// neighbouring rows lies in eight different groups of four banks.
template <int CHUNKS> DLC_DEV constexpr int swizzled(int row, int chunk) {
  constexpr int kRows = CHUNKS < 8 ? 8 / CHUNKS : 1, kMask = CHUNKS < 8 ? CHUNKS - 1 : 7;
  return chunk ^ (row / kRows & kMask);
}

/// An operand's slab in shared memory. ALONG_K: ROWS rows of DEPTH elements; else the other way round.
template <class T, int ROWS, int DEPTH, bool ALONG_K, bool SWIZZLED = true> struct slab {
  static constexpr int kPerChunk = 16 / (int)sizeof(T), kLines = ALONG_K ? ROWS : DEPTH,
                       kChunks = (ALONG_K ? DEPTH : ROWS) / kPerChunk, kElements = ROWS * DEPTH;

  /// Where a chunk begins, in elements.
  static DLC_DEV constexpr int place(int line, int chunk) {
    return (line * kChunks + (SWIZZLED ? swizzled<kChunks>(line, chunk) : chunk)) * kPerChunk;
  }

  /// Brings rows from `first` on and steps of k from `k0` on. `operand(row, k)` is the offset from `base` of WIDTH
  /// elements that lie together, or -1 where they are zeros; with WIDTH 0 it is the element itself. ACROSS: neighbours in
  /// memory are neighbours of different lines.
  template <int WIDTH, int THREADS, bool ACROSS = WIDTH == 1, class Index, class Operand>
  static DLC_DEV void fill(T *stage, const T *base, const Operand &operand, Index first, Index rows,
                           Index k0, Index depth) {
    if constexpr (WIDTH > 0) {
      constexpr int kPerLine = kChunks * kPerChunk / WIDTH, kPieces = kLines * kPerLine,
                    kRounds = (kPieces + THREADS - 1) / THREADS,
                    kUnroll = kRounds <= 8 ? kRounds : 4; // more would keep too many addresses
#pragma unroll kUnroll
      for (int round = 0; round < kRounds; ++round) {
        int piece = round * THREADS + (int)threadIdx.x;
        if (kPieces % THREADS != 0 && piece >= kPieces)
          break;
        // Neighbouring threads copy neighbours in memory.
        int line = ACROSS ? piece % kLines : piece / kPerLine,
            at = (ACROSS ? piece / kLines : piece % kPerLine) * WIDTH;
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
};

/// Runs `fill(stage, step)` for all steps, up to STAGES - 1 of them ahead of `multiply(stage)`, which runs in order: all
/// threads of the block together. At the end the stages are free. Each is called from one place: they are long.
template <int STAGES, class Index, class Fill, class Multiply>
DLC_DEV void through_ring(Index steps, const Fill &fill, const Multiply &multiply) {
  int filled = 0, stage = 0; // where the next slab goes, and the one to multiply
#pragma unroll 1
  for (Index step = 1 - STAGES; step < steps; ++step) {
    if (step >= 0) {
      cp_async_wait<STAGES - 2>();
      barrier(); // which also ends all reads of the stage that is filled now
    }
    if (step + STAGES - 1 < steps)
      fill(filled, step + STAGES - 1);
    cp_async_commit();
    filled = filled + 1 == STAGES ? 0 : filled + 1;
    if (step >= 0) {
      multiply(stage);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
  }
  cp_async_wait<0>();
  barrier();
}

/// COUNT neighbouring totals.
template <int COUNT> DLC_DEV vec<float, COUNT> load_totals(const float *at) {
  vec<float, COUNT> totals;
#pragma unroll
  for (int e = 0; e < COUNT; e += COUNT < 4 ? 1 : 4)
    if constexpr (COUNT < 4) {
      totals[e] = at[e];
    } else {
      vec<float, 4> part = load<4>(at + e);
      totals[e] = part[0];
      totals[e + 1] = part[1];
      totals[e + 2] = part[2];
      totals[e + 3] = part[3];
    }
  return totals;
}

/// The same of WINDOW neighbouring rows, one after the other; room up to a multiple of four floats.
template <int WINDOW, int COUNT> DLC_DEV auto load_window(const float *at, int pitch) {
  if constexpr (WINDOW == 1) {
    return load_totals<COUNT>(at);
  } else {
    vec<float, (WINDOW * COUNT + 3) / 4 * 4> totals;
#pragma unroll
    for (int row = 0; row < WINDOW; ++row) {
      vec<float, COUNT> part = load_totals<COUNT>(at + row * pitch);
#pragma unroll
      for (int e = 0; e < COUNT; ++e)
        totals[row * COUNT + e] = part[e];
    }
    return totals;
  }
}

} // namespace dlc
