// RUN: dlc-opt %s -simplify-algebra -split-input-file | FileCheck %s

// CHECK-LABEL: @vanishes
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @vanishes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = dl.full 1.0 : f32 -> tensor<4xf32>
  %zero = dl.full 0.0 : f32 -> tensor<4xf32>
  %minusZero = dl.full -0.0 : f32 -> tensor<4xf32>
  %0 = dl.mul %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = dl.mul %one, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = dl.div %1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = dl.sub %2, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = dl.add %3, %minusZero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = dl.neg %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = dl.neg %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = dl.maximum %6, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @once
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.broadcast {{.*}} : (tensor<1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: return
func.func @once(%x: tensor<1xf32>) -> tensor<2x3x4xf32> {
  %0 = dl.relu %x : (tensor<1xf32>) -> tensor<1xf32>
  %1 = dl.relu %0 : (tensor<1xf32>) -> tensor<1xf32>
  %2 = dl.broadcast %1 : (tensor<1xf32>) -> tensor<3x4xf32>
  %3 = dl.broadcast %2 : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  return %3 : tensor<2x3x4xf32>
}

// -----

// f16 -> f32 -> f16 loses nothing.
// CHECK-LABEL: @widened
// CHECK-SAME: (%[[X:.*]]: tensor<4xf16>)
// CHECK-NEXT: return %[[X]]
func.func @widened(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = dl.cast %x {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %1 = dl.cast %0 {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

// x + 0 makes +0 of -0; x - (-0) does as well; 0 * x may be NaN; f32 -> f16 -> f32 rounds; f16 -> bf16 -> f16 rounds.
// CHECK-LABEL: @stays
// CHECK: dl.add
// CHECK: dl.sub
// CHECK: dl.mul
// CHECK-COUNT-4: dl.cast
func.func @stays(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>) {
  %zero = dl.full 0.0 : f32 -> tensor<4xf32>
  %minusZero = dl.full -0.0 : f32 -> tensor<4xf32>
  %0 = dl.add %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = dl.sub %x, %minusZero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = dl.mul %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = dl.cast %x {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %4 = dl.cast %3 {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %5 = dl.cast %h {dtype = bf16} : (tensor<4xf16>) -> tensor<4xbf16>
  %6 = dl.cast %5 {dtype = f16} : (tensor<4xbf16>) -> tensor<4xf16>
  return %0, %1, %2, %4, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>
}
