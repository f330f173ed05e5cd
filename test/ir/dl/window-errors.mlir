// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// Windows must fit, move on and be padded by half at most.

func.func @rank(%x: tensor<3x8x8xf32>) {
  // expected-error @+2 {{'dl.max_pool2d' needs x [N, C, H, W], got f32[3,8,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_pool2d %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<3x8x8xf32>) -> tensor<3x4x4xf32>
  return
}

// -----

func.func @numbers(%x: tensor<1x3x8x8xf32>) {
  // expected-error @+2 {{'dl.max_pool2d' needs 2 numbers for each of kernel_size, stride, padding and dilation}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_pool2d %x {kernel_size = array<i64: 2>, stride = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @stride(%x: tensor<1x3x8x8xf32>) {
  // expected-error @+2 {{'dl.avg_pool2d' needs kernel_size, stride and dilation of at least 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.avg_pool2d %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 0>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @padding(%x: tensor<1x3x8x8xf32>) {
  // expected-error @+2 {{'dl.avg_pool2d' has padding 2; expected 0 to half of the window of 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.avg_pool2d %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @window(%x: tensor<1x3x4x8xf32>) {
  // expected-error @+2 {{'dl.max_pool2d' has a window of 5, larger than the padded input of 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_pool2d %x {kernel_size = array<i64: 5, 2>, stride = array<i64: 1, 1>} : (tensor<1x3x4x8xf32>) -> tensor<1x3x1x7xf32>
  return
}

// -----

func.func @interpolate(%x: tensor<1x1x4x4xf32>) {
  // expected-error @+2 {{'dl.interpolate' has recompute_scale_factor, which goes with scale_factor}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x {size = affine_map<() -> (2, 2)>, recompute_scale_factor = true} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  return
}
