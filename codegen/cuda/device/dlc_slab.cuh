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
#include "dlc_totals.cuh"

namespace dlc {

/// Place of a 16-byte chunk in a row of CHUNKS (2, 4, 8 or more): the same chunk of eight
/// neighbouring rows lies in eight different groups of four banks.
template <int CHUNKS> DLC_DEV constexpr int swizzled(int row, int chunk) {
  constexpr int kRows = CHUNKS < 8 ? 8 / CHUNKS : 1, kMask = CHUNKS < 8 ? CHUNKS - 1 : 7;
  return chunk ^ (row / kRows & kMask);
}

/// Where a walk over k stands. An operand is told k alone.
template <class Config, bool LOOPS = (Config::k_loops > 1)> struct slab_k {
  using Index = typename Config::index;
  Index k;

  static DLC_DEV slab_k start(int) { return {0}; }
  DLC_DEV slab_k plus(Index by) const { return {k + by}; }
  /// `own` steps behind k, of which `shared` are not the thread's.
  DLC_DEV slab_k at(int own, int) const { return {k + own}; }
  template <class Operand> DLC_DEV auto operator()(const Operand &operand, Index row) const {
    return operand(row, k);
  }
};

/// Where k counts the steps of k_loops loops (up to four), an operand is told their indices too.
/// All but the first loop's extents are constants (k_1, k_2, k_3): so the walk adds to the indices,
/// with carries, and divides nothing.
template <class Config> struct slab_k<Config, true> {
  using Index = typename Config::index;
  static constexpr int kLoops = Config::k_loops;
  Index k, indices[kLoops];

  static DLC_DEV constexpr Index extent(int loop) {
    if constexpr (kLoops > 2)
      if (loop == 2)
        return Config::k_2;
    if constexpr (kLoops > 3)
      if (loop == 3)
        return Config::k_3;
    return Config::k_1;
  }
  /// At the thread's own first step.
  static DLC_DEV slab_k start(int own) { return slab_k{}.plus(own); }
  DLC_DEV slab_k plus(Index by) const {
    slab_k next;
    next.k = k + by;
    Index rest = by, carry = 0;
#pragma unroll
    for (int loop = kLoops - 1; loop > 0; --loop) {
      // Both are below the extent: their sum has one of it too much at most.
      Index index = indices[loop] + rest % extent(loop) + carry;
      carry = index >= extent(loop) ? 1 : 0;
      next.indices[loop] = carry ? index - extent(loop) : index;
      rest /= extent(loop);
    }
    next.indices[0] = indices[0] + rest + carry;
    return next;
  }
  DLC_DEV slab_k at(int, int shared) const { return plus(shared); }
  template <class Operand> DLC_DEV auto operator()(const Operand &operand, Index row) const {
    if constexpr (kLoops == 2)
      return operand(row, k, indices[0], indices[1]);
    else if constexpr (kLoops == 3)
      return operand(row, k, indices[0], indices[1], indices[2]);
    else
      return operand(row, k, indices[0], indices[1], indices[2], indices[3]);
  }
};

/// Where a piece of a slab comes from; the offset means nothing where the piece does not exist.
template <class Index> struct piece_source {
  Index offset;
  bool exists;
};

/// An operand's slab in shared memory. ALONG_K: ROWS rows of DEPTH elements; else the other way
/// round. OUTSIDE: what elements are that have no place in memory.
template <class T, int ROWS, int DEPTH, bool ALONG_K, bool SWIZZLED = true, int OUTSIDE = 0>
struct slab {
  static constexpr int kPerChunk = 16 / (int)sizeof(T), kLines = ALONG_K ? ROWS : DEPTH,
                       kChunks = (ALONG_K ? DEPTH : ROWS) / kPerChunk, kElements = ROWS * DEPTH,
                       kDepth = DEPTH;
  static constexpr int kPeriod = 8; // lines so far apart are permuted alike

  /// Where a chunk begins, in elements.
  static DLC_DEV constexpr int place(int line, int chunk) {
    return (line * kChunks + (SWIZZLED ? swizzled<kChunks>(line, chunk) : chunk)) * kPerChunk;
  }

  /// Brings rows from `first` on and steps of k from `k0` on. `operand(row, k)` is the offset from
  /// `base` of WIDTH elements that lie together, or -1 where they are OUTSIDE; with WIDTH 0 it is
  /// the element itself. ACROSS: neighbours in memory are neighbours of different lines; an operand
  /// of less than 4 bytes that is ACROSS is told k alone.
  template <int WIDTH, int THREADS, bool ACROSS = WIDTH == 1, class Index, class Operand>
  static DLC_DEV void fill(T *stage, const T *base, const Operand &operand, Index first, Index rows,
                           Index k0, Index depth) {
    fill_at<WIDTH, THREADS, ACROSS>(stage, base, operand, first, rows, flat_k<Index>{k0}, depth);
  }
  /// Copies a slab of which this thread's piece of each round lies at place(round, row, step of k).
  template <int WIDTH, int THREADS, bool ACROSS, class Place>
  static DLC_DEV void copy(T *stage, const T *base, const Place &place) {
    constexpr int kPerLine = kChunks * kPerChunk / WIDTH, kPieces = kLines * kPerLine,
                  kRounds = rounds<WIDTH, THREADS>(),
                  kUnroll = kRounds <= 8 ? kRounds : 4; // more would keep too many addresses
    // Lines of all rounds are permuted alike where they are a multiple of kPeriod apart.
    constexpr bool kAlike = !ACROSS && THREADS % (kPerLine * kPeriod) == 0;
    auto [own_line, own_at] = piece_of<WIDTH, THREADS, ACROSS>(0);
    T *first = stage + slab::place(own_line, own_at / kPerChunk) + own_at % kPerChunk;
#pragma unroll kUnroll
    for (int round = 0; round < kRounds; ++round) {
      if (kPieces % THREADS != 0 && round * THREADS + (int)threadIdx.x >= kPieces)
        break;
      auto [line, at] = piece_of<WIDTH, THREADS, ACROSS>(round);
      auto source = place(round, ALONG_K ? line : at, ALONG_K ? at : line);
      T *to = kAlike ? first + round * (THREADS / kPerLine) * kChunks * kPerChunk
                     : stage + slab::place(line, at / kPerChunk) + at % kPerChunk;
      if constexpr (OUTSIDE != 0)
        if (!source.exists) { // a copy brings zeros alone
          vec<T, WIDTH> outside;
#pragma unroll
          for (int e = 0; e < WIDTH; ++e)
            outside[e] = (T)OUTSIDE;
          store(to, outside);
          continue;
        }
      // The place of a tap that there is not need not be aligned as copies want it.
      cp_async<WIDTH *(int)sizeof(T)>(to, base + (source.exists ? source.offset : 0),
                                      source.exists);
    }
  }
  /// The line of a piece, and the element of it at which the piece begins.
  struct piece_place {
    int line, at;
  };
  /// Where the piece is that this thread brings in round `round`: neighbouring threads copy
  /// neighbours in memory. All rounds share a term (unsigned, so that shifts divide), which is
  /// computed once.
  template <int WIDTH, int THREADS, bool ACROSS> static DLC_DEV piece_place piece_of(int round) {
    constexpr u32 kPerLine = kChunks * kPerChunk / WIDTH, kRow = ACROSS ? kLines : kPerLine;
    u32 piece = threadIdx.x, before = (u32)(round * THREADS);
    if constexpr (THREADS % kRow != 0)
      piece += before, before = 0;
    u32 across = piece / kRow + before / kRow, along = piece % kRow;
    return {(int)(ACROSS ? along : across), (int)(ACROSS ? across : along) * WIDTH};
  }
  template <int WIDTH, int THREADS> static DLC_DEV constexpr int rounds() {
    return (kLines * kChunks * kPerChunk / (WIDTH > 0 ? WIDTH : kPerChunk) + THREADS - 1) / THREADS;
  }
  /// The row, counted from the slab's first, that this thread brings in round `round`.
  template <int WIDTH, int THREADS, bool ACROSS> static DLC_DEV int own_row(int round) {
    auto [line, at] = piece_of<WIDTH, THREADS, ACROSS>(round);
    return ALONG_K ? line : at;
  }
  /// So many neighbouring threads of a warp bring pieces of one row in each round.
  template <int WIDTH, bool ACROSS> static DLC_DEV constexpr int threads_of_row() {
    constexpr int kPerLine = kChunks * kPerChunk / WIDTH;
    return !ALONG_K || ACROSS ? 1 : kPerLine < 32 ? kPerLine : 32;
  }
  /// The step of k, counted from the slab's first, that this thread brings first.
  template <int WIDTH, int THREADS, bool ACROSS> static DLC_DEV int own_k() {
    constexpr int kPerLine = WIDTH > 0 ? kChunks * kPerChunk / WIDTH : kChunks;
    static_assert((THREADS & (THREADS - 1)) == 0 && (kLines & (kLines - 1)) == 0 &&
                      (kPerLine & (kPerLine - 1)) == 0,
                  "what a round adds is the same for all threads");
    return k_of<WIDTH, ACROSS>(threadIdx.x);
  }
  /// fill from where `from` stands: with the thread's own_k, if that is what it was started at.
  template <int WIDTH, int THREADS, bool ACROSS, class Index, class K, class Operand>
  static DLC_DEV void fill_at(T *stage, const T *base, const Operand &operand, Index first,
                              Index rows, const K &from, Index depth) {
    if constexpr (WIDTH > 0 && WIDTH * (int)sizeof(T) < 4) {
      static_assert(WIDTH == 1, "a copy has at least 4 bytes");
      if constexpr (ACROSS)
        gather_chunks<THREADS>(stage, base, operand, first, rows, from, depth);
      else
        gather_elements<THREADS>(stage, base, operand, first, rows, from, depth);
    } else if constexpr (WIDTH > 0) {
      copy<WIDTH, THREADS, ACROSS>(stage, base, [&](int round, int row, int own) {
        auto step = from.at(own, k_of<WIDTH, ACROSS>(round * THREADS));
        piece_source<Index> source = {0, first + row < rows && step.k < depth};
        if (source.exists) {
          source.offset = step(operand, first + row);
          source.exists = source.offset >= 0;
        }
        return source;
      });
    } else {
      // Rolled: an operand that must be computed is a long expression.
#pragma unroll 1
      for (int piece = (int)threadIdx.x; piece < kLines * kChunks; piece += THREADS) {
        int line = piece / kChunks, chunk = piece % kChunks;
        auto own = from.at(ALONG_K ? chunk * kPerChunk : line,
                           k_of<WIDTH, ACROSS>(piece - (int)threadIdx.x));
        vec<T, kPerChunk> values;
#pragma unroll
        for (int e = 0; e < kPerChunk; ++e) {
          Index row = first + (ALONG_K ? line : chunk * kPerChunk + e);
          auto step = ALONG_K ? own.plus(e) : own;
          values[e] = row < rows && step.k < depth ? (T)step(operand, row) : outside();
        }
        store(stage + place(line, chunk), values);
      }
    }
  }

  /// The step of k at which a piece lies.
  template <int WIDTH, bool ACROSS> static DLC_DEV constexpr int k_of(u32 piece) {
    if constexpr (WIDTH == 0)
      return (int)(ALONG_K ? piece % kChunks * kPerChunk : piece / kChunks);
    else {
      constexpr int kPerLine = kChunks * kPerChunk / WIDTH;
      if constexpr (ALONG_K)
        return (int)(ACROSS ? piece / kLines : piece % kPerLine) * WIDTH;
      else
        return (int)(ACROSS ? piece % kLines : piece / kPerLine);
    }
  }

private:
  /// Elements of less than 4 bytes one by one, neighbours of a line by neighbouring threads.
  template <int THREADS, class Index, class K, class Operand>
  static DLC_DEV void gather_elements(T *stage, const T *base, const Operand &operand, Index first,
                                      Index rows, const K &from, Index depth) {
    constexpr int kPerLine = kChunks * kPerChunk;
#pragma unroll 4
    for (int piece = (int)threadIdx.x; piece < kLines * kPerLine; piece += THREADS) {
      int line = piece / kPerLine, at = piece % kPerLine;
      auto step = from.at(ALONG_K ? at : line, k_of<1, false>(piece - (int)threadIdx.x));
      Index row = first + (ALONG_K ? line : at),
            place = row < rows && step.k < depth ? step(operand, row) : -1;
      stage[slab::place(line, at / kPerChunk) + at % kPerChunk] =
          place < 0 ? outside() : base[place];
    }
  }
  /// The same, a chunk of a line by each thread, the same chunk of neighbouring lines by
  /// neighbours: of an image's rows, whose elements at one step of k lie near each other. All
  /// places are known before the first is read, so that no read waits for another.
  template <int THREADS, class Index, class K, class Operand>
  static DLC_DEV void gather_chunks(T *stage, const T *base, const Operand &operand, Index first,
                                    Index rows, const K &from, Index depth) {
#pragma unroll 1
    for (int piece = (int)threadIdx.x; piece < kLines * kChunks; piece += THREADS) {
      int line = piece % kLines, chunk = piece / kLines;
      Index places[kPerChunk];
#pragma unroll
      for (int e = 0; e < kPerChunk; ++e) {
        Index row = first + (ALONG_K ? line : chunk * kPerChunk + e);
        auto step = from.at(ALONG_K ? chunk * kPerChunk + e : line, 0);
        Index place = step(operand, row);
        places[e] = row < rows && step.k < depth ? place : -1;
      }
      vec<T, kPerChunk> values;
#pragma unroll
      for (int e = 0; e < kPerChunk; ++e)
        values[e] = places[e] < 0 ? outside() : base[places[e]];
      store(stage + place(line, chunk), values);
    }
  }
  static DLC_DEV constexpr T outside() {
    if constexpr (OUTSIDE != 0)
      return (T)OUTSIDE;
    else
      return T{};
  }
  template <class I> struct flat_config {
    using index = I;
    enum { k_loops = 1 };
  };
  template <class I> using flat_k = slab_k<flat_config<I>>;
};

/// Brings the slabs of one operand, one after the other. TAPS: the operand is an image under a
/// window of so many taps, all of k's loops but the last, and whether it is read at a row depends
/// on the tap alone. Then the row's place is found once, with one bit for each tap, and each step
/// adds what it has in common with all rows: place(row, k, ...) is the body's offset without its
/// tests.
template <class Slab, class Config, int WIDTH, int THREADS, bool ACROSS, int TAPS>
struct slab_feed {
  using T = typename Config::type;
  using Index = typename Config::index;
  using K = slab_k<Config>;
  static constexpr int kRounds = Slab::template rounds<WIDTH, THREADS>();
  static constexpr bool kKeepsRows = TAPS > 0 && WIDTH > 0 && kRounds <= 8;
  static_assert(TAPS <= 32, "a bit for each tap");

  K at;
  Index begin[kKeepsRows ? kRounds : 1]; // of the row's window
  u32 inside[kKeepsRows ? kRounds : 1];

  template <class Operand, class... Place>
  DLC_DEV void start(const Operand &operand, Index first, Index rows, const Place &...place) {
    int own_k = Slab::template own_k<WIDTH, THREADS, ACROSS>();
    at = K::start(is_whole() ? 0 : own_k);
    if constexpr (kKeepsRows) {
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        int ahead = is_whole() ? own_k + Slab::template k_of<WIDTH, ACROSS>(round * THREADS) : 0;
        begin[round] = (K::start(ahead)(place, first + row(round)), ...);
        inside[round] = 0;
      }
      // The threads that bring pieces of one row look at a tap each, and tell each other.
      constexpr int kSharing = Slab::template threads_of_row<WIDTH, ACROSS>();
      int own = (int)threadIdx.x % kSharing, others = (int)threadIdx.x % 32 - own;
#pragma unroll 1
      for (int bit = 0; bit < TAPS; bit += kSharing) {
        constexpr u32 kBits = kSharing < 32 ? (1u << kSharing) - 1 : 0xffffffffu,
                      kTaps = TAPS < 32 ? (1u << TAPS) - 1 : 0xffffffffu;
        K tap = K::start((bit + own) * K::extent(K::kLoops - 1));
#pragma unroll
        for (int round = 0; round < kRounds; ++round) {
          bool there = first + row(round) < rows;
          there &= tap(operand, first + row(round)) >= 0; // no branch
          u32 found = kSharing > 1 ? ballot(there) >> others & kBits : there ? 1 : 0;
          inside[round] |= found << bit & kTaps;
        }
      }
    }
  }

  /// Goes on at step `k` instead of the first, a multiple of the slab's depth.
  DLC_DEV void begin_at(Index k) { at = at.plus(k); }

  template <class Operand, class... Place>
  DLC_DEV void fill(T *stage, const T *base, const Operand &operand, Index first, Index rows,
                    Index depth, const Place &...place) {
    if constexpr (kKeepsRows) {
      K zero = K::start(0);
      Slab::template copy<WIDTH, THREADS, ACROSS>(stage, base, [&](int round, int, int own) {
        K step = is_whole() ? at : at.at(own, Slab::template k_of<WIDTH, ACROSS>(round * THREADS));
        Index tap = step.indices[0];
#pragma unroll
        for (int loop = 1; loop < K::kLoops - 1; ++loop)
          tap = tap * K::extent(loop) + step.indices[loop];
        Index along = ((step(place, (Index)0) - zero(place, (Index)0)), ...);
        bool exists = (inside[round] >> (tap & 31) & 1) != 0; // past the end, any bit
        if constexpr (!is_whole())
          exists &= step.k < depth; // no branch
        return piece_source<Index>{begin[round] + along, exists};
      });
    } else {
      Slab::template fill_at<WIDTH, THREADS, ACROSS>(stage, base, operand, first, rows, at, depth);
    }
    at = at.plus(Slab::kDepth);
  }

private:
  /// Slabs that end where the last loop does have one tap each and never reach beyond k. So all
  /// threads walk from tap to tap alike, and a thread's own step is part of where its window
  /// begins.
  static DLC_DEV constexpr bool is_whole() {
    if constexpr (kKeepsRows)
      return K::extent(K::kLoops - 1) % Slab::kDepth == 0;
    else
      return false;
  }
  static DLC_DEV int row(int round) {
    return Slab::template own_row<WIDTH, THREADS, ACROSS>(round);
  }
};

/// Runs `fill(stage, step)` for all steps, up to STAGES - 1 of them ahead of `multiply(stage)`,
/// which runs in order: all threads of the block together. At the end the stages are free. Each is
/// called from one place: they are long.
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

} // namespace dlc
