// RUN: dlc-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @flatten_becomes_reshape
// CHECK: dl.reshape %{{.*}} {shape = #{{.*}}} : (tensor<4x8x2xf32>) -> tensor<4x16xf32>
func.func @flatten_becomes_reshape(%x: tensor<4x8x2xf32>) -> tensor<4x16xf32> {
  %y = dl.flatten %x {start_dim = 1 : i64} : (tensor<4x8x2xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// CHECK-LABEL: @reshapes_merge
// CHECK-NEXT: %[[Y:.*]] = dl.reshape %arg0
// CHECK-NEXT: return %[[Y]]
func.func @reshapes_merge(%x: tensor<4x8x2xf32>) -> tensor<64xf32> {
  %0 = dl.reshape %x {shape = affine_map<() -> (8, 8)>} : (tensor<4x8x2xf32>) -> tensor<8x8xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (-1)>} : (tensor<8x8xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// CHECK-LABEL: @transpose_becomes_permute
// CHECK: dl.permute %arg0 {dims = array<i64: 2, 1, 0>}
func.func @transpose_becomes_permute(%x: tensor<4x8x2xf32>) -> tensor<2x8x4xf32> {
  %y = dl.transpose %x {dim0 = 0 : i64, dim1 = -1 : i64} : (tensor<4x8x2xf32>) -> tensor<2x8x4xf32>
  return %y : tensor<2x8x4xf32>
}

// CHECK-LABEL: @nothing_to_do
// CHECK-NEXT: return %arg0
func.func @nothing_to_do(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = dl.dropout %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.permute %0 {dims = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dl.slice %1 {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = dl.cat %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = dl.cast %3 {dtype = f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = dl.broadcast %4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// A cast that rounds is no cast to its own type.
// CHECK-LABEL: @rounding_stays
// CHECK-COUNT-2: dl.cast
func.func @rounding_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dl.cast %x {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %1 = dl.cast %0 {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @layouts_meet
// CHECK-NEXT: return %arg0
func.func @layouts_meet(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %0 = dl.convert_layout %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #dl.t<[1, 2, 3, 4], order = [0, 2, 3, 1]>>
  %1 = dl.convert_layout %0 : (tensor<1x2x3x4xf32, #dl.t<[1, 2, 3, 4], order = [0, 2, 3, 1]>>) -> tensor<1x2x3x4xf32>
  return %1 : tensor<1x2x3x4xf32>
}

// A view between an op and an elementwise op that could share its kernel moves behind both.
// CHECK-LABEL: @reshape_sinks
// CHECK-NEXT: dl.full {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: %[[E:.*]] = dl.exp %arg0
// CHECK-NEXT: %[[M:.*]] = dl.mul %[[E]], {{.*}} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: dl.reshape %[[M]] {{.*}} -> tensor<4x2x3xf32>
func.func @reshape_sinks(%x: tensor<4x6xf32>) -> tensor<4x2x3xf32> {
  %0 = dl.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (4, 2, 3)>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %2 = dl.full 5.000000e-01 : f32 -> tensor<4x2x3xf32>
  %3 = dl.mul %1, %2 : (tensor<4x2x3xf32>, tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  return %3 : tensor<4x2x3xf32>
}

// Of an input, or of a value that others read too, it stays where it is.
// CHECK-LABEL: @reshape_stays
// CHECK-NEXT: dl.reshape %arg0
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.reshape
// CHECK-NEXT: dl.neg
func.func @reshape_stays(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x2x3xf32>, tensor<4x6xf32>, tensor<4x2x3xf32>) {
  %0 = dl.reshape %x {shape = affine_map<() -> (4, 2, 3)>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %1 = dl.exp %0 : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  %2 = dl.exp %y : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = dl.reshape %2 {shape = affine_map<() -> (4, 2, 3)>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %4 = dl.neg %3 : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  return %1, %2, %4 : tensor<4x2x3xf32>, tensor<4x6xf32>, tensor<4x2x3xf32>
}
