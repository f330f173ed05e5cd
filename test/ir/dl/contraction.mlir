// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// The example of each record parses, verifies and prints as itself.

// CHECK-LABEL: @conv2d
func.func @conv2d(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>, %b: tensor<16xf32>) {
  // CHECK: dl.conv2d
  %y = dl.conv2d %x, %w, %b {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<8x16x16x16xf32>
  return
}

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<8x784xf32>, %w: tensor<10x784xf32>, %b: tensor<10xf32>) {
  // CHECK: dl.linear
  %y = dl.linear %x, %w, %b : (tensor<8x784xf32>, tensor<10x784xf32>, tensor<10xf32>) -> tensor<8x10xf32>
  return
}

// CHECK-LABEL: @matmul
func.func @matmul(%a: tensor<12x64x32xf32>, %b: tensor<12x32x64xf32>) {
  // CHECK: dl.matmul
  %y = dl.matmul %a, %b : (tensor<12x64x32xf32>, tensor<12x32x64xf32>) -> tensor<12x64x64xf32>
  return
}
