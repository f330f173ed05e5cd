// RUN: dlc-opt %s -fold-constants -canonicalize | FileCheck %s

// CHECK-LABEL: @arithmetic
// CHECK-NEXT: %[[Y:.*]] = dl.full 3.500000e+00 : f32 -> tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @arithmetic() -> tensor<4x8xf32> {
  %a = dl.full 2.0 : f32 -> tensor<8xf32>
  %b = dl.full 1.5 : f32 -> tensor<8xf32>
  %0 = dl.add %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = dl.relu %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = dl.broadcast %1 : (tensor<8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// A value is rounded to its own dtype: 2049 is not a number of f16.
// CHECK-LABEL: @half
// CHECK-NEXT: dl.full 2.048000e+03 : f32 -> tensor<2xf16>
func.func @half() -> tensor<2xf16> {
  %a = dl.full 2048.0 : f32 -> tensor<2xf16>
  %b = dl.full 1.0 : f32 -> tensor<2xf16>
  %0 = dl.add %a, %b : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  return %0 : tensor<2xf16>
}

// CHECK-LABEL: @cast
// CHECK-NEXT: dl.full 2 : i32 -> tensor<2xi32>
func.func @cast() -> tensor<2xi32> {
  %a = dl.full 2.75 : f32 -> tensor<2xf32>
  %0 = dl.cast %a {dtype = i32} : (tensor<2xf32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// The exponential of the compiling machine is not the target's; padding reads two numbers; x is no number.
// CHECK-LABEL: @stays
// CHECK: dl.exp
// CHECK: dl.pad
// CHECK: dl.mul
func.func @stays(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = dl.full 2.0 : f32 -> tensor<2xf32>
  %b = dl.full 3.0 : f32 -> tensor<4xf32>
  %0 = dl.exp %a : (tensor<2xf32>) -> tensor<2xf32>
  %1 = dl.pad %a {pad = affine_map<() -> (1, 1)>} : (tensor<2xf32>) -> tensor<4xf32>
  %2 = dl.mul %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
}

// For any number of rows: the number is known, not how often it is there.
// CHECK-LABEL: @of_any_rows
// CHECK-NEXT: %[[Y:.*]] = dl.full 3.500000e+00 : f32 -> tensor<?x8xf32, #dl.t<[s0, 8]>>
// CHECK-NEXT: return %[[Y]]
func.func @of_any_rows() -> tensor<?x8xf32, #dl.t<[s0, 8]>> {
  %a = dl.full 2.0 : f32 -> tensor<8xf32>
  %b = dl.full 1.5 : f32 -> tensor<8xf32>
  %0 = dl.add %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = dl.relu %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = dl.broadcast %1 : (tensor<8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  return %2 : tensor<?x8xf32, #dl.t<[s0, 8]>>
}
