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

// A network becomes one product over all steps and one op of the steps for each layer and direction; states join at the end.
// CHECK-LABEL: func.func @gru
// CHECK: %[[G:.*]] = dl.linear %arg0, %arg1 : (tensor<5x2x3xf32>, tensor<12x3xf32>) -> tensor<5x2x12xf32>
// CHECK: %[[W:.*]] = dl.reshape %arg2 {{.*}} -> tensor<3x4x4xf32>
// CHECK: %[[Y:.*]], %[[H:.*]] = dl.gru_steps %[[G]], %[[W]]
// CHECK: %[[B:.*]], %{{.*}} = dl.gru_steps {{.*}}reverse = true
// CHECK: dl.cat %[[Y]], %[[B]] {dim = 2 : i64} : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x8xf32>
// CHECK: dl.cat {{.*}} -> tensor<2x2x4xf32>
func.func @gru(%x: tensor<5x2x3xf32>, %a: tensor<12x3xf32>, %b: tensor<12x4xf32>, %c: tensor<12x3xf32>, %d: tensor<12x4xf32>) -> (tensor<5x2x8xf32>, tensor<2x2x4xf32>) {
  %y, %hn = dl.gru %x, %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 0, 4, 0>, bidirectional = true} : (tensor<5x2x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> (tensor<5x2x8xf32>, tensor<2x2x4xf32>)
  return %y, %hn : tensor<5x2x8xf32>, tensor<2x2x4xf32>
}
