// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s
// What a body reads in several places is computed once for each index, not once for each way to it.

// CHECK: module @avx2 {

// Sixteen ways lead to the exponential; the loop over whole vectors and its rest have one each.
// CHECK-LABEL: func.func @ladder
// CHECK: scf.for
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: vector.store
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: vector.maskedstore
dlx.kernel @ladder attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<100xf32>):
  %0 = dl.exp %x : (tensor<100xf32>) -> tensor<100xf32>
  %1 = dl.add %0, %0 : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  %2 = dl.mul %1, %1 : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  %3 = dl.neg %2 : (tensor<100xf32>) -> tensor<100xf32>
  %4 = dl.mul %2, %3 : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  %5 = dl.add %4, %4 : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  dl.yield %5 : tensor<100xf32>
}

// At another index it is another value.
// CHECK-LABEL: func.func @mirrored
// CHECK: scf.for
// CHECK: math.exp
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: memref.store
dlx.kernel @mirrored attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<101xf32>):
  %0 = dl.exp %x : (tensor<101xf32>) -> tensor<101xf32>
  %1 = dl.flip %0 {dims = array<i64: 0>} : (tensor<101xf32>) -> tensor<101xf32>
  %2 = dl.sub %0, %1 : (tensor<101xf32>, tensor<101xf32>) -> tensor<101xf32>
  dl.yield %2 : tensor<101xf32>
}

// What is computed after a test is there no more after the next one, though that is the same.
// (The flip keeps vectors away.)
// CHECK-LABEL: func.func @guarded
// CHECK: scf.if
// CHECK: math.exp
// CHECK: scf.if
// CHECK: math.exp
// CHECK: arith.addf
dlx.kernel @guarded attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<100xf32>, %z: tensor<101xf32>):
  %0 = dl.exp %x : (tensor<100xf32>) -> tensor<100xf32>
  %1 = dl.pad %0 {pad = affine_map<() -> (0, 1)>} : (tensor<100xf32>) -> tensor<101xf32>
  %2 = dl.neg %0 : (tensor<100xf32>) -> tensor<100xf32>
  %3 = dl.pad %2 {pad = affine_map<() -> (0, 1)>} : (tensor<100xf32>) -> tensor<101xf32>
  %4 = dl.add %1, %3 : (tensor<101xf32>, tensor<101xf32>) -> tensor<101xf32>
  %5 = dl.flip %z {dims = array<i64: 0>} : (tensor<101xf32>) -> tensor<101xf32>
  %6 = dl.add %4, %5 : (tensor<101xf32>, tensor<101xf32>) -> tensor<101xf32>
  dl.yield %6 : tensor<101xf32>
}

// An index that the body computes is another number each time, though it has one name: x at
// place[i], then at place[100 - i].
// CHECK-LABEL: func.func @computed
// CHECK: memref.load %arg1
// CHECK: math.exp
// CHECK: memref.load %arg1
// CHECK: math.exp
// CHECK: arith.subf
dlx.kernel @computed attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<50xf32>, %place: tensor<101xi64>):
  %0 = dl.exp %x : (tensor<50xf32>) -> tensor<50xf32>
  %1 = dl.add %0, %0 : (tensor<50xf32>, tensor<50xf32>) -> tensor<50xf32>
  %2 = dl.index_select %1, %place {dim = 0 : i64} : (tensor<50xf32>, tensor<101xi64>) -> tensor<101xf32>
  %3 = dl.flip %2 {dims = array<i64: 0>} : (tensor<101xf32>) -> tensor<101xf32>
  %4 = dl.sub %2, %3 : (tensor<101xf32>, tensor<101xf32>) -> tensor<101xf32>
  %5 = dl.mul %4, %2 : (tensor<101xf32>, tensor<101xf32>) -> tensor<101xf32>
  dl.yield %5 : tensor<101xf32>
}
