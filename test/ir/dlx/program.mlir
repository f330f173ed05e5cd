// RUN: dlc-opt %s | dlc-opt | FileCheck %s

// CHECK: dlx.kernel @relu
dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4x8xf32>):
  %y = dl.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  dl.yield %y : tensor<4x8xf32>
}

dlx.kernel @zeros attributes {kind = #dlx.kind<map>} {
  %y = dl.zeros {size = affine_map<() -> (4, 8)>} : () -> tensor<4x8xf32>
  dl.yield %y : tensor<4x8xf32>
}

// CHECK: dlx.program @Tiny
dlx.program @Tiny attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4x8xf32>>):
  // CHECK: dlx.weight "fc.weight"
  %w = dlx.weight "fc.weight" {file = "m.safetensors", offset = 64 : i64} : !dlx.buffer<tensor<4x8xf32>>
  // CHECK: dlx.alloc {persistent}
  %p = dlx.alloc {persistent} : !dlx.buffer<tensor<4x8xf32>>
  // CHECK: dlx.launch @relu(%{{.*}}) -> (%{{.*}}) {init}
  dlx.launch @relu(%w) -> (%p) {init} : (!dlx.buffer<tensor<4x8xf32>>) -> (!dlx.buffer<tensor<4x8xf32>>)
  %t = dlx.alloc : !dlx.buffer<tensor<4x8xf32>>
  dlx.launch @relu(%x) -> (%t) : (!dlx.buffer<tensor<4x8xf32>>) -> (!dlx.buffer<tensor<4x8xf32>>)
  // CHECK: dlx.launch @zeros() -> (%{{.*}}) {init} : () -> (!dlx.buffer<tensor<4x8xf32>>)
  %z = dlx.alloc {persistent} : !dlx.buffer<tensor<4x8xf32>>
  dlx.launch @zeros() -> (%z) {init} : () -> (!dlx.buffer<tensor<4x8xf32>>)
  // CHECK: dlx.view
  %v = dlx.view %t : !dlx.buffer<tensor<4x8xf32>> -> !dlx.buffer<tensor<32xf32>>
  %y = dlx.alloc : !dlx.buffer<tensor<32xf32>>
  // CHECK: dlx.copy %{{.*}} to %{{.*}} : <tensor<32xf32>>
  dlx.copy %v to %y : !dlx.buffer<tensor<32xf32>>
  dlx.return %y : !dlx.buffer<tensor<32xf32>>
}
