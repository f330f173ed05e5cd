// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s
// Tensors that are joined are read part by part, without a choice for each element: each part of the result is a map of its own,
// and its tiles come after those of the parts before it. What else is read at another index stays a choice.

// Parts along rows, beside what is read at the index of the whole: row 1 + 32 of part 2.
// CHECK: module @avx2
// CHECK-LABEL: func.func @along(
// CHECK-NOT: arith.select
// CHECK: scf.for
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32
// CHECK: vector.load %arg0
// CHECK: arith.maxsi
// CHECK: scf.for
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64
// CHECK: vector.load %arg1
// CHECK: return
dlx.kernel @along attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<40x32xf32>, %b: tensor<40x64xf32>, %s: tensor<96xf32>):
  %0 = dl.cat %a, %b {dim = 1 : i64} : (tensor<40x32xf32>, tensor<40x64xf32>) -> tensor<40x96xf32>
  %1 = dl.broadcast %s : (tensor<96xf32>) -> tensor<40x96xf32>
  %2 = dl.mul %0, %1 : (tensor<40x96xf32>, tensor<40x96xf32>) -> tensor<40x96xf32>
  dl.yield %2 : tensor<40x96xf32>
}

// Parts across rows are runs of elements.
// CHECK-LABEL: func.func @across(
// CHECK-NOT: arith.select
// CHECK: %[[FIRST:.*]] = arith.constant 192
// CHECK: scf.for
// CHECK: vector.load %arg0
// CHECK: %[[SECOND:.*]] = arith.constant 256
// CHECK: scf.for
// CHECK: vector.load %arg1
// CHECK: %[[AFTER:.*]] = arith.constant 192
// CHECK: arith.addi %{{.*}}, %[[AFTER]]
// CHECK: vector.store
dlx.kernel @across attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<3x64xf32>, %b: tensor<4x64xf32>):
  %0 = dl.cat %a, %b {dim = 0 : i64} : (tensor<3x64xf32>, tensor<4x64xf32>) -> tensor<7x64xf32>
  %1 = dl.relu %0 : (tensor<7x64xf32>) -> tensor<7x64xf32>
  dl.yield %1 : tensor<7x64xf32>
}

// A part that lies the other way round is turned by blocks; the other one is not.
// CHECK-LABEL: func.func @layouts(
// CHECK-NOT: arith.select
// CHECK: memref.view
// CHECK: vector.load %arg0
// CHECK: vector.shuffle
// CHECK: arith.maxsi
// CHECK-NOT: vector.shuffle
// CHECK: vector.load %arg1
// CHECK: return
dlx.kernel @layouts attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<2x64x40xf32, #dl.t<[2, 64, 40], order = [0, 2, 1]>>, %b: tensor<2x32x40xf32>):
  %0 = dl.cat %a, %b {dim = 1 : i64} : (tensor<2x64x40xf32, #dl.t<[2, 64, 40], order = [0, 2, 1]>>, tensor<2x32x40xf32>) -> tensor<2x96x40xf32>
  dl.yield %0 : tensor<2x96x40xf32>
}

// Parts of one element in each row (a stack of two): vectors lie across the rows, and tiles take some of these.
// CHECK-LABEL: func.func @single(
// CHECK: arith.constant 4096
// CHECK-NOT: arith.select
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: vector.load %arg0
// CHECK: vector.extract
// CHECK: memref.store
// CHECK: vector.load %arg1
// CHECK: return
dlx.kernel @single attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<64x1xf32>, %b: tensor<64x1xf32>):
  %0 = dl.cat %a, %b {dim = 1 : i64} : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
  dl.yield %0 : tensor<64x2xf32>
}

// What a part moves is read where it is stored.
// CHECK-LABEL: func.func @rolled(
// CHECK-NOT: arith.select
// CHECK: vector.load %arg0
// CHECK: vector.load %arg0
// CHECK: return
dlx.kernel @rolled attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<7x64xf32>):
  %a = dl.slice %x {dim = 0 : i64, start = 3 : i64} : (tensor<7x64xf32>) -> tensor<4x64xf32>
  %b = dl.slice %x {dim = 0 : i64, end = 3 : i64} : (tensor<7x64xf32>) -> tensor<3x64xf32>
  %0 = dl.cat %a, %b {dim = 0 : i64} : (tensor<4x64xf32>, tensor<3x64xf32>) -> tensor<7x64xf32>
  dl.yield %0 : tensor<7x64xf32>
}

// The result ends within the second part: nothing is written past it, and the third part not at all.
// CHECK-LABEL: func.func @cut(
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32
// CHECK: vector.load %arg0
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c56{{.*}} step %c8
// CHECK: vector.load %arg1
// CHECK-NOT: %arg2[
// CHECK: return
dlx.kernel @cut attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<40x32xf32>, %b: tensor<40x64xf32>, %c: tensor<40x8xf32>):
  %0 = dl.cat %a, %b, %c {dim = 1 : i64} : (tensor<40x32xf32>, tensor<40x64xf32>, tensor<40x8xf32>) -> tensor<40x104xf32>
  %1 = dl.slice %0 {dim = 1 : i64, end = 88 : i64} : (tensor<40x104xf32>) -> tensor<40x88xf32>
  dl.yield %1 : tensor<40x88xf32>
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
