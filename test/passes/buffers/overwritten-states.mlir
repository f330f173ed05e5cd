// RUN: dlc-opt %s -plan-buffers -split-input-file | FileCheck %s

// The map that is the last to read a state writes the new value there. The buffers of the new values are gone.
// CHECK-LABEL: dlx.program @Step
// CHECK: ^bb0(%[[G:.*]]: !dlx.buffer<tensor<4xf32>>, %[[M:.*]]: !dlx.buffer<tensor<4xf32>>, %[[W:[^:]*]]:
// CHECK: %[[Y:.*]] = dlx.alloc
// CHECK-NEXT: dlx.launch @add(%[[M]], %[[G]]) -> (%[[Y]])
// CHECK-NEXT: dlx.launch @step(%[[M]], %[[W]], %[[G]]) -> (%[[W]], %[[M]])
// CHECK-NEXT: dlx.return %[[Y]]
module @cpu {
dlx.kernel @add attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>, %z: tensor<4xf32>):
  %y = dl.add %x, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.kernel @step attributes {kind = #dlx.kind<map>} {
^bb0(%m: tensor<4xf32>, %w: tensor<4xf32>, %g: tensor<4xf32>):
  %n = dl.add %m, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = dl.sub %w, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  dl.yield %v, %n : tensor<4xf32>, tensor<4xf32>
}
dlx.program @Step attributes {input_names = ["g"], output_names = ["y"], state_names = ["m", "w"]} {
^bb0(%g: !dlx.buffer<tensor<4xf32>>, %m: !dlx.buffer<tensor<4xf32>>, %w: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @add(%m, %g) -> (%y) : (!dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  %v = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  %n = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @step(%m, %w, %g) -> (%v, %n) : (!dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>)
  dlx.return %y, %n, %v : !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>
}
}

// -----

// Copied are: a state that a later launch or another state wants the old value of (%s, %t), that is read at other
// elements (%u), or whose new value is an output (%o).
// CHECK-LABEL: dlx.program @Copied
// CHECK: ^bb0(%[[X:.*]]: !dlx.buffer<tensor<4x4xf32>>, %[[S:.*]]: !dlx.buffer<tensor<4x4xf32>>, %[[T:.*]]: !dlx.buffer<tensor<4x4xf32>>, %[[U:.*]]: !dlx.buffer<tensor<4x4xf32>>, %[[O:.*]]: !dlx.buffer<tensor<4x4xf32>>, %[[P:.*]]: !dlx.buffer<tensor<4x4xf32>>):
// CHECK-DAG: dlx.copy %{{.*}} to %[[S]] :
// CHECK-DAG: dlx.copy %{{.*}} to %[[T]] :
// CHECK-DAG: dlx.copy %{{.*}} to %[[U]] :
// CHECK-DAG: dlx.copy %{{.*}} to %[[O]] :
// CHECK-DAG: dlx.copy %{{.*}} to %[[P]] :
module @cpu {
dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4x4xf32>):
  %y = dl.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  dl.yield %y : tensor<4x4xf32>
}
dlx.kernel @turned attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4x4xf32>):
  %t = dl.permute %x {dims = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = dl.add %t, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  dl.yield %y : tensor<4x4xf32>
}
dlx.program @Copied attributes {input_names = ["x"], output_names = ["y", "z"], state_names = ["s", "t", "u", "o", "p"]} {
^bb0(%x: !dlx.buffer<tensor<4x4xf32>>, %s: !dlx.buffer<tensor<4x4xf32>>, %t: !dlx.buffer<tensor<4x4xf32>>, %u: !dlx.buffer<tensor<4x4xf32>>, %o: !dlx.buffer<tensor<4x4xf32>>, %p: !dlx.buffer<tensor<4x4xf32>>):
  %a = dlx.alloc : !dlx.buffer<tensor<4x4xf32>>
  dlx.launch @relu(%s) -> (%a) : (!dlx.buffer<tensor<4x4xf32>>) -> (!dlx.buffer<tensor<4x4xf32>>)
  %y = dlx.alloc : !dlx.buffer<tensor<4x4xf32>>
  dlx.launch @relu(%s) -> (%y) : (!dlx.buffer<tensor<4x4xf32>>) -> (!dlx.buffer<tensor<4x4xf32>>)
  %b = dlx.alloc : !dlx.buffer<tensor<4x4xf32>>
  dlx.launch @relu(%t) -> (%b) : (!dlx.buffer<tensor<4x4xf32>>) -> (!dlx.buffer<tensor<4x4xf32>>)
  %c = dlx.alloc : !dlx.buffer<tensor<4x4xf32>>
  dlx.launch @turned(%u) -> (%c) : (!dlx.buffer<tensor<4x4xf32>>) -> (!dlx.buffer<tensor<4x4xf32>>)
  %z = dlx.alloc : !dlx.buffer<tensor<4x4xf32>>
  dlx.launch @relu(%o) -> (%z) : (!dlx.buffer<tensor<4x4xf32>>) -> (!dlx.buffer<tensor<4x4xf32>>)
  dlx.return %y, %z, %a, %b, %c, %z, %t : !dlx.buffer<tensor<4x4xf32>>, !dlx.buffer<tensor<4x4xf32>>, !dlx.buffer<tensor<4x4xf32>>, !dlx.buffer<tensor<4x4xf32>>, !dlx.buffer<tensor<4x4xf32>>, !dlx.buffer<tensor<4x4xf32>>, !dlx.buffer<tensor<4x4xf32>>
}
}

// -----

// Kernels for CUDA declare that pointers do not alias.
// CHECK-LABEL: dlx.program @OnCuda
// CHECK: dlx.copy
module @cuda {
dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @OnCuda attributes {input_names = [], output_names = [], state_names = ["s"]} {
^bb0(%s: !dlx.buffer<tensor<4xf32>>):
  %a = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%s) -> (%a) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %a : !dlx.buffer<tensor<4xf32>>
}
}

// -----

// If outputs are of a data-dependent size, a run can fail after its last launch.
// CHECK-LABEL: dlx.program @Counted
// CHECK: dlx.copy
module attributes {dl.symbols = [#dl.symbol<"count", 0, 4, most = () -> (4)>]} {
module @cpu attributes {dl.symbols = [#dl.symbol<"count", 0, 4, most = () -> (4)>]} {
dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @Counted attributes {input_names = [], output_names = [], state_names = ["s"]} {
^bb0(%s: !dlx.buffer<tensor<4xf32>>):
  %a = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%s) -> (%a) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %a : !dlx.buffer<tensor<4xf32>>
}
}
}
