// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{force=linear=tiles})' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// A template for floats, with what is fused after; tiles through shared memory for what no template takes; a template for few
// rows; strips of neighbouring results for each thread where groups are of a channel.
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL_OCCUPANCY(128, 4) dlc_conv_bias_relu(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const float *__restrict__ weight,
// CHECK-NEXT:     const float *__restrict__ bias,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = float;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k_a = 1, along_k_b = 1, early = 0, k_1 = 3, k_2 = 16, k_loops = 3, row_tiles = 0, stages = 3, taps_a = 9, taps_b = 0, tile_k = 64, tile_m = 32, tile_n = 32, vector = 4, warps_k = 4, warps_m = 1, warps_n = 1, width_a = 4, width_b = 1 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_simt<config>(
// CHECK-NEXT:       s0 * 1024, 32, 144, x, weight,
// CHECK-NEXT:       [&](const int m, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int w = dlc::umod(m, 32);
// CHECK-NEXT:         const int i = dlc::udiv(m, 32);
// CHECK-NEXT:         const int h = dlc::umod(i, 32);
// CHECK-NEXT:         const int n = dlc::udiv(i, 32);
// CHECK-NEXT:         const int i_1 = h + rh - 1;
// CHECK-NEXT:         const int i_2 = w + rw - 1;
// CHECK-NEXT:         const int i_3 = i_1 >= 0 && i_1 < 32 && i_2 >= 0 && i_2 < 32 ? n * 16384 + h * 512 + w * 16 + rh * 512 + rw * 16 + rc - 528 : -1;
// CHECK-NEXT:         return i_3;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         return n * 144 + rh * 3 + rw + rc * 9;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<float, 4> &total) {
// CHECK-NEXT:         const dlc::vec<float, 4> bias4 = dlc::load<4>(bias + n);
// CHECK-NEXT:         dlc::vec<float, 4> y4;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:           y4[e] = dlc::max(total[e] + bias4[e], 0.0f);
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + m * 32 + n, y4);
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int w = dlc::umod(m, 32);
// CHECK-NEXT:         const int i = dlc::udiv(m, 32);
// CHECK-NEXT:         const int h = dlc::umod(i, 32);
// CHECK-NEXT:         const int n = dlc::udiv(i, 32);
// CHECK-NEXT:         return n * 16384 + h * 512 + w * 16 + rh * 512 + rw * 16 + rc - 528;
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @conv_bias_relu attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x16x32x32xf32, #dl.t<[s0, 16, 32, 32], order = [0, 2, 3, 1]>>, %w: tensor<32x16x3x3xf32>, %b: tensor<32xf32>):
    %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>} : (tensor<?x16x32x32xf32, #dl.t<[s0, 16, 32, 32], order = [0, 2, 3, 1]>>, tensor<32x16x3x3xf32>, tensor<32xf32>) -> tensor<?x32x32x32xf32, #dl.t<[s0, 32, 32, 32], order = [0, 2, 3, 1]>>
    %1 = dl.relu %0 : (tensor<?x32x32x32xf32, #dl.t<[s0, 32, 32, 32], order = [0, 2, 3, 1]>>) -> tensor<?x32x32x32xf32, #dl.t<[s0, 32, 32, 32], order = [0, 2, 3, 1]>>
    dl.yield %1 : tensor<?x32x32x32xf32, #dl.t<[s0, 32, 32, 32], order = [0, 2, 3, 1]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_linear(
// CHECK-NEXT:     const double *__restrict__ x,
// CHECK-NEXT:     const double *__restrict__ weight,
// CHECK-NEXT:     double *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   DLC_SHARED(double, a_tile, [16][65]);
// CHECK-NEXT:   DLC_SHARED(double, b_tile, [16][65]);
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int m_tile = (int)blockIdx.x;
// CHECK-NEXT:   const int m0 = m_tile * 64;
// CHECK-NEXT:   const int n_tile = (int)blockIdx.y;
// CHECK-NEXT:   const int n0 = n_tile * 64;
// CHECK-NEXT:   const int thread_n = dlc::umod(thread, 16);
// CHECK-NEXT:   const int thread_m = dlc::udiv(thread, 16);
// CHECK-NEXT:   double acc[4][4];
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int i = 0; i < 4; ++i) {
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:       acc[i][j] = 0.0;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   #pragma unroll 1
// CHECK-NEXT:   for (int k0 = 0; k0 < 50; k0 += 16) {
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int p = 0; p < 4; ++p) {
// CHECK-NEXT:       const int e = p * 256 + thread;
// CHECK-NEXT:       const int kk = dlc::umod(e, 16);
// CHECK-NEXT:       const int row = dlc::udiv(e, 16);
// CHECK-NEXT:       const int m = m0 + row;
// CHECK-NEXT:       const int k = k0 + kk;
// CHECK-NEXT:       a_tile[kk][row] = m < s0 && k < 50 ? x[m * 50 + k] : 0.0;
// CHECK-NEXT:     }
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int p = 0; p < 4; ++p) {
// CHECK-NEXT:       const int e = p * 256 + thread;
// CHECK-NEXT:       const int kk = dlc::umod(e, 16);
// CHECK-NEXT:       const int row = dlc::udiv(e, 16);
// CHECK-NEXT:       const int n = n0 + row;
// CHECK-NEXT:       const int k = k0 + kk;
// CHECK-NEXT:       b_tile[kk][row] = n < 70 && k < 50 ? weight[n * 50 + k] : 0.0;
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::barrier();
// CHECK-NEXT:     #pragma unroll 8
// CHECK-NEXT:     for (int kk = 0; kk < 16; ++kk) {
// CHECK-NEXT:       double a[4];
// CHECK-NEXT:       double b[4];
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int i = 0; i < 4; ++i) {
// CHECK-NEXT:         const int i_1 = i * 16;
// CHECK-NEXT:         a[i] = a_tile[kk][thread_m + i_1];
// CHECK-NEXT:         b[i] = b_tile[kk][thread_n + i_1];
// CHECK-NEXT:       }
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int i = 0; i < 4; ++i) {
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:           acc[i][j] = dlc::fma(a[i], b[j], acc[i][j]);
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::barrier();
// CHECK-NEXT:   }
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int i = 0; i < 4; ++i) {
// CHECK-NEXT:     const int m = m0 + thread_m + i * 16;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:       const int n = n0 + thread_n + j * 16;
// CHECK-NEXT:       if (m < s0 && n < 70) {
// CHECK-NEXT:         y[m * 70 + n] = acc[i][j];
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @linear attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x50xf64, #dl.t<[s0, 50]>>, %w: tensor<70x50xf64>):
    %0 = dl.linear %x, %w : (tensor<?x50xf64, #dl.t<[s0, 50]>>, tensor<70x50xf64>) -> tensor<?x70xf64, #dl.t<[s0, 70]>>
    dl.yield %0 : tensor<?x70xf64, #dl.t<[s0, 70]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_one_row(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const float *__restrict__ weight,
// CHECK-NEXT:     float *__restrict__ y) {
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = float;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k = 1, checked_a = 0, checked_b = 0, columns = 1, deep = 2, early = 0, lanes_n = 1, rows = 1, stages = 1, warps_k = 1, warps_n = 8, width_a = 2, width_b = 2 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_rows<config>(
// CHECK-NEXT:       1, 70, 50, x, weight,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
// CHECK-NEXT:         return k;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k) -> int {
// CHECK-NEXT:         return n * 50 + k;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const float total) {
// CHECK-NEXT:         y[n] = total;
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @one_row attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x50xf32>, %w: tensor<70x50xf32>):
    %0 = dl.linear %x, %w : (tensor<1x50xf32>, tensor<70x50xf32>) -> tensor<1x70xf32>
    dl.yield %0 : tensor<1x70xf32>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(128) dlc_depthwise(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const float *__restrict__ weight,
// CHECK-NEXT:     const float *__restrict__ bias,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int i = block * 128 + thread;
// CHECK-NEXT:   if (i < s0 * 3024) {
// CHECK-NEXT:     const int c_strip = dlc::umod(i, 8);
// CHECK-NEXT:     const int i_1 = dlc::udiv(i, 8);
// CHECK-NEXT:     const int w_strip = dlc::umod(i_1, 27);
// CHECK-NEXT:     const int i_2 = dlc::udiv(i_1, 27);
// CHECK-NEXT:     const int h_strip = dlc::umod(i_2, 14);
// CHECK-NEXT:     const int n = dlc::udiv(i_2, 14);
// CHECK-NEXT:     const int h0 = h_strip * 4;
// CHECK-NEXT:     const int w0 = w_strip * 2;
// CHECK-NEXT:     const int c0 = c_strip * 4;
// CHECK-NEXT:     struct config {
// CHECK-NEXT:       using type = float;
// CHECK-NEXT:       using index = int;
// CHECK-NEXT:       enum { across = 0, along_x = 1, columns = 2, depth = 1, dilation_h = 1, dilation_w = 1, first_x = 1, lanes = 4, rows = 4, staged = 0, stride_h = 1, stride_w = 1, taps_h = 3, taps_w = 3, threads = 128, whole_h = 1, whole_w = 1, width_w = 1, width_x = 4 };
// CHECK-NEXT:     };
// CHECK-NEXT:     dlc::depthwise<config>(
// CHECK-NEXT:         56 - h0, 54 - w0, x, weight,
// CHECK-NEXT:         [&](const int rc, const int rh, const int rw, const int th, const int tw) -> int {
// CHECK-NEXT:           const int h = h0 + th;
// CHECK-NEXT:           const int w = w0 + tw;
// CHECK-NEXT:           const int i_3 = h + rh - 1;
// CHECK-NEXT:           const int i_4 = w + rw - 1;
// CHECK-NEXT:           const int i_5 = i_3 >= 0 && i_3 < 56 && i_4 >= 0 && i_4 < 54 ? n * 96768 + c0 + h * 1728 + w * 32 + rh * 1728 + rw * 32 - 1760 : -1;
// CHECK-NEXT:           return i_5;
// CHECK-NEXT:         },
// CHECK-NEXT:         [&](const int rc, const int rh, const int rw, const int e) -> int {
// CHECK-NEXT:           return (c0 + e) * 9 + rh * 3 + rw;
// CHECK-NEXT:         },
// CHECK-NEXT:         [&](const int th, const int tw, const dlc::vec<float, 4> &total) {
// CHECK-NEXT:           const int h = h0 + th;
// CHECK-NEXT:           const int w = w0 + tw;
// CHECK-NEXT:           const dlc::vec<float, 4> bias4 = dlc::load<4>(bias + c0);
// CHECK-NEXT:           dlc::vec<float, 4> y4;
// CHECK-NEXT:           #pragma unroll
// CHECK-NEXT:           for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:             y4[e] = total[e] + bias4[e];
// CHECK-NEXT:           }
// CHECK-NEXT:           dlc::store(y + n * 96768 + h * 1728 + w * 32 + c0, y4);
// CHECK-NEXT:         });
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @depthwise attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x32x56x54xf32, #dl.t<[s0, 32, 56, 54], order = [0, 2, 3, 1]>>, %w: tensor<32x1x3x3xf32>, %b: tensor<32xf32>):
    %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>, groups = 32 : i64} : (tensor<?x32x56x54xf32, #dl.t<[s0, 32, 56, 54], order = [0, 2, 3, 1]>>, tensor<32x1x3x3xf32>, tensor<32xf32>) -> tensor<?x32x56x54xf32, #dl.t<[s0, 32, 56, 54], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x32x56x54xf32, #dl.t<[s0, 32, 56, 54], order = [0, 2, 3, 1]>>
  }
}
}
