//===- dlc_attention_rows.cuh - the rows of attention, from all keys ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of attention leaves for each of its rows the sum of weighted values, the score that the
// weights were measured from (the row's peak), and the sum of the weights. Where few rows see many
// keys, several blocks share the keys of a tile (split_depth of dlc_split.cuh): each writes what it
// found to memory, and the one that comes last merges all parts in their order ("flash decoding",
// Dao et al. 2023). Which keys a part has, and in which order parts are merged, depends on the
// shapes alone.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_split.cuh"

namespace dlc {

DLC_DEV float minus_infinity() { return f32_from_bits((i32)0xff800000); }
/// The number that is subtracted from scores: 0 for a row that has seen no key yet, since infinity
/// minus infinity is NaN.
DLC_DEV float score_base(float largest) { return largest == minus_infinity() ? 0.0f : largest; }

/// e^x for weights, which the products round to 11 bits or fewer. exp2_fast is off by 2^-22;
/// rounding its argument adds |x| 2^-24, which is less than 2^-17 wherever the weight is not 0 (x
/// above -88).
DLC_DEV float weight_of(float x) { return exp2_fast(x * 1.44269504f); }

/// Keys that the rows from `first` on see, at most; all warps compute the same.
template <int ROWS, class Index, class FN>
DLC_DEV Index most_seen(Index first, Index rows, Index keys, const FN &seen) {
  i32 most = 0;
  for (int row = (int)threadIdx.x & 31; row < ROWS; row += 32)
    if (first + row < rows) {
      i32 count = (i32)seen(first + row);
      most = count > most ? count : most;
    }
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    i32 other = shfl_xor(most, mask);
    most = other > most ? other : most;
  }
  return most < keys ? (Index)most : keys;
}

/// The keys that a block walks over: from `begin` to before `end`, where all blocks of the tile
/// together go from 0 to before `last`. Parts are whole spans of SPAN keys; some may be empty.
template <class Share, int SPAN, class Index>
DLC_DEV void share_keys(Index last, Index &begin, Index &end) {
  begin = 0;
  end = last;
  if constexpr (Share::kParts > 1) {
    Index first, spans = share_steps<Share>((last + SPAN - 1) / SPAN, first);
    begin = first * SPAN;
    end = begin + spans * SPAN < last ? begin + spans * SPAN : last;
  }
}

/// ROWS rows in shared memory, from `floats` on: COLUMNS sums each, PITCH apart, then the peaks,
/// then the sums of weights. COLUMNS and PITCH are multiples of 4.
template <int ROWS, int COLUMNS, int PITCH, int THREADS> struct attention_rows {
  static constexpr int kFloats = ROWS * (PITCH + 2); ///< of shared memory
  float *totals, *peaks, *weights;

  explicit DLC_DEV attention_rows(float *floats)
      : totals(floats), peaks(floats + ROWS * PITCH), weights(peaks + ROWS) {}

  /// Merges the first `rows` rows of all blocks that share the keys. True in the one block that
  /// goes on with them. Before it all rows have been written and a barrier passed; after it, too.
  template <class Share, class FX>
  DLC_DEV bool merge(const Share &share, int rows, const FX &exponential) const {
    constexpr int kParts = Share::kParts, kFours = COLUMNS / 4, kPart = ROWS * (COLUMNS + 2),
                  kPeaks = ROWS * COLUMNS, kWeights = kPeaks + ROWS; // places in a part
    static_assert(kPart % 4 == 0, "sums travel in fours");
    float *first = share.template parts<kPart>(), *own = first + (int)(blockIdx.x % kParts) * kPart;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < rows * kFours; i += THREADS) {
      int row = i / kFours, c = i % kFours * 4;
      store(own + row * COLUMNS + c, load<4>(totals + row * PITCH + c));
    }
    for (int row = (int)threadIdx.x; row < rows; row += THREADS) {
      own[kPeaks + row] = peaks[row];
      own[kWeights + row] = weights[row];
    }
    if (!share.is_last())
      return false;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < rows * kFours; i += THREADS) {
      int row = i / kFours, c = i % kFours * 4;
      float most = minus_infinity();
#pragma unroll 8
      for (int part = 0; part < kParts; ++part)
        most = max(most, first[part * kPart + kPeaks + row]);
      float base = score_base(most), weight = 0.0f;
      vec<float, 4> sum = splat<4>(0.0f);
#pragma unroll 4
      for (int part = 0; part < kParts; ++part) {
        const float *at = first + part * kPart;
        float scale = exponential(at[kPeaks + row] - base);
        vec<float, 4> four = load<4>(at + row * COLUMNS + c);
        weight = fma(at[kWeights + row], scale, weight);
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sum[e] = fma(four[e], scale, sum[e]);
      }
      store(totals + row * PITCH + c, sum);
      if (c == 0)
        weights[row] = weight;
    }
    barrier(); // the merged rows are here
    return true;
  }

  /// Calls `finish(row, column, VECTOR results)` for the first `rows` rows, which are those from
  /// `m0` on, and WIDTH columns. After `any` key a result is its sum over the weights; the sum over
  /// no keys is 0.
  template <int WIDTH, int VECTOR, class Index, class Finish>
  DLC_DEV void finish(Index m0, int rows, bool any, const Finish &finish) const {
    constexpr int kVectors = WIDTH / VECTOR;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < rows * kVectors; i += THREADS) {
      int line = i / kVectors, c = i % kVectors * VECTOR;
      float weight = any ? weights[line] : 1.0f;
      vec<float, VECTOR> y;
#pragma unroll
      for (int e = 0; e < VECTOR; ++e)
        y[e] = div(totals[line * PITCH + c + e], weight);
      finish(m0 + line, (Index)c, y);
    }
  }
};

} // namespace dlc
