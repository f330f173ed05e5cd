// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --implicit-check-not=persistent
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --check-prefix=TEXT
// On Hopper the blocks of a cluster share a tile where tiles are few and the sum is long: the launch has the blocks of all
// clusters. A batch of products has none, nor has a short sum. An operand that is weights in each launch comes early: the second
// of @own, and neither of @long, whose second one is an activation in one of its launches.
module attributes {dl.symbols = []} {
module @cuda {
// CHECK: #[[GRID:map[0-9]*]] = affine_map<() -> (96, 1, 1)>
// CHECK: dlx.kernel @long attributes {{.*}}variants = [#dlx.variant<kernel = @long_sm_90a, gpu = 90>]
// CHECK: dlx.kernel @long_sm_90a attributes {{.*}}grid = #[[GRID]], {{.*}}schedule = "wgmma", numbers = {chunk = 64 : i64, early = 0 : i64, gathered = 0 : i64, parts = 8 : i64, pingpong = 0 : i64, stages = 6 : i64, taps = 1 : i64, tile_n = 64 : i64}
// TEXT-LABEL: DLC_KERNEL_CLUSTER(384, 8) dlc_long_sm_90a(
// TEXT: enum { along_m = 0, along_n = 0, chunk = 64, early = 0, parts = 8, pingpong = 0, stages = 6, tile_n = 64, vector = 8 };
// TEXT: dlc::contract_wgmma_split<config>(
// TEXT-NEXT: 128, 768, 3072, &a_map, &b_map,
dlx.kernel @long attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<128x3072xf16>, %w: tensor<768x3072xf16>):
  %0 = dl.linear %x, %w : (tensor<128x3072xf16>, tensor<768x3072xf16>) -> tensor<128x768xf16>
  dl.yield %0 : tensor<128x768xf16>
}
// CHECK: dlx.kernel @convolution_sm_90a attributes {{.*}}gathered = {{[12]}} : i64, parts = {{[2-8]}} : i64
// TEXT-LABEL: DLC_KERNEL_CLUSTER(384, {{[2-8]}}) dlc_convolution_sm_90a(
// TEXT: dlc::contract_wgmma_gathered_split<config>(
dlx.kernel @convolution attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x512x7x7xf16, #dl.t<[1, 512, 7, 7], order = [0, 2, 3, 1]>>, %w: tensor<512x512x3x3xf16, #dl.t<[512, 512, 3, 3], order = [0, 2, 3, 1]>>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x512x7x7xf16, #dl.t<[1, 512, 7, 7], order = [0, 2, 3, 1]>>, tensor<512x512x3x3xf16, #dl.t<[512, 512, 3, 3], order = [0, 2, 3, 1]>>) -> tensor<1x512x7x7xf16, #dl.t<[1, 512, 7, 7], order = [0, 2, 3, 1]>>
  dl.yield %0 : tensor<1x512x7x7xf16, #dl.t<[1, 512, 7, 7], order = [0, 2, 3, 1]>>
}
// CHECK-NOT: @batch_sm_90a
// TEXT-NOT: DLC_KERNEL_CLUSTER({{[0-9]+}}, {{[0-9]+}}) dlc_batch
dlx.kernel @batch attributes {kind = #dlx.kind<contraction>} {
^bb0(%a: tensor<2x128x3072xf16>, %b: tensor<2x3072x256xf16>):
  %0 = dl.matmul %a, %b : (tensor<2x128x3072xf16>, tensor<2x3072x256xf16>) -> tensor<2x128x256xf16>
  dl.yield %0 : tensor<2x128x256xf16>
}
dlx.kernel @short attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<128x256xf16>, %w: tensor<768x256xf16>):
  %0 = dl.linear %x, %w : (tensor<128x256xf16>, tensor<768x256xf16>) -> tensor<128x768xf16>
  dl.yield %0 : tensor<128x768xf16>
}
// CHECK: dlx.kernel @own_sm_90a attributes {{.*}}schedule = "wgmma", numbers = {chunk = {{[0-9]+}} : i64, early = 2 : i64
dlx.kernel @own attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<128x3072xf16>, %w: tensor<640x3072xf16>):
  %0 = dl.linear %x, %w : (tensor<128x3072xf16>, tensor<640x3072xf16>) -> tensor<128x640xf16>
  dl.yield %0 : tensor<128x640xf16>
}
dlx.program @P attributes {input_names = ["x", "h", "v"], output_names = ["y", "g", "z"]} {
  ^bb0(%x: !dlx.buffer<tensor<128x3072xf16>>, %h: !dlx.buffer<tensor<128x3072xf16>>, %v: !dlx.buffer<tensor<768x3072xf16>>):
    %w = dlx.weight "w" : !dlx.buffer<tensor<640x3072xf16>>
    %u = dlx.weight "u" : !dlx.buffer<tensor<768x3072xf16>>
    %y = dlx.alloc : !dlx.buffer<tensor<128x640xf16>>
    dlx.launch @own(%x, %w) -> (%y) : (!dlx.buffer<tensor<128x3072xf16>>, !dlx.buffer<tensor<640x3072xf16>>) -> (!dlx.buffer<tensor<128x640xf16>>)
    %g = dlx.alloc : !dlx.buffer<tensor<128x768xf16>>
    dlx.launch @long(%h, %u) -> (%g) : (!dlx.buffer<tensor<128x3072xf16>>, !dlx.buffer<tensor<768x3072xf16>>) -> (!dlx.buffer<tensor<128x768xf16>>)
    %z = dlx.alloc : !dlx.buffer<tensor<128x768xf16>>
    dlx.launch @long(%h, %v) -> (%z) : (!dlx.buffer<tensor<128x3072xf16>>, !dlx.buffer<tensor<768x3072xf16>>) -> (!dlx.buffer<tensor<128x768xf16>>)
    dlx.return %y, %g, %z : !dlx.buffer<tensor<128x640xf16>>, !dlx.buffer<tensor<128x768xf16>>, !dlx.buffer<tensor<128x768xf16>>
  }
}
}
