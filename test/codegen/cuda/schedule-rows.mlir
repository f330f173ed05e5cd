// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --check-prefix=IR
// IR: #[[ALONG:.*]] = affine_map<() -> (256, 1, 1)>
// IR: #[[EXCHANGE:.*]] = affine_map<() -> (33792)>
// IR: dlx.kernel @along attributes {{.*}}grid = #[[ALONG]]
// IR: dlx.kernel @across attributes {{.*}}exchange = #[[EXCHANGE]], grid = #[[ALONG]]
// IR-NEXT: ^bb0(%{{.*}}: tensor<2x4096xf16>, %{{.*}}: tensor<4096x4096xf16>):
// IR: dlx.kernel @double attributes {{.*}}grid = #[[ALONG]]
// IR-NEXT: ^bb0(%{{.*}}: tensor<1x4096xf64>, %{{.*}}: tensor<4096x2048xf64>):
// Few rows times a matrix: along k a warp takes some columns and its lanes share k; across, lanes and warps share k, and so do
// four blocks, which exchange floats. Sums of f64 stay within a block.
module {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_along(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     const dlc::f16 *__restrict__ weight,
// CHECK-NEXT:     dlc::f16 *__restrict__ y) {
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k = 1, checked_a = 0, checked_b = 0, columns = 4, deep = 8, early = 0, lanes_n = 1, rows = 8, stages = 3, warps_k = 2, warps_n = 4, width_a = 8, width_b = 8 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_rows<config>(
// CHECK-NEXT:       8, 4096, 4096, x, weight,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
// CHECK-NEXT:         const int i = m * 4096 + k;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k) -> int {
// CHECK-NEXT:         const int i = n * 4096 + k;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const float total) {
// CHECK-NEXT:         y[m * 4096 + n] = dlc::from_f<dlc::f16>(total);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @along attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<8x4096xf16>, %w: tensor<4096x4096xf16>):
    %0 = dl.linear %x, %w : (tensor<8x4096xf16>, tensor<4096x4096xf16>) -> tensor<8x4096xf16>
    dl.yield %0 : tensor<8x4096xf16>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_across(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     const dlc::f16 *__restrict__ other,
// CHECK-NEXT:     float *__restrict__ exchange,
// CHECK-NEXT:     dlc::f16 *__restrict__ y) {
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k = 0, checked_a = 0, checked_b = 0, columns = 8, deep = 4, early = 0, lanes_n = 8, parts = 4, rows = 2, stages = 3, warps_k = 8, warps_n = 1, width_a = 8, width_b = 8 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_rows_split<config>(
// CHECK-NEXT:       2, 4096, 4096, x, other, exchange,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
// CHECK-NEXT:         const int i = m * 4096 + k;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k) -> int {
// CHECK-NEXT:         const int i = n + k * 4096;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const float total) {
// CHECK-NEXT:         y[m * 4096 + n] = dlc::from_f<dlc::f16>(total);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @across attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<2x4096xf16>, %w: tensor<4096x4096xf16>):
    %0 = dl.matmul %x, %w : (tensor<2x4096xf16>, tensor<4096x4096xf16>) -> tensor<2x4096xf16>
    dl.yield %0 : tensor<2x4096xf16>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_double(
// CHECK-NEXT:     const double *__restrict__ x,
// CHECK-NEXT:     const double *__restrict__ other,
// CHECK-NEXT:     double *__restrict__ y) {
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = double;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k = 0, checked_a = 0, checked_b = 0, columns = 2, deep = 2, early = 0, lanes_n = 4, rows = 1, stages = 3, warps_k = 8, warps_n = 1, width_a = 2, width_b = 2 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_rows<config>(
// CHECK-NEXT:       1, 2048, 4096, x, other,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
// CHECK-NEXT:         return k;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k) -> int {
// CHECK-NEXT:         return n + k * 2048;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const double total) {
// CHECK-NEXT:         y[n] = total;
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @double attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x4096xf64>, %w: tensor<4096x2048xf64>):
    %0 = dl.matmul %x, %w : (tensor<1x4096xf64>, tensor<4096x2048xf64>) -> tensor<1x2048xf64>
    dl.yield %0 : tensor<1x2048xf64>
  }
}
}
