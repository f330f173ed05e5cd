// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// The example of each record parses, verifies and prints as itself.

// CHECK-LABEL: @weight
func.func @weight() {
  // CHECK: dl.weight
  %w = dl.weight "conv1.weight" {file = "mnist.safetensors", offset = 4096 : i64, hash = "00"} : tensor<32x1x3x3xf32>
  return
}

// CHECK-LABEL: @full
func.func @full() {
  // CHECK: dl.full
  %y = dl.full 5.000000e-01 : f32 -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @convert_layout
func.func @convert_layout(%x: tensor<8x3x4x4xf32>) {
  // CHECK: dl.convert_layout
  %y = dl.convert_layout %x : (tensor<8x3x4x4xf32>) -> tensor<8x3x4x4xf32, #dl.t<[8, 3, 4, 4], order = [0, 2, 3, 1]>>
  return
}

// CHECK-LABEL: @fusion
func.func @fusion(%x: tensor<4x8xf32>) {
  // CHECK: dl.fusion
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
  %0 = dl.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  dl.yield %1 : tensor<4x8xf32>
  }
  return
}
