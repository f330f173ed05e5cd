// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// The example of each record parses, verifies and prints as itself.

// CHECK-LABEL: @broadcast
func.func @broadcast(%x: tensor<8x1xf32>) {
  // CHECK: dl.broadcast
  %y = dl.broadcast %x : (tensor<8x1xf32>) -> tensor<4x8x16xf32>
  return
}

// CHECK-LABEL: @reshape
func.func @reshape(%x: tensor<4x8x2xf32>) {
  // CHECK: dl.reshape
  %y = dl.reshape %x {shape = affine_map<() -> (4, -1)>} : (tensor<4x8x2xf32>) -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: @flatten
func.func @flatten(%x: tensor<4x8x2xf32>) {
  // CHECK: dl.flatten
  %y = dl.flatten %x {start_dim = 1 : i64} : (tensor<4x8x2xf32>) -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: @permute
func.func @permute(%x: tensor<4x8x2xf32>) {
  // CHECK: dl.permute
  %y = dl.permute %x {dims = array<i64: 0, 2, 1>} : (tensor<4x8x2xf32>) -> tensor<4x2x8xf32>
  return
}

// CHECK-LABEL: @transpose
func.func @transpose(%x: tensor<4x8x2xf32>) {
  // CHECK: dl.transpose
  %y = dl.transpose %x {dim0 = 0 : i64, dim1 = -1 : i64} : (tensor<4x8x2xf32>) -> tensor<2x8x4xf32>
  return
}

// CHECK-LABEL: @slice
func.func @slice(%x: tensor<4x8xf32>) {
  // CHECK: dl.slice
  %y = dl.slice %x {dim = 1 : i64, start = 1 : i64, step = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: @pad
func.func @pad(%x: tensor<4x8xf32>) {
  // CHECK: dl.pad
  %y = dl.pad %x {pad = array<i64: 2, 1>} : (tensor<4x8xf32>) -> tensor<4x11xf32>
  return
}

// CHECK-LABEL: @cat
func.func @cat(%a: tensor<4x8xf32>, %b: tensor<4x2xf32>) {
  // CHECK: dl.cat
  %y = dl.cat %a, %b {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
  return
}

// CHECK-LABEL: @dropout
func.func @dropout(%x: tensor<4x8xf32>) {
  // CHECK: dl.dropout
  %y = dl.dropout %x {p = 0.25 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
