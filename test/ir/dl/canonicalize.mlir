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

// What splits the dim of a slice is a view of all of it: the slice takes heads.
// CHECK-LABEL: @slice_after_reshape
// CHECK: %[[V:.*]] = dl.reshape %arg0 {{.*}} : (tensor<2x5x36xf32>) -> tensor<2x5x9x4xf32>
// CHECK: dl.slice %[[V]] {dim = 2 : i64, end = 6 : i64, start = 3 : i64} : (tensor<2x5x9x4xf32>) -> tensor<2x5x3x4xf32>
// CHECK: %[[W:.*]] = dl.reshape %arg0 {{.*}} : (tensor<2x5x36xf32>) -> tensor<10x9x4xf32>
// CHECK: dl.slice %[[W]] {dim = 1 : i64, end = 9 : i64, start = 6 : i64} : (tensor<10x9x4xf32>) -> tensor<10x3x4xf32>
func.func @slice_after_reshape(%x: tensor<2x5x36xf32>) -> (tensor<2x5x3x4xf32>, tensor<10x3x4xf32>) {
  %0 = dl.slice %x {dim = 2 : i64, start = 12 : i64, end = 24 : i64} : (tensor<2x5x36xf32>) -> tensor<2x5x12xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (2, 5, 3, 4)>} : (tensor<2x5x12xf32>) -> tensor<2x5x3x4xf32>
  %2 = dl.slice %x {dim = -1 : i64, start = -12 : i64} : (tensor<2x5x36xf32>) -> tensor<2x5x12xf32>
  %3 = dl.reshape %2 {shape = affine_map<() -> (10, 3, 4)>} : (tensor<2x5x12xf32>) -> tensor<10x3x4xf32>
  return %1, %3 : tensor<2x5x3x4xf32>, tensor<10x3x4xf32>
}

// CHECK-LABEL: @symbolic_slice_after_reshape
// CHECK: dl.slice %{{.*}} {dim = 2 : i64, end = 2 : i64, start = 0 : i64}
func.func @symbolic_slice_after_reshape(%x: tensor<?x?x36xf32, #dl.t<[s0, s1, 36]>>) -> tensor<?x?x2x6xf32, #dl.t<[s0, s1, 2, 6]>> {
  %0 = dl.slice %x {dim = 2 : i64, end = 12 : i64} : (tensor<?x?x36xf32, #dl.t<[s0, s1, 36]>>) -> tensor<?x?x12xf32, #dl.t<[s0, s1, 12]>>
  %1 = dl.reshape %0 {shape = affine_map<()[s0, s1] -> (s0, s1, 2, 6)>} : (tensor<?x?x12xf32, #dl.t<[s0, s1, 12]>>) -> tensor<?x?x2x6xf32, #dl.t<[s0, s1, 2, 6]>>
  return %1 : tensor<?x?x2x6xf32, #dl.t<[s0, s1, 2, 6]>>
}

// Bounds within a head, every second element, a dim that is joined with its neighbour, and a slice with another reader.
// CHECK-LABEL: @slice_before_reshape
// CHECK: dl.slice %arg0
// CHECK: dl.reshape
// CHECK: dl.slice %arg0
// CHECK: dl.reshape
// CHECK: dl.slice %arg0
// CHECK: dl.reshape
// CHECK: dl.slice %arg0
// CHECK: dl.reshape
func.func @slice_before_reshape(%x: tensor<2x5x36xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x5x3x6xf32>, tensor<2x60xf32>, tensor<2x5x3x4xf32>, tensor<2x5x12xf32>) {
  %0 = dl.slice %x {dim = 2 : i64, start = 10 : i64, end = 22 : i64} : (tensor<2x5x36xf32>) -> tensor<2x5x12xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (2, 5, 3, 4)>} : (tensor<2x5x12xf32>) -> tensor<2x5x3x4xf32>
  %2 = dl.slice %x {dim = 2 : i64, step = 2 : i64} : (tensor<2x5x36xf32>) -> tensor<2x5x18xf32>
  %3 = dl.reshape %2 {shape = affine_map<() -> (2, 5, 3, 6)>} : (tensor<2x5x18xf32>) -> tensor<2x5x3x6xf32>
  %4 = dl.slice %x {dim = 2 : i64, end = 12 : i64} : (tensor<2x5x36xf32>) -> tensor<2x5x12xf32>
  %5 = dl.reshape %4 {shape = affine_map<() -> (2, 60)>} : (tensor<2x5x12xf32>) -> tensor<2x60xf32>
  %6 = dl.slice %x {dim = 2 : i64, start = 24 : i64} : (tensor<2x5x36xf32>) -> tensor<2x5x12xf32>
  %7 = dl.reshape %6 {shape = affine_map<() -> (2, 5, 3, 4)>} : (tensor<2x5x12xf32>) -> tensor<2x5x3x4xf32>
  return %1, %3, %5, %7, %6 : tensor<2x5x3x4xf32>, tensor<2x5x3x6xf32>, tensor<2x60xf32>, tensor<2x5x3x4xf32>, tensor<2x5x12xf32>
}
