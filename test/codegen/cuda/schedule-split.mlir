// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{parts=false})' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{parts=false})' | FileCheck %s --check-prefix=IR
// IR: #[[EXCHANGE:.*]] = affine_map<()[s0] -> ((s0 ceildiv 32) * 491520 + 1024)>
// IR: #[[GRID:.*]] = affine_map<()[s0] -> ((s0 ceildiv 32) * 5, 24, 1)>
// IR: dlx.kernel @late attributes {{.*}}exchange = #[[EXCHANGE]], grid = #[[GRID]]{{.*}}product_inputs = array<i64: 0, 1>
// IR-NEXT: ^bb0(%{{.*}}: tensor<?x3072xf32, #dl.t<[s0, 3072]>>, %{{.*}}: tensor<768x3072xf32>):
// IR: dlx.kernel @at_load attributes {
// IR-NOT: exchange
// IR-SAME: {
// IR: dlk.call "contract_simt_split"{{.*}} exchange(%{{.*}} : memref<?xf32>)
// IR: gpu.func @dlc_at_load({{.*}}
// IR: dlk.call "contract_simt" in
// Few tiles and a long sum: several blocks share each tile, and exchange their parts in memory.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 32>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL_OCCUPANCY(128, 4) dlc_late(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const float *__restrict__ weight,
// CHECK-NEXT:     float *__restrict__ exchange,
// CHECK-NEXT:     float *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   const int s0 = (int)s0_arg;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = float;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { along_k_a = 1, along_k_b = 1, early = 0, k_loops = 1, parts = 5, row_tiles = 0, stages = 3, taps_a = 0, taps_b = 0, tile_k = 64, tile_m = 32, tile_n = 32, vector = 4, warps_k = 4, warps_m = 1, warps_n = 1, width_a = 4, width_b = 4 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_simt_split<config>(
// CHECK-NEXT:       s0, 768, 3072, x, weight, exchange,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
  dlx.kernel @late attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x3072xf32, #dl.t<[s0, 3072]>>, %w: tensor<768x3072xf32>):
    %0 = dl.linear %x, %w : (tensor<?x3072xf32, #dl.t<[s0, 3072]>>, tensor<768x3072xf32>) -> tensor<?x768xf32, #dl.t<[s0, 768]>>
    dl.yield %0 : tensor<?x768xf32, #dl.t<[s0, 768]>>
  }
  // What runs at load has no memory for it.
  dlx.kernel @at_load attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<24x3072xf32>, %w: tensor<768x3072xf32>):
    %0 = dl.linear %x, %w : (tensor<24x3072xf32>, tensor<768x3072xf32>) -> tensor<24x768xf32>
    dl.yield %0 : tensor<24x768xf32>
  }
  dlx.program @Model attributes {input_names = ["x", "w"], output_names = ["y"]} {
  ^bb0(%x: !dlx.buffer<tensor<?x3072xf32, #dl.t<[s0, 3072]>>>, %w: !dlx.buffer<tensor<768x3072xf32>>):
    %v = dlx.weight "v" : !dlx.buffer<tensor<24x3072xf32>>
    %u = dlx.weight "u" : !dlx.buffer<tensor<768x3072xf32>>
    %p = dlx.alloc {persistent} : !dlx.buffer<tensor<24x768xf32>>
    dlx.launch @at_load(%v, %u) -> (%p) {init} : (!dlx.buffer<tensor<24x3072xf32>>, !dlx.buffer<tensor<768x3072xf32>>) -> (!dlx.buffer<tensor<24x768xf32>>)
    %y = dlx.alloc : !dlx.buffer<tensor<?x768xf32, #dl.t<[s0, 768]>>>
    dlx.launch @late(%x, %w) -> (%y) : (!dlx.buffer<tensor<?x3072xf32, #dl.t<[s0, 3072]>>>, !dlx.buffer<tensor<768x3072xf32>>) -> (!dlx.buffer<tensor<?x768xf32, #dl.t<[s0, 768]>>>)
    dlx.return %y : !dlx.buffer<tensor<?x768xf32, #dl.t<[s0, 768]>>>
  }
}
}
