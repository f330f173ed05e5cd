//===- dlc_sums90.cuh - slabs multiplied by wgmma -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The totals that a warpgroup of contract_wgmma holds, 64 rows of a tile or all 128, and how it
// multiplies a slab onto them: in floats of 16 bits or tf32, in bytes, or in e4m3.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_totals.cuh"
#include "dlc_wgmma.cuh"

#ifdef DLC_HAS_WGMMA
namespace dlc {

/// Shared memory through which the warpgroup's threads tell each other the sums of columns: a
/// barrier of 128 arrivals, and room for two tiles.
struct column_sums_room {
  u64 *met;
  i32 *sums;
};

/// Sets all totals of a thread to zero.
template <class T, int COUNT> DLC_DEV void clear_totals(T (&totals)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    totals[i] = T(0);
}

/// N columns of floats, of 64 rows or, with the config's pingpong, of 128: a warpgroup's whole
/// tile. A and B have the slabs, as of contract_wgmma.
template <class Config, int N, int KIND = number_kind<Config>()> struct wgmma_sums {
  using Total = float;
  /// kInFlight: slabs that are still multiplied after `multiply`. kCounts: threads read slabs, too.
  /// kParts: of 64 rows.
  enum { kInFlight = 1, kCounts = 0, kZeroA = 0, kZeroB = 0, kParts = Config::pingpong ? 2 : 1 };

  float d[kParts][N / 2];

  DLC_DEV explicit wgmma_sums(column_sums_room) {}
  DLC_DEV void begin() {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      clear_totals(d[part]);
  }
  /// Multiplies the rows from `first` on by all columns.
  template <class A, class B>
  DLC_DEV void multiply(const u8 *stage_a, const u8 *stage_b, int first) {
    wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < 4; ++kk)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        wgmma<typename Config::type, N, A::kAlongRows != 0, B::kAlongRows != 0>(
            d[part], A::slab::at(stage_a, first + part * 64, kk), B::slab::at(stage_b, 0, kk),
            true);
    wgmma_commit();
    // One slab stays in work; the one before it is free.
    wgmma_wait<1>();
  }
  /// After the last slab.
  DLC_DEV void end() { wgmma_wait<0>(); }
};

/// e4m3. A slab, 128 steps of k, is summed by itself, since wgmma adds with some 14 bits, and then
/// added in f32. While one warpgroup adds, the other one multiplies.
///
/// An H100 aligns 32 products and the total before them to the largest exponent and cuts each off
/// below 2^-13 of that. So |y - y64| <= (4 * 34 * 2^-13 + (K / 128 + 2) * 2^-24) * sum |a| |b| at
/// worst; the first part is rarely above a hundredth of that, since errors of 34 terms are not all
/// full.
template <class Config, int N> struct wgmma_sums<Config, N, kFloat8> {
  using Total = float;
  enum { kInFlight = 0, kCounts = 0, kZeroA = 0, kZeroB = 0, kParts = 1 };

  float d[1][N / 2], of_slab[N / 2];

  DLC_DEV explicit wgmma_sums(column_sums_room) {
    clear_totals(of_slab); // the first product of a slab writes over it
  }
  DLC_DEV void begin() { clear_totals(d[0]); }
  template <class A, class B>
  DLC_DEV void multiply(const u8 *stage_a, const u8 *stage_b, int first) {
    wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < 4; ++kk)
      wgmma_float8<N>(of_slab, A::slab::at(stage_a, first, kk), B::slab::at(stage_b, 0, kk),
                      kk > 0);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_arrived(of_slab);
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
      d[0][i] += of_slab[i];
  }
  DLC_DEV void end() {}
};

/// Bytes in i32. One operand may have a zero point, as of mma_sums: the other one's bytes are then
/// added as they lie in shared memory, each row of A by two lanes of the warp that has its totals,
/// each column of B by one thread, or two, of the warpgroup.
template <class Config, int N> struct wgmma_sums<Config, N, kBytes> {
  using Total = i32;
  enum {
    kInFlight = 1,
    kParts = 1,
    kZeroA = Config::zero_a,
    kZeroB = Config::zero_b,
    kCounts = Config::zero_a != 0 || Config::zero_b != 0
  };
  static constexpr bool kSignedA = Config::signed_a != 0, kSignedB = Config::signed_b != 0;
  /// Columns of B of which a thread adds bytes, and threads that share one.
  static constexpr int kOwn = N < 128 ? 1 : N / 128, kSharers = N < 128 ? 128 / N : 1;
  static_assert(kZeroA == 0 || kZeroB == 0, "one operand alone has a zero point");

  i32 d[1][N / 2];
  i32 of_row = 0, of_columns[kZeroA != 0 ? kOwn : 1] = {};
  column_sums_room room;
  u32 tile = 0; // counted from the first of this block

  DLC_DEV explicit wgmma_sums(column_sums_room room) : room(room) {}
  DLC_DEV void begin() {
    clear_totals(d[0]);
    of_row = 0;
#pragma unroll
    for (int own = 0; own < (kZeroA != 0 ? kOwn : 1); ++own)
      of_columns[own] = 0;
  }
  template <class A, class B>
  DLC_DEV void multiply(const u8 *stage_a, const u8 *stage_b, int first) {
    wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < 4; ++kk)
      wgmma_bytes<kSignedA, kSignedB, N>(d[0], A::slab::at(stage_a, first, kk),
                                         B::slab::at(stage_b, 0, kk), true);
    wgmma_commit();
    count(stage_a, stage_b, first);
    wgmma_wait<1>();
  }
  DLC_DEV void end() {
    wgmma_wait<0>();
    take_off_zeros();
    ++tile;
  }

private:
  /// Adds a PARTS-th of the 128 bytes of a line, 16 at a time. Lines begin at different chunks, so
  /// that neighbouring lines are in different banks; a sum need not know where the swizzle puts
  /// what.
  template <bool SIGNED, int PARTS>
  static DLC_DEV i32 add_line(const u8 *stage, int line, int part, i32 sum) {
#pragma unroll
    for (int i = 0; i < 8 / PARTS; ++i) {
      vec<u32, 4> words = load<4>(
          reinterpret_cast<const u32 *>(stage + line * 128 + (i * PARTS + part + line) % 8 * 16));
#pragma unroll
      for (int w = 0; w < 4; ++w)
        sum = add_bytes<SIGNED>(words[w], sum);
    }
    return sum;
  }
  DLC_DEV void count(const u8 *stage_a, const u8 *stage_b, int first) {
    const int thread = (int)threadIdx.x & 127, lane = thread & 31;
    if constexpr (kZeroB != 0)
      of_row = add_line<kSignedA, 2>(stage_a, first + (thread >> 5) * 16 + (lane >> 1), lane & 1,
                                     of_row);
    if constexpr (kZeroA != 0)
#pragma unroll
      for (int own = 0; own < kOwn; ++own)
        of_columns[own] =
            add_line<kSignedB, kSharers>(stage_b, own * 128 + thread % (128 / kSharers),
                                         thread / (128 / kSharers), of_columns[own]);
  }
  DLC_DEV void take_off_zeros() {
    const int thread = (int)threadIdx.x & 127, lane = thread & 31;
    if constexpr (kZeroB != 0) {
      i32 sum = add_wrap(of_row, shfl_xor(of_row, 1));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        i32 less = mul_wrap(shfl(sum, (half * 8 + (lane >> 2)) * 2), (i32)kZeroB);
#pragma unroll
        for (int i = half * 2; i < N / 2; i += 4) {
          d[0][i] = sub_wrap(d[0][i], less);
          d[0][i + 1] = sub_wrap(d[0][i + 1], less);
        }
      }
    }
    if constexpr (kZeroA != 0) {
      // Room for two tiles: who is fast writes the next sums while others read these.
      i32 *sums = room.sums + (tile & 1) * kSharers * N;
#pragma unroll
      for (int own = 0; own < kOwn; ++own)
        sums[own * 128 + thread] = of_columns[own];
      mbar_arrive(room.met);
      mbar_wait(room.met, tile & 1);
#pragma unroll
      for (int j = 0; j < N / 8; ++j) {
        vec<i32, 2> pair = load<2>(sums + j * 8 + (lane & 3) * 2);
        if constexpr (kSharers > 1) {
          vec<i32, 2> other = load<2>(sums + N + j * 8 + (lane & 3) * 2);
          pair[0] = add_wrap(pair[0], other[0]);
          pair[1] = add_wrap(pair[1], other[1]);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e)
          d[0][j * 4 + e] = sub_wrap(d[0][j * 4 + e], mul_wrap(pair[e & 1], (i32)kZeroA));
      }
    }
  }
};

} // namespace dlc
#endif // DLC_HAS_WGMMA
