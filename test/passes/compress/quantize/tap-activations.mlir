// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(tap-activations))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(tap-activations{keep-f32=linear}))' -split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(tap-activations{keep-f32=[a}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: error: keep-f32: '[a' is no pattern:

// What two products read is measured once, before the results; a product of two activations is not.
// CHECK-LABEL: @twice
// CHECK-SAME: (%[[X:.*]]: tensor<4x32xf32> {dl.name = "x"})
// CHECK-SAME: -> (tensor<4x32xf32> {dl.name = "tap.0"}, tensor<4x32xf32> {dl.name = "tap.1"}, tensor<4x4xf32> {dl.name = "y"})
// CHECK: %[[A:.*]] = dl.linear %[[X]]
// CHECK: %[[B:.*]] = dl.linear %[[X]]
// CHECK: %[[C:.*]] = dl.linear %[[A]]
// CHECK: %[[Y:.*]] = dl.matmul
// CHECK: return %[[X]], %[[A]], %[[Y]]
// KEPT-LABEL: @twice
// KEPT-SAME: -> (tensor<4x4xf32> {dl.name = "y"})
func.func @twice(%x: tensor<4x32xf32> {dl.name = "x"}) -> (tensor<4x4xf32> {dl.name = "y"}) {
  %w = dl.weight "w" : tensor<32x32xf32>
  %0 = dl.linear %x, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  %1 = dl.linear %x, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  %2 = dl.linear %0, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  %3 = dl.permute %2 {dims = array<i64: 1, 0>} : (tensor<4x32xf32>) -> tensor<32x4xf32>
  %4 = dl.matmul %1, %3 : (tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// Sums of too few terms stay in f32, and so are not measured: a depthwise convolution.
// CHECK-LABEL: @depthwise
// CHECK-SAME: -> tensor<1x8x6x6xf32>
func.func @depthwise(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %w = dl.weight "w" : tensor<8x1x3x3xf32>
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %0 : tensor<1x8x6x6xf32>
}

// -----

// States come after outputs, and stay there.
// CHECK-LABEL: @state
// CHECK-SAME: -> (tensor<1x32xf32> {dl.name = "tap.0"}, tensor<1x32xf32> {dl.name = "y"}, tensor<1x32xf32> {dl.name = "h", dl.state})
func.func @state(%x: tensor<1x32xf32> {dl.name = "x"}, %h: tensor<1x32xf32> {dl.name = "h"}) -> (tensor<1x32xf32> {dl.name = "y"}, tensor<1x32xf32> {dl.name = "h", dl.state}) {
  %w = dl.weight "w" : tensor<32x32xf32>
  %0 = dl.add %x, %h : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %1 = dl.linear %0, %w : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
  return %1, %0 : tensor<1x32xf32>, tensor<1x32xf32>
}

// -----

// What quantize-weights gives weights in few bits, and nothing else: not the convolution.
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(tap-activations{packable}))' -split-input-file | FileCheck %s --check-prefix=PACKABLE
// PACKABLE-LABEL: @packable
// PACKABLE-SAME: -> (tensor<4x32xf32> {dl.name = "tap.0"}, tensor<4x8xf32> {dl.name = "y"}, tensor<1x8x2x2xf32> {dl.name = "z"})
func.func @packable(%x: tensor<4x32xf32>, %image: tensor<1x16x2x2xf32>) -> (tensor<4x8xf32> {dl.name = "y"}, tensor<1x8x2x2xf32> {dl.name = "z"}) {
  %w = dl.weight "w" : tensor<32x8xf32>
  %0 = dl.matmul %x, %w : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  %v = dl.weight "v" : tensor<8x16x1x1xf32>
  %1 = dl.conv2d %image, %v : (tensor<1x16x2x2xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x2x2xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<1x8x2x2xf32>
}

// -----

// For any number of rows.
// CHECK-LABEL: @of_any_rows
// CHECK-SAME: -> (tensor<?x32xf32, #dl.t<[s0, 32]>> {dl.name = "tap.0"}, tensor<?x32xf32, #dl.t<[s0, 32]>> {dl.name = "y"})
// CHECK: %[[Y:.*]] = dl.linear %arg0
// CHECK: return %arg0, %[[Y]]
func.func @of_any_rows(%x: tensor<?x32xf32, #dl.t<[s0, 32]>> {dl.name = "x"}) -> (tensor<?x32xf32, #dl.t<[s0, 32]>> {dl.name = "y"}) {
  %w = dl.weight "w" : tensor<32x32xf32>
  %0 = dl.linear %x, %w : (tensor<?x32xf32, #dl.t<[s0, 32]>>, tensor<32x32xf32>) -> tensor<?x32xf32, #dl.t<[s0, 32]>>
  return %0 : tensor<?x32xf32, #dl.t<[s0, 32]>>
}
