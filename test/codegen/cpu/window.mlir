// RUN: dlc-opt --split-input-file --dl-schedule-cpu %s | FileCheck %s

// Channels-last pooling: channels are the lanes, the window is written out, and only taps that can leave the input are
// tested.

!x = tensor<1x64x8x8xf32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>
!y = tensor<1x64x4x4xf32, #dl.t<[1, 64, 4, 4], order = [0, 2, 3, 1]>>

dlx.kernel @pool attributes {kind = #dlx.kind<window>} {
^bb0(%x: !x):
  %0 = dl.max_pool2d %x {kernel_size = array<i64: 2, 2>} : (!x) -> !y
  dl.yield %0 : !y
}
// CHECK: module @avx2 {
// CHECK: func.func @pool
// CHECK-NOT: scf.if
// CHECK-COUNT-4: vector.load {{.*}} vector<8xf32>
// CHECK: vector.store
// CHECK: module @avx512 {

// -----

// Neighbours in a row, windows a step of two apart that reach over its ends: the columns between are vectors of every second element,
// without tests along the row, those at the ends single elements.
dlx.kernel @borders attributes {kind = #dlx.kind<window>} {
^bb0(%x: tensor<2x64x64xf32>):
  %0 = dl.max_pool1d %x {kernel_size = array<i64: 3>, padding = array<i64: 1>, stride = array<i64: 2>} : (tensor<2x64x64xf32>) -> tensor<2x64x32xf32>
  dl.yield %0 : tensor<2x64x32xf32>
}
// CHECK: func.func @borders
// CHECK-NOT: scf.if
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6, 9, 11, 13, 15]
// CHECK: vector.store
// CHECK: arith.select
// CHECK: scf.if
// CHECK: memref.store

// Channels lie together in the operand and apart in the result: they are vectors, stored into a block that then is turned.
dlx.kernel @apart attributes {kind = #dlx.kind<window>} {
^bb0(%x: tensor<1x64x8x8xf32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>):
  %0 = dl.max_pool2d %x {kernel_size = array<i64: 2, 2>} : (tensor<1x64x8x8xf32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>) -> tensor<1x64x4x4xf32, #dl.t<[1, 64, 4, 4], order = [0, 2, 3, 1]>>
  %1 = dl.convert_layout %0 : (tensor<1x64x4x4xf32, #dl.t<[1, 64, 4, 4], order = [0, 2, 3, 1]>>) -> tensor<1x64x4x4xf32>
  dl.yield %1 : tensor<1x64x4x4xf32>
}
// CHECK: func.func @apart(%[[X:[^:]+]]: memref<?xf32>, %[[Y:[^:]+]]: memref<?xf32>
// CHECK: %[[BLOCK:.+]] = memref.view
// CHECK-COUNT-4: vector.load %[[X]]{{.*}} vector<8xf32>
// CHECK: vector.store {{.*}}, %[[BLOCK]]
// CHECK: scf.if
// CHECK-COUNT-8: vector.load %[[BLOCK]]
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: vector.store {{.*}}, %[[Y]]
