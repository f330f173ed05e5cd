// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=always})' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=always})' | FileCheck %s --check-prefix=IR --implicit-check-not='{{narrow|across|none|floats}}_sm_90a'
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda{force=merged=attention_wgmma hopper=auto})' | FileCheck %s --check-prefix=FORCED --implicit-check-not='{{narrow|across|none|floats}}_sm_90a'
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda{force=narrow=attention_wgmma})' 2>&1 | FileCheck %s --check-prefix=CANNOT
// Query, key and value are columns of one matrix, which TMA reads where they lie. The two heads of a sequence stand side by side.
// IR-DAG: #[[MERGED:.*]] = affine_map<()[s0] -> (384, s0 * 2, 384)>
// IR: dlx.kernel @merged attributes {{{.*}}schedule = "attention_tensor_cores"{{.*}}variants = [#dlx.variant<kernel = @merged_sm_90a, gpu = 90>{{[],]}}
// IR: dlx.kernel @merged_sm_90a attributes {block = array<i64: 384, 1, 1>, {{.*}}persistent, plan = #dlx.plan<schedule = "attention_wgmma", numbers = {keys = 128 : i64, stages = 4 : i64}
// IR-SAME: tensor_maps = [#dlx.tensor_map<input = 0, shape = #{{.*}}, box = [64, 128]>, #dlx.tensor_map<input = 0, shape = #{{.*}}, box = [64, 128]>, #dlx.tensor_map<input = 0, shape = #[[MERGED]], box = [64, 128]>]
// A mask's addresses take the registers of a longer span.
// IR: dlx.kernel @masked_sm_90a attributes {{.*}}schedule = "attention_wgmma", numbers = {keys = 64 : i64, stages = 4 : i64}
// Other kernels serve heads that are no whole lines of shared memory, keys that lie along their columns, keys that there may be
// none of, and floats.
// IR: dlx.kernel @narrow
// IR: dlx.kernel @across
// IR: dlx.kernel @none
// IR: dlx.kernel @floats
// FORCED: dlx.kernel @merged attributes
// FORCED-SAME: @merged_sm_90a
// FORCED: dlx.kernel @merged_sm_90a attributes
// CANNOT: error: kernel 'narrow' cannot run by schedule 'attention_wgmma'; it can by attention_tensor_cores
module attributes {dl.symbols = [#dl.symbol<"T", 1, 4096>, #dl.symbol<"S", 0, 400>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL_OCCUPANCY(384, 1) dlc_merged_sm_90a(
// CHECK-NEXT:     const dlc::f16 *__restrict__ value,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg,
// CHECK-NEXT:     DLC_GRID_CONST dlc::tensor_map query_map,
// CHECK-NEXT:     DLC_GRID_CONST dlc::tensor_map key_map,
// CHECK-NEXT:     DLC_GRID_CONST dlc::tensor_map value_map) {
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { causal = 1, chunk = 64, columns = 64, depth = 64, float8 = 0, scaled = 1, stages = 4, tile_n = 128, vector = 8, width = 64 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::attention_wgmma<config>(
// CHECK-NEXT:       4, s0, s0, &query_map, &key_map, &value_map,
// CHECK-NEXT:       [&](const int head, const int m, const int n, const float score) -> float {
// CHECK-NEXT:         return score * 0.125f;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int head, const int m) -> int {
// CHECK-NEXT:         return m + 1;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int head) -> int {
// CHECK-NEXT:         const int n = dlc::udiv(head, 2);
// CHECK-NEXT:         return n * s0;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int head) -> int {
// CHECK-NEXT:         const int c = dlc::umod(head, 2);
// CHECK-NEXT:         return c * 64;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int head) -> int {
// CHECK-NEXT:         const int n = dlc::udiv(head, 2);
// CHECK-NEXT:         return n * s0;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int head) -> int {
// CHECK-NEXT:         const int c = dlc::umod(head, 2);
// CHECK-NEXT:         return c * 64 + 128;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int head) -> int {
// CHECK-NEXT:         const int n = dlc::udiv(head, 2);
// CHECK-NEXT:         return n * s0;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int head) -> int {
// CHECK-NEXT:         const int c = dlc::umod(head, 2);
// CHECK-NEXT:         return c * 64 + 256;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int head, const int m, const int c, const dlc::vec<float, 8> &total) {
// CHECK-NEXT:         dlc::vec<dlc::f16, 8> y8;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:           y8[e] = dlc::from_f<dlc::f16>(total[e]);
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + head * s0 * 64 + m * 64 + c, y8);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @merged attributes {kind = #dlx.kind<attention>} {
  ^bb0(%arg0: tensor<2x?x6x64xf16, #dl.t<[2, s0, 6, 64]>>):
    %0 = dl.slice %arg0 {dim = 2 : i64, end = 2 : i64, start = 0 : i64} : (tensor<2x?x6x64xf16, #dl.t<[2, s0, 6, 64]>>) -> tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>
    %1 = dl.slice %arg0 {dim = 2 : i64, end = 4 : i64, start = 2 : i64} : (tensor<2x?x6x64xf16, #dl.t<[2, s0, 6, 64]>>) -> tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>
    %2 = dl.slice %arg0 {dim = 2 : i64, end = 6 : i64, start = 4 : i64} : (tensor<2x?x6x64xf16, #dl.t<[2, s0, 6, 64]>>) -> tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>
    %3 = dl.attention(%0, %1, %2) {is_causal} : (tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>, tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>, tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>) -> tensor<2x2x?x64xf16, #dl.t<[2, 2, s0, 64]>> {
    ^bb0(%arg1: tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>, %arg2: tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>, %arg3: tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>):
      %4 = dl.full 1.250000e-01 : f32 -> tensor<2x2x?x?xf16, #dl.t<[2, 2, s0, s0]>>
      %5 = dl.contract %arg1, %arg2 {other_loops = array<i64: 0, 3, 1, 4>, rank = 4 : i64, x_loops = array<i64: 0, 2, 1, 4>} : (tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>, tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>) -> tensor<2x2x?x?xf16, #dl.t<[2, 2, s0, s0]>>
      %6 = dl.mul %5, %4 : (tensor<2x2x?x?xf16, #dl.t<[2, 2, s0, s0]>>, tensor<2x2x?x?xf16, #dl.t<[2, 2, s0, s0]>>) -> tensor<2x2x?x?xf16, #dl.t<[2, 2, s0, s0]>>
      %7 = dl.softmax %6 {dim = -1 : i64} : (tensor<2x2x?x?xf16, #dl.t<[2, 2, s0, s0]>>) -> tensor<2x2x?x?xf16, #dl.t<[2, 2, s0, s0]>>
      %8 = dl.contract %7, %arg3 {other_loops = array<i64: 0, 4, 1, 3>, rank = 4 : i64, x_loops = array<i64: 0, 1, 2, 4>} : (tensor<2x2x?x?xf16, #dl.t<[2, 2, s0, s0]>>, tensor<2x?x2x64xf16, #dl.t<[2, s0, 2, 64]>>) -> tensor<2x2x?x64xf16, #dl.t<[2, 2, s0, 64]>>
      dl.yield %8 : tensor<2x2x?x64xf16, #dl.t<[2, 2, s0, 64]>>
    }
    dl.yield %3 : tensor<2x2x?x64xf16, #dl.t<[2, 2, s0, 64]>>
  }
  dlx.kernel @masked attributes {kind = #dlx.kind<attention>} {
  ^bb0(%q: tensor<2x70x64xf16>, %k: tensor<2x150x64xf16>, %v: tensor<2x150x64xf16>, %m: tensor<70x150xf16>):
    %y = dl.attention(%q, %k, %v, %m) : (tensor<2x70x64xf16>, tensor<2x150x64xf16>, tensor<2x150x64xf16>, tensor<70x150xf16>) -> tensor<2x70x64xf16> {
    ^bb0(%q1: tensor<2x70x64xf16>, %k1: tensor<2x150x64xf16>, %v1: tensor<2x150x64xf16>, %m1: tensor<70x150xf16>):
      %s = dl.contract %q1, %k1 {other_loops = array<i64: 0, 2, 3>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (tensor<2x70x64xf16>, tensor<2x150x64xf16>) -> tensor<2x70x150xf16>
      %b = dl.broadcast %m1 : (tensor<70x150xf16>) -> tensor<2x70x150xf16>
      %t = dl.add %s, %b : (tensor<2x70x150xf16>, tensor<2x70x150xf16>) -> tensor<2x70x150xf16>
      %w = dl.softmax %t {dim = -1 : i64} : (tensor<2x70x150xf16>) -> tensor<2x70x150xf16>
      %z = dl.matmul %w, %v1 : (tensor<2x70x150xf16>, tensor<2x150x64xf16>) -> tensor<2x70x64xf16>
      dl.yield %z : tensor<2x70x64xf16>
    }
    dl.yield %y : tensor<2x70x64xf16>
  }
  dlx.kernel @narrow attributes {kind = #dlx.kind<attention>} {
  ^bb0(%q: tensor<2x70x40xf16>, %k: tensor<2x150x40xf16>, %v: tensor<2x150x64xf16>):
    %y = dl.attention(%q, %k, %v) : (tensor<2x70x40xf16>, tensor<2x150x40xf16>, tensor<2x150x64xf16>) -> tensor<2x70x64xf16> {
    ^bb0(%q1: tensor<2x70x40xf16>, %k1: tensor<2x150x40xf16>, %v1: tensor<2x150x64xf16>):
      %s = dl.contract %q1, %k1 {other_loops = array<i64: 0, 2, 3>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (tensor<2x70x40xf16>, tensor<2x150x40xf16>) -> tensor<2x70x150xf16>
      %w = dl.softmax %s {dim = -1 : i64} : (tensor<2x70x150xf16>) -> tensor<2x70x150xf16>
      %z = dl.matmul %w, %v1 : (tensor<2x70x150xf16>, tensor<2x150x64xf16>) -> tensor<2x70x64xf16>
      dl.yield %z : tensor<2x70x64xf16>
    }
    dl.yield %y : tensor<2x70x64xf16>
  }
  dlx.kernel @across attributes {kind = #dlx.kind<attention>} {
  ^bb0(%q: tensor<2x70x64xf16>, %k: tensor<2x64x160xf16>, %v: tensor<2x160x64xf16>):
    %y = dl.attention(%q, %k, %v) : (tensor<2x70x64xf16>, tensor<2x64x160xf16>, tensor<2x160x64xf16>) -> tensor<2x70x64xf16> {
    ^bb0(%q1: tensor<2x70x64xf16>, %k1: tensor<2x64x160xf16>, %v1: tensor<2x160x64xf16>):
      %s = dl.contract %q1, %k1 {other_loops = array<i64: 0, 3, 2>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (tensor<2x70x64xf16>, tensor<2x64x160xf16>) -> tensor<2x70x160xf16>
      %w = dl.softmax %s {dim = -1 : i64} : (tensor<2x70x160xf16>) -> tensor<2x70x160xf16>
      %z = dl.matmul %w, %v1 : (tensor<2x70x160xf16>, tensor<2x160x64xf16>) -> tensor<2x70x64xf16>
      dl.yield %z : tensor<2x70x64xf16>
    }
    dl.yield %y : tensor<2x70x64xf16>
  }
  dlx.kernel @none attributes {kind = #dlx.kind<attention>} {
  ^bb0(%q: tensor<2x70x64xf16>, %k: tensor<2x?x64xf16, #dl.t<[2, s1, 64]>>, %v: tensor<2x?x64xf16, #dl.t<[2, s1, 64]>>):
    %y = dl.attention(%q, %k, %v) : (tensor<2x70x64xf16>, tensor<2x?x64xf16, #dl.t<[2, s1, 64]>>, tensor<2x?x64xf16, #dl.t<[2, s1, 64]>>) -> tensor<2x70x64xf16> {
    ^bb0(%q1: tensor<2x70x64xf16>, %k1: tensor<2x?x64xf16, #dl.t<[2, s1, 64]>>, %v1: tensor<2x?x64xf16, #dl.t<[2, s1, 64]>>):
      %s = dl.contract %q1, %k1 {other_loops = array<i64: 0, 2, 3>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (tensor<2x70x64xf16>, tensor<2x?x64xf16, #dl.t<[2, s1, 64]>>) -> tensor<2x70x?xf16, #dl.t<[2, 70, s1]>>
      %w = dl.softmax %s {dim = -1 : i64} : (tensor<2x70x?xf16, #dl.t<[2, 70, s1]>>) -> tensor<2x70x?xf16, #dl.t<[2, 70, s1]>>
      %z = dl.matmul %w, %v1 : (tensor<2x70x?xf16, #dl.t<[2, 70, s1]>>, tensor<2x?x64xf16, #dl.t<[2, s1, 64]>>) -> tensor<2x70x64xf16>
      dl.yield %z : tensor<2x70x64xf16>
    }
    dl.yield %y : tensor<2x70x64xf16>
  }
  dlx.kernel @floats attributes {kind = #dlx.kind<attention>} {
  ^bb0(%q: tensor<2x70x64xf32>, %k: tensor<2x150x64xf32>, %v: tensor<2x150x64xf32>):
    %y = dl.attention(%q, %k, %v) : (tensor<2x70x64xf32>, tensor<2x150x64xf32>, tensor<2x150x64xf32>) -> tensor<2x70x64xf32> {
    ^bb0(%q1: tensor<2x70x64xf32>, %k1: tensor<2x150x64xf32>, %v1: tensor<2x150x64xf32>):
      %s = dl.contract %q1, %k1 {other_loops = array<i64: 0, 2, 3>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (tensor<2x70x64xf32>, tensor<2x150x64xf32>) -> tensor<2x70x150xf32>
      %w = dl.softmax %s {dim = -1 : i64} : (tensor<2x70x150xf32>) -> tensor<2x70x150xf32>
      %z = dl.matmul %w, %v1 : (tensor<2x70x150xf32>, tensor<2x150x64xf32>) -> tensor<2x70x64xf32>
      dl.yield %z : tensor<2x70x64xf32>
    }
    dl.yield %y : tensor<2x70x64xf32>
  }
}
}
