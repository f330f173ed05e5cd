// RUN: dlc-opt %s -raise-rotary -canonicalize -split-input-file | FileCheck %s

!x = tensor<2x8xf32>
!h = tensor<2x4xf32>

// Operands in either order; the sine repeats along the rows.
// CHECK-LABEL: @halves
// CHECK-SAME: (%[[X:.*]]: tensor<2x8xf32>, %[[C:.*]]: tensor<2x8xf32>, %[[S:.*]]: tensor<8xf32>)
// CHECK-DAG: %[[H:.*]] = dl.reshape %[[X]] {{.*}} -> tensor<2x2x4xf32>
// CHECK-DAG: %[[HC:.*]] = dl.reshape %[[C]] {{.*}} -> tensor<2x2x4xf32>
// CHECK-DAG: %[[RS:.*]] = dl.reshape %[[S]] {{.*}} -> tensor<2x4xf32>
// CHECK-DAG: %[[HS:.*]] = dl.broadcast %[[RS]] : (tensor<2x4xf32>) -> tensor<2x2x4xf32>
// CHECK-DAG: %[[A:.*]] = dl.arange {dtype = f32, end = #{{.*}}, start = #{{.*}}, step = 2 : i64} : () -> tensor<2xf32>
// CHECK-DAG: %[[B:.*]] = dl.reshape %[[A]] {{.*}} -> tensor<2x1xf32>
// CHECK-DAG: %[[SIGNS:.*]] = dl.broadcast %[[B]] : (tensor<2x1xf32>) -> tensor<2x2x4xf32>
// CHECK-DAG: %[[F:.*]] = dl.flip %[[H]] {dims = array<i64: 1>}
// CHECK-DAG: %[[P:.*]] = dl.mul %[[F]], %[[SIGNS]]
// CHECK-DAG: %[[T:.*]] = dl.mul %[[P]], %[[HS]]
// CHECK-DAG: %[[U:.*]] = dl.mul %[[H]], %[[HC]]
// CHECK: %[[Y:.*]] = dl.add %[[U]], %[[T]]
// CHECK: %[[Z:.*]] = dl.reshape %[[Y]] {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT: return %[[Z]]
func.func @halves(%x: !x, %c: !x, %s: tensor<8xf32>) -> !x {
  %sine = dl.broadcast %s : (tensor<8xf32>) -> !x
  %0 = dl.mul %c, %x : (!x, !x) -> !x
  %1 = dl.slice %x {dim = -1 : i64, start = -4 : i64} : (!x) -> !h
  %2 = dl.neg %1 : (!h) -> !h
  %3 = dl.slice %x {dim = 1 : i64, end = 4 : i64} : (!x) -> !h
  %4 = dl.cat %2, %3 {dim = 1 : i64} : (!h, !h) -> !x
  %5 = dl.mul %sine, %4 : (!x, !x) -> !x
  %6 = dl.add %5, %0 : (!x, !x) -> !x
  return %6 : !x
}

// The first half is negated, and the halves are of another tensor.
// CHECK-LABEL: @other_way
// CHECK-NOT: dl.flip
// CHECK: return
func.func @other_way(%x: !x, %c: !x, %s: !x) -> !x {
  %0 = dl.mul %x, %c : (!x, !x) -> !x
  %1 = dl.slice %x {dim = 1 : i64, start = 4 : i64} : (!x) -> !h
  %3 = dl.slice %x {dim = 1 : i64, end = 4 : i64} : (!x) -> !h
  %2 = dl.neg %3 : (!h) -> !h
  %4 = dl.cat %1, %2 {dim = 1 : i64} : (!h, !h) -> !x
  %5 = dl.mul %4, %s : (!x, !x) -> !x
  %6 = dl.add %0, %5 : (!x, !x) -> !x
  return %6 : !x
}
// CHECK-LABEL: @other_tensor
// CHECK-NOT: dl.flip
// CHECK: return
func.func @other_tensor(%x: !x, %z: !x, %c: !x, %s: !x) -> !x {
  %0 = dl.mul %z, %c : (!x, !x) -> !x
  %1 = dl.slice %x {dim = 1 : i64, start = 4 : i64} : (!x) -> !h
  %3 = dl.slice %x {dim = 1 : i64, end = 4 : i64} : (!x) -> !h
  %2 = dl.neg %1 : (!h) -> !h
  %4 = dl.cat %2, %3 {dim = 1 : i64} : (!h, !h) -> !x
  %5 = dl.mul %4, %s : (!x, !x) -> !x
  %6 = dl.add %0, %5 : (!x, !x) -> !x
  return %6 : !x
}

// Parts that are no halves.
// CHECK-LABEL: @thirds
// CHECK-NOT: dl.flip
// CHECK: return
func.func @thirds(%x: !x, %c: !x, %s: !x) -> !x {
  %0 = dl.mul %x, %c : (!x, !x) -> !x
  %1 = dl.slice %x {dim = 1 : i64, start = 6 : i64} : (!x) -> tensor<2x2xf32>
  %3 = dl.slice %x {dim = 1 : i64, end = 6 : i64} : (!x) -> tensor<2x6xf32>
  %2 = dl.neg %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = dl.cat %2, %3 {dim = 1 : i64} : (tensor<2x2xf32>, tensor<2x6xf32>) -> !x
  %5 = dl.mul %4, %s : (!x, !x) -> !x
  %6 = dl.add %0, %5 : (!x, !x) -> !x
  return %6 : !x
}

// The turned tensor is a result as well.
// CHECK-LABEL: @turned
// CHECK-NOT: dl.flip
// CHECK: return
func.func @turned(%x: !x, %c: !x, %s: !x) -> (!x, !x) {
  %0 = dl.mul %x, %c : (!x, !x) -> !x
  %1 = dl.slice %x {dim = 1 : i64, start = 4 : i64} : (!x) -> !h
  %3 = dl.slice %x {dim = 1 : i64, end = 4 : i64} : (!x) -> !h
  %2 = dl.neg %1 : (!h) -> !h
  %4 = dl.cat %2, %3 {dim = 1 : i64} : (!h, !h) -> !x
  %5 = dl.mul %4, %s : (!x, !x) -> !x
  %6 = dl.add %0, %5 : (!x, !x) -> !x
  return %6, %4 : !x, !x
}

// -----

// Heads of a projection, of symbolic dims: the halves are cut where the elements lie, and the cosine before it repeats.

!l = tensor<?x?x4x8xf32, #dl.t<[s0, s1, 4, 8]>>
!x = tensor<?x4x?x8xf32, #dl.t<[s0, 4, s1, 8]>>
!h = tensor<?x4x?x4xf32, #dl.t<[s0, 4, s1, 4]>>
!c = tensor<1x1x?x8xf32, #dl.t<[1, 1, s1, 8]>>

module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>, #dl.symbol<"T", 1, 64>]} {
  // CHECK-LABEL: @heads
  // CHECK-SAME: (%[[L:.*]]: tensor<?x?x4x8xf32, {{.*}}>, %[[C:.*]]: {{.*}}, %[[S:.*]]: {{.*}})
  // CHECK-DAG: %[[R:.*]] = dl.reshape %[[L]] {{.*}} #dl.t<[s0, s1, 4, 2, 4]>>
  // CHECK-DAG: %[[H:.*]] = dl.permute %[[R]] {dims = array<i64: 0, 2, 1, 3, 4>}
  // CHECK-DAG: %[[V:.*]] = dl.reshape %[[C]] {{.*}} #dl.t<[1, 1, s1, 2, 4]>>
  // CHECK-DAG: dl.broadcast %[[V]] {{.*}} #dl.t<[s0, 4, s1, 2, 4]>>
  // CHECK-DAG: dl.flip %[[H]] {dims = array<i64: 3>}
  // CHECK-NOT: dl.cat
  // CHECK: return
  func.func @heads(%l: !l, %c: !c, %s: !c) -> !x {
    %x = dl.permute %l {dims = array<i64: 0, 2, 1, 3>} : (!l) -> !x
    %cosine = dl.broadcast %c : (!c) -> !x
    %sine = dl.broadcast %s : (!c) -> !x
    %0 = dl.mul %x, %cosine : (!x, !x) -> !x
    %1 = dl.slice %x {dim = 3 : i64, start = 4 : i64} : (!x) -> !h
    %2 = dl.neg %1 : (!h) -> !h
    %3 = dl.slice %x {dim = 3 : i64, end = 4 : i64} : (!x) -> !h
    %4 = dl.cat %2, %3 {dim = 3 : i64} : (!h, !h) -> !x
    %5 = dl.mul %4, %sine : (!x, !x) -> !x
    %6 = dl.add %0, %5 : (!x, !x) -> !x
    return %6 : !x
  }
}
