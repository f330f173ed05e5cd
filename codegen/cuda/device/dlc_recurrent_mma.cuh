//===- dlc_recurrent_mma.cuh - steps of many rows on tensor cores ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of a step as dlc_recurrent.cuh has it, by mma.sync with float accumulators: the lines
// of a block's columns times the states of all rows, which are rounded to 16 bits for it. The
// blocks may divide the rows as well: each group of rows has all columns once more, so that a block
// reads the states of its own rows alone.
//
// All warps take all lines, and share k (those of a layer on another one: half of them k of the
// states below, the other half that of its own): each state is read by one warp, from the
// second-level cache to its registers, and the weights, from shared memory, by one too. The sums of
// the warps meet in shared memory, in one order. A lane reads eight neighbours along k at a time,
// of weights and of states: which of them an instruction multiplies first does not matter, as long
// as it is the same of both. Lines and rows of states are filled up with zeros to a multiple of 32
// elements.
//
// A column's sums depend on nothing but its lines and the row: not on what is resident, on the
// number of blocks or on the other rows.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_mma.cuh"
#include "dlc_recurrent.cuh"

namespace dlc {

/// Config: type, index, warps, groups, columns, column_bytes, before_columns, before_bytes, width
/// and staged_bytes as in dlc_recurrent.cuh (a column of each group of rows is one of `columns`;
/// what is staged are sums), length (of a line, before it is filled up), row_groups, line_tiles (of
/// 16 lines) and row_tiles (of 8 rows) of a pass, stored (elements of a row of what a product
/// gives).
template <class Config> struct state_tiles {
  static constexpr int kWarps = Config::warps, kThreads = 32 * kWarps;
  static constexpr int kLines = 16 * Config::line_tiles, kRows = 8 * Config::row_tiles;
  static constexpr int kColumns = kLines / Config::groups; // of a pass
  static constexpr int kDistinct = Config::columns / Config::row_groups;
  static constexpr int kChunk = 32; // of k, that a warp takes at a time
  static constexpr int kChunks = (Config::length + kChunk - 1) / kChunk;
  static constexpr int kPadded = kChunks * kChunk;
  static constexpr int kSources = layer_of<Config>::kSources;
  static constexpr int kTeam = kWarps / kSources;                   // warps of one source
  static constexpr int kOfTeam = kChunks < kTeam ? kChunks : kTeam; // of these, that have sums
  /// Where the sum of a line and a row lies among those of a warp. Rows change their places so that
  /// neither the 4 lines and 8 rows that half of a warp stores, nor 32 sums of neighbouring lines
  /// and rows, which a warp loads, share a bank of shared memory.
  static DLC_DEV int sum_at(int line, int row) {
    const int far = kRows == 8 ? 0 : kRows == 16 ? (line >> 1 & 1) << 3 : (line & 3) << 3;
    return line * kRows + (row ^ (far | (line >> 2 & 1) << 2 | (line >> 3 & 1) << 1));
  }
  /// Chunks whose states a warp asks for at once: 4 KiB, 32 KiB of a block, which is more than
  /// arrives in the latency of the second-level cache.
  static constexpr int kOfWarp = (kChunks + kTeam - 1) / kTeam;
  static constexpr int kMostAhead = 8 / Config::row_tiles;
  static constexpr int kAhead = kOfWarp < kMostAhead ? kOfWarp : kMostAhead;
};

/// Begins to bring this block's columns of `matrix`, [groups][columns of one group of
/// rows][length], into shared memory; begin_states waits for them.
template <class Config> DLC_DEV void keep_lines(const typename Config::type *matrix) {
  using T = typename Config::type;
  using Index = typename Config::index;
  using Tiles = state_tiles<Config>;
  constexpr int kWidth = Config::width, kPieces = Tiles::kPadded / kWidth;
  const own_columns<T> own = columns_of_block<Config>();
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < own.resident * Config::groups * kPieces;
       i += Tiles::kThreads) {
    int line = i / kPieces, at = i % kPieces * kWidth;
    int column = line / Config::groups, group = line % Config::groups;
    bool exists = at < Config::length;
    const T *from =
        matrix + ((Index)group * Tiles::kDistinct + (own.first + column) % Tiles::kDistinct) *
                     Config::length;
    T *to = own.kept + column * (Config::column_bytes / (int)sizeof(T)) + group * Tiles::kPadded;
    if constexpr (kWidth * sizeof(T) >= 4)
      cp_async<kWidth *(int)sizeof(T)>(to + at, from + (exists ? at : 0), exists);
    else
      to[at] = exists ? from[at] : T{};
  }
  cp_async_commit();
}

/// Fills the states that the first product of Config reads, `memory` from `from` on, with
/// value(row, k), and with zeros after a row's end. Waits for the weights of this thread, too.
template <class Config, class FValue>
DLC_DEV void begin_states(typename Config::index rows, typename Config::index from, float *memory,
                          const FValue &value) {
  using T = typename Config::type;
  using Index = typename Config::index;
  using Tiles = state_tiles<Config>;
  T *states = reinterpret_cast<T *>(memory + from);
#pragma unroll 1
  for (Index i = (Index)blockIdx.x * Tiles::kThreads + (Index)threadIdx.x;
       i < rows * Tiles::kPadded; i += (Index)gridDim.x * Tiles::kThreads) {
    Index row = i / Tiles::kPadded, k = i % Tiles::kPadded;
    float v = 0.0f;
    if (k < Config::length)
      v = value(row, k);
    states[i] = from_f<T>(v);
  }
  cp_async_wait<0>();
}

/// Eight elements of a line in memory, from k on; zeros after its end.
template <class Config>
DLC_DEV vec<u32, 4> load_streamed(const typename Config::type *line, int k) {
  using T = typename Config::type;
  vec<u32, 4> words = {};
  if constexpr (Config::width == 8) {
    if (k < Config::length)
      words = load<4>(reinterpret_cast<const u32 *>(line + k));
  } else {
    constexpr int kWidth = Config::width;
    vec<T, 8> values = {};
#pragma unroll
    for (int e = 0; e < 8; e += kWidth)
      if (k + e < Config::length) {
        vec<T, kWidth> part = load<kWidth>(line + k + e);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          values[e + i] = part[i];
      }
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words[i] = (u32)values[2 * i].x | (u32)values[2 * i + 1].x << 16;
  }
  return words;
}

/// Columns of one group of rows that a block multiplies in a pass, and rows: both at least one.
template <class Config> struct states_pass {
  using Index = typename Config::index;
  int kept;    // the first column among the block's own
  int column;  // the same in the matrix
  int columns; // of the pass
  Index row;   // the first one
  int rows;    // of the pass
};

/// sums += the share of warp `warp` of its team of the lines times the rows. ALL_KEPT: all of the
/// pass's columns lie in shared memory.
template <class Config, bool ALL_KEPT, class T>
DLC_DEV void multiply_chunks(float (&sums)[Config::line_tiles][Config::row_tiles][4],
                             const states_pass<Config> &pass, const own_columns<T> &own,
                             const T *states, const T *matrix, int warp, int lane) {
  using Index = typename Config::index;
  using Tiles = state_tiles<Config>;
  constexpr int kLineTiles = Config::line_tiles, kRowTiles = Config::row_tiles;
  // Lines that are streamed take registers, too.
  constexpr int kAhead =
      ALL_KEPT || Tiles::kAhead == 1 ? Tiles::kAhead : Tiles::kAhead / Tiles::kSources;
  const int deep = (lane & 3) * 8; // of a chunk, that this lane reads
  // Lines after the last one are read as another, and their sums go nowhere; so are rows.
  int kept[kLineTiles][2];
  Index streamed[kLineTiles][2]; // -1: kept
#pragma unroll
  for (int i = 0; i < kLineTiles; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int line = i * 16 + half * 8 + (lane >> 2);
      int group = min(line / Tiles::kColumns, Config::groups - 1);
      int column = min(line % Tiles::kColumns, pass.columns - 1);
      kept[i][half] = (pass.kept + column) * (Config::column_bytes / (int)sizeof(T)) +
                      group * Tiles::kPadded + deep;
      if constexpr (!ALL_KEPT)
        streamed[i][half] =
            pass.kept + column < own.resident
                ? (Index)-1
                : ((Index)group * Tiles::kDistinct + pass.column + column) * Config::length;
    }
  const T *of_rows[kRowTiles];
#pragma unroll
  for (int j = 0; j < kRowTiles; ++j)
    of_rows[j] =
        states + (pass.row + min(j * 8 + (lane >> 2), pass.rows - 1)) * Tiles::kPadded + deep;
#pragma unroll 1
  for (int first = warp; first < Tiles::kChunks; first += Tiles::kTeam * kAhead) {
    vec<u32, 4> b[kAhead][kRowTiles];
#pragma unroll
    for (int ahead = 0; ahead < kAhead; ++ahead) {
      int chunk = first + ahead * Tiles::kTeam;
#pragma unroll
      for (int j = 0; j < kRowTiles; ++j)
        if (chunk < Tiles::kChunks)
          b[ahead][j] = load<4>(reinterpret_cast<const u32 *>(of_rows[j] + chunk * Tiles::kChunk));
    }
#pragma unroll
    for (int ahead = 0; ahead < kAhead; ++ahead) {
      int chunk = first + ahead * Tiles::kTeam, k = chunk * Tiles::kChunk;
      if (chunk < Tiles::kChunks) {
        vec<u32, 4> a[kLineTiles][2];
#pragma unroll
        for (int i = 0; i < kLineTiles; ++i)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            if constexpr (!ALL_KEPT)
              if (streamed[i][half] >= 0) {
                a[i][half] = load_streamed<Config>(matrix + streamed[i][half], k + deep);
                continue;
              }
            a[i][half] = load<4>(reinterpret_cast<const u32 *>(own.kept + kept[i][half] + k));
          }
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          u32 lines[kLineTiles][4], rows[(kRowTiles + 1) / 2][4];
#pragma unroll
          for (int i = 0; i < kLineTiles; ++i)
#pragma unroll
            for (int word = 0; word < 4; ++word)
              lines[i][word] = a[i][word & 1][2 * step + (word >> 1)];
#pragma unroll
          for (int j = 0; j < kRowTiles; ++j)
#pragma unroll
            for (int word = 0; word < 2; ++word)
              rows[j >> 1][(j & 1) * 2 + word] = b[ahead][j][2 * step + word];
          mma_tile<T, kLineTiles, kRowTiles>(sums, lines, rows);
        }
      }
    }
  }
}

/// One pass of multiply_states.
template <class Config, class T, class FBefore, class FFinish>
DLC_DEV void multiply_pass(const states_pass<Config> &pass, const own_columns<T> &own,
                           const T *const (&states)[layer_of<Config>::kSources], T *next,
                           const T *const (&matrices)[layer_of<Config>::kSources],
                           const FBefore &before, const FFinish &finish) {
  using Index = typename Config::index;
  using Tiles = state_tiles<Config>;
  using Prior = decltype(before(Index(), Index()));
  DLC_DYN_SMEM(shared);
  float *parts = reinterpret_cast<float *>(shared); // [warp][line][row]
  const int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;

  // A thread finishes one column of one row at a time, and reads for the first of them now.
  auto is_mine = [&](int item) {
    return item % Tiles::kColumns < pass.columns && item / Tiles::kColumns < pass.rows;
  };
  Prior prior = {};
  if (is_mine(thread))
    prior = before(pass.row + thread / Tiles::kColumns, pass.column + thread % Tiles::kColumns);

  float sums[Config::line_tiles][Config::row_tiles][4] = {};
  const int source = Tiles::kSources == 1 ? 0 : warp / Tiles::kTeam,
            member = Tiles::kSources == 1 ? warp : warp % Tiles::kTeam;
  const T *of_source = states[0], *matrix = matrices[0];
  own_columns<T> lines = own;
  if (Tiles::kSources > 1 && source > 0) {
    of_source = states[Tiles::kSources - 1];
    matrix = matrices[Tiles::kSources - 1];
    lines.kept += Config::groups * Tiles::kPadded;
  }
  if (pass.kept + pass.columns <= own.resident)
    multiply_chunks<Config, true>(sums, pass, lines, of_source, matrix, member, lane);
  else
    multiply_chunks<Config, false>(sums, pass, lines, of_source, matrix, member, lane);
  if (member < Tiles::kOfTeam) {
#pragma unroll
    for (int i = 0; i < Config::line_tiles; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float *own_part = parts + (source * Tiles::kOfTeam + member) * Tiles::kLines * Tiles::kRows;
#pragma unroll
        for (int j = 0; j < Config::row_tiles; ++j)
          store(own_part + Tiles::sum_at(i * 16 + half * 8 + (lane >> 2), j * 8 + (lane & 3) * 2),
                vec<float, 2>{sums[i][j][2 * half], sums[i][j][2 * half + 1]});
      }
  }
  barrier(); // all sums of the pass are there
#pragma unroll 1
  for (int item = thread; item < Tiles::kColumns * pass.rows; item += Tiles::kThreads) {
    int column = item % Tiles::kColumns, row = item / Tiles::kColumns;
    if (!is_mine(item))
      continue;
    if (item >= Tiles::kThreads)
      prior = before(pass.row + row, (Index)(pass.column + column));
    vec<float, (Config::groups == 3 ? 4 : Config::groups) * Tiles::kSources> totals =
        {}; // as wide as it is aligned
#pragma unroll
    for (int from = 0; from < Tiles::kSources; ++from)
#pragma unroll
      for (int group = 0; group < Config::groups; ++group)
#pragma unroll
        for (int part = 0; part < Tiles::kOfTeam; ++part)
          totals[from * Config::groups + group] +=
              parts[(from * Tiles::kOfTeam + part) * Tiles::kLines * Tiles::kRows +
                    Tiles::sum_at(group * Tiles::kColumns + column, row)];
    float value = finish(pass.row + row, (Index)(pass.column + column), totals, prior);
    next[(pass.row + row) * Config::stored + pass.column + column] = from_f<T>(value);
  }
}

/// multiply_states and multiply_stacked_states.
template <class Config, class FBefore, class FFinish>
DLC_DEV void
multiply_teams(typename Config::index rows,
               const typename Config::type *const (&states)[layer_of<Config>::kSources],
               typename Config::type *next,
               const typename Config::type *const (&matrices)[layer_of<Config>::kSources],
               const FBefore &before, const FFinish &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  using Tiles = state_tiles<Config>;
  const own_columns<T> own = columns_of_block<Config>();
  const Index of_group = ((rows + Config::row_groups - 1) / Config::row_groups + 7) / 8 * 8;
  bool is_first = true;
#pragma unroll 1
  for (int at = 0; at < own.count;) {
    // As many columns as are for the same rows.
    int column = (own.first + at) % Tiles::kDistinct;
    Index row = (own.first + at) / Tiles::kDistinct * of_group;
    Index end = row + of_group < rows ? row + of_group : rows;
    int columns = min(min(Tiles::kColumns, Tiles::kDistinct - column), own.count - at);
#pragma unroll 1
    for (; row < end; row += Tiles::kRows) {
      if (!is_first)
        barrier(); // all are done with the sums of the pass before
      is_first = false;
      int present = end - row < Tiles::kRows ? (int)(end - row) : Tiles::kRows;
      multiply_pass<Config>({at, column, columns, row, present}, own, states, next, matrices,
                            before, finish);
    }
    at += columns;
  }
}

/// For each row and each column of this block: what finish(row, column, sums, prior) gives becomes
/// a state, `memory` from `to` on, [rows][stored]. `sums` are those of the column's lines with the
/// row's states, `memory` from `from` on, and `prior` is what before(row, column) gave: it reads
/// what does not depend on the product.
template <class Config, class FBefore, class FFinish>
DLC_DEV void multiply_states(typename Config::index rows, typename Config::index from,
                             typename Config::index to, const typename Config::type *matrix,
                             float *memory, const FBefore &before, const FFinish &finish) {
  using T = typename Config::type;
  const T *const states[] = {reinterpret_cast<const T *>(memory + from)};
  const T *const matrices[] = {matrix};
  multiply_teams<Config>(rows, states, reinterpret_cast<T *>(memory + to), matrices, before,
                         finish);
}

/// The same of a layer on another one: `sums` are those of the lines of `of_below` with the states
/// of the layer below, `memory` from `below` on, and then those of `matrix` with the layer's own.
template <class Config, class FBefore, class FFinish>
DLC_DEV void multiply_stacked_states(typename Config::index rows, typename Config::index below,
                                     typename Config::index from, typename Config::index to,
                                     const typename Config::type *of_below,
                                     const typename Config::type *matrix, float *memory,
                                     const FBefore &before, const FFinish &finish) {
  using T = typename Config::type;
  const T *const states[] = {reinterpret_cast<const T *>(memory + below),
                             reinterpret_cast<const T *>(memory + from)};
  const T *const matrices[] = {of_below, matrix};
  multiply_teams<Config>(rows, states, reinterpret_cast<T *>(memory + to), matrices, before,
                         finish);
}

} // namespace dlc
