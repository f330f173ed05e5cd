// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --check-prefix=LAUNCH
// Filters of a convolution lie channels innermost, as the image does: packed once, at load. Not where they are computed when
// the model runs, nor in f64, which no template multiplies. Filters of one channel each lie innermost themselves.
module @cuda {
// CHECK: dlx.kernel @half_pack
// CHECK: dlx.kernel @half attributes
// CHECK: ^bb0(%{{.*}}: tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, %{{.*}}: tensor<32x16x3x3xf16, #dl.t<[32, 16, 3, 3], order = [0, 2, 3, 1]>>):
// CHECK: dlx.kernel @single attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x16x8x8xf64, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, %{{.*}}: tensor<32x16x3x3xf64>):
// CHECK: dlx.kernel @grouped attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, %{{.*}}: tensor<16x1x3x3xf16, #dl.t<[16, 1, 3, 3], order = [2, 3, 1, 0]>>):
// CHECK: width_a = 8 : i64, width_b = 8 : i64
// LAUNCH: %[[W:.*]] = dlx.weight "w"
// LAUNCH: %[[P:.*]] = dlx.alloc {persistent}
// LAUNCH: dlx.launch @half_pack(%[[W]]) -> (%[[P]]) {init}
// LAUNCH: dlx.launch @half(%{{.*}}, %[[P]])
// LAUNCH: dlx.launch @computed(%{{.*}}, %arg1)
// LAUNCH: dlx.launch @grouped_pack(%{{.*}}) -> (%[[G:.*]]) {init}
// LAUNCH: dlx.launch @grouped(%{{.*}}, %[[G]])
  dlx.kernel @half attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, %w: tensor<32x16x3x3xf16>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, tensor<32x16x3x3xf16>) -> tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
  }
  dlx.kernel @computed attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, %w: tensor<32x16x3x3xf16>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, tensor<32x16x3x3xf16>) -> tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
  }
  dlx.kernel @single attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x16x8x8xf64, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, %w: tensor<32x16x3x3xf64>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf64, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, tensor<32x16x3x3xf64>) -> tensor<1x32x8x8xf64, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<1x32x8x8xf64, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
  }
  dlx.kernel @grouped attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, %w: tensor<16x1x3x3xf16>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 16 : i64} : (tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>, tensor<16x1x3x3xf16>) -> tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>
  }
  dlx.program @P attributes {input_names = ["x", "v", "s"], output_names = ["y", "z", "t", "g"]} {
  ^bb0(%x: !dlx.buffer<tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>, %v: !dlx.buffer<tensor<32x16x3x3xf16>>, %s: !dlx.buffer<tensor<1x16x8x8xf64, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>):
    %w = dlx.weight "w" : !dlx.buffer<tensor<32x16x3x3xf16>>
    %u = dlx.weight "u" : !dlx.buffer<tensor<32x16x3x3xf64>>
    %d = dlx.weight "d" : !dlx.buffer<tensor<16x1x3x3xf16>>
    %g = dlx.alloc : !dlx.buffer<tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>
    %y = dlx.alloc : !dlx.buffer<tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>
    %z = dlx.alloc : !dlx.buffer<tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>
    %t = dlx.alloc : !dlx.buffer<tensor<1x32x8x8xf64, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>
    dlx.launch @half(%x, %w) -> (%y) : (!dlx.buffer<tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<32x16x3x3xf16>>) -> (!dlx.buffer<tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>)
    dlx.launch @computed(%x, %v) -> (%z) : (!dlx.buffer<tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<32x16x3x3xf16>>) -> (!dlx.buffer<tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>)
    dlx.launch @single(%s, %u) -> (%t) : (!dlx.buffer<tensor<1x16x8x8xf64, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<32x16x3x3xf64>>) -> (!dlx.buffer<tensor<1x32x8x8xf64, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>)
    dlx.launch @grouped(%x, %d) -> (%g) : (!dlx.buffer<tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<16x1x3x3xf16>>) -> (!dlx.buffer<tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>)
    dlx.return %y, %z, %t, %g : !dlx.buffer<tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<1x32x8x8xf16, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<1x32x8x8xf64, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<1x16x8x8xf16, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>>
  }
}
