// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s

// Two neighbours in the result that are far apart in x, as in a shuffle of channels: a vector of each is interleaved as it is
// stored. Three are stored one by one, from three vectors.

// CHECK: module @avx2 {
// CHECK: func.func @pairs(%[[X:.+]]: memref<?xf32>, %[[Y:[^:]+]]: memref<?xf32>,
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[A:.+]] = vector.load %[[X]]
// CHECK: %[[B:.+]] = vector.load %[[X]]
// CHECK: %[[BOTH:.+]] = vector.interleave %[[A]], %[[B]]
// CHECK: vector.store %[[BOTH]], %[[Y]]
// CHECK: func.func @triples(%[[X:.+]]: memref<?xf32>, %[[Y:[^:]+]]: memref<?xf32>,
// CHECK-COUNT-3: vector.load %[[X]]
// CHECK-NOT: vector.interleave
// CHECK: memref.store {{.*}}, %[[Y]]
dlx.kernel @pairs attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<5x2x64xf32>):
  %0 = dl.permute %x {dims = array<i64: 0, 2, 1>} : (tensor<5x2x64xf32>) -> tensor<5x64x2xf32>
  dl.yield %0 : tensor<5x64x2xf32>
}
dlx.kernel @triples attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<5x3x64xf32>):
  %0 = dl.permute %x {dims = array<i64: 0, 2, 1>} : (tensor<5x3x64xf32>) -> tensor<5x64x3xf32>
  dl.yield %0 : tensor<5x64x3xf32>
}
