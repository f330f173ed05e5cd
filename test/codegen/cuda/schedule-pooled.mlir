// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// The rows of a convolution are places, window by window; the epilogue has the totals of a window and stores one result. Nine
// totals of four columns are what a thread holds; a tile of 16 rows has one window and seven rows to spare.
module {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL_OCCUPANCY(32, 14) dlc_largest(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     const dlc::f16 *__restrict__ weight,
// CHECK-NEXT:     const dlc::f16 *__restrict__ bias,
// CHECK-NEXT:     dlc::f16 *__restrict__ y) {
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { across_a = 0, across_b = 0, along_k_a = 1, along_k_b = 1, early = 0, k_1 = 3, k_2 = 16, k_loops = 3, row_tiles = 0, stages = 4, taps_a = 9, taps_b = 0, tile_k = 64, tile_m = 16, tile_n = 16, vector = 4, warps_k = 1, warps_m = 1, warps_n = 1, width_a = 8, width_b = 1, window = 9 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_mma_pooled<config>(
// CHECK-NEXT:       576, 32, 144, x, weight,
// CHECK-NEXT:       [&](const int m, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int pw = dlc::umod(m, 3);
// CHECK-NEXT:         const int i = dlc::udiv(m, 3);
// CHECK-NEXT:         const int ph = dlc::umod(i, 3);
// CHECK-NEXT:         const int i_1 = dlc::udiv(i, 3);
// CHECK-NEXT:         const int w = dlc::umod(i_1, 4);
// CHECK-NEXT:         const int i_2 = dlc::udiv(i_1, 4);
// CHECK-NEXT:         const int h = dlc::umod(i_2, 4);
// CHECK-NEXT:         const int n = dlc::udiv(i_2, 4);
// CHECK-NEXT:         const int i_3 = h * 3 + ph + rh - 1;
// CHECK-NEXT:         const int i_4 = w * 3 + pw + rw - 1;
// CHECK-NEXT:         const int i_5 = i_3 >= 0 && i_3 < 12 && i_4 >= 0 && i_4 < 12 ? n * 2304 + h * 576 + w * 48 + ph * 192 + pw * 16 + rh * 192 + rw * 16 + rc - 208 : -1;
// CHECK-NEXT:         return i_5;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int i = n * 144 + rh * 3 + rw + rc * 9;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<float, 36> &total) {
// CHECK-NEXT:         dlc::vec<dlc::f16, 4> y4;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:           const int i = n + e;
// CHECK-NEXT:           float best = -DLC_INF;
// CHECK-NEXT:           #pragma unroll
// CHECK-NEXT:           for (int p = 0; p < 9; ++p) {
// CHECK-NEXT:             best = dlc::max(best, dlc::max(total[p * 4 + e] + dlc::to_f(bias[i]), 0.0f));
// CHECK-NEXT:           }
// CHECK-NEXT:           y4[e] = dlc::from_f<dlc::f16>(best);
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + m * 32 + n, y4);
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int pw = dlc::umod(m, 3);
// CHECK-NEXT:         const int i = dlc::udiv(m, 3);
// CHECK-NEXT:         const int ph = dlc::umod(i, 3);
// CHECK-NEXT:         const int i_1 = dlc::udiv(i, 3);
// CHECK-NEXT:         const int w = dlc::umod(i_1, 4);
// CHECK-NEXT:         const int i_2 = dlc::udiv(i_1, 4);
// CHECK-NEXT:         const int h = dlc::umod(i_2, 4);
// CHECK-NEXT:         const int n = dlc::udiv(i_2, 4);
// CHECK-NEXT:         const int i_3 = n * 2304 + h * 576 + w * 48 + ph * 192 + pw * 16 + rh * 192 + rw * 16 + rc;
// CHECK-NEXT:         return i_3 - 208;
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @largest attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<4x16x12x12xf16, #dl.t<[4, 16, 12, 12], order = [0, 2, 3, 1]>>, %w: tensor<32x16x3x3xf16>, %b: tensor<32xf16>):
    %c = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>} : (tensor<4x16x12x12xf16, #dl.t<[4, 16, 12, 12], order = [0, 2, 3, 1]>>, tensor<32x16x3x3xf16>, tensor<32xf16>) -> tensor<4x32x12x12xf16, #dl.t<[4, 32, 12, 12], order = [0, 2, 3, 1]>>
    %r = dl.relu %c : (tensor<4x32x12x12xf16, #dl.t<[4, 32, 12, 12], order = [0, 2, 3, 1]>>) -> tensor<4x32x12x12xf16, #dl.t<[4, 32, 12, 12], order = [0, 2, 3, 1]>>
    %p = dl.max_pool2d %r {kernel_size = array<i64: 3, 3>} : (tensor<4x32x12x12xf16, #dl.t<[4, 32, 12, 12], order = [0, 2, 3, 1]>>) -> tensor<4x32x4x4xf16, #dl.t<[4, 32, 4, 4], order = [0, 2, 3, 1]>>
    dl.yield %p : tensor<4x32x4x4xf16, #dl.t<[4, 32, 4, 4], order = [0, 2, 3, 1]>>
  }
// The last dim of the result lies across the columns: one column a call.
// CHECK-LABEL: {{^}}DLC_KERNEL(128) dlc_mean(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const float *__restrict__ weight,
// CHECK-NEXT:     float *__restrict__ y) {
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = float;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k_a = 0, along_k_b = 1, early = 0, k_loops = 1, row_tiles = 0, stages = 2, taps_a = 0, taps_b = 0, tile_k = 64, tile_m = 32, tile_n = 8, vector = 1, warps_k = 4, warps_m = 1, warps_n = 1, width_a = 1, width_b = 4, window = 4 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_simt_pooled<config>(
// CHECK-NEXT:       72, 20, 20, x, weight,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
// CHECK-NEXT:         const int p0 = dlc::umod(m, 4);
// CHECK-NEXT:         const int i = dlc::udiv(m, 4);
// CHECK-NEXT:         const int d2 = dlc::umod(i, 9);
// CHECK-NEXT:         const int d0 = dlc::udiv(i, 9);
// CHECK-NEXT:         const int rw = dlc::umod(k, 5);
// CHECK-NEXT:         const int rh = dlc::udiv(k, 5);
// CHECK-NEXT:         return d0 * 160 + d2 * 4 + p0 + rh * 40 + rw;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k) -> int {
// CHECK-NEXT:         return n * 20 + k;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<float, 4> &total) {
// CHECK-NEXT:         const int d2 = dlc::umod(m, 9);
// CHECK-NEXT:         const int d0 = dlc::udiv(m, 9);
// CHECK-NEXT:         float sum = 0.0f;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int p = 0; p < 4; ++p) {
// CHECK-NEXT:           sum = sum + total[p];
// CHECK-NEXT:         }
// CHECK-NEXT:         y[d0 * 180 + d2 + n * 9] = -(sum / 4.0f);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @mean attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<2x4x40xf32>, %w: tensor<20x4x5xf32>):
    %c = dl.conv1d %x, %w : (tensor<2x4x40xf32>, tensor<20x4x5xf32>) -> tensor<2x20x36xf32>
    %p = dl.avg_pool1d %c {kernel_size = array<i64: 4>} : (tensor<2x20x36xf32>) -> tensor<2x20x9xf32>
    %y = dl.neg %p : (tensor<2x20x9xf32>) -> tensor<2x20x9xf32>
    dl.yield %y : tensor<2x20x9xf32>
  }
}
}
