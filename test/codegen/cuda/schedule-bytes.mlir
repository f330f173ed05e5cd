// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{force=pair_sums=tiles})' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --check-prefix=PACK
// Bytes on tensor cores: copied as they lie in memory, where they lie along the sums; the zero point is a number of the template,
// which is also what stands outside of an image. Constant weights that lie across are packed, once, at load. Integers of 16 bits
// stay on the units of integers, and nothing of integers is given to a matrix library.
// PACK-NOT: product_inputs
// PACK: dlx.kernel @across_pack
// PACK: dlx.kernel @across attributes
// PACK-NEXT: ^bb0(%{{.*}}: tensor<8x64xui8>, %{{.*}}: tensor<64x40xi8, #dl.t<[64, 40], order = [1, 0]>>):
// PACK: %[[W:.*]] = dlx.weight "w"
// PACK: %[[P:.*]] = dlx.alloc {persistent}
// PACK: dlx.launch @across_pack(%[[W]]) -> (%[[P]]) {init}
// PACK: dlx.launch @across(%{{.*}}, %[[P]])
// PACK: zero_a = 5 : i64
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(32) dlc_linear_bytes(
// CHECK-NEXT:     const i8 *__restrict__ x,
// CHECK-NEXT:     const i8 *__restrict__ weight,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = i8;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { across_a = 0, across_b = 0, along_k_a = 1, along_k_b = 1, early = 0, float8 = 0, k_loops = 1, row_tiles = 0, signed_a = 0, signed_b = 1, stages = 2, taps_a = 0, taps_b = 0, tile_k = 128, tile_m = 16, tile_n = 16, vector = 4, warps_k = 1, warps_m = 1, warps_n = 1, width_a = 16, width_b = 16, zero_a = 128, zero_b = 0 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_mma<config>(
// CHECK-NEXT:       s0, 40, 64, x, weight,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
// CHECK-NEXT:         const int i = m * 64 + k;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k) -> int {
// CHECK-NEXT:         const int i = n * 64 + k;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<i32, 4> &total) {
// CHECK-NEXT:         dlc::vec<float, 4> y4;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:           y4[e] = (float)total[e] * 0.0625f;
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + m * 40 + n, y4);
// CHECK-NEXT:       });
// CHECK-NEXT: }
  dlx.kernel @linear_bytes attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x64xui8, #dl.t<[s0, 64]>>, %w: tensor<40x64xi8>):
    %0 = dl.cast %x {dtype = i32} : (tensor<?x64xui8, #dl.t<[s0, 64]>>) -> tensor<?x64xi32, #dl.t<[s0, 64]>>
    %z = dl.full 128 : i32 -> tensor<?x64xi32, #dl.t<[s0, 64]>>
    %1 = dl.sub %0, %z : (tensor<?x64xi32, #dl.t<[s0, 64]>>, tensor<?x64xi32, #dl.t<[s0, 64]>>) -> tensor<?x64xi32, #dl.t<[s0, 64]>>
    %2 = dl.cast %w {dtype = i32} : (tensor<40x64xi8>) -> tensor<40x64xi32>
    %3 = dl.linear %1, %2 : (tensor<?x64xi32, #dl.t<[s0, 64]>>, tensor<40x64xi32>) -> tensor<?x40xi32, #dl.t<[s0, 40]>>
    %4 = dl.cast %3 {dtype = f32} : (tensor<?x40xi32, #dl.t<[s0, 40]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    %s = dl.full 0.0625 : f32 -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    %5 = dl.mul %4, %s : (tensor<?x40xf32, #dl.t<[s0, 40]>>, tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    dl.yield %5 : tensor<?x40xf32, #dl.t<[s0, 40]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(32) dlc_conv_bytes(
// CHECK-NEXT:     const i8 *__restrict__ x,
// CHECK-NEXT:     const i8 *__restrict__ weight,
// CHECK-NEXT:     i32 *__restrict__ y) {
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = i8;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { across_a = 0, across_b = 0, along_k_a = 1, along_k_b = 1, early = 0, float8 = 0, k_1 = 3, k_2 = 16, k_loops = 3, row_tiles = 0, signed_a = 0, signed_b = 1, stages = 3, taps_a = 9, taps_b = 0, tile_k = 128, tile_m = 16, tile_n = 16, vector = 4, warps_k = 1, warps_m = 1, warps_n = 1, width_a = 16, width_b = 16, zero_a = 7, zero_b = 0 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_mma<config>(
// CHECK-NEXT:       64, 32, 144, x, weight,
// CHECK-NEXT:       [&](const int m, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int w = dlc::umod(m, 8);
// CHECK-NEXT:         const int h = dlc::udiv(m, 8);
// CHECK-NEXT:         const int i = h + rh - 1;
// CHECK-NEXT:         const int i_1 = w + rw - 1;
// CHECK-NEXT:         const int i_2 = i >= 0 && i < 8 && i_1 >= 0 && i_1 < 8 ? h * 128 + w * 16 + rh * 128 + rw * 16 + rc - 144 : -1;
// CHECK-NEXT:         return i_2;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int n, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int i = n * 144 + k;
// CHECK-NEXT:         return i;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const int n,
  dlx.kernel @conv_bytes attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x16x8x8xui8, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, %w: tensor<32x16x3x3xi8, #dl.t<[32, 16, 3, 3], order = [0, 2, 3, 1]>>):
    %0 = dl.cast %x {dtype = i32} : (tensor<1x16x8x8xui8, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>) -> tensor<1x16x8x8xi32, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>
    %z = dl.full 7 : i32 -> tensor<1x16x8x8xi32, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>
    %1 = dl.sub %0, %z : (tensor<1x16x8x8xi32, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, tensor<1x16x8x8xi32, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>) -> tensor<1x16x8x8xi32, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>
    %2 = dl.cast %w {dtype = i32} : (tensor<32x16x3x3xi8, #dl.t<[32, 16, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<32x16x3x3xi32, #dl.t<[32, 16, 3, 3], order = [0, 2, 3, 1]>>
    %3 = dl.conv2d %1, %2 {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xi32, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, tensor<32x16x3x3xi32, #dl.t<[32, 16, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<1x32x8x8xi32, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
    dl.yield %3 : tensor<1x32x8x8xi32, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
  }
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_pair_sums(
// CHECK-NEXT:     const i8 *__restrict__ x,
// CHECK-NEXT:     const i16 *__restrict__ weight,
// CHECK-NEXT:     i32 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   DLC_SHARED(i32, a_tile, [16][65]);
// CHECK-NEXT:   DLC_SHARED(i32, b_tile, [16][65]);
  dlx.kernel @pair_sums attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x64xui8, #dl.t<[s0, 64]>>, %w: tensor<40x64xi16>):
    %0 = dl.cast %x {dtype = i32} : (tensor<?x64xui8, #dl.t<[s0, 64]>>) -> tensor<?x64xi32, #dl.t<[s0, 64]>>
    %2 = dl.cast %w {dtype = i32} : (tensor<40x64xi16>) -> tensor<40x64xi32>
    %3 = dl.linear %0, %2 : (tensor<?x64xi32, #dl.t<[s0, 64]>>, tensor<40x64xi32>) -> tensor<?x40xi32, #dl.t<[s0, 40]>>
    dl.yield %3 : tensor<?x40xi32, #dl.t<[s0, 40]>>
  }
  dlx.kernel @across attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<8x64xui8>, %w: tensor<64x40xi8>):
    %0 = dl.cast %x {dtype = i32} : (tensor<8x64xui8>) -> tensor<8x64xi32>
    %z = dl.full 5 : i32 -> tensor<8x64xi32>
    %1 = dl.sub %0, %z : (tensor<8x64xi32>, tensor<8x64xi32>) -> tensor<8x64xi32>
    %2 = dl.cast %w {dtype = i32} : (tensor<64x40xi8>) -> tensor<64x40xi32>
    %3 = dl.matmul %1, %2 : (tensor<8x64xi32>, tensor<64x40xi32>) -> tensor<8x40xi32>
    dl.yield %3 : tensor<8x40xi32>
  }
  dlx.program @P attributes {input_names = ["x"], output_names = ["y"]} {
  ^bb0(%x: !dlx.buffer<tensor<8x64xui8>>):
    %w = dlx.weight "w" : !dlx.buffer<tensor<64x40xi8>>
    %y = dlx.alloc : !dlx.buffer<tensor<8x40xi32>>
    dlx.launch @across(%x, %w) -> (%y) : (!dlx.buffer<tensor<8x64xui8>>, !dlx.buffer<tensor<64x40xi8>>) -> (!dlx.buffer<tensor<8x40xi32>>)
    dlx.return %y : !dlx.buffer<tensor<8x40xi32>>
  }
}
}
