//===- dlc_rows.cuh - few rows times a matrix -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Up to eight rows: nothing is used twice but the rows themselves. How long the matrix takes to
// come depends on how many of its bytes are on their way at once. So each thread copies what it
// will multiply into a ring in shared memory, some steps ahead, which nobody else reads: loads into
// registers would be moved by the compiler to where they are used, one after another. And
// threads share the columns and k in such a way that all multiprocessors read. Where the matrix
// lies along k a warp takes a few columns and its lanes share k; where it lies along n some lanes
// of a warp lie side by side along n, and the others share k with other warps. Where even that is
// too few blocks, several share a sum (dlc_split.cuh). Sums of lanes, of warps and of blocks are
// added in one order, whatever the schedule.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_async.cuh"
#include "dlc_split.cuh"

namespace dlc {

/// total + a * b in the type that products of T are added in.
DLC_DEV float multiply_add(float a, float b, float total) { return fma(a, b, total); }
DLC_DEV double multiply_add(double a, double b, double total) { return fma(a, b, total); }
template <class T> DLC_DEV T multiply_add(T a, T b, T total) {
  return add_wrap<T>(mul_wrap<T>(a, b), total);
}
DLC_DEV float add_sums(float a, float b) { return a + b; }
DLC_DEV double add_sums(double a, double b) { return a + b; }
template <class T> DLC_DEV T add_sums(T a, T b) { return add_wrap<T>(a, b); }
DLC_DEV float to_sum(f16 v) { return to_f(v); }
DLC_DEV float to_sum(bf16 v) { return to_f(v); }
template <class T> DLC_DEV T to_sum(T v) { return v; }

/// The value of another lane; narrow integers travel as words.
template <class T> DLC_DEV T from_lane_xor(T v, int mask) {
  if constexpr (sizeof(T) < 4)
    return (T)shfl_xor((i32)v, mask);
  else
    return shfl_xor(v, mask);
}

/// The first of two values, or else the second, for its type.
template <bool FIRST, class A, class B> DLC_DEV constexpr auto pick(A a, B b) {
  if constexpr (FIRST)
    return a;
  else
    return b;
}

/// The part of the product that a block of contract_rows takes, and how its threads share it.
template <class Config> struct rows_tile {
  using T = typename Config::type;
  using Index = typename Config::index;
  using Sum = decltype(to_sum(T{}));
  static constexpr bool kAlongK = Config::along_k != 0;
  static constexpr int kRows = Config::rows, kColumns = Config::columns, kDeep = Config::deep,
                       kStages = Config::stages, kLanesN = Config::lanes_n, kLanesK = 32 / kLanesN,
                       kWarpsN = Config::warps_n, kWarpsK = Config::warps_k;
  static constexpr int kThreads = 32 * kWarpsN * kWarpsK;
  static constexpr int kBlock = kWarpsN * kLanesN * kColumns; // columns of a block
  static constexpr int kTotals = kRows * kBlock;
  static constexpr int kStep = kWarpsK * kLanesK * kDeep;     // of k, of all its threads
  static constexpr int kVectors = kAlongK ? kColumns : kDeep; // of b, that a thread reads in a step
  static constexpr int kLength = kAlongK ? kDeep : kColumns;  // of each
  static constexpr int kBytes = kLength * (int)sizeof(T);
  /// Elements that no copy can bring are read, or computed, where they are multiplied.
  static constexpr bool kIsStaged = Config::width_b >= kLength && kBytes >= 4;
};

/// COUNT elements from (row, k) on, along k or along the rows; those from `end` on are 0. `element`
/// gives an offset, or where CHECKED -1 for 0; with WIDTH 0 the value. They are read at once where
/// WIDTH elements lie together.
template <int COUNT, int WIDTH, bool CHECKED, bool ALONG_K, class Sum, class T, class Index,
          class Element>
DLC_DEV auto read_elements(const T *base, const Element &element, Index row, Index k, Index end) {
  if constexpr (WIDTH >= COUNT) {
    vec<T, COUNT> values = {};
    if (k < end) {
      Index offset = element(row, k);
      if (!CHECKED || offset >= 0)
        values = load<COUNT>(base + offset);
    }
    return values;
  } else {
    vec<decltype(pick<(WIDTH > 0)>(T{}, Sum{})), COUNT> values = {};
#pragma unroll
    for (int e = 0; e < COUNT; ++e) {
      Index at_row = ALONG_K ? row : row + e, at_k = ALONG_K ? k + e : k;
      if (at_k < end) {
        if constexpr (WIDTH > 0) {
          Index offset = element(at_row, at_k);
          if (!CHECKED || offset >= 0)
            values[e] = base[offset];
        } else {
          values[e] = (Sum)element(at_row, at_k);
        }
      }
    }
    return values;
  }
}

/// A thread's walk over k: its first column is n, its first step of k is `first`, and those from
/// `end` on are zeros.
template <class Config, class FA, class FB> struct rows_walk {
  using Tile = rows_tile<Config>;
  using T = typename Tile::T;
  using Index = typename Tile::Index;
  using Sum = typename Tile::Sum;
  using Vector = vec<T, Tile::kLength>;

  Index rows, columns, n, first, end;
  const T *a, *b;
  const FA &element_a;
  const FB &element_b;
  Vector *ring; // [stage][vector][thread]

  DLC_DEV Index column(int vector) const {
    // A column after the last one is read as the last, and its sum goes nowhere.
    Index at = n + (Tile::kAlongK ? vector : 0),
          last = columns - (Tile::kAlongK ? 1 : Tile::kColumns);
    return at < last ? at : last;
  }
  DLC_DEV Index depth(Index step, int vector) const {
    return first + step * Tile::kStep + (Tile::kAlongK ? 0 : vector);
  }
  DLC_DEV Vector *slot(int stage, int vector) const {
    return ring + (stage * Tile::kVectors + vector) * Tile::kThreads + (int)threadIdx.x;
  }

  DLC_DEV void copy(Index step, int stage) const {
    if constexpr (Tile::kIsStaged) {
#pragma unroll
      for (int v = 0; v < Tile::kVectors; ++v) {
        Index k = depth(step, v), offset = element_b(column(v), k);
        bool exists = k < end && (!Config::checked_b || offset >= 0);
        cp_async<Tile::kBytes>(slot(stage, v), b + (exists ? offset : 0), exists);
      }
      cp_async_commit();
    }
  }
  DLC_DEV auto read(Index step, int stage, int v) const {
    if constexpr (Tile::kIsStaged)
      return load<Tile::kLength>(reinterpret_cast<const T *>(slot(stage, v)));
    else
      return read_elements<Tile::kLength, Config::width_b, Config::checked_b != 0, Tile::kAlongK,
                           Sum>(b, element_b, column(v), depth(step, v), end);
  }

  /// Sends for the elements of b of the first steps.
  DLC_DEV void begin() const {
#pragma unroll
    for (int stage = 0; stage < Tile::kStages; ++stage)
      copy(stage, stage);
  }
  /// Adds all `steps` to `sums`, after begin().
  DLC_DEV void multiply(Sum (&sums)[Tile::kRows][Tile::kColumns], Index steps) const {
#pragma unroll 1
    for (Index round = 0; round < steps; round += Tile::kStages)
#pragma unroll
      for (int stage = 0; stage < Tile::kStages; ++stage) {
        Index step = round + stage;
        if constexpr (Tile::kIsStaged)
          cp_async_wait<Tile::kStages - 1>();
        decltype(read(step, stage, 0)) of_b[Tile::kVectors];
#pragma unroll
        for (int v = 0; v < Tile::kVectors; ++v)
          of_b[v] = read(step, stage, v);
        copy(step + Tile::kStages, stage);
#pragma unroll
        for (int m = 0; m < Tile::kRows; ++m) {
          auto of_a =
              read_elements<Tile::kDeep, Config::width_a, Config::checked_a != 0, true, Sum>(
                  a, element_a, m < rows ? (Index)m : rows - 1, depth(step, 0), end);
#pragma unroll
          for (int d = 0; d < Tile::kDeep; ++d)
#pragma unroll
            for (int c = 0; c < Tile::kColumns; ++c) {
              auto factor = Tile::kAlongK ? of_b[c][d] : of_b[d][c];
              sums[m][c] = multiply_add(to_sum(of_a[d]), to_sum(factor), sums[m][c]);
            }
        }
      }
  }
};

/// total(m, n) = sum over k of a(m, k) b(n, k); then `finish(m, n, total)`, for m < rows <=
/// Config::rows and n < columns. An element body gives an offset, or with checked_a (checked_b) -1
/// for 0, where its width is not 0; else the value. Config: type, index, rows, width_a, width_b,
/// checked_a, checked_b, along_k (of b) and the block: warps_n, warps_k, lanes_n (of a warp, along
/// n), columns and steps of k (deep) of a thread, stages of its ring. What a thread reads of b at
/// once, `deep` elements along k or else `columns` of them, divides their dim. The grid's x counts
/// blocks of columns, each Share::kParts times. `early`: b is weights, which no kernel writes, and
/// its first elements are asked for before the grids before this one have ended.
template <class Config, class Share, class FA, class FB, class FE>
DLC_DEV void contract_rows_share(const Share &share, typename Config::index rows,
                                 typename Config::index columns, typename Config::index depth,
                                 const typename Config::type *a, const typename Config::type *b,
                                 const FA &element_a, const FB &element_b, const FE &finish) {
  using Tile = rows_tile<Config>;
  using Walk = rows_walk<Config, FA, FB>;
  using Index = typename Tile::Index;
  using Sum = typename Tile::Sum;
  constexpr int kRows = Tile::kRows, kColumns = Tile::kColumns, kBlock = Tile::kBlock,
                kTotals = Tile::kTotals;
  constexpr bool kEarly = Config::early != 0;
  static_assert(!kEarly || Tile::kIsStaged, "what is copied can come early");
  DLC_DYN_SMEM(smem);
  if constexpr (!kEarly)
    share.begin();

  int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;
  int warp_k = warp % Tile::kWarpsK, lane_k = lane / Tile::kLanesN;
  int mine = (warp / Tile::kWarpsK * Tile::kLanesN + lane % Tile::kLanesN) * kColumns;
  Index n0 = (Index)(share.block() / Share::kParts) * kBlock;
  Index begin, steps = share_steps<Share>((depth + Tile::kStep - 1) / Tile::kStep, begin);
  Index first = begin * Tile::kStep, end = first + steps * Tile::kStep;
  Sum sums[kRows][kColumns] = {};
  Walk walk = {rows,
               columns,
               n0 + mine,
               first + (warp_k * Tile::kLanesK + lane_k) * Tile::kDeep,
               end < depth ? end : depth,
               a,
               b,
               element_a,
               element_b,
               reinterpret_cast<typename Walk::Vector *>(smem)};
  bool has_column = rows > 0 && n0 + mine < columns;
  if (has_column)
    walk.begin();
  if constexpr (kEarly)
    share.begin();
  if (has_column)
    walk.multiply(sums, steps);
  cp_async_wait<0>();
  barrier(); // the rings' room is free

  Sum *sums_of_warps = reinterpret_cast<Sum *>(smem);
#pragma unroll
  for (int m = 0; m < kRows; ++m)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
#pragma unroll
      for (int mask = 16; mask >= Tile::kLanesN; mask >>= 1)
        sums[m][c] = add_sums(sums[m][c], from_lane_xor(sums[m][c], mask));
      if (lane_k == 0)
        sums_of_warps[warp_k * kTotals + m * kBlock + mine + c] = sums[m][c];
    }
  barrier();
  auto sum_of_warps = [&](int i) {
    Sum total = sums_of_warps[i];
#pragma unroll
    for (int part = 1; part < Tile::kWarpsK; ++part)
      total = add_sums(total, sums_of_warps[part * kTotals + i]);
    return total;
  };
  auto finish_total = [&](int i, Sum total) {
    int m = i / kBlock, n = i % kBlock;
    if (m < rows && n0 + n < columns)
      finish((Index)m, n0 + n, total);
  };
  if constexpr (Share::kParts > 1) {
    float *parts = share.template parts<kTotals>(),
          *own = parts + blockIdx.x % Share::kParts * kTotals;
#pragma unroll 1
    for (int i = thread; i < kTotals; i += Tile::kThreads)
      own[i] = sum_of_warps(i);
    if (!share.is_last())
      return;
#pragma unroll 1
    for (int i = thread; i < kTotals; i += Tile::kThreads) {
      float total = parts[i];
#pragma unroll
      for (int part = 1; part < Share::kParts; ++part)
        total = total + parts[part * kTotals + i];
      finish_total(i, total);
    }
  } else {
#pragma unroll 1
    for (int i = thread; i < kTotals; i += Tile::kThreads)
      finish_total(i, sum_of_warps(i));
  }
}

template <class Config, class FA, class FB, class FE>
DLC_DEV void contract_rows(typename Config::index rows, typename Config::index columns,
                           typename Config::index depth, const typename Config::type *a,
                           const typename Config::type *b, const FA &element_a, const FB &element_b,
                           const FE &finish) {
  contract_rows_share<Config>(whole_depth{}, rows, columns, depth, a, b, element_a, element_b,
                              finish);
}

/// contract_rows with the config's `parts` blocks for each sum (split_depth), of floats: the grid's
/// x has them side by side.
template <class Config, class FA, class FB, class FE>
DLC_DEV void contract_rows_split(typename Config::index rows, typename Config::index columns,
                                 typename Config::index depth, const typename Config::type *a,
                                 const typename Config::type *b, float *exchange,
                                 const FA &element_a, const FB &element_b, const FE &finish) {
  contract_rows_share<Config>(split_depth<Config::parts>{exchange}, rows, columns, depth, a, b,
                              element_a, element_b, finish);
}

} // namespace dlc
