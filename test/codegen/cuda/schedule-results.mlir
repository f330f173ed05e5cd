// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=never})' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
module {
module @cuda {
// A value and what becomes of it: computed once, stored twice, by one loop over the lanes.
// CHECK-LABEL: {{^}}DLC_KERNEL(32) dlc_both(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     const dlc::f16 *__restrict__ weight,
// CHECK-NEXT:     const dlc::f16 *__restrict__ bias,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     dlc::f16 *__restrict__ also) {
// CHECK:       [&](const int m, const int n, const dlc::vec<float, 8> &total) {
// CHECK-NEXT:         const dlc::vec<dlc::f16, 8> bias8 = dlc::load<8>(bias + n);
// CHECK-NEXT:         dlc::vec<dlc::f16, 8> y8;
// CHECK-NEXT:         dlc::vec<dlc::f16, 8> also8;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:           const float v = total[e] + dlc::to_f(bias8[e]);
// CHECK-NEXT:           y8[e] = dlc::from_f<dlc::f16>(dlc::max(v, 0.0f));
// CHECK-NEXT:           also8[e] = dlc::from_f<dlc::f16>(v);
// CHECK-NEXT:         }
// CHECK-NEXT:         const int i = m * 48 + n;
// CHECK-NEXT:         dlc::store(y + i, y8);
// CHECK-NEXT:         dlc::store(also + i, also8);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @both attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<64x32xf16>, %w: tensor<48x32xf16>, %b: tensor<48xf16>):
    %h = dl.linear %x, %w, %b : (tensor<64x32xf16>, tensor<48x32xf16>, tensor<48xf16>) -> tensor<64x48xf16>
    %r = dl.relu %h : (tensor<64x48xf16>) -> tensor<64x48xf16>
    dl.yield %r, %h : tensor<64x48xf16>, tensor<64x48xf16>
  }
// The widest result says how many lanes a thread has.
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_dtypes(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     float *__restrict__ also) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int thread = (int)threadIdx.x;
// CHECK-NEXT:   const int first = (block * 256 + thread) * 4;
// CHECK-NEXT:   if (first < 128) {
// CHECK-NEXT:     const dlc::vec<float, 4> x4 = dlc::load<4>(x + first);
// CHECK-NEXT:     dlc::vec<dlc::f16, 4> y4;
// CHECK-NEXT:     dlc::vec<float, 4> also4;
// CHECK-NEXT:     #pragma unroll
// CHECK-NEXT:     for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:       const float v = -x4[e];
// CHECK-NEXT:       y4[e] = dlc::from_f<dlc::f16>(v);
// CHECK-NEXT:       also4[e] = v;
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::store(y + first, y4);
// CHECK-NEXT:     dlc::store(also + first, also4);
// CHECK-NEXT:   }
// CHECK-NEXT: }
  dlx.kernel @dtypes attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<8x16xf32>):
    %e = dl.neg %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %c = dl.cast %e {dtype = f16} : (tensor<8x16xf32>) -> tensor<8x16xf16>
    dl.yield %c, %e : tensor<8x16xf16>, tensor<8x16xf32>
  }
}
}
