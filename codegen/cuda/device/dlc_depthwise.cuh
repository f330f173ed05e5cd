//===- dlc_depthwise.cuh - convolutions of few channels each --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a result sums over the window of one channel, or of the few of its group, there is no
// matrix product to speak of. A thread computes a strip of neighbouring results of some channels
// that lie together: each input is loaded once for all of the strip's results, each tap of the
// filter once for the strip.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_device.cuh"

namespace dlc {

/// Along one dim: result `t` of OUT reads input t * STRIDE + tap * DILATION of the strip's own.
template <int OUT, int TAPS, int STRIDE, int DILATION> struct strip_taps {
  static constexpr int kInputs = (OUT - 1) * STRIDE + (TAPS - 1) * DILATION + 1;

  /// Through which tap result `t` reads input `i`; -1: it does not.
  static DLC_DEV constexpr int tap(int i, int t) {
    int distance = i - t * STRIDE;
    bool reads = distance >= 0 && distance % DILATION == 0 && distance / DILATION < TAPS;
    return reads ? distance / DILATION : -1;
  }
  /// The first result that reads input `i`; OUT: none does.
  static DLC_DEV constexpr int reader(int i) {
    int t = 0;
    while (t < OUT && tap(i, t) < 0)
      ++t;
    return t;
  }
};

/// Inputs of a strip's line that are loaded as vectors of WIDTH neighbours along it, of which the
/// first begins at input FIRST. WIDTH 1: none.
template <int WIDTH, int FIRST, int INPUTS> struct line_vectors {
  /// The input with which the vector of input `i` begins; -1: it is loaded alone.
  static DLC_DEV constexpr int begin(int i) {
    int at = i - (i - FIRST) % WIDTH;
    return WIDTH > 1 && i >= FIRST && at + WIDTH <= INPUTS ? at : -1;
  }
};

/// Elements that lie together from where `element` says (WIDTH = LANES), or one that it computes
/// (WIDTH 0); zeros where it says -1.
template <int WIDTH, int LANES, class T, class Value>
DLC_DEV void read_strip(float (&values)[LANES], const T *base, Value element) {
  if constexpr (WIDTH == 0) {
    static_assert(LANES == 1, "computed elements come one by one");
    values[0] = (float)element;
  } else {
    vec<T, LANES> loaded = {};
    if (element >= 0)
      loaded = load<LANES>(base + element);
#pragma unroll
    for (int e = 0; e < LANES; ++e)
      values[e] = to_f(loaded[e]);
  }
}

/// For the rows x columns results of this thread's strip, of which `below` and `beside` lie inside
/// the result, and each of `lanes` channels: total = sum over rc, rh, rw, in this order, of
/// image(rc, rh, rw, th, tw) * filter(rc, rh, rw, e). Then finish(th, tw, totals of the channels),
/// or, with `across`, finish(th, 0, totals of the columns). An element body gives an offset, -1 for
/// 0, or with width_x (width_w) 0 the value. Config: type, index, rows, columns, lanes, depth, and
/// for both dims taps, stride, dilation and whether all strips are `whole`; width_w is 1 where the
/// filters of channels do not lie together; `along_x`: neighbours along an image's row that are
/// loaded together, from the tap `first_x` of the strip's first result on, all of which are inside
/// the image or none; `staged`: totals wait in shared memory, so that a long epilogue is called
/// from one place of the text. Blocks of `threads`.
template <class Config, class FX, class FW, class FE>
DLC_DEV void depthwise(typename Config::index below, typename Config::index beside,
                       const typename Config::type *x, const typename Config::type *w,
                       const FX &image, const FW &filter, const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  constexpr int kRows = Config::rows, kColumns = Config::columns, kLanes = Config::lanes,
                kTapsH = Config::taps_h, kTapsW = Config::taps_w;
  using Down = strip_taps<kRows, kTapsH, Config::stride_h, Config::dilation_h>;
  using Along = strip_taps<kColumns, kTapsW, Config::stride_w, Config::dilation_w>;
  constexpr int kAlong = Config::along_x;
  using Vectors = line_vectors<kAlong, Config::first_x, Along::kInputs>;
  static_assert(kAlong == 1 || (kLanes == 1 && Config::width_x == 1 && Config::dilation_w == 1),
                "neighbours along a row are those of one channel");
  constexpr bool kHeld = kRows > 1; // several rows want a tap: all of them stay in registers
  constexpr int kStep = kHeld ? 1 : Config::dilation_h,
                kLines = (Down::kInputs + kStep - 1) / kStep,
                kUnroll = kHeld || kTapsH * kTapsW * kColumns <= 128 ? kLines : 1,
                kUnrollDepth = Config::depth * kTapsH * kTapsW * kRows <= 32 ? Config::depth : 1;

  auto tap_of = [&](float (&values)[kLanes], int rc, int rh, int rw) {
    if constexpr (Config::width_w == kLanes) {
      read_strip<kLanes>(values, w, filter((Index)rc, (Index)rh, (Index)rw, (Index)0));
    } else {
#pragma unroll
      for (int e = 0; e < kLanes; ++e) {
        float value[1];
        read_strip<Config::width_w>(value, w, filter((Index)rc, (Index)rh, (Index)rw, (Index)e));
        values[e] = value[0];
      }
    }
  };

  float acc[kRows][kColumns][kLanes] = {};
#pragma unroll kUnrollDepth
  for (int rc = 0; rc < Config::depth; ++rc) {
    float held[kHeld ? kTapsH * kTapsW : 1][kLanes];
    if constexpr (kHeld)
#pragma unroll
      for (int tap = 0; tap < kTapsH * kTapsW; ++tap)
        tap_of(held[tap], rc, tap / kTapsW, tap % kTapsW);
#pragma unroll kUnroll
    for (int number = 0; number < kLines; ++number) {
      int i = number * kStep, first_h = kHeld ? Down::reader(i) : 0;
      if (first_h == kRows) // between the rows that strides and dilation meet
        continue;
      float line[Along::kInputs][kLanes];
#pragma unroll
      for (int j = 0; j < Along::kInputs; ++j) {
        int begin = Vectors::begin(j), first_w = Along::reader(j);
        if (first_w == kColumns || (begin >= 0 && begin != j))
          continue;
        bool inside = (Config::whole_h || first_h < below) && (Config::whole_w || first_w < beside);
        auto element = [&] {
          return image((Index)rc, (Index)(kHeld ? Down::tap(i, first_h) : number),
                       (Index)Along::tap(j, first_w), (Index)first_h, (Index)first_w);
        };
        if constexpr (kAlong > 1)
          if (begin == j) {
            float together[kAlong];
            read_strip<kAlong>(together, x, inside ? element() : (Index)-1);
#pragma unroll
            for (int e = 0; e < kAlong; ++e)
              line[j + e < Along::kInputs ? j + e : j][0] = together[e];
            continue;
          }
        if constexpr (Config::width_x == 0)
          read_strip<0>(line[j], x, inside ? (float)element() : 0.0f);
        else
          read_strip<kLanes>(line[j], x, inside ? element() : (Index)-1);
      }
#pragma unroll
      for (int rw = 0; rw < kTapsW; ++rw)
#pragma unroll
        for (int th = 0; th < kRows; ++th) {
          int rh = kHeld ? Down::tap(i, th) : number;
          if (rh < 0)
            continue;
          float tap[kLanes];
          if constexpr (kHeld)
#pragma unroll
            for (int e = 0; e < kLanes; ++e)
              tap[e] = held[rh * kTapsW + rw][e];
          else
            tap_of(tap, rc, rh, rw);
#pragma unroll
          for (int tw = 0; tw < kColumns; ++tw)
#pragma unroll
            for (int e = 0; e < kLanes; ++e)
              acc[th][tw][e] = fma(line[tw * Config::stride_w + rw * Config::dilation_w][e], tap[e],
                                   acc[th][tw][e]);
        }
    }
  }

  constexpr int kTurns = Config::across ? 1 : kColumns,
                kVector = Config::across ? kColumns * kLanes : kLanes;
  static_assert(!Config::across || (kLanes == 1 && Config::whole_w), "a vector of columns");
  auto leave = [&](int th, int tw, const vec<float, kVector> &totals) {
    if ((Config::whole_h || th < below) && (Config::whole_w || tw < beside))
      finish((Index)th, (Index)tw, totals);
  };
  auto totals_of = [&](int th, int tw) {
    vec<float, kVector> totals;
#pragma unroll
    for (int e = 0; e < kVector; ++e)
      totals[e] = Config::across ? acc[th][e][0] : acc[th][tw][e];
    return totals;
  };
  if constexpr (Config::staged) {
    // Each thread comes back to its own alone.
    DLC_SHARED(float, waiting, [kRows * kTurns][Config::threads * kVector]);
    int at = (int)threadIdx.x * kVector;
#pragma unroll
    for (int th = 0; th < kRows; ++th)
#pragma unroll
      for (int tw = 0; tw < kTurns; ++tw) {
        vec<float, kVector> totals = totals_of(th, tw);
#pragma unroll
        for (int e = 0; e < kVector; ++e)
          waiting[th * kTurns + tw][at + e] = totals[e];
      }
#pragma unroll 1
    for (int turn = 0; turn < kRows * kTurns; ++turn) {
      vec<float, kVector> totals;
#pragma unroll
      for (int e = 0; e < kVector; ++e)
        totals[e] = waiting[turn][at + e];
      leave(turn / kTurns, turn % kTurns, totals);
    }
  } else {
#pragma unroll
    for (int th = 0; th < kRows; ++th)
#pragma unroll
      for (int tw = 0; tw < kTurns; ++tw)
        leave(th, tw, totals_of(th, tw));
  }
}

} // namespace dlc
