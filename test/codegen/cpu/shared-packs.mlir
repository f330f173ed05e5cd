// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cpu)' -split-input-file | FileCheck %s

// Each run packs an operand once for all launches that read it, if their kernels want one layout.
// CHECK-LABEL: dlx.program @Twice
// CHECK: dlx.launch @linear_pack(%[[W:.*]]) -> (%[[PACKED:.*]]) : (!dlx.buffer<tensor<32x8xf32>>)
// CHECK-NOT: _pack
// CHECK: dlx.launch @linear(%{{.*}}, %[[PACKED]])
// CHECK: dlx.launch @linear(%{{.*}}, %[[PACKED]])
// CHECK: dlx.launch @linear_relu(%{{.*}}, %[[PACKED]])
module @cpu {
dlx.kernel @linear attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<4x8xf32>, %w: tensor<32x8xf32>):
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<32x8xf32>) -> tensor<4x32xf32>
  dl.yield %0 : tensor<4x32xf32>
}
dlx.kernel @linear_relu attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<4x8xf32>, %w: tensor<32x8xf32>):
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<32x8xf32>) -> tensor<4x32xf32>
  %1 = dl.relu %0 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  dl.yield %1 : tensor<4x32xf32>
}
dlx.program @Twice attributes {input_names = ["x", "z"], output_names = ["a", "b", "c"], state_names = ["w"]} {
^bb0(%x: !dlx.buffer<tensor<4x8xf32>>, %z: !dlx.buffer<tensor<4x8xf32>>, %w: !dlx.buffer<tensor<32x8xf32>>):
  %a = dlx.alloc : !dlx.buffer<tensor<4x32xf32>>
  dlx.launch @linear(%x, %w) -> (%a) : (!dlx.buffer<tensor<4x8xf32>>, !dlx.buffer<tensor<32x8xf32>>) -> (!dlx.buffer<tensor<4x32xf32>>)
  %b = dlx.alloc : !dlx.buffer<tensor<4x32xf32>>
  dlx.launch @linear(%z, %w) -> (%b) : (!dlx.buffer<tensor<4x8xf32>>, !dlx.buffer<tensor<32x8xf32>>) -> (!dlx.buffer<tensor<4x32xf32>>)
  %c = dlx.alloc : !dlx.buffer<tensor<4x32xf32>>
  dlx.launch @linear_relu(%z, %w) -> (%c) : (!dlx.buffer<tensor<4x8xf32>>, !dlx.buffer<tensor<32x8xf32>>) -> (!dlx.buffer<tensor<4x32xf32>>)
  dlx.return %a, %b, %c, %w : !dlx.buffer<tensor<4x32xf32>>, !dlx.buffer<tensor<4x32xf32>>, !dlx.buffer<tensor<4x32xf32>>, !dlx.buffer<tensor<32x8xf32>>
}
}

// -----

// A launch between the two changes the operand, a state: each has its own value packed.
// CHECK-LABEL: dlx.program @Changed
// CHECK: dlx.launch @linear_pack
// CHECK: dlx.launch @linear(
// CHECK: dlx.launch @set
// CHECK: dlx.launch @linear_pack
// CHECK: dlx.launch @linear(
module @cpu {
dlx.kernel @linear attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<4x8xf32>, %w: tensor<32x8xf32>):
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<32x8xf32>) -> tensor<4x32xf32>
  dl.yield %0 : tensor<4x32xf32>
}
dlx.kernel @set attributes {kind = #dlx.kind<map>, in_place} {
^bb0(%w: tensor<32x8xf32>, %at: tensor<i64>, %row: tensor<1x8xf32>):
  %0 = dl.update_slice %w, %at, %row {dim = 0 : i64} : (tensor<32x8xf32>, tensor<i64>, tensor<1x8xf32>) -> tensor<32x8xf32>
  dl.yield %0 : tensor<32x8xf32>
}
dlx.program @Changed attributes {input_names = ["x", "row", "at"], output_names = ["a", "b"], state_names = ["w"]} {
^bb0(%x: !dlx.buffer<tensor<4x8xf32>>, %row: !dlx.buffer<tensor<1x8xf32>>, %at: !dlx.buffer<tensor<i64>>, %w: !dlx.buffer<tensor<32x8xf32>>):
  %a = dlx.alloc : !dlx.buffer<tensor<4x32xf32>>
  dlx.launch @linear(%x, %w) -> (%a) : (!dlx.buffer<tensor<4x8xf32>>, !dlx.buffer<tensor<32x8xf32>>) -> (!dlx.buffer<tensor<4x32xf32>>)
  dlx.launch @set(%w, %at, %row) -> (%w) : (!dlx.buffer<tensor<32x8xf32>>, !dlx.buffer<tensor<i64>>, !dlx.buffer<tensor<1x8xf32>>) -> (!dlx.buffer<tensor<32x8xf32>>)
  %b = dlx.alloc : !dlx.buffer<tensor<4x32xf32>>
  dlx.launch @linear(%x, %w) -> (%b) : (!dlx.buffer<tensor<4x8xf32>>, !dlx.buffer<tensor<32x8xf32>>) -> (!dlx.buffer<tensor<4x32xf32>>)
  dlx.return %a, %b, %w : !dlx.buffer<tensor<4x32xf32>>, !dlx.buffer<tensor<4x32xf32>>, !dlx.buffer<tensor<32x8xf32>>
}
}
