// RUN: dlc-opt %s --decompose-ops | FileCheck %s
// RUN: dlc-opt %s --dlc-simplify | FileCheck %s --check-prefix=SIMPLE

// An op with two results becomes an op for each of them, which inherit its annotations; ops with loops stay.
// CHECK-LABEL: func.func @max
// CHECK-NEXT: %[[E:.*]] = dl.exp %{{.*}} : (tensor<4x8xf32>)
// CHECK-NEXT: %[[V:.*]] = dl.amax %[[E]] {dim = array<i64: 1>, dlc.note = "kept"} : (tensor<4x8xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[I:.*]] = dl.argmax %[[E]] {dim = 1 : i64, dlc.note = "kept"} : (tensor<4x8xf32>) -> tensor<4xi64>
// CHECK-NEXT: return %[[V]], %[[I]]

// SIMPLE-LABEL: func.func @max
// SIMPLE: dl.amax
// SIMPLE: dl.argmax
func.func @max(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %e = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %values, %indices = dl.max_dim %e {dim = 1 : i64, dlc.note = "kept"} : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %values, %indices : tensor<4xf32>, tensor<4xi64>
}
