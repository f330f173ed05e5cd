// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// Regions, shifted taps, determinants.

func.func @boxes(%x: tensor<2x8x16x16xf32>, %b: tensor<4x4xf32>) {
  // expected-error @+2 {{'dl.roi_align' needs x [N, C, H, W], boxes [K, 5] and an output_size of two numbers of at least 1, got f32[2,8,16,16] and f32[4,4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.roi_align %x, %b {output_size = array<i64: 7, 7>} : (tensor<2x8x16x16xf32>, tensor<4x4xf32>) -> tensor<4x8x7x7xf32>
  return
}

// -----

func.func @mode(%x: tensor<2x8x16x16xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+2 {{'dl.roi_align' has mode = 'sum'; expected 'avg' or 'max'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.roi_align %x, %b {output_size = array<i64: 7, 7>, mode = "sum"} : (tensor<2x8x16x16xf32>, tensor<4x5xf32>) -> tensor<4x8x7x7xf32>
  return
}

// -----

func.func @window(%x: tensor<1x4x8x8xf32>, %o: tensor<1x18x6x6xf32>) {
  // expected-error @+2 {{'dl.deform_patches' needs a window, stride and dilation of two numbers of at least 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.deform_patches %x, %o {kernel_size = array<i64: 3, 3>, stride = array<i64: 0, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<1x18x6x6xf32>) -> tensor<1x4x3x3x6x6xf32>
  return
}

// -----

func.func @shifts(%x: tensor<1x4x8x8xf32>, %o: tensor<1x17x6x6xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+2 {{'dl.deform_conv2d' needs x [N, C, H, W], two paddings of at least 0 and offset [N, 2 * groups * 9, ...] where groups divide C, got f32[1,4,8,8] and f32[1,17,6,6]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.deform_conv2d %x, %o, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<1x4x8x8xf32>, tensor<1x17x6x6xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @places(%x: tensor<1x4x8x8xf32>, %o: tensor<1x18x6x5xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+2 {{'dl.deform_conv2d' has offset f32[1,18,6,5] for a window with the places of f32[1,18,6,6]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.deform_conv2d %x, %o, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<1x4x8x8xf32>, tensor<1x18x6x5xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @mask(%x: tensor<1x4x8x8xf32>, %o: tensor<1x18x6x6xf32>, %w: tensor<8x4x3x3xf32>, %m: tensor<1x8x6x6xf32>) {
  // expected-error @+2 {{'dl.deform_conv2d' has mask f32[1,8,6,6]; expected f32[1,9,6,6]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.deform_conv2d %x, %o, %w, %m {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>} : (tensor<1x4x8x8xf32>, tensor<1x18x6x6xf32>, tensor<8x4x3x3xf32>, tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @weight(%x: tensor<1x4x8x8xf32>, %o: tensor<1x18x6x6xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error @+2 {{'dl.deform_conv2d' needs a static weight [K, C/groups, R, S], got f32[8,4,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.deform_conv2d %x, %o, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<1x4x8x8xf32>, tensor<1x18x6x6xf32>, tensor<8x4x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x4x8x8xf32>, %o: tensor<1x18x6x6xf32>, %w: tensor<8x3x3x3xf32>) {
  // expected-error @+2 {{'dl.deform_conv2d' has f32[1,4,8,8] and weight f32[8,3,3,3]; expected channels in equal groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.deform_conv2d %x, %o, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<1x4x8x8xf32>, tensor<1x18x6x6xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}

// -----

func.func @square(%x: tensor<4x3x2xf32>) {
  // expected-error @+2 {{'dl.det' needs square matrices [..., n, n] with a number n of at most 64, got f32[4,3,2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.det %x : (tensor<4x3x2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @grid_mode(%x: tensor<1x4x8x8xf32>, %g: tensor<1x5x7x2xf32>) {
  // expected-error @+2 {{'dl.grid_sample' has mode = 'linear'; expected 'bilinear', 'nearest' or 'bicubic'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.grid_sample %x, %g {mode = "linear"} : (tensor<1x4x8x8xf32>, tensor<1x5x7x2xf32>) -> tensor<1x4x5x7xf32>
  return
}

// -----

func.func @grid_padding(%x: tensor<1x4x8x8xf32>, %g: tensor<1x5x7x2xf32>) {
  // expected-error @+2 {{'dl.grid_sample' has padding_mode = 'reflect'; expected 'zeros', 'border' or 'reflection'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.grid_sample %x, %g {padding_mode = "reflect"} : (tensor<1x4x8x8xf32>, tensor<1x5x7x2xf32>) -> tensor<1x4x5x7xf32>
  return
}

// -----

func.func @grid_dims(%x: tensor<1x4x8x8xf32>, %g: tensor<1x5x7x3xf32>) {
  // expected-error @+2 {{'dl.grid_sample' needs x [N, C, H, W] and a grid [N, ..., 2] of the same N, or [N, C, L] and [N, ..., 1], or [N, C, D, H, W] and [N, ..., 3], got f32[1,4,8,8] and f32[1,5,7,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.grid_sample %x, %g : (tensor<1x4x8x8xf32>, tensor<1x5x7x3xf32>) -> tensor<1x4x5x7xf32>
  return
}

// -----

func.func @grid_dtype(%x: tensor<1x4x8x8xi32>, %g: tensor<1x5x7x2xf32>) {
  // expected-error @+2 {{'dl.grid_sample' in mode 'bilinear' needs floats, got i32[1,4,8,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.grid_sample %x, %g : (tensor<1x4x8x8xi32>, tensor<1x5x7x2xf32>) -> tensor<1x4x5x7xi32>
  return
}

// -----

func.func @grid_empty(%x: tensor<1x4x0x8xf32>, %g: tensor<1x5x7x2xf32>) {
  // expected-error @+2 {{'dl.grid_sample' of f32[1,4,0,8], which is empty}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.grid_sample %x, %g : (tensor<1x4x0x8xf32>, tensor<1x5x7x2xf32>) -> tensor<1x4x5x7xf32>
  return
}

// -----

func.func @no_channels(%x: tensor<1x0x8x8xf32>, %o: tensor<1x18x6x6xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+2 {{'dl.deform_conv2d' has f32[1,0,8,8] and weight f32[8,4,3,3]; expected channels in equal groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.deform_conv2d %x, %o, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<1x0x8x8xf32>, tensor<1x18x6x6xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  return
}
