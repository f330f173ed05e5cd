//===- dlc_few_channels.cuh - convolutions of images of few channels ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first layer of a network reads images of one to four channels that lie row after row. Nothing
// of them lies together along k but the few taps of a window's row, so that an implicit GEMM would
// copy element by element. Here a block brings whole rows of the image to shared memory, and the
// operands of mma are read from there: k counts planes of the image under a window, which are its
// channels and, in a video, the frames of each, then rows of the window and, in groups of four or
// eight, its columns.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_mma.cuh"
#include "dlc_totals.cuh"

namespace dlc {

/// The room in shared memory of a block's lines of the image, of its filters and of totals.
template <class Config> struct few_channels_room {
  static constexpr int kWarps = 4, kTileN = Config::tile_n;
  /// Column w of the image lies at kLead + w of its line, and tap 0 of a window at an even place
  /// where its stride is even: a tap before the first one, whose filters are 0, sees to that.
  static constexpr int kLead = 8, kShift = Config::pad_left & 1,
                       kGroup = Config::taps_w + kShift <= 4 ? 4 : 8;
  static constexpr int kRowsIn = (Config::rows - 1) * Config::stride_h + Config::taps_h,
                       kPlanes = Config::channels * Config::taps_d, kLines = kPlanes * kRowsIn;
  static constexpr int kFirst = kLead - Config::pad_left - kShift,
                       kEnd = kFirst + (Config::out_wide - 1) * Config::stride_w + kGroup,
                       kPitch = ((kEnd > kLead + Config::wide ? kEnd : kLead + Config::wide) + 7) /
                                8 * 8;
  /// Windows at odd places read a second copy of each line, one element to the left.
  static constexpr int kCopies = Config::stride_w % 2 == 0 ? 1 : 2, kCopy = kLines * kPitch;
  static constexpr int kFilterLines = kPlanes * Config::taps_h,
                       kDepth = (kFilterLines * kGroup + 15) / 16 * 16, kPitchFilter = kDepth + 8;
  static constexpr int kFilters = kTileN * kPitchFilter, kImage = kCopies * kCopy;
  /// Places whose totals a warp has there at once, line by line of places or, `across`, of filters.
  static constexpr int kStaged = Config::across != 0 ? 32 : 16,
                       kPitchTotals = Config::across != 0 ? kStaged + 4 : kTileN + 8,
                       kTotals = (Config::across != 0 ? kTileN : kStaged) * kPitchTotals;
  static_assert(Config::wide % 8 == 0 && Config::taps_w + kShift <= 8 && Config::pad_left < 8 &&
                    kTileN % 16 == 0,
                "rows are copied in eights, and a window's row is a group");
};

/// Stores what a warp has of 16 places, the first of which is `first` of those that are staged.
template <class Config>
DLC_DEV void stage_places(float *totals, int first, const float (&acc)[Config::tile_n / 8][4],
                          int lane) {
  using Room = few_channels_room<Config>;
#pragma unroll
  for (int j = 0; j < Config::tile_n / 8; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int place = first + half * 8 + (lane >> 2), n = j * 8 + (lane & 3) * 2;
      vec<float, 2> pair = {{acc[j][half * 2], acc[j][half * 2 + 1]}};
      if constexpr (Config::across != 0) {
        store(totals + n * Room::kPitchTotals + place, vec<float, 1>{{pair[0]}});
        store(totals + (n + 1) * Room::kPitchTotals + place, vec<float, 1>{{pair[1]}});
      } else {
        store(totals + place * Room::kPitchTotals + n, pair);
      }
    }
}

/// total(m, n) = sum over c, kd, kh, kw of x(image, c, frame * stride_d + kd - pad_front, row *
/// stride_h + kh - pad_top, column * stride_w + kw - pad_left) * w(n, c, kd, kh, kw), where m
/// counts images, frames, rows and columns; then finish(m, n, totals of `vector` filters), or,
/// `across`, finish(n, m, totals of `vector` columns). Config: type (f16 or bf16), index, channels,
/// deep, high, wide (of the image), out_deep, out_high, out_wide, taps_d, taps_h, taps_w, stride_d,
/// stride_h, stride_w, pad_front, pad_top, pad_left, filters, and of a block its rows of results,
/// how often it takes so many, `turns`, and its filters, tile_n. Elements X of the image are of the
/// type, or floats. 128 threads; the grid's x counts images, frames and blocks of rows, y tiles of
/// filters.
template <class Config, class X, class FE>
DLC_DEV void contract_few_channels(const X *x, const typename Config::type *w, const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  using Room = few_channels_room<Config>;
  constexpr int kThreads = 32 * Room::kWarps, kTileN = Config::tile_n, kVector = Config::vector,
                kGroup = Room::kGroup, kPitch = Room::kPitch;
  constexpr bool kAcross = Config::across != 0;
  DLC_DYN_SMEM(smem);
  T *filters = reinterpret_cast<T *>(smem), *image = filters + Room::kFilters;
  float *all_totals = reinterpret_cast<float *>(image + Room::kImage);
  const int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const int n0 = (int)blockIdx.y * kTileN;

  // The filters, and the zeros beside the image.
#pragma unroll 1
  for (int i = thread; i < kTileN * (Room::kDepth / kGroup); i += kThreads) {
    int n = i / (Room::kDepth / kGroup), line = i % (Room::kDepth / kGroup);
    vec<T, kGroup> taps = {};
    if (n0 + n < Config::filters && line < Room::kFilterLines)
#pragma unroll
      for (int tap = 0; tap < Config::taps_w; ++tap)
        taps[tap + Room::kShift] =
            load<1>(w + ((Index)(n0 + n) * Room::kFilterLines + line) * Config::taps_w + tap)[0];
    store(filters + n * Room::kPitchFilter + line * kGroup, taps);
  }
  constexpr int kBeside = (kPitch - Config::wide) / 8; // chunks of eight in a line
#pragma unroll 1
  for (int i = thread; i < Room::kLines * kBeside; i += kThreads) {
    int at = i % kBeside;
    store(image + i / kBeside * kPitch + (at == 0 ? 0 : Config::wide + at * 8), vec<T, 8>{});
  }
  // The taps of this lane's two neighbours along k that there are: all others are multiplied as 0.
  const int tap = lane * 2 % kGroup - Room::kShift;
  const u32 mask = (tap >= 0 && tap < Config::taps_w ? 0xffffu : 0u) |
                   (tap + 1 < Config::taps_w ? 0xffff0000u : 0u);
  constexpr int kSpans = (Config::out_high + Config::rows * Config::turns - 1) /
                         (Config::rows * Config::turns); // of an image
  const Index number = (Index)(blockIdx.x / kSpans);     // of a frame of results
  const Index first_plane = number / Config::out_deep * Config::channels;
  const int first_frame = (int)(number % Config::out_deep) * Config::stride_d - Config::pad_front;
  const int span = (int)(blockIdx.x % kSpans) * (Config::rows * Config::turns);
#pragma unroll 1
  for (int turn = 0; turn < Config::turns; ++turn) {
    const int first_row = span + turn * Config::rows,
              top = first_row * Config::stride_h - Config::pad_top;
    if (first_row >= Config::out_high)
      return;
    if (turn > 0)
      barrier(); // the lines are read
    constexpr int kChunks = Config::wide / 8;
#pragma unroll 4
    for (int i = thread; i < Room::kLines * kChunks; i += kThreads) {
      int line = i / kChunks, chunk = i % kChunks, row = top + line % Room::kRowsIn;
      int plane = line / Room::kRowsIn, frame = first_frame + plane % Config::taps_d;
      bool inside = row >= 0 && row < Config::high && frame >= 0 && frame < Config::deep;
      Index of_channel = (first_plane + plane / Config::taps_d) * Config::deep + frame;
      const X *from =
          x + (inside ? (of_channel * Config::high + row) * Config::wide + chunk * 8 : 0);
      T *to = image + line * kPitch + Room::kLead + chunk * 8;
      if constexpr (sizeof(X) == sizeof(T)) {
        cp_async<16>(to, from, inside);
      } else {
        vec<X, 8> eight = {};
        if (inside)
          eight = load<8>(from);
        vec<T, 8> rounded;
#pragma unroll
        for (int e = 0; e < 8; ++e)
          rounded[e] = from_f<T>(eight[e]);
        store(to, rounded);
      }
    }
    cp_async_commit();
    cp_async_wait<0>();
    barrier();
    if constexpr (Room::kCopies > 1) {
      const u32 *words = reinterpret_cast<const u32 *>(image);
      u32 *copy = reinterpret_cast<u32 *>(image + Room::kCopy);
#pragma unroll 4
      for (int i = thread; i < Room::kCopy / 2; i += kThreads) {
        // The last element of a line is beyond all windows.
        u32 low = load<1>(words + i)[0],
            high = i + 1 < Room::kCopy / 2 ? load<1>(words + i + 1)[0] : 0u;
        store(copy + i, vec<u32, 1>{{low >> 16 | high << 16}});
      }
      barrier();
    }

    constexpr int kPlaces = Config::rows * Config::out_wide; // results of a filter
#pragma unroll 1
    for (int tile = warp; tile * 32 < kPlaces; tile += Room::kWarps) {
      int at[2][2]; // where the window of a row of mma begins, for this lane's taps
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          int m = min(tile * 32 + i * 16 + half * 8 + (lane >> 2), kPlaces - 1);
          int row = m / Config::out_wide, column = m % Config::out_wide;
          int place = row * Config::stride_h * kPitch + Room::kFirst + column * Config::stride_w;
          if (Room::kCopies > 1 && (place & 1) != 0)
            place += Room::kCopy - 1;
          at[i][half] = place + lane * 2 % kGroup;
        }
      float acc[2][kTileN / 8][4] = {};
#pragma unroll
      for (int step = 0; step < Room::kDepth / 16; ++step) {
        u32 fa[2][4], fb[kTileN / 16][4];
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          // Lanes of a group of four read two lines.
          int line = (step * 16 + (r >> 1) * 8) / kGroup, next = kGroup == 4 ? line + 1 : line;
          auto offset = [](int line) {
            return (line / Config::taps_h * Room::kRowsIn + line % Config::taps_h) * kPitch;
          };
          bool is_next = kGroup == 4 && (lane & 2) != 0,
               some = (is_next ? next : line) < Room::kFilterLines;
          int of_line = is_next ? offset(next) : offset(line);
#pragma unroll
          for (int i = 0; i < 2; ++i)
            fa[i][r] =
                some ? load<1>(reinterpret_cast<const u32 *>(image + at[i][r & 1] + of_line))[0] &
                           mask
                     : 0u;
        }
#pragma unroll
        for (int j = 0; j < kTileN / 16; ++j)
          ldmatrix_x4(fb[j], filters +
                                 (j * 16 + (lane >> 4) * 8 + (lane & 7)) * Room::kPitchFilter +
                                 step * 16 + (lane >> 3 & 1) * 8);
        mma_tile<T, 2, kTileN / 8>(acc, fa, fb);
      }
      // Through shared memory, so that the epilogue is called on vectors.
      float *totals = all_totals + warp * Room::kTotals;
#pragma unroll 1
      for (int i = 0; i < 2; i += Room::kStaged / 16) {
#pragma unroll
        for (int own = 0; own < 2; ++own) // registers have no index
          if (Room::kStaged == 32 || own == i)
            stage_places<Config>(totals, own * 16 % Room::kStaged, acc[own], lane);
        warp_barrier();
#pragma unroll 2
        for (int v = lane; v < Room::kStaged * kTileN / kVector; v += 32) {
          constexpr int kInner = (kAcross ? Room::kStaged : kTileN) / kVector;
          int outer = v / kInner, inner = v % kInner * kVector;
          int n = kAcross ? outer : inner, place = kAcross ? inner : outer,
              m = tile * 32 + i * 16 + place;
          if (m >= kPlaces || first_row + m / Config::out_wide >= Config::out_high ||
              n0 + n >= Config::filters)
            continue;
          auto total = load_totals<kVector>(totals + outer * Room::kPitchTotals + inner);
          Index at_m = (number * Config::out_high + first_row) * Config::out_wide + m;
          if constexpr (kAcross)
            finish((Index)(n0 + n), at_m, total);
          else
            finish(at_m, (Index)(n0 + n), total);
        }
        warp_barrier();
      }
    }
  }
}

} // namespace dlc
