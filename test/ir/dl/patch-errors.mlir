// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// Patches of a window, and what becomes of them.

func.func @counts(%x: tensor<1x3x8x8xf32>) {
  // expected-error @+2 {{'dl.unfold' needs as many numbers of dilation, padding and stride as of kernel_size}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unfold %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x12x16xf32>
  return
}

// -----

func.func @numbers(%x: tensor<1x3x8x8xf32>) {
  // expected-error @+2 {{'dl.unfold' needs kernel_size, stride and dilation of at least 1, and no negative padding}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unfold %x {kernel_size = array<i64: 2, 2>, padding = array<i64: -1, 0>} : (tensor<1x3x8x8xf32>) -> tensor<1x12x16xf32>
  return
}

// -----

func.func @large(%x: tensor<1x3x8x8xf32>) {
  // expected-error @+2 {{'dl.unfold' has a window of 9, larger than the padded input of 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unfold %x {kernel_size = array<i64: 9, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x12x16xf32>
  return
}

// -----

func.func @rank(%x: tensor<3x8x8xf32>) {
  // expected-error @+2 {{'dl.unfold' needs x [N, C, H, W] and a window of two dims, got f32[3,8,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unfold %x {kernel_size = array<i64: 2, 2>} : (tensor<3x8x8xf32>) -> tensor<1x12x16xf32>
  return
}

// -----

func.func @window(%x: tensor<1x3x8xf32>) {
  // expected-error @+2 {{'dl.patches' has a window of 2 dims for f32[1,3,8]; expected [N, C] before}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.patches %x {kernel_size = array<i64: 2, 2>, dilation = array<i64: 1, 1>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x3x8xf32>) -> tensor<1x3x2x2x7x7xf32>
  return
}

// -----

func.func @sums(%x: tensor<1x3x2x7xf32>) {
  // expected-error @+2 {{'dl.overlap_add' needs x [N, C, window..., places...] and an output_size of as many dims as the window, got f32[1,3,2,7]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.overlap_add %x {output_size = affine_map<() -> (8, 8)>, dilation = array<i64: 1>, padding = array<i64: 0>, stride = array<i64: 1>} : (tensor<1x3x2x7xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

func.func @sum_places(%x: tensor<1x3x2x7xf32>) {
  // expected-error @+2 {{'dl.overlap_add' has x f32[1,3,2,7]; its last dims are not the places of such a window}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.overlap_add %x {output_size = affine_map<() -> (9)>, dilation = array<i64: 1>, padding = array<i64: 0>, stride = array<i64: 1>} : (tensor<1x3x2x7xf32>) -> tensor<1x3x9xf32>
  return
}

// -----

func.func @rows(%x: tensor<1x10x16xf32>) {
  // expected-error @+2 {{'dl.fold' needs x [N, C * 4, places] and an output_size of 2 dims, got f32[1,10,16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.fold %x {output_size = affine_map<() -> (8, 8)>, kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<1x10x16xf32>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @places(%x: tensor<1x12x15xf32>) {
  // expected-error @+2 {{'dl.fold' has 15 patches in f32[1,12,15]; such a window has 16 places}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.fold %x {output_size = affine_map<() -> (8, 8)>, kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<1x12x15xf32>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @unpool(%x: tensor<1x3x4x4xf32>, %i: tensor<1x3x4x5xi64>) {
  // expected-error @+2 {{'dl.max_unpool2d' needs x and indices of equal dims [N, C, 2 more], and a number for each of these, got f32[1,3,4,4] and i64[1,3,4,5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_unpool2d %x, %i {kernel_size = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>, tensor<1x3x4x5xi64>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @unpool_size(%x: tensor<1x3x4x4xf32>, %i: tensor<1x3x4x4xi64>) {
  // expected-error @+2 {{'dl.max_unpool2d' has an output_size of 3 dims; expected 2 or 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_unpool2d %x, %i {kernel_size = array<i64: 2, 2>, output_size = affine_map<() -> (3, 8, 8)>} : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xi64>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @filter(%x: tensor<1x3x8x8xf32>, %f: tensor<2x2x2xf32>) {
  // expected-error @+2 {{'dl.upfirdn2d' needs x [N, C, H, W], a filter of one or two static dims, 2 numbers of up and down and 2 or 4 of padding, got f32[1,3,8,8] and f32[2,2,2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.upfirdn2d %x, %f : (tensor<1x3x8x8xf32>, tensor<2x2x2xf32>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @steps(%x: tensor<1x3x8x8xf32>, %f: tensor<2x2xf32>) {
  // expected-error @+2 {{'dl.upfirdn2d' needs up and down of at least 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.upfirdn2d %x, %f {up = array<i64: 0, 1>} : (tensor<1x3x8x8xf32>, tensor<2x2xf32>) -> tensor<1x3x7x7xf32>
  return
}

// -----

func.func @large_filter(%x: tensor<1x3x8x8xf32>, %f: tensor<9x2xf32>) {
  // expected-error @+2 {{'dl.upfirdn2d' has a filter f32[9,2], larger than the padded image of f32[1,3,8,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.upfirdn2d %x, %f : (tensor<1x3x8x8xf32>, tensor<9x2xf32>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @resample(%x: tensor<1x3x8x8xf32>, %f: tensor<2xf32>) {
  // expected-error @+2 {{'dl.resample' needs x [N, C, H, W], a filter of static dims, and 2, 2 and 4 numbers of up, down and padding, got f32[1,3,8,8] and f32[2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.resample %x, %f {up = array<i64: 1, 1>, down = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} : (tensor<1x3x8x8xf32>, tensor<2xf32>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @no_step(%x: tensor<1x3x4x4xf32>, %i: tensor<1x3x4x4xi64>) {
  // expected-error @+2 {{'dl.max_unpool2d' needs kernel_size and stride of at least 1, and no negative padding}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_unpool2d %x, %i {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 0>} : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xi64>) -> tensor<1x3x8x2xf32>
  return
}

// -----

func.func @negative_size(%x: tensor<1x3x4x4xf32>, %i: tensor<1x3x4x4xi64>) {
  // expected-error @+2 {{'dl.max_unpool2d' of f32[1,3,4,4] gives a dim of size 0; expected 1 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.max_unpool2d %x, %i {kernel_size = array<i64: 3, 2>, stride = array<i64: 1, 1>, padding = array<i64: 3, 0>} : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xi64>) -> tensor<1x3x0x5xf32>
  return
}
