// RUN: dlc-opt %s --pass-pipeline='builtin.module(builtin.module(func.func(sink-permutations)))' | FileCheck %s
module {
module @cpu {
// The sum is part of the product's kernel: the residual is seen as the product's rows are.
// CHECK-LABEL: @residual
// CHECK-SAME: %[[Y:.*]]: tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
// CHECK: %[[ROWS:.*]] = dl.matmul
// CHECK: %[[SEEN:.*]] = dl.permute %[[Y]] {dims = array<i64: 0, 2, 3, 1>} : {{.*}} -> tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>
// CHECK: %[[SUM:.*]] = dl.add %[[ROWS]], %[[SEEN]] : {{.*}} -> tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>
// CHECK: %[[BACK:.*]] = dl.permute %[[SUM]] {dims = array<i64: 0, 3, 1, 2>} : {{.*}} -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
// CHECK: return %[[BACK]]
func.func @residual(%y: tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>, %x: tensor<?x8x8x16xf32, #dl.t<[s0, 8, 8, 16]>>, %w: tensor<16x32xf32>) -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>> {
  %0 = dl.matmul %x, %w : (tensor<?x8x8x16xf32, #dl.t<[s0, 8, 8, 16]>>, tensor<16x32xf32>) -> tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>
  %1 = dl.permute %0 {dims = array<i64: 0, 3, 1, 2>} : (tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>) -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
  %2 = dl.add %1, %y : (tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>, tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>) -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
  return %2 : tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
}

// Through several ops, and both operands at once; a number is turned as well.
// CHECK-LABEL: @chain
// CHECK: %[[A:.*]] = dl.matmul
// CHECK: %[[B:.*]] = dl.matmul
// CHECK: %[[MUL:.*]] = dl.mul %[[A]], %[[B]] : {{.*}} -> tensor<2x9x4xf32>
// CHECK: %[[NUMBER:.*]] = dl.permute {{.*}} -> tensor<2x9x4xf32
// CHECK: %[[SUM:.*]] = dl.add %[[MUL]], %[[NUMBER]]
// CHECK: %[[Y:.*]] = dl.permute %[[SUM]] {dims = array<i64: 0, 2, 1>} : {{.*}} -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
// CHECK: return %[[Y]]
func.func @chain(%x: tensor<2x9x8xf32>, %w: tensor<8x4xf32>, %v: tensor<8x4xf32>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>> {
  %n = dl.full 1.0 : f32 -> tensor<2x4x9xf32>
  %0 = dl.matmul %x, %w : (tensor<2x9x8xf32>, tensor<8x4xf32>) -> tensor<2x9x4xf32>
  %1 = dl.matmul %x, %v : (tensor<2x9x8xf32>, tensor<8x4xf32>) -> tensor<2x9x4xf32>
  %2 = dl.permute %0 {dims = array<i64: 0, 2, 1>} : (tensor<2x9x4xf32>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  %3 = dl.permute %1 {dims = array<i64: 0, 2, 1>} : (tensor<2x9x4xf32>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  %4 = dl.mul %2, %3 : (tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>, tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  %5 = dl.add %4, %n : (tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>, tensor<2x4x9xf32>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  return %5 : tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
}

// A scale of weights, turned before the sum, does not hide the product that the sum belongs to.
// CHECK-LABEL: @scaled
// CHECK: %[[H:.*]] = dl.matmul
// CHECK: %[[MUL:.*]] = dl.mul %{{.*}}, %[[H]]
// CHECK: %[[SUM:.*]] = dl.add %{{.*}}, %[[MUL]] : {{.*}} -> tensor<2x9x4xf32>
// CHECK: dl.permute %[[SUM]] {dims = array<i64: 0, 2, 1>}
func.func @scaled(%z: tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>, %x: tensor<2x9x8xf32>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>> {
  %w = dl.weight "w" : tensor<8x4xf32>
  %s = dl.weight "s" : tensor<4x1xf32>
  %0 = dl.matmul %x, %w : (tensor<2x9x8xf32>, tensor<8x4xf32>) -> tensor<2x9x4xf32>
  %1 = dl.permute %0 {dims = array<i64: 0, 2, 1>} : (tensor<2x9x4xf32>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  %2 = dl.broadcast %s : (tensor<4x1xf32>) -> tensor<2x4x9xf32>
  %3 = dl.mul %2, %1 : (tensor<2x4x9xf32>, tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  %4 = dl.add %z, %3 : (tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>, tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  return %4 : tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
}

// A permutation that moves bytes stays, and so does one of what others read too, or of what no kernel with a product computes.
// CHECK-LABEL: @others
// CHECK: dl.matmul
// CHECK-NEXT: dl.permute
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.matmul
// CHECK-NEXT: dl.permute
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.permute
// CHECK-NEXT: dl.relu
// CHECK-NEXT: return
func.func @others(%x: tensor<2x9x8xf32>, %w: tensor<8x4xf32>) -> (tensor<2x4x9xf32>, tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>, tensor<2x9x4xf32>, tensor<2x8x9xf32, #dl.t<[2, 8, 9], order = [0, 2, 1]>>) {
  %0 = dl.matmul %x, %w : (tensor<2x9x8xf32>, tensor<8x4xf32>) -> tensor<2x9x4xf32>
  %1 = dl.permute %0 {dims = array<i64: 0, 2, 1>} : (tensor<2x9x4xf32>) -> tensor<2x4x9xf32>
  %2 = dl.relu %1 : (tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %3 = dl.matmul %x, %w : (tensor<2x9x8xf32>, tensor<8x4xf32>) -> tensor<2x9x4xf32>
  %4 = dl.permute %3 {dims = array<i64: 0, 2, 1>} : (tensor<2x9x4xf32>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  %5 = dl.relu %4 : (tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>) -> tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>
  %6 = dl.permute %x {dims = array<i64: 0, 2, 1>} : (tensor<2x9x8xf32>) -> tensor<2x8x9xf32, #dl.t<[2, 8, 9], order = [0, 2, 1]>>
  %7 = dl.relu %6 : (tensor<2x8x9xf32, #dl.t<[2, 8, 9], order = [0, 2, 1]>>) -> tensor<2x8x9xf32, #dl.t<[2, 8, 9], order = [0, 2, 1]>>
  return %2, %5, %3, %7 : tensor<2x4x9xf32>, tensor<2x4x9xf32, #dl.t<[2, 4, 9], order = [0, 2, 1]>>, tensor<2x9x4xf32>, tensor<2x8x9xf32, #dl.t<[2, 8, 9], order = [0, 2, 1]>>
}

// Nor does one whose dims follow those of the input.
// CHECK-LABEL: @biased
// CHECK: %[[H:.*]] = dl.matmul
// CHECK: %[[BIASED:.*]] = dl.add %[[H]]
// CHECK: %[[SUM:.*]] = dl.add %[[BIASED]], %{{.*}} -> tensor<?x9x4xf32, #dl.t<[s0, 9, 4]>>
// CHECK: dl.permute %[[SUM]] {dims = array<i64: 0, 2, 1>}
func.func @biased(%z: tensor<?x4x9xf32, #dl.t<[s0, 4, 9], order = [0, 2, 1]>>, %x: tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>) -> tensor<?x4x9xf32, #dl.t<[s0, 4, 9], order = [0, 2, 1]>> {
  %w = dl.weight "w" : tensor<8x4xf32>
  %b = dl.weight "b" : tensor<4xf32>
  %0 = dl.matmul %x, %w : (tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>, tensor<8x4xf32>) -> tensor<?x9x4xf32, #dl.t<[s0, 9, 4]>>
  %1 = dl.broadcast %b : (tensor<4xf32>) -> tensor<?x9x4xf32, #dl.t<[s0, 9, 4]>>
  %2 = dl.add %0, %1 : (tensor<?x9x4xf32, #dl.t<[s0, 9, 4]>>, tensor<?x9x4xf32, #dl.t<[s0, 9, 4]>>) -> tensor<?x9x4xf32, #dl.t<[s0, 9, 4]>>
  %3 = dl.permute %2 {dims = array<i64: 0, 2, 1>} : (tensor<?x9x4xf32, #dl.t<[s0, 9, 4]>>) -> tensor<?x4x9xf32, #dl.t<[s0, 4, 9], order = [0, 2, 1]>>
  %4 = dl.add %3, %z : (tensor<?x4x9xf32, #dl.t<[s0, 4, 9], order = [0, 2, 1]>>, tensor<?x4x9xf32, #dl.t<[s0, 4, 9], order = [0, 2, 1]>>) -> tensor<?x4x9xf32, #dl.t<[s0, 4, 9], order = [0, 2, 1]>>
  return %4 : tensor<?x4x9xf32, #dl.t<[s0, 4, 9], order = [0, 2, 1]>>
}
}
}
