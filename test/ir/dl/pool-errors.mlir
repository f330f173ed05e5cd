// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// What pools refuse.

func.func @none(%x: tensor<1x3x9xf32>) {
  // expected-error @+2 {{'dl.adaptive_avg_pool1d' has output_size -2; expected 0 or more, or None}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.adaptive_avg_pool1d %x {output_size = array<i64: -2>} : (tensor<1x3x9xf32>) -> tensor<1x3x0xf32>
  return
}

// -----

func.func @pixels(%x: tensor<1x3x9xf32>) {
  // expected-error @+2 {{'dl.adaptive_avg_pool2d' needs x [N, C, H, W] and an output_size of 2 numbers, got f32[1,3,9] and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.adaptive_avg_pool2d %x {output_size = array<i64: 1, 1>} : (tensor<1x3x9xf32>) -> tensor<1x3x1xf32>
  return
}

// -----

func.func @divisor(%x: tensor<1x3x9x9xf32>) {
  // expected-error @+2 {{'dl.avg_pool2d' has divisor_override 0; expected another number}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.avg_pool2d %x {kernel_size = array<i64: 3, 3>, divisor_override = 0 : i64} : (tensor<1x3x9x9xf32>) -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @line(%x: tensor<3x9xf32>) {
  // expected-error @+2 {{'dl.max_pool1d' needs x [N, C, L], got f32[3,9]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_pool1d %x {kernel_size = array<i64: 3>} : (tensor<3x9xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @numbers(%x: tensor<1x3x9xf32>) {
  // expected-error @+2 {{'dl.max_pool1d' needs 1 number for each of kernel_size, stride, padding and dilation}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_pool1d %x {kernel_size = array<i64: 3, 3>} : (tensor<1x3x9xf32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @symbolic(%x: tensor<?x3x?xf32, #dl.t<[s0, 3, s1]>>) {
  // expected-error @+2 {{'dl.adaptive_avg_pool1d' cannot cut the symbolic dim s1 into 4; expected output_size 1, 0 or None for it}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.adaptive_avg_pool1d %x {output_size = array<i64: 4>} : (tensor<?x3x?xf32, #dl.t<[s0, 3, s1]>>) -> tensor<?x3x4xf32, #dl.t<[s0, 3, 4]>>
  return
}
