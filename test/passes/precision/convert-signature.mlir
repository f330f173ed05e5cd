// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(convert-signature{dtype=f16}))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(convert-signature{dtype=f16},convert-precision))' -split-input-file | FileCheck %s --check-prefix=NARROW
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(convert-signature{dtype=f64}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: error: dtype is f16, bf16 or f32, got 'f64'

// Inputs and outputs that are floats of 16 or 32 bits; integers, f64 and states stay.
// CHECK-LABEL: @model
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf16> {dl.name = "x"}, %[[I:.*]]: tensor<4xi64> {dl.name = "i"}, %[[D:.*]]: tensor<4xf64> {dl.name = "d"}, %[[S:.*]]: tensor<4x8xf32> {dl.name = "s", dl.state})
// CHECK-SAME: -> (tensor<4x8xf16> {dl.name = "y"}, tensor<4xi64> {dl.name = "j"}, tensor<4xf64> {dl.name = "e"}, tensor<4x8xf32> {dl.name = "s", dl.state})
// CHECK: %{{.*}} = dl.cast %[[X]] {dtype = f32}
// NARROW-LABEL: @model
// NARROW-SAME: (%[[X:.*]]: tensor<4x8xf16>
// NARROW: dl.matmul %[[X]], %{{.*}} -> tensor<4x8xf16>
func.func @model(%x: tensor<4x8xf32> {dl.name = "x"}, %i: tensor<4xi64> {dl.name = "i"}, %d: tensor<4xf64> {dl.name = "d"}, %s: tensor<4x8xf32> {dl.name = "s", dl.state})
    -> (tensor<4x8xf32> {dl.name = "y"}, tensor<4xi64> {dl.name = "j"}, tensor<4xf64> {dl.name = "e"}, tensor<4x8xf32> {dl.name = "s", dl.state}) {
  %w = dl.weight "w" : tensor<8x8xf32>
  %0 = dl.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dl.add %s, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %i, %d, %1 : tensor<4x8xf32>, tensor<4xi64>, tensor<4xf64>, tensor<4x8xf32>
}

// -----

// What has the type already is left alone.
// CHECK-LABEL: @half
// CHECK-NEXT: dl.relu
// CHECK-NEXT: return
func.func @half(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = dl.relu %x : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// For any number of rows.
// CHECK-LABEL: @of_any_rows
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf16, #dl.t<[s0, 8]>>) -> tensor<?x8xf16, #dl.t<[s0, 8]>>
// CHECK: dl.cast %[[X]] {dtype = f32} : {{.*}} -> tensor<?x8xf32, #dl.t<[s0, 8]>>
func.func @of_any_rows(%x: tensor<?x8xf32, #dl.t<[s0, 8]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>> {
  %0 = dl.relu %x : (tensor<?x8xf32, #dl.t<[s0, 8]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  return %0 : tensor<?x8xf32, #dl.t<[s0, 8]>>
}
