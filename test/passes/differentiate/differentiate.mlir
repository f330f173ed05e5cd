// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(differentiate))' -split-input-file -verify-diagnostics | FileCheck %s

// Each argument of floats has a derivative, in the order of the arguments: zeros, where nothing depends on it.
// CHECK-LABEL: func.func @product
// CHECK-SAME: -> (tensor<4xf32> {dl.name = "d_x"}, tensor<4xf32> {dl.name = "d_w"}, tensor<2xf32> {dl.name = "d_unused"})
// CHECK-DAG: %[[ONES:.*]] = dl.full 1.000000e+00
// CHECK-DAG: %[[ZEROS:.*]] = dl.full 0.000000e+00 : f32 -> tensor<2xf32>
// CHECK-DAG: %[[DX:.*]] = dl.mul %[[ONES]], %arg1
// CHECK-DAG: %[[DW:.*]] = dl.mul %[[ONES]], %arg0
// CHECK: return %[[DX]], %[[DW]], %[[ZEROS]]
func.func @product(%x: tensor<4xf32> {dl.name = "x"}, %w: tensor<4xf32> {dl.name = "w"}, %i: tensor<4xi64>, %u: tensor<2xf32> {dl.name = "unused"}) -> tensor<4xf32> {
  %y = dl.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// What is read twice is worth the sum.
// CHECK-LABEL: func.func @twice
// CHECK: %[[SUM:.*]] = dl.add
// CHECK: return %[[SUM]]
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dl.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A cast is undone.
// CHECK-LABEL: func.func @cast
// CHECK: dl.full 1.000000e+00 : f32 -> tensor<4xf16>
// CHECK: dl.cast %{{.*}} : (tensor<4xf16>) -> tensor<4xf32>
func.func @cast(%x: tensor<4xf32>) -> tensor<4xf16> {
  %y = dl.cast %x {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

// An op without a rule is differentiated as the ops that compute it.
// CHECK-LABEL: func.func @einsum
// CHECK: dl.contract %{{.*}}, %arg1 {other_loops = array<i64: 1, 2>, rank = 2 : i64, x_loops = array<i64: 0, 2>}
// CHECK: dl.contract %{{.*}}, %arg0
func.func @einsum(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %y = dl.einsum %x, %w {equation = "ij,jk->ik"} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// Samples are the channels of the convolution that gives the derivative by the weight.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
// CHECK-LABEL: func.func @batch
// CHECK: dl.conv2d {{.*}}: (tensor<3x?x8x8xf32, #dl.t<[3, s0, 8, 8]>>, tensor<5x?x6x6xf32, #dl.t<[5, s0, 6, 6]>>) -> tensor<3x5x3x3xf32>
func.func @batch(%w: tensor<5x3x3x3xf32>, %i: tensor<?x3x8x8xf32, #dl.t<[s0, 3, 8, 8]>>) -> tensor<?x5x6x6xf32, #dl.t<[s0, 5, 6, 6]>> {
  %y = dl.conv2d %i, %w : (tensor<?x3x8x8xf32, #dl.t<[s0, 3, 8, 8]>>, tensor<5x3x3x3xf32>) -> tensor<?x5x6x6xf32, #dl.t<[s0, 5, 6, 6]>>
  return %y : tensor<?x5x6x6xf32, #dl.t<[s0, 5, 6, 6]>>
}
}

// -----

// The derivative by x has the dims of x without a pad. The sums for a bias take each sample first.
// CHECK-LABEL: func.func @padding
// CHECK: dl.conv_transpose2d {{.*}}output_padding = array<i64: 1, 0>, padding = array<i64: 1, 1>, stride = array<i64: 2, 1>} : (tensor<2x5x4x8xf32>, tensor<5x3x3x3xf32>) -> tensor<2x3x8x8xf32>
// CHECK-NOT: dl.pad
// CHECK: dl.sum {{.*}} {dim = array<i64: 2, 3>} : (tensor<2x5x4x8xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: dl.sum {{.*}} {dim = array<i64: 0>} : (tensor<2x5xf32>) -> tensor<5xf32>
func.func @padding(%x: tensor<2x3x8x8xf32>, %w: tensor<5x3x3x3xf32>, %b: tensor<5xf32>) -> tensor<2x5x4x8xf32> {
  %y = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>, stride = array<i64: 2, 1>} : (tensor<2x3x8x8xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>) -> tensor<2x5x4x8xf32>
  return %y : tensor<2x5x4x8xf32>
}

// -----

// An element of windows that do not overlap looks whether its window chose it.
// CHECK-LABEL: func.func @apart
// CHECK: %{{.*}}, %[[AT:.*]] = dl.max_pool2d_with_indices %arg0
// CHECK: %[[ROWS:.*]] = dl.repeat_interleave %[[AT]] {dim = 2 : i64, repeats = 2 : i64}
// CHECK: dl.repeat_interleave %[[ROWS]] {dim = 3 : i64, repeats = 2 : i64}
// CHECK: dl.eq
// CHECK: dl.where
// CHECK-NOT: dl.scatter_add
func.func @apart(%x: tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32> {
  %y = dl.max_pool2d %x {kernel_size = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @overlapping
// CHECK: dl.scatter_add
func.func @overlapping(%x: tensor<2x3x9x9xf32>) -> tensor<2x3x4x4xf32> {
  %y = dl.max_pool2d %x {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>} : (tensor<2x3x9x9xf32>) -> tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

// -----

// An LSTM runs step by step, with a product for each step in both directions. The gates are kept, and no product is
// computed again. The derivative by the weight is one product.
// CHECK-LABEL: func.func @lstm
// CHECK-COUNT-2: dl.matmul {{.*}} : (tensor<3x4xf32>, tensor<4x16xf32>) -> tensor<3x16xf32>
// CHECK: dl.stack
// CHECK-COUNT-2: dl.matmul {{.*}} : (tensor<3x16xf32>, tensor<16x4xf32>) -> tensor<3x4xf32>
// CHECK: dl.matmul {{.*}} : (tensor<16x6xf32>, tensor<6x4xf32>) -> tensor<16x4xf32>
func.func @lstm(%gates: tensor<2x3x16xf32>, %w: tensor<4x4x4xf32>) -> tensor<2x3x4xf32> {
  %y, %h, %c = dl.lstm_steps %gates, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<2x3x16xf32>, tensor<4x4x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
  return %y : tensor<2x3x4xf32>
}

// -----

func.func @unknown(%x: tensor<1x1x4x4xf32>, %boxes: tensor<2x5xf32>) -> tensor<2x1x2x2xf32> {
  // expected-error @+1 {{has no derivative that dlc knows: it is 'roi_pool'}}
  %y = dl.roi_pool %x, %boxes {output_size = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>, tensor<2x5xf32>) -> tensor<2x1x2x2xf32>
  return %y : tensor<2x1x2x2xf32>
}

// -----

func.func @form(%x: tensor<8xf32>, %index: tensor<4xi64>, %src: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has no derivative that dlc knows: it is 'scatter_reduce' by prod; dlc knows those by sum, mean, amax and amin}}
  %y = dl.scatter_reduce %x, %index, %src {dim = 0 : i64, reduce = "prod"} : (tensor<8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
func.func @window(%x: tensor<3x?x8x8xf32, #dl.t<[3, s0, 8, 8]>>, %w: tensor<5x?x6x6xf32, #dl.t<[5, s0, 6, 6]>>) -> tensor<3x5x3x3xf32> {
  // expected-error @+1 {{has no derivative that dlc knows: it is a convolution by f32[5,N,6,6]; give the symbols numbers by --shapes}}
  %y = dl.conv2d %x, %w : (tensor<3x?x8x8xf32, #dl.t<[3, s0, 8, 8]>>, tensor<5x?x6x6xf32, #dl.t<[5, s0, 6, 6]>>) -> tensor<3x5x3x3xf32>
  return %y : tensor<3x5x3x3xf32>
}
}

// -----

module attributes {dl.symbols = [#dl.symbol<"T", 1, 64>]} {
func.func @steps(%gates: tensor<?x2x5xf32, #dl.t<[s0, 2, 5]>>, %w: tensor<1x5x5xf32>) -> tensor<?x2x5xf32, #dl.t<[s0, 2, 5]>> {
  // expected-error @+1 {{has no derivative that dlc knows: it is 'rnn_tanh_steps' over f32[T,2,5]; give the number of steps by --shapes}}
  %y, %h = dl.rnn_tanh_steps %gates, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<?x2x5xf32, #dl.t<[s0, 2, 5]>>, tensor<1x5x5xf32>) -> (tensor<?x2x5xf32, #dl.t<[s0, 2, 5]>>, tensor<2x5xf32>)
  return %y : tensor<?x2x5xf32, #dl.t<[s0, 2, 5]>>
}
}

// -----

func.func @projection(%gates: tensor<3x2x16xf32>, %w: tensor<4x4x3xf32>, %p: tensor<3x4xf32>) -> tensor<3x2x3xf32> {
  // expected-error @+1 {{has no derivative that dlc knows: it is 'lstm_steps' with a projection; dlc knows those without}}
  %y, %h, %c = dl.lstm_steps %gates, %w, %p {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0>} : (tensor<3x2x16xf32>, tensor<4x4x3xf32>, tensor<3x4xf32>) -> (tensor<3x2x3xf32>, tensor<2x3xf32>, tensor<2x4xf32>)
  return %y : tensor<3x2x3xf32>
}

// -----

func.func @reduce(%x: tensor<8xf32>, %index: tensor<4xi64>, %src: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has no derivative that dlc knows: it is 'scatter' by multiply; dlc knows that without reduce}}
  %y = dl.scatter %x, %index, %src {dim = 0 : i64, reduce = "multiply"} : (tensor<8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{is differentiated by its first result; expected one of floats}}
func.func @integers(%x: tensor<4xi64>) -> tensor<4xi64> {
  return %x : tensor<4xi64>
}
