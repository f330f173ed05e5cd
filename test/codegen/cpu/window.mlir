// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s

// Channels-last pooling: channels are the lanes, the window is written out, and only taps that can leave the input are
// tested.

!x = tensor<1x64x8x8xf32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>
!y = tensor<1x64x4x4xf32, #dl.t<[1, 64, 4, 4], order = [0, 2, 3, 1]>>

dlx.kernel @pool attributes {kind = "window"} {
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
