// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(allow-tf32))' | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(allow-tf32{keep-f32=conv*}))' | FileCheck %s --check-prefix=KEPT
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(allow-tf32{keep-f32=[a}))' 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: error: keep-f32: '[a' is no pattern:

// Products of f32, those of weights too; no other ops, and no products of other types.
// CHECK-LABEL: @products
// CHECK: dl.conv2d {{.*}}dl.tf32
// CHECK: dl.matmul {{.*}}dl.tf32
// CHECK: dl.relu
// CHECK-NOT: dl.tf32
// CHECK: return
// KEPT-LABEL: @products
// KEPT: dl.conv2d
// KEPT-NOT: dl.tf32
// KEPT: dl.matmul {{.*}}dl.tf32
func.func @products(%x: tensor<1x4x6x6xf32>, %d: tensor<4x4xf64>) -> (tensor<1x4x6x6xf32>, tensor<4x4xf32>, tensor<4x4xf64>) {
  %w = dl.weight "w" : tensor<4x4x3x3xf32>
  %v = dl.weight "v" : tensor<4x4xf32>
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = dl.matmul %v, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dl.relu %0 : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %3 = dl.matmul %d, %d : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %2, %1, %3 : tensor<1x4x6x6xf32>, tensor<4x4xf32>, tensor<4x4xf64>
}

// For any batch.
// CHECK-LABEL: @of_any_batch
// CHECK: dl.conv2d {{.*}}dl.tf32{{.*}} -> tensor<?x4x6x6xf32, #dl.t<[s0, 4, 6, 6]>>
// KEPT-LABEL: @of_any_batch
// KEPT: dl.conv2d
// KEPT-NOT: dl.tf32
// KEPT: dl.matmul
func.func @of_any_batch(%x: tensor<?x4x6x6xf32, #dl.t<[s0, 4, 6, 6]>>, %d: tensor<4x4xf64>) -> (tensor<?x4x6x6xf32, #dl.t<[s0, 4, 6, 6]>>, tensor<4x4xf32>, tensor<4x4xf64>) {
  %w = dl.weight "w" : tensor<4x4x3x3xf32>
  %v = dl.weight "v" : tensor<4x4xf32>
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x4x6x6xf32, #dl.t<[s0, 4, 6, 6]>>, tensor<4x4x3x3xf32>) -> tensor<?x4x6x6xf32, #dl.t<[s0, 4, 6, 6]>>
  %1 = dl.matmul %v, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dl.relu %0 : (tensor<?x4x6x6xf32, #dl.t<[s0, 4, 6, 6]>>) -> tensor<?x4x6x6xf32, #dl.t<[s0, 4, 6, 6]>>
  %3 = dl.matmul %d, %d : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %2, %1, %3 : tensor<?x4x6x6xf32, #dl.t<[s0, 4, 6, 6]>>, tensor<4x4xf32>, tensor<4x4xf64>
}
