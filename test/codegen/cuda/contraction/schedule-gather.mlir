// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=always})' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda{hopper=always})' | FileCheck %s --check-prefix=PLAN --implicit-check-not=odd_sm_90a --implicit-check-not=computed_sm_90a --implicit-check-not=grouped_sm_90a --implicit-check-not=floats_sm_90a
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda)' | FileCheck %s --check-prefix=AUTO
// A convolution has a further kernel for sm_90a that gathers its rows, or with the channels first in its result its columns,
// while TMA brings the filters. None where channels are no multiple of 16 bytes, where something is computed on their way in,
// for floats, and for groups. Beside it blocks of other GPUs, and of few images, still share tiles.
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
module @cuda {
// PLAN-DAG: @padded_sm_90a{{.*}}plan = #dlx.plan<schedule = "wgmma", numbers = {chunk = {{[0-9]+}} : i64, early = 0 : i64, gathered = 1 : i64, parts = 1 : i64, pingpong = 0 : i64, stages = {{[0-9]+}} : i64, taps = 9 : i64, tile_n = {{[0-9]+}} : i64}
// AUTO: dlx.kernel @padded attributes {{.*}}variants = [#dlx.variant<kernel = @padded_for{{[0-9]+to[0-9]+}}_sm_90a
// AUTO: dlx.kernel @padded_for{{[0-9]+to[0-9]+}}_sm_90a
// AUTO: dlx.kernel @padded_for{{[0-9]+to[0-9]+}} attributes {{.*}}schedule = "tensor_cores", numbers = {early = 0 : i64, parts = {{[2-9]}} : i64
// CHECK-LABEL: {{^}}DLC_KERNEL(384) dlc_padded_sm_90a(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     const dlc::f16 *__restrict__ weight,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg,
// CHECK-NEXT:     DLC_GRID_CONST dlc::tensor_map b_map) {
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { chunk = 32, early = 0, gathers_columns = 0, k_1 = 3, k_2 = 256, k_loops = 3, pingpong = 0, stages = 4, taps = 9, tile_n = 256, vector = 8 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_wgmma_gathered<config>(
// CHECK-NEXT:       s0 * 196, 256, 2304, &b_map, x,
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<float, 8> &total, const bool inside) {
// CHECK-NEXT:         dlc::vec<dlc::f16, 8> y8;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:           y8[e] = dlc::from_f<dlc::f16>(total[e]);
// CHECK-NEXT:         }
// CHECK-NEXT:         if (inside) {
// CHECK-NEXT:           dlc::store(y + m * 256 + n, y8);
// CHECK-NEXT:         }
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int row, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int w = dlc::umod(row, 14);
// CHECK-NEXT:         const int i = dlc::udiv(row, 14);
// CHECK-NEXT:         const int h = dlc::umod(i, 14);
// CHECK-NEXT:         const int n = dlc::udiv(i, 14);
// CHECK-NEXT:         const int i_1 = h + rh - 1;
// CHECK-NEXT:         const int i_2 = w + rw - 1;
// CHECK-NEXT:         const int i_3 = i_1 >= 0 && i_1 < 14 && i_2 >= 0 && i_2 < 14 ? n * 50176 + h * 3584 + w * 256 + rh * 3584 + rw * 256 + rc - 3840 : -1;
// CHECK-NEXT:         return i_3;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int row, const int k, const int rh, const int rw, const int rc) -> int {
// CHECK-NEXT:         const int w = dlc::umod(row, 14);
// CHECK-NEXT:         const int i = dlc::udiv(row, 14);
// CHECK-NEXT:         const int h = dlc::umod(i, 14);
// CHECK-NEXT:         const int n = dlc::udiv(i, 14);
// CHECK-NEXT:         return n * 50176 + h * 3584 + w * 256 + rh * 3584 + rw * 256 + rc - 3840;
// CHECK-NEXT:       });
// CHECK-NEXT: }
dlx.kernel @padded attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>, %w: tensor<256x256x3x3xf16, #dl.t<[256, 256, 3, 3], order = [0, 2, 3, 1]>>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>, tensor<256x256x3x3xf16, #dl.t<[256, 256, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
  dl.yield %0 : tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
}
// PLAN-DAG: @points_sm_90a{{.*}}plan = #dlx.plan<schedule = "wgmma", numbers = {chunk = {{[0-9]+}} : i64, early = 0 : i64, gathered = 2 : i64, parts = 1 : i64, pingpong = 0 : i64, stages = {{[0-9]+}} : i64, taps = 1 : i64, tile_n = {{[0-9]+}} : i64}
// CHECK-LABEL: {{^}}DLC_KERNEL(384) dlc_points_sm_90a(
// CHECK-NEXT:     const dlc::f16 *__restrict__ x,
// CHECK-NEXT:     const dlc::f16 *__restrict__ weight,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg,
// CHECK-NEXT:     DLC_GRID_CONST dlc::tensor_map a_map) {
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { chunk = 64, early = 0, gathers_columns = 1, k_loops = 1, pingpong = 0, stages = 6, taps = 1, tile_n = 64, vector = 1 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_wgmma_gathered<config>(
// CHECK-NEXT:       128, s0 * 16, 64, &a_map, x,
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<float, 1> &total, const bool inside) {
// CHECK-NEXT:         const int w = dlc::umod(n, 4);
// CHECK-NEXT:         const int i = dlc::udiv(n, 4);
// CHECK-NEXT:         const int h = dlc::umod(i, 4);
// CHECK-NEXT:         const int n_1 = dlc::udiv(i, 4);
// CHECK-NEXT:         if (inside) {
// CHECK-NEXT:           y[n_1 * 2048 + h * 4 + w + m * 16] = dlc::from_f<dlc::f16>(total[0]);
// CHECK-NEXT:         }
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int row, const int k) -> int {
// CHECK-NEXT:         const int w = dlc::umod(row, 4);
// CHECK-NEXT:         const int i = dlc::udiv(row, 4);
// CHECK-NEXT:         const int h = dlc::umod(i, 4);
// CHECK-NEXT:         const int n = dlc::udiv(i, 4);
// CHECK-NEXT:         const int i_1 = n * 4096 + h * 1024 + w * 128 + k;
// CHECK-NEXT:         return i_1;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int row, const int k) -> int {
// CHECK-NEXT:         const int w = dlc::umod(row, 4);
// CHECK-NEXT:         const int i = dlc::udiv(row, 4);
// CHECK-NEXT:         const int h = dlc::umod(i, 4);
// CHECK-NEXT:         const int n = dlc::udiv(i, 4);
// CHECK-NEXT:         return n * 4096 + h * 1024 + w * 128 + k;
// CHECK-NEXT:       });
// CHECK-NEXT: }
dlx.kernel @points attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x64x8x8xf16, #dl.t<[s0, 64, 8, 8], order = [0, 2, 3, 1]>>, %w: tensor<128x64x1x1xf16>):
  %0 = dl.conv2d %x, %w {stride = array<i64: 2, 2>} : (tensor<?x64x8x8xf16, #dl.t<[s0, 64, 8, 8], order = [0, 2, 3, 1]>>, tensor<128x64x1x1xf16>) -> tensor<?x128x4x4xf16, #dl.t<[s0, 128, 4, 4]>>
  dl.yield %0 : tensor<?x128x4x4xf16, #dl.t<[s0, 128, 4, 4]>>
}
dlx.kernel @odd attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x252x14x14xf16, #dl.t<[s0, 252, 14, 14], order = [0, 2, 3, 1]>>, %w: tensor<256x252x3x3xf16, #dl.t<[256, 252, 3, 3], order = [0, 2, 3, 1]>>):
  %1 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x252x14x14xf16, #dl.t<[s0, 252, 14, 14], order = [0, 2, 3, 1]>>, tensor<256x252x3x3xf16, #dl.t<[256, 252, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
  dl.yield %1 : tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
}
dlx.kernel @computed attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>, %w: tensor<256x256x3x3xf16, #dl.t<[256, 256, 3, 3], order = [0, 2, 3, 1]>>):
  %0 = dl.relu %x : (tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>) -> tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
  %1 = dl.conv2d %0, %w {padding = array<i64: 1, 1>} : (tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>, tensor<256x256x3x3xf16, #dl.t<[256, 256, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
  dl.yield %1 : tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
}
dlx.kernel @grouped attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>, %w: tensor<256x128x3x3xf16, #dl.t<[256, 128, 3, 3], order = [0, 2, 3, 1]>>):
  %1 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 2 : i64} : (tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>, tensor<256x128x3x3xf16, #dl.t<[256, 128, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
  dl.yield %1 : tensor<?x256x14x14xf16, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
}
dlx.kernel @floats attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x256x14x14xf32, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>, %w: tensor<256x256x3x3xf32, #dl.t<[256, 256, 3, 3], order = [0, 2, 3, 1]>>):
  %1 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x256x14x14xf32, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>, tensor<256x256x3x3xf32, #dl.t<[256, 256, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<?x256x14x14xf32, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
  dl.yield %1 : tensor<?x256x14x14xf32, #dl.t<[s0, 256, 14, 14], order = [0, 2, 3, 1]>>
}
}
}
