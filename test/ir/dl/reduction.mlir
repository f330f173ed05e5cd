// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// The example of each record parses, verifies and prints as itself.

// CHECK-LABEL: @sum
func.func @sum(%x: tensor<4x8xf32>) {
  // CHECK: dl.sum
  %y = dl.sum %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: @mean
func.func @mean(%x: tensor<4x8x7x7xf32>) {
  // CHECK: dl.mean
  %y = dl.mean %x {dim = array<i64: 2, 3>} : (tensor<4x8x7x7xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @amax
func.func @amax(%x: tensor<4x8xf32>) {
  // CHECK: dl.amax
  %y = dl.amax %x {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: @argmax
func.func @argmax(%x: tensor<4x8xf32>) {
  // CHECK: dl.argmax
  %y = dl.argmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
  return
}

// CHECK-LABEL: @softmax
func.func @softmax(%x: tensor<4x8xf32>) {
  // CHECK: dl.softmax
  %y = dl.softmax %x {dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @log_softmax
func.func @log_softmax(%x: tensor<4x8xf32>) {
  // CHECK: dl.log_softmax
  %y = dl.log_softmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @batch_norm
func.func @batch_norm(%x: tensor<8x16x4x4xf32>, %mean: tensor<16xf32>, %var: tensor<16xf32>, %w: tensor<16xf32>, %b: tensor<16xf32>) {
  // CHECK: dl.batch_norm
  %y = dl.batch_norm %x, %mean, %var, %w, %b : (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x16x4x4xf32>
  return
}
