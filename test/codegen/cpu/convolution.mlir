// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s

// A padded channels-last convolution: a row of zeros in scratch memory stands for taps outside, one loop over the channels
// within each tap.

!x = tensor<1x128x14x14xf32, #dl.t<[1, 128, 14, 14], order = [0, 2, 3, 1]>>
!y = tensor<1x32x14x14xf32, #dl.t<[1, 32, 14, 14], order = [0, 2, 3, 1]>>

// CHECK-DAG: [[SCRATCH:#.+]] = affine_map<() -> (512)>
// CHECK: dlx.kernel @conv {{.*}}scratch = [[SCRATCH]]
// CHECK: ^bb0(%{{.*}}, %{{.*}}: tensor<32x128x3x3xf32, #dl.t<[32, 128, 3, 3], order = [0, 2, 3, 1], tile = 16 of 0>>)
dlx.kernel @conv attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: !x, %w: tensor<32x128x3x3xf32>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (!x, tensor<32x128x3x3xf32>) -> !y
  dl.yield %0 : !y
}

// CHECK: module @avx512 {
// CHECK: func.func @conv(%[[X:[^:]+]]: memref<?xf32>, {{.*}}%[[SCR:[^:]+]]: memref<?xi8>)
// CHECK: %[[ZEROS:.+]] = memref.view %[[SCR]]
// CHECK: vector.store %{{.+}}, %[[ZEROS]]
// CHECK: scf.for
// CHECK: arith.select %{{.+}}, %[[X]], %[[ZEROS]] : memref<?xf32>
// CHECK: scf.for
// CHECK: math.fma
