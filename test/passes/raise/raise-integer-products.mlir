// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(raise-integer-products))' -split-input-file | FileCheck %s

// A convolution of what was dequantized: one number for the activation, one for each channel of the
// weight. The bias is added after the scale.
// CHECK-LABEL: @channels
// CHECK-SAME: (%[[Q:.*]]: tensor<?x4x8x8xui8
// CHECK: %[[X:.*]] = dl.sub
// CHECK: %[[W:.*]] = dl.cast %{{.*}} {dtype = i32} : (tensor<8x4x3x3xi8>)
// CHECK: %[[S:.*]] = dl.reshape %{{.*}} : (tensor<8xf32>) -> tensor<8x1x1x1xf32>
// CHECK: %[[SCALE:.*]] = dl.mul %{{.*}} : (tensor<8x1x1x1xf32>, tensor<8x1x1x1xf32>)
// CHECK: %[[SUM:.*]] = dl.conv2d %[[X]], %[[W]] {padding = array<i64: 1, 1>} : {{.*}}xi32
// CHECK: %[[F:.*]] = dl.cast %[[SUM]] {dtype = f32}
// CHECK: %[[Y:.*]] = dl.mul %[[F]],
// CHECK: %[[B:.*]] = dl.add %[[Y]],
// CHECK: return %[[B]]
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
func.func @channels(%q: tensor<?x4x8x8xui8, #dl.t<[s0, 4, 8, 8]>>) -> tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>> {
  %w = dl.weight "w" : tensor<8x4x3x3xi8>
  %s = dl.weight "s" : tensor<8xf32>
  %b = dl.weight "b" : tensor<8xf32>
  %zero = dl.full 114 : i32 -> tensor<?x4x8x8xi32, #dl.t<[s0, 4, 8, 8]>>
  %step = dl.full 5.0e-01 : f32 -> tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>
  %0 = dl.cast %q {dtype = i32} : (tensor<?x4x8x8xui8, #dl.t<[s0, 4, 8, 8]>>) -> tensor<?x4x8x8xi32, #dl.t<[s0, 4, 8, 8]>>
  %1 = dl.sub %0, %zero : (tensor<?x4x8x8xi32, #dl.t<[s0, 4, 8, 8]>>, tensor<?x4x8x8xi32, #dl.t<[s0, 4, 8, 8]>>) -> tensor<?x4x8x8xi32, #dl.t<[s0, 4, 8, 8]>>
  %2 = dl.cast %1 {dtype = f32} : (tensor<?x4x8x8xi32, #dl.t<[s0, 4, 8, 8]>>) -> tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>
  %3 = dl.mul %2, %step : (tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>, tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>) -> tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>
  %4 = dl.cast %w {dtype = i32} : (tensor<8x4x3x3xi8>) -> tensor<8x4x3x3xi32>
  %5 = dl.cast %4 {dtype = f32} : (tensor<8x4x3x3xi32>) -> tensor<8x4x3x3xf32>
  %6 = dl.reshape %s {shape = affine_map<() -> (8, 1, 1, 1)>} : (tensor<8xf32>) -> tensor<8x1x1x1xf32>
  %7 = dl.broadcast %6 : (tensor<8x1x1x1xf32>) -> tensor<8x4x3x3xf32>
  %8 = dl.mul %5, %7 : (tensor<8x4x3x3xf32>, tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xf32>
  %9 = dl.conv2d %3, %8, %b {padding = array<i64: 1, 1>} : (tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>
  return %9 : tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>
}
}

// -----

// A reshape between the dequantization and the product is done to the integers. The scale of either
// operand may be a tensor of one number.
// CHECK-LABEL: @reshaped
// CHECK: %[[X:.*]] = dl.cast %{{.*}} {dtype = i32} : (tensor<2x16x1x1xui8>)
// CHECK: dl.reshape %[[X]] {{.*}} -> tensor<2x16xi32>
// CHECK: dl.linear %{{.*}} : (tensor<2x16xi32>, tensor<4x16xi32>) -> tensor<2x4xi32>
func.func @reshaped(%q: tensor<2x16x1x1xui8>) -> tensor<2x4xf32> {
  %w = dl.weight "w" : tensor<4x16xi8>
  %s = dl.weight "s" : tensor<f32>
  %t = dl.weight "t" : tensor<f32>
  %0 = dl.cast %q {dtype = i32} : (tensor<2x16x1x1xui8>) -> tensor<2x16x1x1xi32>
  %1 = dl.cast %0 {dtype = f32} : (tensor<2x16x1x1xi32>) -> tensor<2x16x1x1xf32>
  %2 = dl.broadcast %s : (tensor<f32>) -> tensor<2x16x1x1xf32>
  %3 = dl.mul %1, %2 : (tensor<2x16x1x1xf32>, tensor<2x16x1x1xf32>) -> tensor<2x16x1x1xf32>
  %4 = dl.reshape %3 {shape = affine_map<() -> (2, 16)>} : (tensor<2x16x1x1xf32>) -> tensor<2x16xf32>
  %5 = dl.cast %w {dtype = i32} : (tensor<4x16xi8>) -> tensor<4x16xi32>
  %6 = dl.cast %5 {dtype = f32} : (tensor<4x16xi32>) -> tensor<4x16xf32>
  %7 = dl.broadcast %t : (tensor<f32>) -> tensor<4x16xf32>
  %8 = dl.mul %6, %7 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %9 = dl.linear %4, %8 : (tensor<2x16xf32>, tensor<4x16xf32>) -> tensor<2x4xf32>
  return %9 : tensor<2x4xf32>
}

// -----

// These stay: an activation with a scale for each channel, a weight with one for each input channel,
// sums of i16 that do not fit into i32, and an activation that was never quantized.
// CHECK-LABEL: @stay
// CHECK-NOT: dl.linear {{.*}}i32
// CHECK: return
func.func @stay(%q: tensor<2x16xui8>, %i: tensor<2x16xi16>, %x: tensor<2x16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = dl.weight "w" : tensor<4x16xi8>
  %v = dl.weight "v" : tensor<4x16xi16>
  %s = dl.weight "s" : tensor<16xf32>
  %half = dl.full 5.0e-01 : f32 -> tensor<2x16xf32>
  %quarter = dl.full 2.5e-01 : f32 -> tensor<4x16xf32>
  %0 = dl.cast %q {dtype = i32} : (tensor<2x16xui8>) -> tensor<2x16xi32>
  %1 = dl.cast %0 {dtype = f32} : (tensor<2x16xi32>) -> tensor<2x16xf32>
  %2 = dl.broadcast %s : (tensor<16xf32>) -> tensor<2x16xf32>
  %3 = dl.mul %1, %2 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  %4 = dl.mul %1, %half : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  %5 = dl.cast %w {dtype = i32} : (tensor<4x16xi8>) -> tensor<4x16xi32>
  %6 = dl.cast %5 {dtype = f32} : (tensor<4x16xi32>) -> tensor<4x16xf32>
  %7 = dl.mul %6, %quarter : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %8 = dl.broadcast %s : (tensor<16xf32>) -> tensor<4x16xf32>
  %9 = dl.mul %6, %8 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %10 = dl.linear %3, %7 : (tensor<2x16xf32>, tensor<4x16xf32>) -> tensor<2x4xf32>
  %11 = dl.linear %4, %9 : (tensor<2x16xf32>, tensor<4x16xf32>) -> tensor<2x4xf32>
  %12 = dl.cast %i {dtype = i32} : (tensor<2x16xi16>) -> tensor<2x16xi32>
  %13 = dl.cast %12 {dtype = f32} : (tensor<2x16xi32>) -> tensor<2x16xf32>
  %14 = dl.mul %13, %half : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  %15 = dl.cast %v {dtype = i32} : (tensor<4x16xi16>) -> tensor<4x16xi32>
  %16 = dl.cast %15 {dtype = f32} : (tensor<4x16xi32>) -> tensor<4x16xf32>
  %17 = dl.mul %16, %quarter : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %18 = dl.linear %14, %17 : (tensor<2x16xf32>, tensor<4x16xf32>) -> tensor<2x4xf32>
  %19 = dl.linear %x, %7 : (tensor<2x16xf32>, tensor<4x16xf32>) -> tensor<2x4xf32>
  return %10, %11, %18, %19 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
