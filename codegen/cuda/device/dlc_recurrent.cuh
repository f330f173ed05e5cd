//===- dlc_recurrent.cuh - products of states with weights that stay ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recurrence multiplies the states of all rows with the same weights in every step. The blocks of
// a cooperative launch divide the columns of the weights (the hidden units) among them. A block
// brings as many of its columns as its dynamic shared memory takes there before the first step, and
// reads the others from memory in every step, where they stay in the second-level cache: each by
// one block, whatever the number of rows. runtime/schema/Residence.h has the rule.
//
// A warp multiplies one column with a few rows, its lanes along the line. The states come into
// shared memory by asynchronous copies that begin together. Sums of lanes are added in one order,
// and a line is summed by one warp wherever it lies, so that neither the number of blocks nor what
// is resident changes a bit.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_async.cuh"

namespace dlc {

/// Recurrences that run side by side, in one launch, have one list of columns after the other,
/// which the blocks divide among them as if it were one: a Config that says `cells` is for number
/// `cell` of so many.
template <class Config, class = void> struct cell_of {
  static constexpr int kCount = 1, kNumber = 0;
};
template <class Config> struct cell_of<Config, decltype((void)Config::cells)> {
  static constexpr int kCount = Config::cells, kNumber = Config::cell;
};

/// Layers that are stacked on each other run in waves, in one launch: a column of theirs has the
/// lines of one unit of all layers. A Config that says `column_at` is for the lines that begin so
/// many bytes after the column's: first those that are multiplied with the states of the layer
/// below, then those for the states of the layer itself, where there are two `sources`.
template <class Config, class = void> struct layer_of {
  static constexpr int kBegin = 0, kSources = 1;
};
template <class Config> struct layer_of<Config, decltype((void)Config::column_at)> {
  static constexpr int kBegin = Config::column_at, kSources = Config::sources;
};

/// The columns of this block: `count` from `first` on, of which the first `resident` begin at
/// `kept`.
template <class T> struct own_columns {
  int first, count, resident;
  T *kept;
};

/// Config: type, index, warps, groups (lines of a column), columns (of all blocks), length (of a
/// line), column_bytes (of shared memory, a multiple of 16), before_columns and before_bytes (the
/// same of the list that lies before it; 0: none), width (elements that a lane reads at once:
/// divides length), rows (that a buffer of states has), rows_at_once (that a warp multiplies),
/// buffers (1 or 2), staged_bytes (of all buffers), copied (floats of a state that one copy brings:
/// 1, 2 or 4, divides length).
template <class Config> DLC_DEV own_columns<typename Config::type> columns_of_block() {
  using T = typename Config::type;
  using Cell = cell_of<Config>;
  DLC_DYN_SMEM(memory);
  int blocks = (int)gridDim.x;
  int room = (int)dynamic_shared_bytes() - Config::staged_bytes;
  int before = 0;
  if constexpr (Config::before_columns > 0)
    before = min((Config::before_columns * Cell::kCount + blocks - 1) / blocks,
                 room / Config::before_bytes) *
             Config::before_bytes;
  constexpr int kAll = Config::columns * Cell::kCount;
  int most = (kAll + blocks - 1) / blocks;
  int first = (int)blockIdx.x * most, count = max(0, min(most, kAll - first));
  int resident = min(most, (room - before) / Config::column_bytes);
  T *kept =
      reinterpret_cast<T *>(memory + Config::staged_bytes + before + layer_of<Config>::kBegin);
  if constexpr (Cell::kCount == 1) {
    return {first, count, min(resident, count), kept};
  } else {
    constexpr int kBegin = Config::columns * Cell::kNumber;
    int begin = max(first, kBegin), end = min(first + count, kBegin + Config::columns);
    int own = max(0, end - begin), skipped = own > 0 ? begin - first : 0;
    return {begin - kBegin, own, max(0, min(resident - skipped, own)),
            kept + skipped * (Config::column_bytes / (int)sizeof(T))};
  }
}

/// Begins to bring this block's columns of `matrix`, [groups][columns][length], into shared memory;
/// multiply_columns waits for them.
template <class Config> DLC_DEV void keep_columns(const typename Config::type *matrix) {
  using T = typename Config::type;
  using Index = typename Config::index;
  constexpr int kWidth = Config::width, kPieces = Config::length / kWidth;
  const own_columns<T> own = columns_of_block<Config>();
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < own.resident * Config::groups * kPieces;
       i += 32 * Config::warps) {
    int line = i / kPieces, at = i % kPieces * kWidth;
    int column = line / Config::groups, group = line % Config::groups;
    const T *from = matrix + ((Index)group * Config::columns + own.first + column) * Config::length;
    T *to = own.kept + column * (Config::column_bytes / (int)sizeof(T)) + group * Config::length;
    if constexpr (kWidth * sizeof(T) >= 4)
      cp_async<kWidth *(int)sizeof(T)>(to + at, from + at, true);
    else
      to[at] = from[at];
  }
  cp_async_commit();
}

/// Where a state lies in a row of a buffer. Lanes that read eight weights read eight states, by two
/// accesses of 16 bytes: the first halves lie together, and the second, so that the lanes of an
/// access are neighbours.
template <class Config> DLC_DEV int staged_at(int k) {
  if constexpr (Config::width == 8)
    return (k >> 2 & 1) * (Config::length / 2) + (k >> 3) * 4 + (k & 3);
  else
    return k;
}

/// sums[row][group] += the products of this lane: lines `step` elements apart with rows of states.
template <class Config, class T, class Step>
DLC_DEV void multiply_lines(float *sums, const T *lines, Step step,
                            const float *const (&states)[Config::rows_at_once], int lane) {
  constexpr int kGroups = Config::groups, kRows = Config::rows_at_once, kWidth = Config::width;
  constexpr int kPart = kWidth < 4 ? kWidth : 4; // states of one access
  constexpr int kUnroll = kRows == 1 ? 4 : 2;
#pragma unroll kUnroll
  for (int k = lane * kWidth; k < Config::length; k += 32 * kWidth) {
    vec<T, kWidth> weights[kGroups];
#pragma unroll
    for (int group = 0; group < kGroups; ++group)
      weights[group] = load<kWidth>(lines + group * step + k);
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
      for (int part = 0; part < kWidth; part += kPart) {
        vec<float, kPart> x = load<kPart>(states[row] + staged_at<Config>(k + part));
#pragma unroll
        for (int e = 0; e < kPart; ++e)
#pragma unroll
          for (int group = 0; group < kGroups; ++group)
            sums[row * kGroups + group] =
                fma(to_f(weights[group][part + e]), x[e], sums[row * kGroups + group]);
      }
  }
}

/// The sum over the lanes of value i, for i = lane / (32 / COUNT). COUNT: a power of two, at
/// most 32. The lanes give away half of what they have at a time, so that COUNT sums take COUNT + 4
/// shuffles at most.
template <int COUNT, int MASK = 16> DLC_DEV float sum_over_lanes(float *values, int lane) {
  constexpr int kHalf = COUNT / 2;
  if constexpr (MASK == 0) {
    return values[0];
  } else {
    bool is_upper = (lane & MASK) != 0;
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      float own = is_upper ? values[i + kHalf] : values[i];
      float given = is_upper ? values[i] : values[i + kHalf];
      values[i] = own + shfl_xor(given, MASK);
    }
    if constexpr (kHalf == 0)
      values[0] += shfl_xor(values[0], MASK);
    return sum_over_lanes<(kHalf > 0 ? kHalf : 1), MASK / 2>(values, lane);
  }
}

/// multiply_columns and multiply_stacked_columns: the sums of each source, one after the other.
template <class Config, class FBefore, class FFinish>
DLC_DEV void
multiply_sources(typename Config::index rows,
                 const float *const (&states)[layer_of<Config>::kSources],
                 const typename Config::type *const (&matrices)[layer_of<Config>::kSources],
                 const FBefore &before, const FFinish &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  using Prior = decltype(before(Index(), Index()));
  constexpr int kSources = layer_of<Config>::kSources;
  constexpr int kGroups = Config::groups, kRows = Config::rows_at_once, kStaged = Config::rows;
  constexpr int kLength = Config::length, kCopied = Config::copied, kPieces = kLength / kCopied;
  constexpr int kSums = kGroups * kRows <= 1   ? 1
                        : kGroups * kRows <= 2 ? 2
                        : kGroups * kRows <= 4 ? 4
                        : kGroups * kRows <= 8 ? 8
                                               : 16;
  static_assert(kGroups * kRows <= 16 && kStaged % kRows == 0, "rows of a warp");
  DLC_DYN_SMEM(shared);
  float *staged = reinterpret_cast<float *>(shared);
  const own_columns<T> own = columns_of_block<Config>();
  if constexpr (cell_of<Config>::kCount > 1)
    if (own.count == 0)
      return; // nothing of this recurrence
  int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;

  auto stage = [&](Index first, int buffer) {
    float *to = staged + buffer * kSources * kStaged * kLength;
    int count = (int)min((Index)kStaged, rows - first) * kPieces;
#pragma unroll
    for (int source = 0; source < kSources; ++source) {
#pragma unroll 4
      for (int i = thread; i < count; i += 32 * Config::warps) {
        int row = i / kPieces, at = i % kPieces * kCopied;
        cp_async<4 * kCopied>(to + (source * kStaged + row) * kLength + staged_at<Config>(at),
                              states[source] + (first + row) * kLength + at, true);
      }
    }
    cp_async_commit();
  };

  int buffer = 0;
  if (rows > 0)
    stage(0, 0);
#pragma unroll 1
  for (Index first = 0; first < rows; first += kStaged) {
    bool has_more = first + kStaged < rows;
    if (Config::buffers == 2 && has_more)
      stage(first + kStaged, buffer ^ 1);
    const float *current = staged + buffer * kSources * kStaged * kLength;
    int present = (int)min((Index)kStaged, rows - first);
    int end = own.count > 0 ? present : 0;
    int column = warp,
        begin = 0; // this warp's column of the block, and the first row of those that it multiplies
    bool is_staged = false;
#pragma unroll 1
    for (;;) {
      while (column >= own.count && begin < end) {
        column -= own.count;
        begin += kRows;
      }
      bool has_item = begin < end, is_mine = has_item && lane < kRows && begin + lane < present;
      Index row = first + begin + lane, number = own.first + column;
      Prior prior = {};
      if (is_mine)
        prior = before(row, number);
      if (!is_staged) { // all threads come here once
        if (Config::buffers == 2 && has_more)
          cp_async_wait<1>();
        else
          cp_async_wait<0>();
        barrier(); // all have what they copied
        is_staged = true;
      }
      if (!has_item)
        break;
      vec<float, (kGroups == 3 ? 4 : kGroups) * kSources> of_row = {}; // as wide as it is aligned
#pragma unroll
      for (int source = 0; source < kSources; ++source) {
        const float *of_rows[kRows];
#pragma unroll
        for (int i = 0; i < kRows; ++i)
          of_rows[i] = current + (source * kStaged + min(begin + i, present - 1)) * kLength;
        float sums[kSums] = {};
        if (column < own.resident)
          multiply_lines<Config>(sums,
                                 own.kept + column * (Config::column_bytes / (int)sizeof(T)) +
                                     source * kGroups * kLength,
                                 kLength, of_rows, lane);
        else
          multiply_lines<Config>(sums, matrices[source] + number * kLength,
                                 (Index)Config::columns * kLength, of_rows, lane);
        float total = sum_over_lanes<kSums>(sums, lane);
#pragma unroll
        for (int group = 0; group < kGroups; ++group)
          of_row[source * kGroups + group] = shfl(total, (lane * kGroups + group) * (32 / kSums));
      }
      if (is_mine)
        finish(row, number, of_row, prior);
      column += Config::warps;
    }
    if (has_more) {
      barrier(); // all are done with the buffer that is filled next
      if (Config::buffers == 1)
        stage(first + kStaged, 0);
      else
        buffer ^= 1;
    }
  }
}

/// For each row and each column of this block: finish(row, column, sums, prior), where `sums` are
/// those of the column's lines with the row's states, `memory` from `from` on, [rows][length], and
/// `prior` is what before(row, column) gave: it reads what does not depend on the product, while
/// the states are on their way. Both are called by one lane.
template <class Config, class FBefore, class FFinish>
DLC_DEV void multiply_columns(typename Config::index rows, const float *memory,
                              typename Config::index from, const typename Config::type *matrix,
                              const FBefore &before, const FFinish &finish) {
  const float *const states[] = {memory + from};
  const typename Config::type *const matrices[] = {matrix};
  multiply_sources<Config>(rows, states, matrices, before, finish);
}

/// The same of a layer on another one: `sums` are those of the lines of `of_below` with the states
/// of the layer below, `memory` from `below` on, and then those of `matrix` with the layer's own.
template <class Config, class FBefore, class FFinish>
DLC_DEV void multiply_stacked_columns(typename Config::index rows, const float *memory,
                                      typename Config::index below, typename Config::index from,
                                      const typename Config::type *of_below,
                                      const typename Config::type *matrix, const FBefore &before,
                                      const FFinish &finish) {
  const float *const states[] = {memory + below, memory + from};
  const typename Config::type *const matrices[] = {of_below, matrix};
  multiply_sources<Config>(rows, states, matrices, before, finish);
}

} // namespace dlc
