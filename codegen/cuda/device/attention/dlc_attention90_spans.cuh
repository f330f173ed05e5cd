//===- dlc_attention90_spans.cuh - a span of keys on Hopper's tensor cores ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_wgmma (dlc_attention90.cuh) keeps queries, keys and values in shared memory and a
// span's weights in registers. This file holds both, in 16-bit types and in e4m3.
//
// Tensor cores read e4m3 along k alone: values, which lie along the head, are turned on their way.
// A word of weights is four accumulators of a thread, of keys 2q, 2q + 1, 2q + 8 and 2q + 9 of 16,
// and is multiplied as keys 4q to 4q + 3: the turned values lie in that order.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_contract90.cuh"

#ifdef DLC_HAS_WGMMA
namespace dlc {

/// A matrix of LINES lines in shared memory whose WIDTH elements along a head lie together, 128
/// bytes of them in a line of a block, of which there are as many as that takes. A head of fewer
/// bytes has the next ones in its lines, or zeros.
template <int LINES, int WIDTH, int BYTES> struct head_slab {
  static constexpr int kBlock = LINES * 128, kBlocks = (WIDTH * BYTES + 127) / 128,
                       kBytes = kBlock * kBlocks;

  /// Brings the lines from `line` on, at the column where the head begins.
  static DLC_DEV void load(u8 *slab, const tensor_map *map, u64 *full, int column, int line) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block)
      tma_load_2d(slab + block * kBlock, map, full, column + block * (128 / BYTES), line);
  }
  /// Names the lines from `line` on, a multiple of 8, as rows of an operand along whose k the head
  /// lies, at step `kk` of 32 of its bytes.
  static DLC_DEV u64 at(const u8 *slab, int line, int kk) {
    return wgmma_along_k(slab + kk / 4 * kBlock + line * 128) + kk % 4 * (32 >> 4);
  }
  /// Names 16 lines as steps of k, the head, of 16-bit elements, as columns.
  static DLC_DEV u64 across(const u8 *slab, int line) {
    return wgmma_along_rows(slab, kBlock) + line * (128 >> 4);
  }
  /// A warp makes the lines from `line` on 0.
  static DLC_DEV void clear(u8 *slab, int line) {
    vec<u32, 4> none = splat<4>(0u);
#pragma unroll 1
    for (int i = line * 8 + ((int)threadIdx.x & 31); i < LINES * 8; i += 32)
#pragma unroll
      for (int block = 0; block < kBlocks; ++block)
        store(reinterpret_cast<u32 *>(slab + block * kBlock) + i * 4, none);
  }
};

/// A ring of stages, of which `full` and `empty` barriers tell.
template <int STAGES> struct stage_ring {
  u8 *stages;
  u64 *full, *empty;
  int stage = 0;
  u32 phase = 0; ///< of `full`

  DLC_DEV stage_ring(u8 *stages, u64 *bars) : stages(stages), full(bars), empty(bars + STAGES) {}
  DLC_DEV void advance() {
    phase ^= stage + 1 == STAGES;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
  DLC_DEV void wait_full() const { mbar_wait(full + stage, phase); }
  DLC_DEV void wait_empty() const { mbar_wait(empty + stage, phase ^ 1); }
  /// A warpgroup has read the stage; `speaks` in one of its threads.
  DLC_DEV void release(bool speaks) {
    if (speaks)
      mbar_arrive(empty + stage);
    advance();
  }
};

/// Products of a span with keys of 16-bit types, and its weights.
template <class Config, bool IS_FLOAT8 = Config::float8 != 0> struct span_products {
  using T = typename Config::type;
  static constexpr int kBytes = 2, kKeys = Config::tile_n, kColumns = Config::columns;
  using SlabV = head_slab<kKeys, kColumns, kBytes>;
  static constexpr int kStage = SlabV::kBytes;          ///< of values as they are multiplied
  static constexpr float kOne = 1.0f, kLogOfOne = 0.0f; ///< the weight of the largest score

  u32 weights[kKeys / 16][4];

  static DLC_DEV void scores(float (&s)[kKeys / 2], u64 query, u64 key, bool accumulate) {
    wgmma<T, kKeys, false, false>(s, query, key, accumulate);
  }
  /// Weights become an operand: 16 columns of accumulators are 16 steps of k.
  DLC_DEV void pack(const float (&s)[kKeys / 2]) {
#pragma unroll
    for (int kk = 0; kk < kKeys / 16; ++kk)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        weights[kk][i] = pack2<T>(s[kk * 8 + i * 2], s[kk * 8 + i * 2 + 1]);
  }
  DLC_DEV void multiply(float (&sums)[kColumns / 2], const u8 *stage) {
#pragma unroll
    for (int kk = 0; kk < kKeys / 16; ++kk)
      wgmma_held<T, kColumns, true>(sums, weights[kk], SlabV::across(stage, kk * 16), true);
  }
  /// After the wait for multiply().
  DLC_DEV void arrive(float (&sums)[kColumns / 2]) { wgmma_arrived(sums); }
};

/// The same of e4m3. A weight of 1 is 256, so that those down to 2^-14 of the largest are rounded
/// as finely as that one. Hardware adds with some 14 bits: each span's products are summed by
/// themselves, and then added in float.
template <class Config> struct span_products<Config, true> {
  static constexpr int kBytes = 1, kKeys = Config::tile_n, kColumns = Config::columns;
  static_assert(kKeys <= 128 && Config::depth <= 128, "what wgmma may sum");
  /// Values as TMA brings them.
  using SlabV = head_slab<kKeys, kColumns, kBytes>;
  /// Lines are columns of the values, 128 bytes apart, along which the keys lie.
  static constexpr int kStage = kColumns * 128;
  static DLC_DEV u64 turned_at(const u8 *slab, int kk) {
    return wgmma_along_k(slab) + kk * (32 >> 4);
  }
  static constexpr float kOne = 256.0f, kLogOfOne = 8.0f;

  u32 weights[kKeys / 32][4];
  float of_span[kColumns / 2];

  DLC_DEV span_products() { clear_totals(of_span); } // the first product of a span writes over it

  static DLC_DEV void scores(float (&s)[kKeys / 2], u64 query, u64 key, bool accumulate) {
    wgmma_float8<kKeys>(s, query, key, accumulate);
  }
  DLC_DEV void pack(const float (&s)[kKeys / 2]) {
#pragma unroll
    for (int kk = 0; kk < kKeys / 32; ++kk)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int j = kk * 16 + (i >> 1) * 8 + (i & 1) * 2;
        weights[kk][i] = pack4_float8(s[j], s[j + 1], s[j + 4], s[j + 5]);
      }
  }
  DLC_DEV void multiply(float (&)[kColumns / 2], const u8 *stage) {
#pragma unroll
    for (int kk = 0; kk < kKeys / 32; ++kk)
      wgmma_held_float8<kColumns>(of_span, weights[kk], turned_at(stage, kk), kk > 0);
  }
  DLC_DEV void arrive(float (&sums)[kColumns / 2]) {
    wgmma_arrived(of_span);
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i)
      sums[i] = sums[i] + of_span[i];
  }

  /// The 128 threads of a warpgroup turn the values of `raw` (SlabV) into `turned`: those from
  /// `keys` on, which have no weight, are 0. A thread turns four keys of four columns at a time;
  /// neighbours read and write different banks.
  static DLC_DEV void turn(const u8 *raw, u8 *turned, int keys) {
    const int thread = (int)threadIdx.x & 127, quad = thread & 3, four = thread >> 2 & 7,
              warp = thread >> 5;
#pragma unroll 1
    for (int i = warp; i < kKeys / 16 * (kColumns / 32); i += 4) {
      int group = i % (kKeys / 16), first = i / (kKeys / 16) * 32 + four * 4;
      u32 rows[4], words[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        int key = group * 16 + quad * 2 + (j & 1) + (j >> 1) * 8;
        u32 four_columns = load<1>(reinterpret_cast<const u32 *>(
            raw + key * 128 + ((first >> 4 ^ key & 7) << 4) + (first & 15)))[0];
        rows[j] = key < keys ? four_columns : 0u;
      }
      u32 even = choose_bytes(rows[0], rows[1], 0x5140u),
          odd = choose_bytes(rows[2], rows[3], 0x5140u);
      words[0] = choose_bytes(even, odd, 0x5410u);
      words[1] = choose_bytes(even, odd, 0x7632u);
      even = choose_bytes(rows[0], rows[1], 0x7362u);
      odd = choose_bytes(rows[2], rows[3], 0x7362u);
      words[2] = choose_bytes(even, odd, 0x5410u);
      words[3] = choose_bytes(even, odd, 0x7632u);
      // Columns that are a multiple of 4 apart have lines in the same banks: each pair of these
      // begins with another one.
      const int turns = four >> 1;
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        int e = t + turns & 3;
        u32 low = e & 1 ? words[1] : words[0], high = e & 1 ? words[3] : words[2];
        int column = first + e;
        reinterpret_cast<u32 *>(turned + column * 128)[(group ^ column & 7) * 4 + quad] =
            e & 2 ? high : low;
      }
    }
  }
};

} // namespace dlc
#endif // DLC_HAS_WGMMA
