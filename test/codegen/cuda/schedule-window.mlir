// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// One thread for each element of the result.
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_max_pool(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int i = block * 256 + thread;
// CHECK-NEXT:   if (i < s0 * 392) {
// CHECK-NEXT:     const int c = dlc::umod(i, 8);
// CHECK-NEXT:     const int i_1 = dlc::udiv(i, 8);
// CHECK-NEXT:     const int w = dlc::umod(i_1, 7);
// CHECK-NEXT:     const int i_2 = dlc::udiv(i_1, 7);
// CHECK-NEXT:     const int h = dlc::umod(i_2, 7);
// CHECK-NEXT:     const int n = dlc::udiv(i_2, 7);
// CHECK-NEXT:     float largest = -DLC_INF;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int rh = 0; rh < 3; ++rh) {
// CHECK-NEXT:       float largest_1 = largest;
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int rw = 0; rw < 3; ++rw) {
// CHECK-NEXT:         const float v = rh + h * 2 - 1 >= 0 && rw + w * 2 - 1 >= 0 ? x[rh * 112 + rw * 8 + n * 1568 + h * 224 + w * 16 + c - 120] : -DLC_INF;
// CHECK-NEXT:         largest_1 = dlc::max(largest_1, v);
// CHECK-NEXT:       }
// CHECK-NEXT:       largest = largest_1;
// CHECK-NEXT:     }
// CHECK-NEXT:     y[i] = largest;
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @max_pool attributes {kind = #dlx.kind<window>} {
  ^bb0(%x: tensor<?x8x14x14xf32, #dl.t<[s0, 8, 14, 14], order = [0, 2, 3, 1]>>):
    %0 = dl.max_pool2d %x {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<?x8x14x14xf32, #dl.t<[s0, 8, 14, 14], order = [0, 2, 3, 1]>>) -> tensor<?x8x7x7xf32, #dl.t<[s0, 8, 7, 7], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x8x7x7xf32, #dl.t<[s0, 8, 7, 7], order = [0, 2, 3, 1]>>
  }
}
}
