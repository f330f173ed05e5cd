// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s

// Loops whose terms the op knows to be neutral outside of a span run over that alone. Channels last, the lanes of a vector share it.

!x = tensor<1x32x8x8xf32, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
!y = tensor<4x32x2x2xf32, #dl.t<[4, 32, 2, 2], order = [0, 2, 3, 1]>>

dlx.kernel @pool attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: !x, %b: tensor<4x5xf32>):
  %0 = dl.roi_pool %x, %b {output_size = array<i64: 2, 2>} : (!x, tensor<4x5xf32>) -> !y
  dl.yield %0 : !y
}
// Row-major, one by one.
dlx.kernel @row_major attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: tensor<1x32x8x8xf32>, %b: tensor<4x5xf32>):
  %0 = dl.roi_pool %x, %b {output_size = array<i64: 2, 2>} : (tensor<1x32x8x8xf32>, tensor<4x5xf32>) -> tensor<4x32x2x2xf32>
  dl.yield %0 : tensor<4x32x2x2xf32>
}
// A given number of points has no spans: they are written out.
dlx.kernel @given attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: !x, %b: tensor<4x5xf32>):
  %0 = dl.roi_align %x, %b {output_size = array<i64: 2, 2>, sampling_ratio = 2 : i64} : (!x, tensor<4x5xf32>) -> !y
  dl.yield %0 : !y
}
// As many as fit: no more than count, a number that the box gives.
dlx.kernel @adaptive attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: !x, %b: tensor<4x5xf32>):
  %0 = dl.roi_align %x, %b {output_size = array<i64: 2, 2>} : (!x, tensor<4x5xf32>) -> !y
  dl.yield %0 : !y
}

// CHECK: module @avx2 {
// CHECK: func.func @pool(%[[X:[^:]+]]: memref<?xf32>, %[[B:[^:]+]]: memref<?xf32>
// CHECK: scf.for
// CHECK: memref.load %[[B]]
// CHECK: %[[TOP:.+]] = arith.index_cast {{.*}} : i64 to index
// CHECK: %[[BOTTOM:.+]] = arith.index_cast {{.*}} : i64 to index
// CHECK: scf.for {{.*}} = %[[TOP]] to %[[BOTTOM]] {{.*}} -> (vector<8xf32>)
// CHECK: %[[LEFT:.+]] = arith.index_cast {{.*}} : i64 to index
// CHECK: %[[RIGHT:.+]] = arith.index_cast {{.*}} : i64 to index
// CHECK: scf.for {{.*}} = %[[LEFT]] to %[[RIGHT]] {{.*}} -> (vector<8xf32>)
// CHECK: vector.load %[[X]]
// CHECK: func.func @row_major
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: func.func @given
// CHECK-NOT: iter_args
// CHECK-COUNT-16: vector.load
// CHECK: func.func @adaptive
// CHECK: scf.for {{.*}} -> (vector<8xf32>)
// CHECK: scf.for {{.*}} -> (vector<8xf32>)
// CHECK-COUNT-4: vector.load
