// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// Elementwise kernels: one element a thread where rows hold no whole vectors, else four; moves of elements.
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_rows(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const float *__restrict__ other,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int i = block * 256 + thread;
// CHECK-NEXT:   if (i < s0 * 30) {
// CHECK-NEXT:     const int col = dlc::umod(i, 30);
// CHECK-NEXT:     y[i] = dlc::max(x[i] + other[col], 0.0f);
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @rows attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<?x30xf32, #dl.t<[s0, 30]>>, %b: tensor<30xf32>):
    %0 = dl.broadcast %b : (tensor<30xf32>) -> tensor<?x30xf32, #dl.t<[s0, 30]>>
    %1 = dl.add %x, %0 : (tensor<?x30xf32, #dl.t<[s0, 30]>>, tensor<?x30xf32, #dl.t<[s0, 30]>>) -> tensor<?x30xf32, #dl.t<[s0, 30]>>
    %2 = dl.relu %1 : (tensor<?x30xf32, #dl.t<[s0, 30]>>) -> tensor<?x30xf32, #dl.t<[s0, 30]>>
    dl.yield %2 : tensor<?x30xf32, #dl.t<[s0, 30]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_vectors(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const float *__restrict__ other,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int first = (block * 256 + thread) * 4;
// CHECK-NEXT:   if (first < s0 * 32) {
// CHECK-NEXT:     const int col = dlc::umod(first, 32);
// CHECK-NEXT:     const dlc::vec<float, 4> x4 = dlc::load<4>(x + first);
// CHECK-NEXT:     const dlc::vec<float, 4> other4 = dlc::load<4>(other + col);
// CHECK-NEXT:     dlc::vec<float, 4> y4;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:       y4[e] = x4[e] * other4[e];
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::store(y + first, y4);
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @vectors attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<?x32xf32, #dl.t<[s0, 32]>>, %b: tensor<32xf32>):
    %0 = dl.broadcast %b : (tensor<32xf32>) -> tensor<?x32xf32, #dl.t<[s0, 32]>>
    %1 = dl.mul %x, %0 : (tensor<?x32xf32, #dl.t<[s0, 32]>>, tensor<?x32xf32, #dl.t<[s0, 32]>>) -> tensor<?x32xf32, #dl.t<[s0, 32]>>
    dl.yield %1 : tensor<?x32xf32, #dl.t<[s0, 32]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_tail(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int first = (block * 256 + thread) * 8;
// CHECK-NEXT:   if (first + 7 < s0) {
// CHECK-NEXT:     const dlc::vec<dlc::f16, 8> x8 = dlc::load<8>(x + first);
// CHECK-NEXT:     dlc::vec<dlc::f16, 8> y8;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:       y8[e] = dlc::from_f<dlc::f16>(-dlc::to_f(x8[e]));
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::store(y + first, y8);
// CHECK-NEXT:   } else {
// CHECK-NEXT:     #pragma unroll 1
// CHECK-NEXT:     for (int i = first; i < s0; ++i) {
// CHECK-NEXT:       y[i] = dlc::from_f<dlc::f16>(-dlc::to_f(x[i]));
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @tail attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<?xf16, #dl.t<[s0]>>):
    %0 = dl.neg %x : (tensor<?xf16, #dl.t<[s0]>>) -> tensor<?xf16, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xf16, #dl.t<[s0]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_channels_last(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int first = (block * 256 + thread) * 4;
// CHECK-NEXT:   if (first < s0 * 200) {
// CHECK-NEXT:     const int c = dlc::umod(first, 8);
// CHECK-NEXT:     const int i = dlc::udiv(first, 8);
// CHECK-NEXT:     const int hw = dlc::umod(i, 25);
// CHECK-NEXT:     const int n = dlc::udiv(i, 25);
// CHECK-NEXT:     dlc::vec<float, 4> y4;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:       y4[e] = x[n * 200 + hw + (c + e) * 25];
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::store(y + first, y4);
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @channels_last attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<?x8x5x5xf32, #dl.t<[s0, 8, 5, 5]>>):
    %0 = dl.convert_layout %x : (tensor<?x8x5x5xf32, #dl.t<[s0, 8, 5, 5]>>) -> tensor<?x8x5x5xf32, #dl.t<[s0, 8, 5, 5], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x8x5x5xf32, #dl.t<[s0, 8, 5, 5], order = [0, 2, 3, 1]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_pad(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int first = (block * 256 + thread) * 4;
// CHECK-NEXT:   if (first < s0 * 8) {
// CHECK-NEXT:     const int col = dlc::umod(first, 8);
// CHECK-NEXT:     const int row = dlc::udiv(first, 8);
// CHECK-NEXT:     dlc::vec<float, 4> y4;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:       const int i = col + e;
// CHECK-NEXT:       const int i_1 = i - 1;
// CHECK-NEXT:       y4[e] = i_1 >= 0 && i_1 < 6 ? x[row * 6 + i - 1] : 5.0f;
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::store(y + first, y4);
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @pad attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<?x6xf32, #dl.t<[s0, 6]>>):
    %0 = dl.pad %x {pad = affine_map<() -> (1, 1)>, value = 5.0 : f64} : (tensor<?x6xf32, #dl.t<[s0, 6]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
    dl.yield %0 : tensor<?x8xf32, #dl.t<[s0, 8]>>
  }
}
}
