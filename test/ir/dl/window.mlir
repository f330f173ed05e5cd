// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// The example of each record parses, verifies and prints as itself.

// CHECK-LABEL: @max_pool2d
func.func @max_pool2d(%x: tensor<8x16x32x32xf32>) {
  // CHECK: dl.max_pool2d
  %y = dl.max_pool2d %x {kernel_size = array<i64: 2, 2>} : (tensor<8x16x32x32xf32>) -> tensor<8x16x16x16xf32>
  return
}

// CHECK-LABEL: @avg_pool2d
func.func @avg_pool2d(%x: tensor<8x64x8x8xf32>) {
  // CHECK: dl.avg_pool2d
  %y = dl.avg_pool2d %x {kernel_size = array<i64: 8, 8>} : (tensor<8x64x8x8xf32>) -> tensor<8x64x1x1xf32>
  return
}
