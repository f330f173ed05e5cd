// RUN: dlc-opt %s --canonicalize | FileCheck %s

// A product reads permuted operands where they lie, and gives its result in the order that is asked for.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT: %[[S:.*]] = dl.contract %arg0, %arg1 {other_loops = array<i64: 0, 3, 1, 4>, rank = 4 : i64, x_loops = array<i64: 0, 2, 1, 4>}
// CHECK-NEXT: %[[Y:.*]] = dl.contract %[[S]], %arg2 {other_loops = array<i64: 0, 4, 2, 3>, rank = 4 : i64, x_loops = array<i64: 0, 2, 1, 4>}
// CHECK-SAME: -> tensor<2x8x4x16xf32>
// CHECK-NEXT: return %[[Y]]
func.func @attention(%q: tensor<2x8x4x16xf32>, %k: tensor<2x9x4x16xf32>, %v: tensor<2x9x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %0 = dl.permute %q {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %1 = dl.permute %k {dims = array<i64: 0, 2, 3, 1>} : (tensor<2x9x4x16xf32>) -> tensor<2x4x16x9xf32>
  %2 = dl.matmul %0, %1 : (tensor<2x4x8x16xf32>, tensor<2x4x16x9xf32>) -> tensor<2x4x8x9xf32>
  %3 = dl.permute %v {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x9x4x16xf32>) -> tensor<2x4x9x16xf32>
  %4 = dl.matmul %2, %3 : (tensor<2x4x8x9xf32>, tensor<2x4x9x16xf32>) -> tensor<2x4x8x16xf32>
  %5 = dl.permute %4 {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
  return %5 : tensor<2x8x4x16xf32>
}

// The operand whose dim is innermost in the result comes second: the targets pack it.
// CHECK-LABEL: func.func @swapped
// CHECK-NEXT: dl.contract %arg1, %arg0 {other_loops = array<i64: 1, 2>, rank = 2 : i64, x_loops = array<i64: 2, 0>}
func.func @swapped(%a: tensor<8x16xf32>, %b: tensor<16x9xf32>) -> tensor<9x8xf32> {
  %0 = dl.matmul %a, %b : (tensor<8x16xf32>, tensor<16x9xf32>) -> tensor<8x9xf32>
  %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<8x9xf32>) -> tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}

// A product with other users keeps its order.
// CHECK-LABEL: func.func @shared
// CHECK: dl.matmul
// CHECK: dl.permute
func.func @shared(%a: tensor<8x16xf32>, %b: tensor<16x9xf32>) -> (tensor<9x8xf32>, tensor<8x9xf32>) {
  %0 = dl.matmul %a, %b : (tensor<8x16xf32>, tensor<16x9xf32>) -> tensor<8x9xf32>
  %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<8x9xf32>) -> tensor<9x8xf32>
  return %1, %0 : tensor<9x8xf32>, tensor<8x9xf32>
}
