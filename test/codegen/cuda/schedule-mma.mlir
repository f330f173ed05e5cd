// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=sometimes})' 2>&1 | FileCheck %s --check-prefix=HOPPER
// HOPPER: error: hopper is auto, always or never, got 'sometimes'
// Tensor cores: what lies in memory as it is multiplied is copied, the rest computed; totals leave as vectors.
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL_OCCUPANCY(32, 14) dlc_conv_residual(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     const dlc::f16 *__restrict__ weight,
// CHECK-NEXT:     const dlc::f16 *__restrict__ other,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { across_a = 0, across_b = 0, along_k_a = 1, along_k_b = 1, early = 0, k_1 = 3, k_2 = 16, k_loops = 3, row_tiles = 0, stages = 4, taps_a = 9, taps_b = 0, tile_k = 64, tile_m = 16, tile_n = 16, vector = 8, warps_k = 1, warps_m = 1, warps_n = 1, width_a = 8, width_b = 1 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_mma<config>(
// CHECK-NEXT:       s0 * 64, 32, 144, x, weight,
// CHECK-NEXT:       [&](const int m, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int w = dlc::umod(m, 8);
// CHECK-NEXT:         const int i = dlc::udiv(m, 8);
// CHECK-NEXT:         const int h = dlc::umod(i, 8);
// CHECK-NEXT:         const int n = dlc::udiv(i, 8);
// CHECK-NEXT:         const int i_1 = h + rh - 1;
// CHECK-NEXT:         const int i_2 = w + rw - 1;
// CHECK-NEXT:         const int i_3 = i_1 >= 0 && i_1 < 8 && i_2 >= 0 && i_2 < 8 ? n * 1024 + h * 128 + w * 16 + rh * 128 + rw * 16 + rc - 144 : -1;
// CHECK-NEXT:         return i_3;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int i = n * 144 + rh * 3 + rw + rc * 9;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<float, 8> &total) {
// CHECK-NEXT:         const int i = m * 32 + n;
// CHECK-NEXT:         const dlc::vec<dlc::f16, 8> other8 = dlc::load<8>(other + i);
// CHECK-NEXT:         dlc::vec<dlc::f16, 8> y8;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:           y8[e] = dlc::from_f<dlc::f16>(total[e] + dlc::to_f(other8[e]));
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + i, y8);
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int w = dlc::umod(m, 8);
// CHECK-NEXT:         const int i = dlc::udiv(m, 8);
// CHECK-NEXT:         const int h = dlc::umod(i, 8);
// CHECK-NEXT:         const int n = dlc::udiv(i, 8);
// CHECK-NEXT:         return n * 1024 + h * 128 + w * 16 + rh * 128 + rw * 16 + rc - 144;
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @conv_residual attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x16x8x8xf16, #dl.t<[s0, 16, 8, 8], order = [0, 2, 3, 1]>>, %w: tensor<32x16x3x3xf16>, %z: tensor<?x32x8x8xf16, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x16x8x8xf16, #dl.t<[s0, 16, 8, 8], order = [0, 2, 3, 1]>>, tensor<32x16x3x3xf16>) -> tensor<?x32x8x8xf16, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
    %1 = dl.add %0, %z : (tensor<?x32x8x8xf16, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>, tensor<?x32x8x8xf16, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>) -> tensor<?x32x8x8xf16, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
    dl.yield %1 : tensor<?x32x8x8xf16, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(32) dlc_linear_tf32(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const float *__restrict__ weight,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = float;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { across_a = 0, across_b = 0, along_k_a = 1, along_k_b = 1, early = 0, k_loops = 1, row_tiles = 0, stages = 3, taps_a = 0, taps_b = 0, tile_k = 32, tile_m = 16, tile_n = 16, vector = 4, warps_k = 1, warps_m = 1, warps_n = 1, width_a = 4, width_b = 4 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_mma<config>(
// CHECK-NEXT:       s0, 72, 48, x, weight,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
// CHECK-NEXT:         return m * 48 + k;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k) -> int {
// CHECK-NEXT:         return n * 48 + k;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<float, 4> &total) {
// CHECK-NEXT:         dlc::vec<float, 4> y4;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:           y4[e] = total[e];
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + m * 72 + n, y4);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @linear_tf32 attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x48xf32, #dl.t<[s0, 48]>>, %w: tensor<72x48xf32>):
    %0 = dl.linear %x, %w {dl.tf32} : (tensor<?x48xf32, #dl.t<[s0, 48]>>, tensor<72x48xf32>) -> tensor<?x72xf32, #dl.t<[s0, 72]>>
    dl.yield %0 : tensor<?x72xf32, #dl.t<[s0, 72]>>
  }
}
}
