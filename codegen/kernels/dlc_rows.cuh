//===- dlc_rows.cuh - few rows times a matrix -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Up to eight rows: nothing is used twice but the rows themselves, so the matrix goes from memory into
// registers, as many bytes a lane as its strides allow. Where it lies along k a warp takes a few columns and
// its lanes share k; where it lies along n the lanes take columns and the warps share k. Sums of lanes and of
// warps are added in one order, whatever the schedule.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_device.cuh"

namespace dlc {

/// total + a * b in the type that products of T are added in.
DLC_DEV float multiply_add(float a, float b, float total) { return fma(a, b, total); }
DLC_DEV double multiply_add(double a, double b, double total) { return fma(a, b, total); }
template <class T> DLC_DEV T multiply_add(T a, T b, T total) {
  return add_wrap<T>(mul_wrap<T>(a, b), total);
}
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

/// LANES elements that lie together, as `element` finds (WIDTH > 0) or computes them.
template <int WIDTH, int LANES, class Sum, class T, class Index, class Element>
DLC_DEV void read_lanes(Sum (&values)[LANES], const T *base, const Element &element, Index row,
                        Index k, bool along_k) {
  if constexpr (WIDTH >= LANES && WIDTH > 0) {
    Index offset = element(row, k);
    vec<T, LANES> loaded = {};
    if (offset >= 0)
      loaded = load<LANES>(base + offset);
#pragma unroll
    for (int e = 0; e < LANES; ++e)
      values[e] = to_sum(loaded[e]);
  } else {
#pragma unroll
    for (int e = 0; e < LANES; ++e) {
      Index at_row = along_k ? row : row + e, at_k = along_k ? k + e : k;
      if constexpr (WIDTH > 0) {
        Index offset = element(at_row, at_k);
        values[e] = offset >= 0 ? to_sum(base[offset]) : Sum(0);
      } else {
        values[e] = (Sum)element(at_row, at_k);
      }
    }
  }
}

/// total(m, n) = sum over k of a(m, k) b(n, k); then `finish(m, n, total)`, for m < rows <= Config::rows and n < columns.
/// An element body gives an offset, or -1 for 0, where its width is not 0, else the value. Config: type, index, rows,
/// warps, along_k (of b), lanes (elements of b that one lane reads at once: the extent of their dim is a multiple),
/// columns (of a warp, along k), width_a, width_b. The grid's x counts blocks of columns.
template <class Config, class FA, class FB, class FE>
DLC_DEV void contract_rows(typename Config::index rows, typename Config::index columns,
                           typename Config::index depth, const typename Config::type *a,
                           const typename Config::type *b, const FA &element_a, const FB &element_b,
                           const FE &finish) {
  using T = typename Config::type;
  using Index = typename Config::index;
  using Sum = decltype(to_sum(T{}));
  constexpr int kRows = Config::rows, kWarps = Config::warps, kLanes = Config::lanes;
  constexpr bool kAlongK = Config::along_k != 0;
  constexpr int kColumns = kAlongK ? Config::columns : kLanes;
  constexpr int kBlock = kAlongK ? kWarps * kColumns : 32 * kLanes; // columns of a block
  constexpr int kParts = kAlongK ? 1 : kWarps;                      // sums of one total
  DLC_SHARED(Sum, parts, [kParts][kRows][kBlock]);

  int thread = (int)threadIdx.x, lane = thread & 31, warp = thread >> 5;
  Index n0 = (Index)blockIdx.x * kBlock;
  int mine = (kAlongK ? warp : lane) * kColumns; // of the block's columns, this thread's first
  Sum sums[kRows][kColumns] = {};
  constexpr int kStep = kAlongK ? 32 * kLanes : kWarps;
#pragma unroll 1
  for (Index k = kAlongK ? lane * kLanes : warp; k < depth; k += kStep) {
    constexpr int kDeep = kAlongK ? kLanes : 1;
    Sum of_a[kRows][kDeep] = {}, of_b[kColumns][kDeep] = {};
#pragma unroll
    for (int m = 0; m < kRows; ++m)
      if (m < rows)
        read_lanes<Config::width_a, kDeep>(of_a[m], a, element_a, (Index)m, k, true);
    if constexpr (kAlongK) {
#pragma unroll
      for (int n = 0; n < kColumns; ++n)
        if (n0 + mine + n < columns)
          read_lanes<Config::width_b, kDeep>(of_b[n], b, element_b, n0 + mine + n, k, true);
    } else if (n0 + mine < columns) {
      Sum across[kColumns];
      read_lanes<Config::width_b, kColumns>(across, b, element_b, n0 + mine, k, false);
#pragma unroll
      for (int n = 0; n < kColumns; ++n)
        of_b[n][0] = across[n];
    }
#pragma unroll
    for (int m = 0; m < kRows; ++m)
#pragma unroll
      for (int n = 0; n < kColumns; ++n)
#pragma unroll
        for (int e = 0; e < kDeep; ++e)
          sums[m][n] = multiply_add(of_a[m][e], of_b[n][e], sums[m][n]);
  }
#pragma unroll
  for (int m = 0; m < kRows; ++m)
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
      if constexpr (kAlongK)
#pragma unroll
        for (int mask = 16; mask > 0; mask >>= 1)
          sums[m][n] = multiply_add(from_lane_xor(sums[m][n], mask), (Sum)1, sums[m][n]);
      if (!kAlongK || lane == 0)
        parts[kAlongK ? 0 : warp][m][mine + n] = sums[m][n];
    }
  barrier();
#pragma unroll 1
  for (int i = thread; i < kRows * kBlock; i += 32 * kWarps) {
    int m = i / kBlock, n = i % kBlock;
    Sum total = parts[0][m][n];
#pragma unroll 1
    for (int part = 1; part < kParts; ++part)
      total = multiply_add(parts[part][m][n], (Sum)1, total);
    if (m < rows && n0 + n < columns)
      finish((Index)m, n0 + n, total);
  }
}

} // namespace dlc
