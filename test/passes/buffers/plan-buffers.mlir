// RUN: dlc-opt %s -plan-buffers -split-input-file -verify-diagnostics | FileCheck %s

dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}

// Lifetimes count main commands alone, reach through views, and end with the last command for outputs.
// CHECK-LABEL: dlx.program @Lifetimes
// CHECK: %[[P:.*]] = dlx.alloc {persistent} : <tensor<4xf32>>
// CHECK: dlx.alloc {first_use = 0 : i64, last_use = 2 : i64} : <tensor<4xf32>>
// CHECK: %[[Y:.*]] = dlx.alloc {first_use = 1 : i64, last_use = 2 : i64} : <tensor<4xf32>>
// CHECK: dlx.alloc {first_use = 2 : i64, last_use = 2 : i64} : <tensor<4xf32>>
// CHECK-NOT: dlx.copy
// CHECK: dlx.return %[[Y]]
dlx.program @Lifetimes attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<4xf32>>
  %p = dlx.alloc {persistent} : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%w) -> (%p) {init} : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  %a = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%x) -> (%a) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%p) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  %v = dlx.view %a : !dlx.buffer<tensor<4xf32>> -> !dlx.buffer<tensor<4xf32>>
  %b = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%v) -> (%b) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// States are written when all else is done; of two that are exchanged the old values are copied out first, and what an output
// has of an old value before any state is written. One that keeps its value is not written.
// CHECK-LABEL: dlx.program @States
// CHECK: ^bb0(%[[X:.*]]: !dlx.buffer<tensor<4xf32>>, %[[S:.*]]: !dlx.buffer<tensor<4xf32>>, %[[T:.*]]: !dlx.buffer<tensor<4xf32>>, %[[U:.*]]: !dlx.buffer<tensor<4xf32>>, %[[V:.*]]: !dlx
// CHECK: %[[A:.*]] = dlx.alloc
// CHECK: dlx.launch @relu(%[[X]]) -> (%[[A]])
// CHECK: %[[Y:.*]] = dlx.alloc
// CHECK: dlx.copy %[[S]] to %[[Y]]
// CHECK: %[[OLDT:.*]] = dlx.alloc
// CHECK: dlx.copy %[[T]] to %[[OLDT]]
// CHECK: %[[OLDS:.*]] = dlx.alloc
// CHECK: dlx.copy %[[S]] to %[[OLDS]]
// CHECK: dlx.copy %[[OLDT]] to %[[S]]
// CHECK: dlx.copy %[[OLDS]] to %[[T]]
// CHECK: dlx.copy %[[A]] to %[[V]]
// CHECK-NOT: dlx.copy
// CHECK: dlx.return %[[Y]] :
dlx.program @States attributes {input_names = ["x"], output_names = ["y"], state_names = ["s", "t", "u", "v"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>, %s: !dlx.buffer<tensor<4xf32>>, %t: !dlx.buffer<tensor<4xf32>>,
     %u: !dlx.buffer<tensor<4xf32>>, %v: !dlx.buffer<tensor<4xf32>>):
  %a = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%x) -> (%a) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %s, %t, %s, %u, %a : !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>
}

// An input, a weight, a persistent buffer, a view and an output that was returned already are copied; %a itself is not.
// CHECK-LABEL: dlx.program @Outputs
// CHECK: ^bb0(%[[X:.*]]: !dlx.buffer
// CHECK: %[[W:.*]] = dlx.weight
// CHECK: %[[A:.*]] = dlx.alloc {first_use = 0 : i64, last_use = 4 : i64}
// CHECK: %[[V:.*]] = dlx.view
// CHECK: %[[C0:.*]] = dlx.alloc {first_use = 1 : i64, last_use = 4 : i64}
// CHECK: dlx.copy %[[X]] to %[[C0]]
// CHECK: %[[C1:.*]] = dlx.alloc {first_use = 2 : i64, last_use = 4 : i64}
// CHECK: dlx.copy %[[W]] to %[[C1]]
// CHECK: %[[C2:.*]] = dlx.alloc {first_use = 3 : i64, last_use = 4 : i64} : <tensor<2x2xf32>>
// CHECK: dlx.copy %[[V]] to %[[C2]]
// CHECK: %[[C3:.*]] = dlx.alloc {first_use = 4 : i64, last_use = 4 : i64}
// CHECK: dlx.copy %[[A]] to %[[C3]]
// CHECK: dlx.return %[[C0]], %[[C1]], %[[A]], %[[C2]], %[[C3]]
dlx.program @Outputs attributes {input_names = ["x"], output_names = ["a", "b", "c", "d", "e"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<4xf32>>
  %a = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%x) -> (%a) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  %v = dlx.view %a : !dlx.buffer<tensor<4xf32>> -> !dlx.buffer<tensor<2x2xf32>>
  dlx.return %x, %w, %a, %v, %a : !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<2x2xf32>>, !dlx.buffer<tensor<4xf32>>
}

// What the model sees under other dims is allocated so: the kernel writes it there, and nothing is copied. Of two outputs that are
// views of one buffer, the second is a copy.
// CHECK-LABEL: dlx.program @Views
// CHECK: %[[Y:.*]] = dlx.alloc {first_use = 0 : i64, last_use = 1 : i64} : <tensor<2x2xf32>>
// CHECK: %[[A:.*]] = dlx.view %[[Y]] : <tensor<2x2xf32>> -> <tensor<4xf32>>
// CHECK: dlx.launch @relu({{.*}}) -> (%[[A]])
// CHECK: %[[Z:.*]] = dlx.view %[[A]] : <tensor<4xf32>> -> <tensor<1x4xf32>>
// CHECK: %[[C:.*]] = dlx.alloc {first_use = 1 : i64, last_use = 1 : i64} : <tensor<1x4xf32>>
// CHECK: dlx.copy %[[Z]] to %[[C]]
// CHECK: dlx.return %[[Y]], %[[C]]
dlx.program @Views attributes {input_names = ["x"], output_names = ["y", "z"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %a = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%x) -> (%a) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  %y = dlx.view %a : !dlx.buffer<tensor<4xf32>> -> !dlx.buffer<tensor<2x2xf32>>
  %z = dlx.view %a : !dlx.buffer<tensor<4xf32>> -> !dlx.buffer<tensor<1x4xf32>>
  dlx.return %y, %z : !dlx.buffer<tensor<2x2xf32>>, !dlx.buffer<tensor<1x4xf32>>
}

// -----

dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @Unwritten attributes {input_names = [], output_names = ["y"]} {
  %a = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  // expected-error @+1 {{reads a buffer that nothing has written}}
  dlx.launch @relu(%a) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// -----

dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @InPlace attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  // expected-error @+1 {{writes a buffer that it reads}}
  dlx.launch @relu(%y) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// -----

dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @Twice attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @relu(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  // expected-error @+1 {{writes a buffer that holds a value already; the plan has one writer for each}}
  dlx.launch @relu(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// -----

// A part without elements begins where another one does.
dlx.kernel @none attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (0, 4)>>} {
^bb0(%x: tensor<0xf32>):
  %y = dl.relu %x : (tensor<0xf32>) -> tensor<0xf32>
  dl.yield %y : tensor<0xf32>
}
dlx.kernel @all attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (0, 4)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @EmptyPart attributes {input_names = ["x", "n"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>, %n: !dlx.buffer<tensor<0xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @none(%n) -> (%y) : (!dlx.buffer<tensor<0xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.launch @all(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// -----

// Two launches write one half each, and may do so in any order; nobody writes to it after it was read.
dlx.kernel @first attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (0, 8)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.kernel @second attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (4, 8)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @Parts attributes {input_names = ["x"], output_names = ["y", "z"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<8xf32>>
  dlx.launch @second(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  dlx.launch @first(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  %z = dlx.alloc : !dlx.buffer<tensor<8xf32>>
  dlx.copy %y to %z : !dlx.buffer<tensor<8xf32>>
  // expected-error @+1 {{writes a buffer that holds a value already; the plan has one writer for each}}
  dlx.launch @first(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  dlx.return %y, %z : !dlx.buffer<tensor<8xf32>>, !dlx.buffer<tensor<8xf32>>
}

// -----

dlx.kernel @first attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (0, 8)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @Half attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<8xf32>>
  dlx.launch @first(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  %z = dlx.alloc : !dlx.buffer<tensor<8xf32>>
  // expected-error @+1 {{reads a buffer of which parts are not written, or written twice}}
  dlx.copy %y to %z : !dlx.buffer<tensor<8xf32>>
  dlx.return %z : !dlx.buffer<tensor<8xf32>>
}

// -----

dlx.kernel @first attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (0, 8)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
// expected-error @+1 {{returns a buffer of which parts are not written, or written twice}}
dlx.program @Again attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<8xf32>>
  dlx.launch @first(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  dlx.launch @first(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  dlx.return %y : !dlx.buffer<tensor<8xf32>>
}

// -----

// A part is read where it lies once it is written, and others are written after that; a part that is not written yet is not read.
dlx.kernel @first attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (0, 8)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.kernel @second attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (4, 8)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.kernel @of_first attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<8xf32>):
  %p = dl.part %x {dim = 0 : i64, start = affine_map<() -> (0)>, length = affine_map<() -> (4)>} : (tensor<8xf32>) -> tensor<4xf32>
  %y = dl.neg %p : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @PartRead attributes {input_names = ["x"], output_names = ["y", "z"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<8xf32>>
  %z = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @first(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  dlx.launch @of_first(%y) -> (%z) : (!dlx.buffer<tensor<8xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.launch @second(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  dlx.return %y, %z : !dlx.buffer<tensor<8xf32>>, !dlx.buffer<tensor<4xf32>>
}
dlx.program @PartUnread attributes {input_names = ["x"], output_names = ["y", "z"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<8xf32>>
  %z = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.launch @second(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  // expected-error @+1 {{reads a buffer of which parts are not written, or written twice}}
  dlx.launch @of_first(%y) -> (%z) : (!dlx.buffer<tensor<8xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.launch @first(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  dlx.return %y, %z : !dlx.buffer<tensor<8xf32>>, !dlx.buffer<tensor<4xf32>>
}

// -----

// expected-error @+1 {{returns a buffer that nothing writes}}
dlx.program @Empty attributes {input_names = [], output_names = ["y"]} {
  %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// -----

dlx.program @Idle attributes {input_names = [], output_names = []} {
  // expected-error @+1 {{is used by no command}}
  %x = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  %y = dlx.view %x : !dlx.buffer<tensor<4xf32>> -> !dlx.buffer<tensor<2x2xf32>>
  dlx.return
}
