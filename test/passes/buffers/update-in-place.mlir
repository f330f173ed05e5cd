// RUN: dlc-opt %s -pass-pipeline='builtin.module(builtin.module(update-in-place))' -split-input-file | FileCheck %s

module {
module @cpu {
dlx.kernel @update_slice attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<2x8xf32>, %start: tensor<i64>, %src: tensor<2x3xf32>):
  %y = dl.update_slice %x, %start, %src {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  dl.yield %y : tensor<2x8xf32>
}
dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<2x8xf32>):
  %y = dl.relu %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  dl.yield %y : tensor<2x8xf32>
}

// The kernel writes to the state, and what reads the new value reads it there. Of %t the old value is read, too, and %u gets another
// state's: these are copied.
// CHECK: dlx.kernel @update_slice attributes {kind = #dlx.kind<map>}
// CHECK: dlx.kernel @update_slice_in_place attributes {in_place, kind = #dlx.kind<map>}
// CHECK: dlx.program @States
// CHECK: ^bb0(%[[X:.*]]: !dlx.buffer<tensor<2x3xf32>>, %[[AT:.*]]: !dlx.buffer<tensor<i64>>, %[[S:.*]]: !dlx.buffer<tensor<2x8xf32>>, %[[T:.*]]: !dlx.buffer<tensor<2x8xf32>>, %[[U:.*]]: !dlx
// CHECK-NEXT: dlx.launch @update_slice_in_place(%[[S]], %[[AT]], %[[X]]) -> (%[[S]])
// CHECK-NEXT: %[[Y:.*]] = dlx.alloc
// CHECK-NEXT: dlx.launch @relu(%[[S]]) -> (%[[Y]])
// CHECK: dlx.launch @relu(%[[T]])
// CHECK: dlx.launch @update_slice(%[[T]], %[[AT]], %[[X]]) -> (%[[B:.*]]) :
// CHECK: dlx.launch @update_slice(%[[B]], %[[AT]], %[[X]]) -> (%[[C:.*]]) :
// CHECK: dlx.return %[[Y]], %{{.*}}, %[[S]], %[[B]], %[[C]]
dlx.program @States attributes {input_names = ["x", "at"], output_names = ["y", "z"], state_names = ["s", "t", "u"]} {
^bb0(%x: !dlx.buffer<tensor<2x3xf32>>, %at: !dlx.buffer<tensor<i64>>, %s: !dlx.buffer<tensor<2x8xf32>>,
     %t: !dlx.buffer<tensor<2x8xf32>>, %u: !dlx.buffer<tensor<2x8xf32>>):
  %a = dlx.alloc : !dlx.buffer<tensor<2x8xf32>>
  dlx.launch @update_slice(%s, %at, %x) -> (%a) : (!dlx.buffer<tensor<2x8xf32>>, !dlx.buffer<tensor<i64>>, !dlx.buffer<tensor<2x3xf32>>) -> (!dlx.buffer<tensor<2x8xf32>>)
  %y = dlx.alloc : !dlx.buffer<tensor<2x8xf32>>
  dlx.launch @relu(%a) -> (%y) : (!dlx.buffer<tensor<2x8xf32>>) -> (!dlx.buffer<tensor<2x8xf32>>)
  %z = dlx.alloc : !dlx.buffer<tensor<2x8xf32>>
  dlx.launch @relu(%t) -> (%z) : (!dlx.buffer<tensor<2x8xf32>>) -> (!dlx.buffer<tensor<2x8xf32>>)
  %b = dlx.alloc : !dlx.buffer<tensor<2x8xf32>>
  dlx.launch @update_slice(%t, %at, %x) -> (%b) : (!dlx.buffer<tensor<2x8xf32>>, !dlx.buffer<tensor<i64>>, !dlx.buffer<tensor<2x3xf32>>) -> (!dlx.buffer<tensor<2x8xf32>>)
  %c = dlx.alloc : !dlx.buffer<tensor<2x8xf32>>
  dlx.launch @update_slice(%b, %at, %x) -> (%c) : (!dlx.buffer<tensor<2x8xf32>>, !dlx.buffer<tensor<i64>>, !dlx.buffer<tensor<2x3xf32>>) -> (!dlx.buffer<tensor<2x8xf32>>)
  dlx.return %y, %z, %a, %b, %c : !dlx.buffer<tensor<2x8xf32>>, !dlx.buffer<tensor<2x8xf32>>, !dlx.buffer<tensor<2x8xf32>>, !dlx.buffer<tensor<2x8xf32>>, !dlx.buffer<tensor<2x8xf32>>
}
}
}
