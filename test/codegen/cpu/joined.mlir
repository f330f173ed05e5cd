// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s
// Tensors that are joined are read part by part, without a choice for each element: along a row one after the other, across rows
// the one in which the row lies. What else is read at another index stays a choice.

// CHECK: module @avx2
// CHECK-LABEL: func.func @along(
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32
// CHECK: vector.load %arg0
// CHECK: scf.for %{{.*}} = %c32{{.*}} to %c96
// CHECK: vector.load %arg1
dlx.kernel @along attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<40x32xf32>, %b: tensor<40x64xf32>, %s: tensor<96xf32>):
  %0 = dl.cat %a, %b {dim = 1 : i64} : (tensor<40x32xf32>, tensor<40x64xf32>) -> tensor<40x96xf32>
  %1 = dl.broadcast %s : (tensor<96xf32>) -> tensor<40x96xf32>
  %2 = dl.mul %0, %1 : (tensor<40x96xf32>, tensor<40x96xf32>) -> tensor<40x96xf32>
  dl.yield %2 : tensor<40x96xf32>
}

// CHECK-LABEL: func.func @across(
// CHECK-NOT: arith.select
// CHECK: scf.if
// CHECK: vector.load %arg0
// CHECK: scf.if
// CHECK: vector.load %arg1
dlx.kernel @across attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<3x64xf32>, %b: tensor<4x64xf32>):
  %0 = dl.cat %a, %b {dim = 0 : i64} : (tensor<3x64xf32>, tensor<4x64xf32>) -> tensor<7x64xf32>
  %1 = dl.relu %0 : (tensor<7x64xf32>) -> tensor<7x64xf32>
  dl.yield %1 : tensor<7x64xf32>
}

// CHECK-LABEL: func.func @turned(
// CHECK: arith.select
// CHECK-LABEL: module @avx512
dlx.kernel @turned attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<40x32xf32>, %b: tensor<40x64xf32>):
  %0 = dl.cat %a, %b {dim = 1 : i64} : (tensor<40x32xf32>, tensor<40x64xf32>) -> tensor<40x96xf32>
  %1 = dl.flip %0 {dims = array<i64: 1>} : (tensor<40x96xf32>) -> tensor<40x96xf32>
  %2 = dl.add %0, %1 : (tensor<40x96xf32>, tensor<40x96xf32>) -> tensor<40x96xf32>
  dl.yield %2 : tensor<40x96xf32>
}
