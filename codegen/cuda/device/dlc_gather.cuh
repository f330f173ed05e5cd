//===- dlc_gather.cuh - rows of an image under a window -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of an implicit GEMM: row m is the window at one place of the image, k counts its taps
// and, fastest, what lies together at each of them (the channels). One warpgroup copies slabs of
// such rows to where wgmma reads them.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_slab.cuh"

namespace dlc {

/// ROWS rows of a tile, slab after slab of 128 bytes of k, by the first 128 threads of the block.
/// Whether a row has elements depends on the tap alone: `taps` of the config counts these, at most
/// 32. `element(row, k, ...)` is the offset of an element from the base or -1 where it is 0,
/// `place(row, k, ...)` the same without a test: what the row makes of it plus what the tap and the
/// channel do. 16 bytes lie together along k. OUTSIDE: what elements are that have no place.
/// Config: type, index, k_loops and their extents as of slab_k, whose loops but the last are the
/// taps.
///
/// Eight threads copy a row's 128 bytes, each the same 16 of every sixteenth row. Finding a row
/// takes divisions: each lane finds others of its warp's rows, and all tell each other.
template <class Config, int ROWS, int OUTSIDE = 0> struct gathered_rows {
  using T = typename Config::type;
  using Index = typename Config::index;
  using K = slab_k<Config>;
  static constexpr int kDepth = 128 / (int)sizeof(T), kTaps = Config::taps, kOwn = ROWS / 16;
  using Slab = slab<T, ROWS, kDepth, true>;
  static_assert(kTaps <= 32, "a bit for each tap");

  K at;              // of this thread's 16 bytes of the next slab
  Index start[kOwn]; // of the rows' windows
  u32 inside[kOwn];  // bits of taps

  /// Begins with the rows from `first` on, of which those below `rows` are not 0.
  template <class FO, class FP>
  DLC_DEV void begin(const FO &element, const FP &place, Index first, Index rows) {
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5;
    at = K::start(0).plus(((int)threadIdx.x & 7) * Slab::kPerChunk);
#pragma unroll
    for (int turn = 0; turn < (kOwn + 7) / 8; ++turn) {
      // The warp's rows are four of every sixteen.
      Index row = first + turn * 128 + (lane >> 2) * 16 + warp * 4 + (lane & 3);
      K tap = K::start(0);
      Index found = tap(place, row);
      u32 bits = 0;
#pragma unroll 1
      for (int bit = 0; bit < kTaps; ++bit) {
        if (row < rows && tap(element, row) >= 0)
          bits |= 1u << bit;
        if constexpr (kTaps > 1)
          tap = tap.plus(K::extent(K::kLoops - 1));
      }
#pragma unroll
      for (int own = turn * 8; own < (turn + 1) * 8 && own < kOwn; ++own) {
        int finder = (own & 7) * 4 + (lane >> 3);
        start[own] = shfl(found, finder);
        inside[own] = shfl(bits, finder);
      }
    }
  }

  /// Leaves out `slabs`.
  DLC_DEV void skip(Index slabs) { at = at.plus(slabs * kDepth); }

  /// Copies this thread's part of the next slab, asynchronously.
  template <class FP> DLC_DEV void bring(T *stage, const T *base, const FP &place, Index depth) {
    const int row = (int)threadIdx.x >> 3, chunk = (int)threadIdx.x & 7;
    bool some = true;
    int tap = 0;
    if constexpr (kTaps > 1) {
      tap = (int)at.indices[0];
#pragma unroll
      for (int loop = 1; loop < K::kLoops - 1; ++loop)
        tap = tap * (int)K::extent(loop) + (int)at.indices[loop];
      if constexpr (K::extent(K::kLoops - 1) % kDepth != 0)
        some = at.k < depth; // the last slab may reach beyond k
    } else {
      some = at.k < depth;
    }
    const Index along = at(place, (Index)0) - K::start(0)(place, (Index)0);
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      bool copies = some && (inside[own] >> tap & 1) != 0;
      T *to = stage + Slab::place(own * 16 + row, chunk);
      if constexpr (OUTSIDE != 0)
        if (!copies) { // a copy brings zeros alone
          vec<T, 16 / (int)sizeof(T)> outside;
#pragma unroll
          for (int e = 0; e < 16 / (int)sizeof(T); ++e)
            outside[e] = (T)OUTSIDE;
          store(to, outside);
          continue;
        }
      cp_async<16>(to, base + (copies ? start[own] + along : 0), copies);
    }
    at = at.plus(kDepth);
  }
};

} // namespace dlc
