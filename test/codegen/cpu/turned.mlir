// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s

// An operand that lies the other way round is turned in blocks of 32 x 32 in scratch memory: in registers by squares of 8 x 8, or one
// by one where a block is smaller than that. The result is written in vectors from there. What lies as the result does is read where it is.

// CHECK: dlx.kernel @turned attributes {{.*}}scratch = [[SCRATCH:#.+]]}
dlx.kernel @turned attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<64x48xf32>, %z: tensor<48x64xf32>):
  %0 = dl.transpose %x {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<64x48xf32>) -> tensor<48x64xf32>
  %1 = dl.add %0, %z : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
  dl.yield %1 : tensor<48x64xf32>
}
// AVX2 cannot mask elements of 16 bits: the last ones are done one by one.
dlx.kernel @half attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<100xf16>):
  %0 = dl.relu %x : (tensor<100xf16>) -> tensor<100xf16>
  dl.yield %0 : tensor<100xf16>
}

// CHECK: module @avx2 {
// CHECK: func.func @turned(%[[X:.+]]: memref<?xf32>, %[[Z:.+]]: memref<?xf32>, %[[Y:[^:]+]]: memref<?xf32>,
// CHECK: %[[BLOCK:.+]] = memref.view {{.*}} to memref<?xf32>
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-8: vector.load %[[X]]
// CHECK: vector.shuffle %{{.*}} [0, 8, 2, 10, 4, 12, 6, 14]
// CHECK-COUNT-23: vector.shuffle
// CHECK-COUNT-8: vector.store {{.*}}, %[[BLOCK]]
// CHECK: else
// CHECK: %[[E:.+]] = memref.load %[[X]]
// CHECK: memref.store %[[E]], %[[BLOCK]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: %[[X]]
// CHECK-DAG: vector.load %[[BLOCK]]
// CHECK-DAG: vector.load %[[Z]]
// CHECK: vector.store {{.*}}, %[[Y]]
// CHECK: func.func @half
// CHECK: vector.store
// CHECK-NOT: vector.masked
// CHECK: memref.store
// CHECK: module @avx512 {
// CHECK: func.func @half
// CHECK: vector.store
// CHECK: vector.maskedstore
