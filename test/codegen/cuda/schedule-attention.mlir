// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --check-prefix=IR
// Each of 8 tiles has 32 blocks, each of which has 16 rows of 128 sums, a peak and a weight in memory, after 1024 counters.
// IR-DAG: #[[EXCHANGE:.*]] = affine_map<() -> (533504)>
// IR-DAG: #[[GRID:.*]] = affine_map<() -> (256, 1, 1)>
// IR-DAG: #[[WHOLE:.*]] = affine_map<() -> (8, 1, 1)>
// IR: dlx.kernel @decode attributes {{{.*}}exchange = #[[EXCHANGE]], grid = #[[GRID]],{{.*}}parts = 32{{.*}}variants = [#dlx.variant<kernel = @decode_for1to251, {{.*}}#dlx.variant<kernel = @decode_for252to1279,
// IR: dlx.kernel @decode_for1to251 attributes {
// IR-NOT: exchange
// IR-SAME: grid = #[[WHOLE]],{{.*}}parts = 1 :
// IR: dlx.kernel @decode_for252to1279 attributes {{{.*}}exchange = {{.*}}parts = 10 :
// IR: dlx.kernel @prompt attributes {
// IR-NOT: exchange
// IR-SAME: parts = 1 :
// Four heads of queries share a head of keys, and so a tile: its keys and values are read once. The past is long, so blocks share
// it; where it is short, none do.
module attributes {dl.symbols = [#dl.symbol<"S", 1, 16384>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(128) dlc_decode(
// CHECK-NEXT:     const dlc::f16 *__restrict__ query,
// CHECK-NEXT:     const dlc::f16 *__restrict__ key,
// CHECK-NEXT:     const dlc::f16 *__restrict__ value,
// CHECK-NEXT:     float *__restrict__ exchange,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int tile = dlc::udiv(block, 32);
// CHECK-NEXT:   const int i = dlc::umod(tile, 8);
// CHECK-NEXT:   const int first = (0 - dlc::udiv(tile, 8)) * 16;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k_k = 1, along_k_q = 1, along_k_v = 0, causal = 0, columns = 128, depth = 128, parts = 32, tile_n = 32, tiles_m = 1, vector = 8, warps_m = 1, warps_n = 4, width_k = 8, width_q = 8, width_v = 8 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::attention_mma_split<config>(
// CHECK-NEXT:       first, 4, s0, query, key, value, exchange,
// CHECK-NEXT:       [&](const int m, const int e) -> int {
// CHECK-NEXT:         return i * 512 + m * 128 + e;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int e) -> int {
// CHECK-NEXT:         return i * s0 * 128 + n * 128 + e;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int c, const int n) -> int {
// CHECK-NEXT:         return i * s0 * 128 + c + n * 128;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const float score) -> float {
// CHECK-NEXT:         return score * 0.088388346f;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m) -> int {
// CHECK-NEXT:         return s0;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int c, const dlc::vec<float, 8> &total) {
// CHECK-NEXT:         dlc::vec<dlc::f16, 8> y8;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:           y8[e] = dlc::from_f<dlc::f16>(total[e]);
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + i * 512 + m * 128 + c, y8);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @decode attributes {kind = #dlx.kind<attention>} {
  ^bb0(%q: tensor<8x4x1x128xf16>, %k: tensor<8x?x128xf16, #dl.t<[8, s0, 128]>>, %v: tensor<8x?x128xf16, #dl.t<[8, s0, 128]>>):
    %y = dl.attention(%q, %k, %v) : (tensor<8x4x1x128xf16>, tensor<8x?x128xf16, #dl.t<[8, s0, 128]>>, tensor<8x?x128xf16, #dl.t<[8, s0, 128]>>) -> tensor<8x4x1x128xf16> {
    ^bb0(%a: tensor<8x4x1x128xf16>, %b: tensor<8x?x128xf16, #dl.t<[8, s0, 128]>>, %c: tensor<8x?x128xf16, #dl.t<[8, s0, 128]>>):
      %n = dl.full 0.0883883461 : f32 -> tensor<8x4x1x?xf16, #dl.t<[8, 4, 1, s0]>>
      %s = dl.contract %a, %b {x_loops = array<i64: 0, 1, 2, 4>, other_loops = array<i64: 0, 3, 4>, rank = 4 : i64} : (tensor<8x4x1x128xf16>, tensor<8x?x128xf16, #dl.t<[8, s0, 128]>>) -> tensor<8x4x1x?xf16, #dl.t<[8, 4, 1, s0]>>
      %t = dl.mul %s, %n : (tensor<8x4x1x?xf16, #dl.t<[8, 4, 1, s0]>>, tensor<8x4x1x?xf16, #dl.t<[8, 4, 1, s0]>>) -> tensor<8x4x1x?xf16, #dl.t<[8, 4, 1, s0]>>
      %w = dl.softmax %t {dim = -1 : i64} : (tensor<8x4x1x?xf16, #dl.t<[8, 4, 1, s0]>>) -> tensor<8x4x1x?xf16, #dl.t<[8, 4, 1, s0]>>
      %z = dl.contract %w, %c {x_loops = array<i64: 0, 1, 2, 4>, other_loops = array<i64: 0, 4, 3>, rank = 4 : i64} : (tensor<8x4x1x?xf16, #dl.t<[8, 4, 1, s0]>>, tensor<8x?x128xf16, #dl.t<[8, s0, 128]>>) -> tensor<8x4x1x128xf16>
      dl.yield %z : tensor<8x4x1x128xf16>
    }
    dl.yield %y : tensor<8x4x1x128xf16>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_prompt(
// CHECK-NEXT:     const float *__restrict__ query,
// CHECK-NEXT:     const float *__restrict__ key,
// CHECK-NEXT:     const float *__restrict__ value,
// CHECK-NEXT:     float *__restrict__ y) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int block = (int)blockIdx.x;
// CHECK-NEXT:   const int i = dlc::umod(block, 64);
// CHECK-NEXT:   const int first = (31 - dlc::udiv(block, 64)) * 64;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = float;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k = 1, along_q = 1, along_v = 1, causal = 1, columns = 64, depth = 64, tile_m = 64, tile_n = 64, vector = 4, width_k = 4, width_q = 4, width_v = 4 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::attention_simt<config>(
// CHECK-NEXT:       first, 2048, 2048, query, key, value,
// CHECK-NEXT:       [&](const int m, const int e) -> int {
// CHECK-NEXT:         return i * 131072 + m * 64 + e;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int e) -> int {
// CHECK-NEXT:         return i * 131072 + n * 64 + e;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int c, const int n) -> int {
// CHECK-NEXT:         return i * 131072 + c + n * 64;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const float score) -> float {
// CHECK-NEXT:         return score;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m) -> int {
// CHECK-NEXT:         return m + 1;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const float x) -> float {
// CHECK-NEXT:         return dlc_exp(x);
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int c, const dlc::vec<float, 4> &total) {
// CHECK-NEXT:         dlc::vec<float, 4> y4;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:           y4[e] = total[e];
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + i * 131072 + m * 64 + c, y4);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @prompt attributes {kind = #dlx.kind<attention>} {
  ^bb0(%q: tensor<64x2048x64xf32>, %k: tensor<64x2048x64xf32>, %v: tensor<64x2048x64xf32>):
    %y = dl.attention(%q, %k, %v) {is_causal} : (tensor<64x2048x64xf32>, tensor<64x2048x64xf32>, tensor<64x2048x64xf32>) -> tensor<64x2048x64xf32> {
    ^bb0(%a: tensor<64x2048x64xf32>, %b: tensor<64x2048x64xf32>, %c: tensor<64x2048x64xf32>):
      %s = dl.contract %a, %b {x_loops = array<i64: 0, 1, 3>, other_loops = array<i64: 0, 2, 3>, rank = 3 : i64} : (tensor<64x2048x64xf32>, tensor<64x2048x64xf32>) -> tensor<64x2048x2048xf32>
      %w = dl.softmax %s {dim = -1 : i64} : (tensor<64x2048x2048xf32>) -> tensor<64x2048x2048xf32>
      %z = dl.matmul %w, %c : (tensor<64x2048x2048xf32>, tensor<64x2048x64xf32>) -> tensor<64x2048x64xf32>
      dl.yield %z : tensor<64x2048x64xf32>
    }
    dl.yield %y : tensor<64x2048x64xf32>
  }
}
}
