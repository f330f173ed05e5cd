// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=PROGRAM

// The kernel writes to the state, and what reads the new value reads it there. On cuda the relu could store both, but nothing is
// gained by a copy.
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[AT:.*]]: tensor<i64>, %[[S:.*]]: tensor<2x8xf32>
// CHECK: %[[N:.*]] = dl.fusion(%[[S]], %[[AT]], %[[X]]) {in_place}
// CHECK: %[[Y:.*]] = dl.fusion(%[[N]]) {edges = [{{.*}}]} :
// CHECK: dl.relu
// CHECK: return %[[Y]], %[[N]]
// PROGRAM-LABEL: dlx.program @update
// PROGRAM: ^bb0(%[[X:.*]]: !dlx.buffer<tensor<2x3xf32>>, %[[AT:.*]]: !dlx.buffer<tensor<i64>>, %[[S:.*]]: !dlx.buffer<tensor<2x8xf32>>):
// PROGRAM-NEXT: dlx.launch @update_slice_in_place(%[[S]], %[[AT]], %[[X]]) -> (%[[S]])
// PROGRAM-NEXT: %[[Y:.*]] = dlx.alloc
// PROGRAM-NEXT: dlx.launch @relu(%[[S]]) -> (%[[Y]]) {edges = [#dl.edge<input = 0, reader = "relu", producer = "update_slice", why = several_users>]}
// PROGRAM: dlx.return %[[Y]], %[[S]]
// PROGRAM: dlx.kernel @update_slice_in_place attributes {in_place, kind = #dlx.kind<map>}
func.func @update(%x: tensor<2x3xf32>, %at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32>, tensor<2x8xf32> {dl.state}) {
  %n = dl.update_slice %s, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %y = dl.relu %n : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y, %n : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// A read of the old value that is written after the update runs before it, and so does what the read waits for; a read through a
// view is a read.
// CHECK-LABEL: func.func @read_first(
// CHECK-SAME: %[[S:[^:]*]]: tensor<2x8xf32> {dl.state}
// CHECK: dl.fusion({{.*}}) : ({{.*}}) -> tensor<2xf32>
// CHECK: dl.fusion({{.*}}) {edges = {{.*}}
// CHECK: dl.softmax
// CHECK: dl.fusion(%[[S]], %{{.*}}, %{{.*}}) {in_place}
// CHECK-NOT: dl.fusion
// CHECK: return
func.func @read_first(%x: tensor<2x3xf32>, %at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<16xf32>, tensor<2x8xf32> {dl.state}) {
  %n = dl.update_slice %s, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %m = dl.sum %x {dim = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %k = dl.sum %m {dim = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  %b = dl.broadcast %k : (tensor<f32>) -> tensor<16xf32>
  %v = dl.reshape %s {shape = affine_map<() -> (16)>} : (tensor<2x8xf32>) -> tensor<16xf32>
  %z = dl.mul %v, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %y = dl.softmax %z {dim = 0 : i64} : (tensor<16xf32>) -> tensor<16xf32>
  return %y, %n : tensor<16xf32>, tensor<2x8xf32>
}

// -----

// What needs both values cannot come before the update.
// CHECK-LABEL: func.func @both_values(
// CHECK-NOT: in_place
// CHECK: dl.fusion({{.*}}) {copied = "'sub' reads the old value after the new one is known"}
// CHECK: return
// PROGRAM-LABEL: dlx.program @both_values
// PROGRAM: dlx.launch @update_slice({{.*}}) {copied = "'sub' reads the old value after the new one is known"}
// PROGRAM-NOT: in_place
// PROGRAM: dlx.return
func.func @both_values(%x: tensor<2x3xf32>, %at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32>, tensor<2x8xf32> {dl.state}) {
  %n = dl.update_slice %s, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %m = dl.softmax %n {dim = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = dl.sub %m, %s : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y, %n : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// The old value is an output.
// CHECK-LABEL: func.func @returned(
// CHECK-NOT: in_place
// CHECK: copied = "the model returns the old value, or keeps it in another state"
// CHECK: return
func.func @returned(%x: tensor<2x3xf32>, %at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<16xf32>, tensor<2x8xf32> {dl.state}) {
  %v = dl.reshape %s {shape = affine_map<() -> (16)>} : (tensor<2x8xf32>) -> tensor<16xf32>
  %n = dl.update_slice %s, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  return %v, %n : tensor<16xf32>, tensor<2x8xf32>
}

// -----

// A new part that is computed of the old value.
// CHECK-LABEL: func.func @own_source(
// CHECK-NOT: in_place
// CHECK: copied = "the kernel that writes the new value reads the old one as well"
// CHECK: return
func.func @own_source(%at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32> {dl.state}) {
  %x = dl.slice %s {dim = 1 : i64, end = 3 : i64, start = 0 : i64} : (tensor<2x8xf32>) -> tensor<2x3xf32>
  %n = dl.update_slice %s, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  return %n : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @layout(
// CHECK-NOT: in_place
// CHECK: copied = "what is written lies in another layout than the state"
// CHECK: return
func.func @layout(%x: tensor<2x3xf32>, %at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32> {dl.state}) {
  %t = dl.convert_layout %x : (tensor<2x3xf32>) -> tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>
  %n = dl.update_slice %s, %at, %t {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>) -> tensor<2x8xf32>
  return %n : tensor<2x8xf32>
}

// -----

// Each update reads the other's old value: one of them is a copy.
// CHECK-LABEL: func.func @exchange(
// CHECK: dl.fusion({{.*}}) {copied = "'update_slice' reads the old value after the new one is known"}
// CHECK: dl.fusion({{.*}}) {in_place}
// CHECK-NOT: dl.fusion
// CHECK: return
func.func @exchange(%at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}, %t: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32> {dl.state}, tensor<2x8xf32> {dl.state}) {
  %m = dl.update_slice %s, %at, %t {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %n = dl.update_slice %t, %at, %s {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %m, %n : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// An update of another state's value is no update of its own: nothing is said of it.
// CHECK-LABEL: func.func @other_state(
// CHECK: dl.fusion({{.*}}) {in_place}
// CHECK-NOT: in_place
// CHECK-NOT: copied
// CHECK: return
// PROGRAM-LABEL: dlx.program @other_state
// PROGRAM: dlx.launch @update_slice_in_place(%[[S:.*]], %{{.*}}, %{{.*}}) -> (%[[S]])
// PROGRAM: dlx.launch @update_slice(%[[S]], %{{.*}}, %{{.*}}) -> (%[[M:[^)]*]])
// PROGRAM: dlx.return %[[S]], %[[M]]
func.func @other_state(%x: tensor<2x3xf32>, %at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}, %t: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32> {dl.state}, tensor<2x8xf32> {dl.state}) {
  %n = dl.update_slice %s, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %m = dl.update_slice %n, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  return %n, %m : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// The exp reads the old value, and the sum waits for the new one: the update is between the two, which are no one kernel.
// CHECK-LABEL: func.func @between(
// CHECK: dl.fusion
// CHECK: dl.exp
// CHECK: dl.fusion({{.*}}) {in_place}
// CHECK: dl.fusion
// CHECK: dl.softmax
// CHECK: dl.fusion
// CHECK: dl.add
// CHECK: return
func.func @between(%x: tensor<2x3xf32>, %at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32> {dl.state}) {
  %n = dl.update_slice %s, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %h = dl.exp %s : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %m = dl.softmax %n {dim = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = dl.add %h, %m : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y, %h, %m, %n : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// A read of the old value that is joined by its reader stays before the update.
// CHECK-LABEL: func.func @joined(
// CUDA: dl.fusion(%{{.*}}) : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
// CUDA: dl.exp
// CUDA: dl.relu
// CUDA: dl.fusion({{.*}}) {in_place}
// CUDA-NOT: dl.fusion
// CHECK: return
func.func @joined(%x: tensor<2x3xf32>, %at: tensor<i64>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32> {dl.state}) {
  %n = dl.update_slice %s, %at, %x {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %h = dl.exp %s : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = dl.relu %h : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y, %h, %n : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}
